//! How outputs follow inputs at this instant: the matrix D of each subsystem, where it stands.

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::network::{Network, failed};
use crate::signal::Step;
use crate::system::{Dependencies, SubsystemId};
use serde::{Deserialize, Serialize};

/// Where feed-through is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// No output depends on an input directly, the subsystem declares.
    Declared,
    /// By the matrices of a linear model, or derivatives of its equations.
    Derivatives,
    /// By moving inputs a little and reading the outputs.
    Probing,
}

/// Feed-through of one subsystem.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedThrough {
    /// D: outputs by inputs.
    pub matrix: Matrix,
    /// Where it is known from.
    pub source: Source,
}

/// By how much an input is moved, relative to its size.
const DELTA: f64 = 1e-6;

/// D of one subsystem, with the inputs its outputs were last read with.
pub(super) fn feed_through(
    network: &mut Network,
    id: SubsystemId,
    time: f64,
    step: Step,
) -> Result<FeedThrough> {
    let u = network.read_inputs(id, time);
    let Network { graph, slots, .. } = network;
    let slot = &mut slots[id];
    let outputs = &graph.ports(id).outputs;
    let mut matrix = Matrix::zeros(outputs.len(), slot.inputs.len());
    if outputs.iter().all(|output| output.depends == Dependencies::None) {
        return Ok(FeedThrough { matrix, source: Source::Declared });
    }
    if slot.subsystem.capabilities().is_spared {
        return Err(Error::Unsupported {
            what: "feed-through".into(),
            reason: format!("a run makes no trials with `{}`", graph.name(id)),
        }
        .into());
    }
    let model = slot.subsystem.linearize(&u);
    let source = match model.map_err(|source| failed(graph, slot, step, source))? {
        Some(model) => {
            matrix = model.d;
            Source::Derivatives
        }
        None => {
            let mut disturbed = u.clone();
            let (mut above, mut below) = (vec![0.0; outputs.len()], vec![0.0; outputs.len()]);
            for j in 0..u.len() {
                let variable = &graph.ports(id).inputs[j];
                let size = variable.nominal.map_or(u[j].abs(), f64::abs).max(u[j].abs());
                let delta = DELTA * if size > 0.0 { size } else { 1.0 };
                let mut is_refused = false;
                for (value, out) in [(u[j] + delta, &mut above), (u[j] - delta, &mut below)] {
                    disturbed[j] = value;
                    match slot.subsystem.read(Some(&disturbed), out) {
                        // Booleans and integers cannot be moved a little.
                        Err(_) if variable.is_held => is_refused = true,
                        read => read.map_err(|source| failed(graph, slot, step, source))?,
                    }
                }
                disturbed[j] = u[j];
                for i in (0..outputs.len()).filter(|_| !is_refused) {
                    matrix[(i, j)] = (above[i] - below[i]) / (2.0 * delta);
                }
            }
            // Subsystems remember the inputs they were read with last.
            let read = slot.subsystem.read(Some(&u), &mut above);
            read.map_err(|source| failed(graph, slot, step, source))?;
            Source::Probing
        }
    };
    for (i, output) in outputs.iter().enumerate() {
        for j in 0..u.len() {
            if !output.depends.may_include(j) {
                matrix[(i, j)] = 0.0;
            }
        }
    }
    Ok(FeedThrough { matrix, source })
}
