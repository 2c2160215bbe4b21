//! The certificate of a run in words.

use koppel::analysis::{Band, Certificate, Evidence, RunVerdict, SignalError};

use super::super::{Grid, significant};

/// Outputs in the table.
const SIGNALS: usize = 6;

/// The verdict, what it rests on, and what looks wrong. `step` is the step of the run.
pub(super) fn facts(certificate: &Certificate, step: f64) -> Vec<(&'static str, String)> {
    let verdict = match certificate.verdict {
        RunVerdict::Trusted => "trusted",
        RunVerdict::Unconfirmed => "unconfirmed",
        RunVerdict::Wrong => "wrong",
    };
    let evidence = evidence(certificate);
    let mut facts = vec![("certificate", format!("{verdict}: {}{evidence}", certificate.reason))];
    if let (Some(confirmation), true) =
        (&certificate.confirmation, certificate.verdict != RunVerdict::Trusted)
    {
        let finer = significant(step * confirmation.ratio, 3);
        facts.push(("better result", format!("a step of {finer} s, which was run to confirm this one")));
    }
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

/// What the error is known from.
fn evidence(certificate: &Certificate) -> &'static str {
    match (certificate.evidence, &certificate.confirmation) {
        (Evidence::LinearModel, _) => " (from the defects of the connections)",
        (Evidence::Shadows, Some(confirmation)) if confirmation.coarser.is_some() => {
            " (from runs at 0.618 and 1.618 times the step)"
        }
        (Evidence::Shadows, _) => " (from a run at 0.618 times the step)",
        (Evidence::None, _) => "",
    }
}

fn percent(share: f64) -> String {
    if share < 1e-12 { "0 %".into() } else { format!("{} %", significant(100.0 * share, 2)) }
}
