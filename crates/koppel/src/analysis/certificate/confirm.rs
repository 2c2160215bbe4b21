//! Runs whose error no model tells are confirmed by shadows: the same run at other steps (see [`super::verdict`]).

use super::SignalError;
use super::points::Points;
use super::signal::{Compared, differences, range};
use super::verdict::{Band, RunVerdict, Shadow, TRUSTED, agree};
use crate::signal::Bounds;
use crate::system::SystemGraph;
use serde::Serialize;

/// Makes shadows, or says why there is none.
pub type Shadows<'a> = dyn FnMut(Shadow) -> std::result::Result<Points, String> + 'a;

/// What the shadows of a run have shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confirmation {
    /// Error of the run by its finer shadow.
    pub finer: f64,
    /// The same by the coarser one, if that was made.
    pub coarser: Option<f64>,
    /// The same by the finest one, if that was made.
    pub finest: Option<f64>,
    /// Error of the coarser one itself, at most.
    pub error_of_coarser: Option<f64>,
    /// The smallest step that was run relative to that of the run. Its result is the best one.
    pub ratio: f64,
}

/// A verdict with its evidence.
pub(super) struct Confirmed {
    pub(super) verdict: RunVerdict,
    pub(super) band: Band,
    pub(super) errors: Vec<SignalError>,
    pub(super) confirmation: Confirmation,
    /// Why it is not trusted although the band is small, or not wrong although it is large.
    pub(super) doubt: Option<String>,
    /// True if a run at a step far smaller agrees.
    pub(super) is_settled: bool,
}

/// Runs whose difference does not shrink from the larger steps to the smaller ones by this factor do not converge...
const SHRINKS: f64 = 0.8;
/// ... and separate from each other if they differ by less than this share of the whole in the first fifth of the run...
const SEPARATES: f64 = 0.2;
/// ... but not if all of them swing: six points and less to come back, as [`Points::swinging`] counts.
const SWINGS: f64 = 0.25;
/// Runs that lie as near as this to the finest one lead there.
const NEAR: f64 = 0.01;

/// A run that is compared with its shadows.
pub(super) struct Question<'a> {
    pub(super) graph: &'a SystemGraph,
    pub(super) points: &'a Points,
    /// Of the coupling.
    pub(super) order: u32,
    /// True if the run looks strange: then a small difference to two shadows is not enough.
    pub(super) is_strange: bool,
}

/// Compares a run with its shadows.
pub(super) fn confirm(
    question: &Question<'_>,
    shadows: &mut Shadows<'_>,
) -> std::result::Result<Confirmed, String> {
    let Question { graph, points, order, is_strange } = *question;
    if points.is_full() {
        return Err("it has too many communication points to keep them for a comparison".into());
    }
    let fine = shadows(Shadow::Finer)?;
    let Compared { errors, unresolved } = differences(graph, (points, &fine), Shadow::Finer, order);
    let band = worst(&errors);
    let confirmation = Confirmation {
        finer: band.error,
        coarser: None,
        finest: None,
        error_of_coarser: None,
        ratio: Shadow::Finer.ratio(),
    };
    let verdict = band.verdict();
    let mut found = Confirmed { verdict, band, errors, confirmation, doubt: None, is_settled: false };
    if !reaches(&fine, points) {
        found.verdict = found.verdict.min(RunVerdict::Unconfirmed);
        found.doubt = Some(format!("a run at a smaller step ends at {} s", fine.end()));
        return Ok(found);
    }
    let mut coarse = None;
    if found.verdict == RunVerdict::Trusted {
        coarse = question.compare_coarser(&mut found, shadows);
    } else if let Some(output) = unresolved {
        found.verdict = RunVerdict::Unconfirmed;
        let name = graph.output_name(output);
        found.doubt = Some(format!("`{name}` changes too fast between communication points to compare runs"));
    }
    if found.verdict != RunVerdict::Trusted || is_strange {
        question.compare_finest(&mut found, (&fine, coarse), shadows);
    }
    Ok(found)
}

