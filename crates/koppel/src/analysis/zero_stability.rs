//! Zero-stability: whether disturbances of a loop die out, however small the step.
//!
//! It is the spectral radius of the step matrix with the states frozen, for the hold, schedule, reading and iteration of the run,
//! loop by loop (a loop is a strongly connected component of the feed-through graph: cycles that share a member are judged
//! together). For constant extrapolation, all subsystems in parallel and stale reading it is ρ(D L), Kübler & Schiehlen 2000, (16). With
//! filters, which change with the step, it is the radius at the run's step.

use super::frozen::FrozenLoop;
use super::linear_system::LinearSystem;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, spectral_radius};
use crate::run::{Reading, Run, RunConfig};
use crate::system::{AlgebraicLoop, Reach, SystemGraph, algebraic_loops};
use serde::Serialize;

/// A radius up to this is round-off of one that is 1.
const ONE: f64 = 1.0 + 1e-6;

/// Most outputs of a loop whose step matrix is made: its eigenvalues take a second or so.
const LARGEST: usize = 200;

/// One loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoopStability {
    /// A way round it, port by port.
    pub path: String,
    /// Its subsystems.
    pub members: Vec<String>,
    /// ρ(D L): by how much one evaluation after the other multiplies a disturbance.
    pub gain: f64,
    /// By how much the run multiplies a disturbance from one communication point to the next; not known if the loop could not be
    /// driven.
    pub radius: Option<f64>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// True if filters break it.
    pub is_filtered: bool,
    /// True if the radius is at most 1.
    pub is_stable: bool,
}

/// All loops at one instant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZeroStability {
    /// When.
    pub time: f64,
    /// True if all loops are.
    pub zero_stable: bool,
    /// The largest radius; 0 without loops.
    pub zero_stability_radius: f64,
    /// Loop by loop.
    pub loops: Vec<LoopStability>,
}

impl ZeroStability {
    /// An error with the worst loop and the ways out, if one is known to be unstable.
    pub fn refuse_unstable(&self, config: &RunConfig) -> Result<()> {
        let judged = self.loops.iter().filter_map(|l| Some((l, l.radius?)));
        let unstable = judged.filter(|(_, radius)| *radius > ONE);
        let Some((worst, radius)) = unstable.max_by(|a, b| a.1.total_cmp(&b.1)) else { return Ok(()) };
        Err(Error::NotZeroStable {
            path: worst.path.clone(),
            radius,
            time: self.time,
            ways: ways_out(worst, config),
        }
        .into())
    }
}

/// Judges all loops where the run stands now. The run is left as it was.
pub fn zero_stability(run: &mut Run, config: &RunConfig) -> ZeroStability {
    let loops = algebraic_loops(run.graph(), Reach::ThroughFilters);
    let loops: Vec<LoopStability> = loops.iter().map(|l| judge(run, config, l)).collect();
    ZeroStability {
        time: run.time(),
        zero_stable: loops.iter().all(|l| l.is_stable),
        zero_stability_radius: loops.iter().filter_map(|l| l.radius).fold(0.0, f64::max),
        loops,
    }
}

/// Why a run of the system with these settings would be refused: a loop that is not zero-stable, in words.
pub(super) fn refusal(system: &LinearSystem, config: &RunConfig) -> Option<String> {
    for l in algebraic_loops(&system.graph, Reach::ThroughFilters) {
        let feed_through: Vec<Matrix> =
            l.members.iter().map(|id| system.parts[*id].matrices.d.clone()).collect();
        // A loop that cannot be judged is not refused.
        let Ok(radius) = radius(&system.graph, config, &l, &feed_through) else { continue };
        if radius > ONE {
            let path = l.path(&system.graph);
            return Some(format!(
                "`run` refuses it: the loop {path} is not zero-stable (radius {radius:.4})"
            ));
        }
    }
    None
}

