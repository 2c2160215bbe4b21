//! The dual masses of chapter 3, and courses of one of their runs.

use crate::cases::{Case, case};
use koppel::coupling::{
    Against, ConstantConfig, CorrectorConfig, CouplingConfig, NepceConfig, PrestepConfig,
};
use koppel::run::{Reading, RunConfig};
use koppel_io::plot::Scale::Linear;

use crate::course::Course;
use crate::exhibit::{curve, plot};
use crate::{Exhibit, Result};

/// The linear dual mass with another coupling spring and damper.
pub(super) fn linear(ck: f64, dk: f64) -> Result<Case> {
    let mut case = case("dual-mass")?;
    case.parts[1].parameters.extend([("ck".to_owned(), ck), ("dk".to_owned(), dk)]);
    Ok(case)
}

/// Stale reading, as in the thesis.
pub(super) fn stale(coupling: CouplingConfig, stop: f64, step: f64) -> RunConfig {
    RunConfig { coupling, reading: Reading::Stale, ..RunConfig::new(stop, step) }
}

/// The four couplings of 3.3 and 3.4: Table 3.5 in the pre-step method, no constant in its models.
pub(super) fn methods(step: f64) -> [(&'static str, CouplingConfig); 4] {
    let nepce =
        CouplingConfig::from(NepceConfig { gain: 1.0, against: Against::Extrapolated, anti_aliasing: false });
    let corrector = CorrectorConfig {
        error_steps: (step / 1e-5).round().clamp(1.0, 50.0) as u32,
        ..CorrectorConfig::default()
    };
    let prestep = PrestepConfig { constant: ConstantConfig::None, ..PrestepConfig::default() };
    [
        ("ZOH", CouplingConfig::zoh()),
        ("NEPCE", nepce),
        ("MBCorr", CouplingConfig::from(corrector)),
        ("Pre-Step", CouplingConfig::from(prestep)),
    ]
}

/// What the figures show of a dual mass.
pub(super) const SIGNALS: [(&str, &str); 3] =
    [("position", "left.x"), ("velocity", "left.v"), ("force", "right.F")];

/// Position, velocity and force of runs, each beside the uncut system.
pub(super) fn courses(mut exhibit: Exhibit, runs: &[(&str, Course)], exact: &Course) -> Exhibit {
    for (what, signal) in SIGNALS {
        let mut curves = vec![exact.curve("uncut", signal)];
        curves.extend(runs.iter().map(|(name, run)| run.clipped(name, signal, exact, 1.0)));
        exhibit = exhibit.curves(what, plot(what, ["time, s", what], [Linear; 2], curves));
    }
    exhibit
}

/// Their differences from the uncut system.
pub(super) fn differences(mut exhibit: Exhibit, runs: &[(&str, Course)], exact: &Course) -> Exhibit {
    for (what, signal) in SIGNALS {
        let own = exact.column(signal);
        let line = |run: &Course| {
            let points = run.column(signal).into_iter().zip(&own).map(|(a, b)| a - b).collect::<Vec<_>>();
            run.table.times.iter().copied().zip(points).collect::<Vec<_>>()
        };
        let curves = runs.iter().map(|(name, run)| curve(*name, line(run))).collect();
        let name = format!("error-of-{what}");
        exhibit =
            exhibit.curves(&name, plot(&format!("error of {what}"), ["time, s", what], [Linear; 2], curves));
    }
    exhibit
}