impl Question<'_> {
    /// The coarser shadow of a run whose finer one leaves a chance of trust.
    fn compare_coarser(&self, found: &mut Confirmed, shadows: &mut Shadows<'_>) -> Option<Points> {
        let coarse = match shadows(Shadow::Coarser) {
            Ok(coarse) => coarse,
            Err(reason) => {
                found.verdict = RunVerdict::Unconfirmed;
                found.doubt = Some(reason);
                return None;
            }
        };
        let compared = differences(self.graph, (&coarse, self.points), Shadow::Coarser, self.order);
        let (finer, other) = (found.band, worst(&compared.errors));
        found.confirmation.coarser = Some(other.error);
        found.confirmation.error_of_coarser = Some(other.difference() + finer.error.max(other.error));
        found.band = finer.with(other);
        found.verdict = found.band.verdict().max(RunVerdict::Unconfirmed);
        if found.verdict == RunVerdict::Trusted && !agree(finer.error, other.error) {
            found.verdict = RunVerdict::Unconfirmed;
            found.doubt = Some("runs at a smaller and a larger step do not agree on it".into());
        }
        Some(coarse)
    }

    /// A run at a step far smaller decides where the others leave doubt; if there is none, what they say stays.
    fn compare_finest(
        &self,
        found: &mut Confirmed,
        (fine, coarse): (&Points, Option<Points>),
        shadows: &mut Shadows<'_>,
    ) {
        let Ok(finest) = shadows(Shadow::Finest) else { return };
        if !reaches(&finest, self.points) {
            return;
        }
        // Nothing is interpolated: it shares the points of the run.
        let Compared { errors, unresolved: _ } =
            differences(self.graph, (self.points, &finest), Shadow::Finest, self.order);
        let band = worst(&errors);
        (found.confirmation.finest, found.confirmation.ratio) = (Some(band.error), Shadow::Finest.ratio());
        let finer = found.confirmation.finer;
        if band.verdict() == RunVerdict::Trusted {
            let led = if agree(finer, band.error) && band.allows(finer) {
                Some(0.0)
            } else {
                let coarse = coarse.or_else(|| shadows(Shadow::Coarser).ok());
                let coarse = coarse.filter(|coarse| reaches(coarse, self.points));
                coarse.and_then(|coarse| self.leads(fine, &finest, &coarse))
            };
            if let Some(band) = led.map(|distance| band.up_to(distance)) {
                found.verdict = RunVerdict::Trusted;
                (found.band, found.errors, found.doubt) = (band, errors, None);
                found.is_settled = true;
                return;
            }
        }
        if found.verdict == RunVerdict::Trusted {
            // The other two agree, and this one does not.
            found.verdict = RunVerdict::Unconfirmed;
            found.doubt = Some("a run at a step far smaller does not agree on it".into());
            return;
        }
        let is_wrong = found.verdict == RunVerdict::Wrong;
        if band.verdict() == RunVerdict::Wrong {
            let separating = self.separates(fine, &finest);
            found.verdict = if separating { RunVerdict::Unconfirmed } else { RunVerdict::Wrong };
            found.doubt = separating.then(|| {
                "sensitive: runs at any step separate, small disturbances grow until all is different".into()
            });
            (found.band, found.errors) = (band, errors);
        } else if !is_wrong && found.doubt.is_none() {
            // It lies nearer to the truth.
            (found.band, found.errors) = (band, errors);
        } else if is_wrong {
            found.verdict = RunVerdict::Unconfirmed;
            found.doubt = Some("runs at smaller steps do not agree on it".into());
            found.band = Band { low: band.low, error: band.error, high: found.band.high };
        }
    }

    /// How far the finer shadow lies from the finest one at most, if runs at both other steps lead there; nothing if they do not.
    ///
    /// Each output of F is near, or nearer than that of G. What swings fast in time with the steps of S, as a source does that reaches
    /// an output, cannot be compared between its points; but its mean can.
    fn leads(&self, fine: &Points, finest: &Points, coarse: &Points) -> Option<f64> {
        let range = |output: usize, bounds: &Bounds| range(self.graph, output, bounds);
        let near = Points::differences(fine, finest, &range);
        let far = Points::differences(coarse, finest, &range);
        let distance = |output: usize| {
            let (near, far) = (near[output], far[output]);
            let (whole, mean) = (near.relative(), near.lasting());
            let is_nearer = whole <= TRUSTED && near.rms <= SHRINKS * far.rms;
            if whole <= NEAR || is_nearer { Some(whole) } else { Some(mean).filter(|mean| *mean <= NEAR) }
        };
        let outputs = (0..near.len()).filter(|output| self.graph.is_signal(*output));
        outputs.map(distance).try_fold(0.0, |worst: f64, one| Some(worst.max(one?)))
    }

    /// True if the run and its shadows begin alike, do not come closer at smaller steps, and yet stay within their range.
    fn separates(&self, fine: &Points, finest: &Points) -> bool {
        let range = |output: usize, bounds: &Bounds| range(self.graph, output, bounds);
        let own = Points::differences(self.points, finest, &range);
        let between = Points::differences(fine, finest, &range);
        let outputs = (0..own.len()).filter(|output| self.graph.is_signal(*output));
        let Some(worst) = outputs.max_by(|a, b| own[*a].relative().total_cmp(&own[*b].relative())) else {
            return false;
        };
        let (own, between) = (own[worst], between[worst]);
        let is_separating =
            own.relative() <= 1.0 && between.rms > SHRINKS * own.rms && own.early <= SEPARATES * own.rms;
        // What swings from each point to the next at any step is made by the coupling.
        is_separating && [self.points, fine, finest].iter().any(|run| run.swinging(worst) < SWINGS)
    }
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
