//! Runs whose error no model tells are confirmed by shadows: the same run at other steps (see [`super::verdict`]).

use super::SignalError;
use super::points::Points;
use super::signal::{Compared, differences};
use super::verdict::{Band, RunVerdict, Shadow, agree};
use crate::system::SystemGraph;
use serde::Serialize;

/// Makes shadows, or says why there is none.
pub type Shadows<'a> = dyn FnMut(Shadow) -> std::result::Result<Points, String> + 'a;

/// What the shadows of a run have shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confirmation {
    /// Error of the run by its finer shadow, and by its coarser one if that was made.
    pub finer: f64,
    /// The same by the coarser one.
    pub coarser: Option<f64>,
    /// Step of the finer one relative to that of the run. Its result is the better one.
    pub ratio: f64,
}

/// A verdict with its evidence.
pub(super) struct Confirmed {
    pub(super) verdict: RunVerdict,
    pub(super) band: Band,
    pub(super) errors: Vec<SignalError>,
    pub(super) confirmation: Confirmation,
    /// Why it is not trusted although the band is small.
    pub(super) doubt: Option<String>,
}

/// Compares a run of a coupling of this order with its shadows.
pub(super) fn confirm(
    graph: &SystemGraph,
    points: &Points,
    order: u32,
    shadows: &mut Shadows<'_>,
) -> std::result::Result<Confirmed, String> {
    if points.is_full() {
        return Err("it has too many communication points to keep them for a comparison".into());
    }
    let fine = shadows(Shadow::Finer)?;
    let Compared { errors, unresolved } = differences(graph, (points, &fine), Shadow::Finer, order);
    let band = worst(&errors);
    let confirmation = Confirmation { finer: band.error, coarser: None, ratio: Shadow::Finer.ratio() };
    let mut found = Confirmed { verdict: band.verdict(), band, errors, confirmation, doubt: None };
    if !reaches(&fine, points) {
        found.verdict = found.verdict.min(RunVerdict::Unconfirmed);
        found.doubt = Some(format!("a run at a smaller step ends at {} s", fine.end()));
        return Ok(found);
    }
    if let (Some(output), true) = (unresolved, found.verdict != RunVerdict::Trusted) {
        found.verdict = RunVerdict::Unconfirmed;
        let name = graph.output_name(output);
        found.doubt = Some(format!("`{name}` changes too fast between communication points to compare runs"));
    }
    if found.verdict != RunVerdict::Trusted {
        return Ok(found);
    }
    drop(fine);
    let coarse = match shadows(Shadow::Coarser) {
        Ok(coarse) => coarse,
        Err(reason) => {
            found.verdict = RunVerdict::Unconfirmed;
            found.doubt = Some(reason);
            return Ok(found);
        }
    };
    let other = worst(&differences(graph, (&coarse, points), Shadow::Coarser, order).errors);
    found.confirmation.coarser = Some(other.error);
    found.band = band.with(other);
    found.verdict = found.band.verdict();
    if found.verdict == RunVerdict::Trusted && !agree(band.error, other.error) {
        found.verdict = RunVerdict::Unconfirmed;
        found.doubt = Some("runs at a smaller and a larger step do not agree on it".into());
    }
    Ok(found)
}

/// The band of the worst output; zero if none moves.
pub(super) fn worst(errors: &[SignalError]) -> Band {
    errors.first().map_or(Band::of_model(0.0, 0.0), |worst| worst.relative)
}

/// True if a shadow came as far as the run, but for a last step.
fn reaches(shadow: &Points, points: &Points) -> bool {
    let share = (shadow.end() - points.start()) / (points.end() - points.start());
    share > 0.98
}
