//! The fastest filter with which a loop is stable at the run's step.
//!
//! With a filter of corner frequency ω the frozen loop is stable for ω below some limit: a faster filter hands the loop's gain on
//! before the next exchange. For one pair of members, constant extrapolation and stale reading the limit follows from the roots of
//! δ³ + (1+√2w)δ² + (√2w+w²)δ + w²(1+b), w = ω H, b the loop's gain squared, if the filter is solved by one step of Euler's method;
//! here it is solved exactly, and the limit found by bisection on the step matrix of the engine itself.

use super::frozen::FrozenLoop;
use super::zero_stability::{feed_through, gain};
use crate::error::{Error, Result};
use crate::run::{Run, RunConfig};
use crate::system::{FilterConfig, Reach, algebraic_loops};
use serde::Serialize;

/// The chosen filter is slower than the limit by this much, for gains that grow on the way.
const MARGIN: f64 = 0.7;
/// Fastest filter that is tried, as ω H: faster ones differ from none only within a step.
const FASTEST: f64 = 20.0;
/// Slowest one.
const SLOWEST: f64 = 1e-6;

/// What `filter = "auto"` has chosen for a loop, and what that changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FilterChoice {
    /// Input at the end of the connection.
    pub to: String,
    /// Corner frequency, in rad/s.
    pub omega: f64,
    /// The largest one that is stable, in rad/s.
    pub limit: f64,
    /// Gain of the loop.
    pub gain: f64,
    /// Radius of the loop with the chosen filter.
    pub radius: f64,
    /// How long the loop, which would settle at once without a filter, takes to settle to 1/e, in s.
    pub settling: f64,
}

impl FilterChoice {
    /// What it changes in the dynamics, in words.
    pub fn words(&self) -> String {
        let delay = std::f64::consts::SQRT_2 / self.omega;
        format!(
            "filter into `{}`: PT2 with omega = {:.4} rad/s (stable up to {:.4}); it delays by {delay:.2e} s and damps signals above {:.3} Hz; the loop takes {:.2e} s to settle to 1/e: dynamics that fast are wrong, where iteration is exact",
            self.to,
            self.omega,
            self.limit,
            self.omega / std::f64::consts::TAU,
            self.settling
        )
    }
}

/// Chooses the filter of the connection into `input`, which the run has with some filter already.
pub fn choose_filter(run: &mut Run, config: &RunConfig, input: &str) -> Result<FilterChoice> {
    let graph = run.graph();
    let target = graph.find_inputs(input)?.into_iter().next().unwrap_or(0);
    let sources: Vec<usize> = graph.wires_into(target).map(|w| graph.wires()[w].source).collect();
    let loops = algebraic_loops(graph, Reach::ThroughFilters);
    let Some(l) = loops.into_iter().find(|l| sources.iter().any(|s| l.outputs.contains(s))) else {
        return Err(Error::Setting {
            what: "filter into".into(),
            value: input.into(),
            problem: "needs a number: the connection belongs to no loop, so \"auto\" cannot choose one"
                .into(),
        }
        .into());
    };
    let feed_through = feed_through(run, &l)?;
    let graph = run.graph();
    let radius = |w: f64| {
        let filter = Some(FilterConfig::pt2(w / config.step));
        FrozenLoop { graph, config, l: &l, feed_through: &feed_through, filter }.radius()
    };
    let limit = stable_limit(radius)?;
    let w = (MARGIN * limit).max(SLOWEST);
    let chosen = radius(w)?;
    Ok(FilterChoice {
        to: input.to_owned(),
        omega: w / config.step,
        limit: limit / config.step,
        gain: gain(graph, &l, &feed_through),
        radius: chosen,
        settling: -config.step / chosen.ln(),
    })
}

/// The largest ω H up to which all filters are stable: upwards by quarters from the slowest, then bisection.
fn stable_limit(radius: impl Fn(f64) -> Result<f64>) -> Result<f64> {
    let mut low = SLOWEST;
    let mut high = None;
    // From where even round-off shows whether a slow filter is stable.
    let mut w = 1e-3;
    while w < FASTEST {
        if radius(w)? >= 1.0 {
            high = Some(w);
            break;
        }
        (low, w) = (w, 1.25 * w);
    }
    let Some(mut high) = high else { return Ok(FASTEST) };
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        if radius(middle)? < 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
