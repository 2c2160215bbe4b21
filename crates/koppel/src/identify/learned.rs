//! What has been learned of a subsystem, as plain data: with it another run starts where this one ended.

use super::{MoespConfig, RlsConfig};
use crate::error::{Error, Result, Subject};
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

    /// Refuses numbers that make no sense whatever the subsystem `name` is like.
    pub(crate) fn check(&self, name: &str) -> Result<()> {
        match self.trouble() {
            None => Ok(()),
            Some(reason) => Err(Error::Unsupported { what: starting_from(name), reason }.into()),
        }
    }

    fn trouble(&self) -> Option<String> {
        let step = self.step();
        if !(step > 0.0 && step.is_finite()) {
            return Some(format!("its step is {step} s"));
        }
        let settings = match self {
            Learned::Rls(learned) => learned.config(RlsConfig::default()).check(),
            Learned::Moesp(learned) => learned.config().check_limits(),
        };
        if let Err(error) = settings {
            return Some(error.to_string());
        }
        let is_finite = match self {
            Learned::Rls(LearnedRls { parameters, covariance, .. }) => {
                parameters.iter().flatten().all(|p| p.is_finite()) && covariance.iter().all(Matrix::is_finite)
            }
            Learned::Moesp(learned) => learned.factor.is_finite(),
        };
        (!is_finite).then(|| "some of its numbers are not finite".to_owned())
    }

    /// Inputs and outputs of the subsystem it was learned from; `None` if the numbers contradict each other.
    pub fn ports(&self) -> Option<(usize, usize)> {
        match self {
            Learned::Rls(LearnedRls { outputs, inputs, parameters, covariance, .. }) => {
                let least = outputs.checked_add(1)?;
                let count = parameters.first().map_or(least, Vec::len);
                let given = count.checked_sub(least)?;
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

    /// Inputs and outputs together, where the data do not tell them apart; `None` if the numbers contradict each other.
    pub(crate) fn signals(&self) -> Option<usize> {
        match self {
            Learned::Rls(_) => None,
            Learned::Moesp(LearnedMoesp { rows, factor, .. }) => {
                let columns = factor.cols().checked_sub(1)?;
                let is_whole = *rows > 0 && columns.is_multiple_of(*rows) && factor.rows() == factor.cols();
                is_whole.then(|| columns / rows)
            }
        }
    }
}

/// What a refusal is about.
pub(super) fn starting_from(name: &str) -> Subject {
    Subject::named(name, format!("starting from the learned model of `{name}`"))
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

#[cfg(test)]
mod tests {
    use super::super::{Identifier, IdentifyConfig};
    use super::*;

    fn refused(config: IdentifyConfig, learned: Learned) -> String {
        Identifier::new(config, "s", (1, 1), 0.1, Some(&learned)).unwrap_err().to_string()
    }

    #[test]
    fn numbers_of_a_file_are_looked_at() {
        let good = LearnedRls {
            step: 0.1,
            outputs: 1,
            inputs: 1,
            parameters: vec![vec![0.5, 0.5, 0.0]],
            covariance: vec![Matrix::identity(3)],
        };
        let rls = IdentifyConfig::Rls(RlsConfig::default());
        assert!(Identifier::new(rls, "s", (1, 1), 0.1, Some(&Learned::Rls(good.clone()))).is_ok());
        for step in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            let message = refused(rls, Learned::Rls(LearnedRls { step, ..good.clone() }));
            assert!(message.contains("its step is"), "{message}");
        }
        let parameters = vec![vec![0.5, f64::NAN, 0.0]];
        let message = refused(rls, Learned::Rls(LearnedRls { parameters, ..good.clone() }));
        assert!(message.contains("not finite"), "{message}");
        for outputs in [usize::MAX, 1 << 40] {
            let message = refused(rls, Learned::Rls(LearnedRls { outputs, ..good.clone() }));
            assert!(message.contains("at most"), "{message}");
        }
    }

    #[test]
    fn data_of_another_subsystem_say_so() {
        let moesp = MoespConfig { order: Some(1), window: 60, rows: Some(3) };
        let factor = Matrix::identity(1 + 3 * 5);
        let learned = LearnedMoesp { step: 0.1, order: Some(1), window: 60, rows: 3, factor };
        let message = refused(IdentifyConfig::Moesp(moesp), Learned::Moesp(learned.clone()));
        assert!(message.contains("5 inputs and outputs together"), "{message}");
        let message = refused(
            IdentifyConfig::Moesp(moesp),
            Learned::Moesp(LearnedMoesp { rows: usize::MAX, ..learned }),
        );
        assert!(message.contains("at most"), "{message}");
    }
}
