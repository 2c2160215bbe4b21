//! What has been learned of a subsystem, as plain data: with it another run starts where this one ended.

use super::{MoespConfig, RlsConfig};
use crate::linalg::Matrix;
use serde::{Deserialize, Serialize};

/// What has been learned of one subsystem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "identify", rename_all = "kebab-case")]
pub enum Learned {
    /// By recursive least squares.
    Rls(LearnedRls),
    /// By MOESP.
    Moesp(LearnedMoesp),
}

/// Parameters of recursive least squares and how sure they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedRls {
    /// The step it belongs to, s.
    pub step: f64,
    /// N: past outputs.
    #[serde(rename = "N")]
    pub outputs: usize,
    /// M: inputs of this and past steps.
    #[serde(rename = "M")]
    pub inputs: usize,
    /// p of each output: a_1 .. a_N, then b_1 .. b_M of each input, then c.
    pub parameters: Vec<Vec<f64>>,
    /// P of each output.
    pub covariance: Vec<Matrix>,
}

/// The data of MOESP, condensed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedMoesp {
    /// The step it belongs to, s.
    pub step: f64,
    /// Order, if it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<usize>,
    /// Samples in the window.
    pub window: usize,
    /// Block rows.
    pub rows: usize,
    /// Triangular factor of the data in the window: 1, then inputs, then outputs, each oldest sample first.
    pub factor: Matrix,
}

impl Learned {
    /// The step it belongs to, s.
    pub fn step(&self) -> f64 {
        match self {
            Learned::Rls(learned) => learned.step,
            Learned::Moesp(learned) => learned.step,
        }
    }

    /// Inputs and outputs of the subsystem it was learned from; `None` if the numbers contradict each other.
    pub fn ports(&self) -> Option<(usize, usize)> {
        match self {
            Learned::Rls(LearnedRls { outputs, inputs, parameters, covariance, .. }) => {
                let count = parameters.first().map_or(outputs + 1, Vec::len);
                let given = count.checked_sub(outputs + 1)?;
                let ports =
                    if *inputs > 0 && given.is_multiple_of(*inputs) { given / inputs } else { return None };
                let is_square = |p: &Matrix| p.rows() == count && p.cols() == count;
                let fits = parameters.iter().all(|p| p.len() == count)
                    && covariance.len() == parameters.len()
                    && covariance.iter().all(is_square);
                fits.then_some((ports, parameters.len()))
            }
            Learned::Moesp(_) => None,
        }
    }
}

impl LearnedRls {
    /// Settings of the recursion, with its own N and M.
    pub(crate) fn config(&self, others: RlsConfig) -> RlsConfig {
        RlsConfig { outputs: self.outputs, inputs: self.inputs, ..others }
    }
}

impl LearnedMoesp {
    /// Settings with which the data were taken.
    pub(crate) fn config(&self) -> MoespConfig {
        MoespConfig { order: self.order, window: self.window, rows: Some(self.rows) }
    }
}
