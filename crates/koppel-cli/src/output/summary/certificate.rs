//! The certificate of a run in words.

use koppel::analysis::{Band, Certificate, Evidence, SignalError, Worth};

use super::super::{Grid, significant};

/// Outputs in the table.
const SIGNALS: usize = 6;

/// The verdict, what it rests on, and what looks wrong. Steps that adapt have no half, so no second run tells more.
pub(super) fn facts(certificate: &Certificate, is_adapting: bool) -> Vec<(&'static str, String)> {
    let verdict = match certificate.verdict {
        Worth::Trusted => "trusted",
        Worth::Doubtful => "doubtful",
        Worth::Wrong => "wrong",
    };
    let evidence = evidence(certificate, is_adapting);
    let mut facts = vec![("certificate", format!("{verdict}: {}{evidence}", certificate.reason))];
    if let Some(bond) = certificate.bonds.iter().max_by(|a, b| a.residual.total_cmp(&b.residual))
        && bond.energy > 0.0
    {
        let share = percent(bond.residual / bond.energy);
        let (forth, back) = (&bond.forth, &bond.back);
        facts.push(("residual power", format!("{share} of the power between {forth} and {back}")));
    }
    facts.extend(certificate.signs.iter().map(|sign| ("sign", sign.clone())));
    facts
}

/// Errors of the outputs, the largest first.
pub(super) fn errors(certificate: Option<&Certificate>) -> Grid {
    let mut grid = Grid::new(&["output", "estimated error", "of its range, between", "largest", "at t/s"]);
    let errors = certificate.iter().flat_map(|certificate| &certificate.error);
    for error in errors.filter(|error| error.relative.error > 0.0).take(SIGNALS) {
        let SignalError { signal, unit, relative, largest, time } = error;
        let Band { low, error, high } = relative;
        let high = if high.is_finite() { format!("and {}", percent(*high)) } else { "and more".into() };
        let unit = unit.as_deref().filter(|unit| *unit != "1").unwrap_or("");
        let largest = format!("{} {unit}", significant(*largest, 3)).trim_end().to_owned();
        let between = format!("{} {high}", percent(*low));
        grid.row([signal.clone(), percent(*error), between, largest, significant(*time, 6)]);
    }
    grid
}

/// What the error is known from, or would be.
fn evidence(certificate: &Certificate, is_adapting: bool) -> &'static str {
    match certificate.evidence {
        Evidence::LinearModel => " (from the defects of the connections)",
        Evidence::LinearisedModel => " (from the defects of the connections, linearised during the run)",
        Evidence::LearnedModel => {
            " (from the defects of the connections, with identified models of the subsystems)"
        }
        Evidence::SecondRun => " (from a second run at half the step)",
        // A run that failed does so again.
        Evidence::None if is_adapting || certificate.verdict == Worth::Wrong => "",
        Evidence::None if certificate.unknown.as_ref().is_some_and(|why| !why.contains("second run")) => {
            "; `koppel run --second-run` measures it"
        }
        Evidence::None => "",
    }
}

fn percent(share: f64) -> String {
    if share < 1e-12 { "0 %".into() } else { format!("{} %", significant(100.0 * share, 2)) }
}
