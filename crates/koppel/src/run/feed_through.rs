//! How outputs follow inputs at this instant: the matrix D of each subsystem, where it stands.

use super::failure::failed;
use super::simulation::Simulation;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::system::{Dependencies, SubsystemId};
use serde::{Deserialize, Serialize};

/// Where feed-through is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
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
    pub told: Told,
}

/// By how much an input is moved, relative to its size.
const DELTA: f64 = 1e-6;

impl Simulation {
    /// D of one subsystem, with the inputs its outputs were last read with. The run is left as it was.
    pub fn feed_through(&mut self, id: SubsystemId) -> Result<FeedThrough> {
        let step = self.clock.step(self.index.min(self.clock.steps().saturating_sub(1)), 1);
        let time = self.time();
        let Simulation { graph, slots, board, .. } = self;
        let slot = &mut slots[id];
        let outputs = &graph.ports(id).outputs;
        let mut matrix = Matrix::zeros(outputs.len(), slot.inputs.len());
        if outputs.iter().all(|output| output.depends == Dependencies::None) {
            return Ok(FeedThrough { matrix, told: Told::Declared });
        }
        if slot.subsystem.is_spared() {
            return Err(Error::Unsupported {
                what: "feed-through".into(),
                reason: format!("a run makes no trials with `{}`", graph.name(id)),
            }
            .into());
        }
        let arrivals = board.read_with()[slot.inputs.clone()].iter();
        let external = |input| slot.external(graph, input, time);
        let u: Vec<f64> = arrivals.zip(slot.inputs.clone()).map(|(u, input)| u + external(input)).collect();
        let model = slot.subsystem.linearize(&u);
        let model = model.map_err(|source| failed(graph, slot, step, source))?;
        let told = match model {
            Some(model) => {
                matrix = model.d;
                Told::Derivatives
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
                Told::Probing
            }
        };
        for (i, output) in outputs.iter().enumerate() {
            for j in 0..u.len() {
                let acts = match &output.depends {
                    Dependencies::None => false,
                    Dependencies::On(list) => list.contains(&j),
                    Dependencies::Unknown => true,
                };
                if !acts {
                    matrix[(i, j)] = 0.0;
                }
            }
        }
        Ok(FeedThrough { matrix, told })
    }
}
