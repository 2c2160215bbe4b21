//! What an instance is, for what is kept about it between runs, and whether it may be excited.

use super::{Options, Solving, Without};
use crate::description::Description;
use crate::fmu::Fmu;
use koppel::fnv;

/// The FMU's content and token, how the instance is made, and how inputs reach it.
pub(crate) fn identity(fmu: &Fmu, options: &Options) -> Option<String> {
    let made = Options {
        log: None,
        debug_logging: false,
        probe: None,
        without: Without::default(),
        spared: false,
        ..options.clone()
    };
    let made = serde_json::to_string(&made).ok()?;
    let token = &fmu.description().instantiation_token;
    Some(format!("fmu {} token {token} delivery {DELIVERY:016x} made {made}", fmu.fingerprint()?))
}

/// Why an instance should not be excited before a run, unless the user has said that it may.
pub(crate) fn refusal(description: &Description, options: &Options) -> Option<String> {
    let interface = match options.solving {
        Solving::Own => description.co_simulation.as_ref().map(|section| &section.interface),
        Solving::Koppel(_) => description.model_exchange.as_ref().map(|section| &section.interface),
    };
    let is_only_one = interface.is_some_and(|i| i.can_be_instantiated_only_once_per_process);
    (is_only_one && options.probe != Some(true)).then(|| {
        "it has one instance per process only, as what stands for a device or a licence has \
         (probe = true excites it all the same)"
            .into()
    })
}

/// A number that changes with the code that brings inputs to FMUs.
const DELIVERY: u64 = fnv(&[
    include_bytes!("stairs.rs"),
    include_bytes!("stepping.rs"),
    include_bytes!("walking.rs"),
    include_bytes!("route.rs"),
    include_bytes!("model_exchange/stepping.rs"),
]);