fn judge(run: &mut Run, config: &RunConfig, l: &AlgebraicLoop) -> LoopStability {
    let found = feed_through(run, l);
    let graph = run.graph();
    let gain = found.as_ref().map_or(f64::NAN, |d| gain(graph, l, d));
    let (radius, problem) = match found.and_then(|d| radius(graph, config, l, &d)) {
        Ok(radius) => (Some(radius), None),
        Err(error) => (None, Some(error.to_string())),
    };
    LoopStability {
        path: l.path(graph),
        members: l.members.iter().map(|id| graph.name(*id).to_owned()).collect(),
        gain,
        is_stable: radius.is_some_and(|radius| radius <= ONE),
        radius,
        problem,
        is_filtered: is_filtered(graph, l),
    }
}

fn radius(graph: &SystemGraph, config: &RunConfig, l: &AlgebraicLoop, d: &[Matrix]) -> Result<f64> {
    if l.outputs.len() > LARGEST {
        let is_solved = config.reading == Reading::Fresh || config.iteration.is_some();
        return match is_solved && !is_filtered(graph, l) {
            true => Ok(0.0),
            false => Err(Error::Unsupported {
                what: "judging this loop".into(),
                reason: format!("it has {} outputs; up to {LARGEST} are judged", l.outputs.len()),
            }
            .into()),
        };
    }
    FrozenLoop { graph, config, l, feed_through: d, filter: None }.radius()
}

fn is_filtered(graph: &SystemGraph, l: &AlgebraicLoop) -> bool {
    l.outputs.iter().any(|o| graph.output_variable(*o).filtered.is_some())
}

/// D of the members of a loop.
pub(super) fn feed_through(run: &mut Run, l: &AlgebraicLoop) -> Result<Vec<Matrix>> {
    l.members.iter().map(|id| Ok(run.workbench().feed_through(*id)?.matrix)).collect()
}

/// ρ(D L) of the loop, as if filters let everything through.
pub(super) fn gain(graph: &SystemGraph, l: &AlgebraicLoop, feed_through: &[Matrix]) -> f64 {
    let row = |output: usize| {
        let first = graph.outputs_of(graph.subsystem_of_output(output)).start;
        graph.output_variable(output).filtered.as_ref().map_or(output - first, |f| f.of)
    };
    let mut gains = Matrix::zeros(l.outputs.len(), l.outputs.len());
    for (i, &output) in l.outputs.iter().enumerate() {
        let id = graph.subsystem_of_output(output);
        let Some(member) = l.members.iter().position(|other| *other == id) else { continue };
        for (place, input) in graph.inputs_of(id).enumerate() {
            for w in graph.wires_into(input) {
                let wire = graph.wires()[w];
                if let Ok(j) = l.outputs.binary_search(&wire.source) {
                    gains[(i, j)] += wire.gain * feed_through[member][(row(output), place)];
                }
            }
        }
    }
    spectral_radius(&gains).unwrap_or(f64::NAN)
}

/// What the user can do about a loop that is not zero-stable.
fn ways_out(l: &LoopStability, config: &RunConfig) -> Vec<String> {
    let mut ways = Vec::new();
    if l.is_filtered {
        ways.push("use a slower filter (smaller `omega`) or filter = \"auto\"".into());
    } else {
        if config.iteration.is_none() {
            ways.push("iterate: iteration = { kind = \"outputs\" } below [run]".into());
        }
        if config.reading == Reading::Stale {
            ways.push("solve the loop at each communication point: reading = \"fresh\"".into());
        }
        ways.push("break the loop: filter = \"auto\" on one of its connections".into());
        ways.push("reverse the causality, so that one member has no feed-through".into());
        if l.gain < 1.0 {
            ways.push("use another hold: coupling = \"zoh\" with schedule = \"parallel\" multiplies by no more than the loop's gain".into());
        }
    }
    ways.push("--accept-unstable runs it anyway (accept_unstable = true in a study, True in Python)".into());
    ways
}
