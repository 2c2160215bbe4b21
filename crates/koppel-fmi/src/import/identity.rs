//! What is known of an instance before it is made.

use super::state::cannot_save;
use super::{Options, Solving, Without};
use crate::description::Description;
use crate::fmu::Fmu;
use koppel::fnv;
use koppel::system::{CacheKey, Capabilities, ModelSource};
use std::sync::Arc;

/// What the description says, with what the FMU is to do without.
pub(crate) fn capabilities(fmu: &Arc<Fmu>, options: &Options) -> Capabilities {
    let is_spared = options.spared && options.solving == Solving::Own;
    let key = (fmu.clone(), options.clone());
    Capabilities {
        may_end_run: true,
        is_spared,
        needs_trials: true,
        model: if is_spared { ModelSource::Missing(SPARED.into()) } else { ModelSource::Equations },
        cannot_roll_back: (!fmu.saves_states(options)).then(|| cannot_save(options).to_string()),
        not_to_probe: refusal(fmu.description(), options),
        cache_key: Some(CacheKey::new(move || identity(&key.0, &key.1))),
        ..Capabilities::new("")
    }
}

/// Why an instance that is spared has no linear model.
const SPARED: &str = "is an FMU in a run that makes no trials";

/// The FMU's content and token, how the instance is made, and how inputs reach it.
fn identity(fmu: &Fmu, options: &Options) -> Option<String> {
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
fn refusal(description: &Description, options: &Options) -> Option<String> {
    let interface = description.interface(options.solving.kind());
    let is_only_one = interface.is_some_and(|i| i.can_be_instantiated_only_once_per_process);
    (is_only_one && options.probe != Some(true)).then(|| {
        "it allows only one instance per process, as for a device or a licence (probe = true probes it anyway)"
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
