//! The certificate of a run in words.

use koppel::analysis::{Band, Certificate, Evidence, Shadow, SignalError};

use super::super::{Grid, significant};

/// Outputs in the table.
const SIGNALS: usize = 6;
/// Solvers that are named.
const SOLVERS: usize = 3;

/// What the verdict rests on, and what looks wrong.
pub(super) fn facts(certificate: &Certificate) -> Vec<(&'static str, String)> {
    let evidence = evidence(certificate).map(|words| ("evidence", words));
    let mut facts: Vec<(&'static str, String)> = evidence.into_iter().collect();
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
fn evidence(certificate: &Certificate) -> Option<String> {
    let known = known_from(certificate)?;
    let solvers = &certificate.not_counted;
    let more = if solvers.len() > SOLVERS {
        format!(" and {} more", solvers.len() - SOLVERS)
    } else {
        String::new()
    };
    let named = solvers.iter().take(SOLVERS).map(String::as_str).collect::<Vec<_>>().join(", ");
    Some(if solvers.is_empty() {
        known
    } else {
        format!("{known}; not counted: own errors of the solvers of {named}{more}")
    })
}

fn known_from(certificate: &Certificate) -> Option<String> {
    match (certificate.evidence, &certificate.confirmation) {
        (Evidence::LinearModel, _) => Some("the defects of the connections of a linear system".into()),
        (Evidence::Shadows, confirmation) => {
            let of = |is_made: bool, ratio: f64| is_made.then(|| significant(ratio, 3));
            let (coarser, finest) = confirmation
                .as_ref()
                .map_or((false, false), |one| (one.coarser.is_some(), one.finest.is_some()));
            let [finer, larger, least] = [Shadow::Finer, Shadow::Coarser, Shadow::Finest].map(Shadow::ratio);
            let all = [of(true, finer), of(coarser, larger), of(finest, least)];
            let all: Vec<String> = all.into_iter().flatten().collect();
            Some(format!("runs at {} times the step", all.join(", ")))
        }
        (Evidence::None, _) => None,
    }
}

fn percent(share: f64) -> String {
    if share < 1e-12 { "0 %".into() } else { format!("{} %", significant(100.0 * share, 2)) }
}
