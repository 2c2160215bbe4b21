//! A warning before a run that will go wrong, if that can be determined at little cost.

use koppel::analysis::{LinearSystem, StepMatrix};
use koppel::diagnostic::Remark;
use koppel::run::{Run, RunConfig};

use crate::advice::Ahead;
use crate::number::significant;

/// States up to which it costs little.
const SMALL: usize = 24;
/// Errors above this part of the range are reported.
const LARGE: f64 = 0.2;

/// Disturbances that become so many times as large before the run ends make it useless.
const GROWN: f64 = 10.0;

/// What there is to know of a small system: nothing if it changes on the way. What is not linear is linearised where it stands.
pub(crate) fn ahead(run: &mut Run, config: &RunConfig) -> Option<Ahead> {
    if config.at.iter().any(|change| change.time > config.start) {
        return None;
    }
    let system = LinearSystem::new(run).ok().filter(|system| system.states() <= SMALL)?;
    Some(Ahead { system, config: config.clone() })
}

/// The warning of a system whose run will be unstable, or of a linear one that will be far off.
pub(crate) fn warning(Ahead { system, config }: &Ahead) -> Option<Remark> {
    let (method, step) = (config.coupling.name(), config.step);
    let way_out =
        "`koppel check` lists the stable steps of every method; use --coupling auto, or also --step auto";
    let growth = StepMatrix::of(system, config).and_then(|_| system.growth(config)).ok()?;
    // What hardly grows before the run ends does no harm in it.
    let steps = (config.stop - config.start) / step;
    let (will, linearised, grown) = match system.is_exact() {
        true => ("will", "", GROWN),
        // What is not linear may grow no further, so only what is far beyond doubt is reported.
        false => ("is likely to", ", linearised at the start", GROWN * GROWN * GROWN),
    };
    if !growth.is_bounded && growth.radius.powf(steps) > grown {
        let radius = significant(growth.radius, 6);
        let text = format!(
            "the run {will} be unstable: `{method}` at steps of {step} s has a spectral radius of {radius}{linearised}"
        );
        return Some(Remark::new(text, way_out));
    }
    if !system.is_exact() {
        return None;
    }
    let error = system.reference(config).and_then(|reference| system.global_error(config, &reference));
    let error = error.ok().filter(|error| error.overall > LARGE)?;
    let percent = significant(100.0 * error.overall, 2);
    let output = error.outputs.first().map_or("", |worst| worst.output.as_str());
    let text = format!(
        "the error of the run will be {percent} % of the range of `{output}`: `{method}` at steps of {step} s"
    );
    Some(Remark::new(text, way_out))
}
