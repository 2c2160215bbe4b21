//! A model that is given with the settings, as from a file.

use super::InterfaceModel;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::system::StateSpace;
use serde::{Deserialize, Serialize};

/// A model of one subsystem in continuous time, written by hand or by an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GivenModel {
    /// x' = A x + B u, y = C x + D u.
    StateSpace(GivenStateSpace),
    /// y' = S_y y + S_u u + S_d u' + c.
    Interface(GivenInterface),
}

/// A state-space model; D is zero if it is not given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the letters are those of the equation")]
pub struct GivenStateSpace {
    #[serde(rename = "A")]
    pub a: Matrix,
    #[serde(rename = "B")]
    pub b: Matrix,
    #[serde(rename = "C")]
    pub c: Matrix,
    #[serde(rename = "D", default, skip_serializing_if = "Option::is_none")]
    pub d: Option<Matrix>,
}

/// An interface model; S_d and c are zero if they are not given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the letters are those of the equation")]
pub struct GivenInterface {
    #[serde(rename = "S_y")]
    pub s_y: Matrix,
    #[serde(rename = "S_u")]
    pub s_u: Matrix,
    #[serde(rename = "S_d", default, skip_serializing_if = "Option::is_none")]
    pub s_d: Option<Matrix>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub c: Vec<f64>,
}

impl GivenModel {
    /// Matrices for a subsystem with so many inputs and outputs, and c; refused with the matrix and its size if they do not fit.
    pub fn matrices(&self, name: &str, inputs: usize, outputs: usize) -> Result<(StateSpace, Vec<f64>)> {
        let shape = |matrix: &'static str, found: &Matrix, rows: usize, cols: usize, reason: &'static str| {
            // A matrix without rows has lost its columns on the way through a file.
            let fits = found.rows() == rows && (found.cols() == cols || rows == 0);
            if fits {
                return Ok(if rows == 0 { Matrix::zeros(rows, cols) } else { found.clone() });
            }
            Err(Box::new(Error::MatrixShape {
                subsystem: name.into(),
                matrix,
                found_rows: found.rows(),
                found_cols: found.cols(),
                rows,
                cols,
                reason,
            }))
        };
        let none = || Matrix::zeros(outputs, inputs);
        match self {
            GivenModel::StateSpace(GivenStateSpace { a, b, c, d }) => {
                let n = a.rows();
                let a = shape("A", a, n, n, "states by states")?;
                let b = shape("B", b, n, inputs, "states by inputs of the subsystem")?;
                let c = if n == 0 {
                    Matrix::zeros(outputs, 0)
                } else {
                    shape("C", c, outputs, n, "outputs of the subsystem by states")?
                };
                let d = d.as_ref().map_or_else(
                    || Ok(none()),
                    |d| shape("D", d, outputs, inputs, "outputs by inputs of the subsystem"),
                )?;
                Ok((StateSpace { a, b, c, d }, vec![0.0; outputs]))
            }
            GivenModel::Interface(GivenInterface { s_y, s_u, s_d, c }) => {
                let s_y = shape("S_y", s_y, outputs, outputs, "outputs by outputs of the subsystem")?;
                let s_u = shape("S_u", s_u, outputs, inputs, "outputs by inputs of the subsystem")?;
                let s_d = s_d.as_ref().map_or_else(
                    || Ok(none()),
                    |s_d| shape("S_d", s_d, outputs, inputs, "outputs by inputs of the subsystem"),
                )?;
                let constant = if c.is_empty() { vec![0.0; outputs] } else { c.clone() };
                if constant.len() != outputs {
                    let (matrix, reason) = ("c", "one value for each output of the subsystem");
                    let (found_rows, found_cols, rows, cols) = (1, constant.len(), 1, outputs);
                    let subsystem = name.into();
                    return Err(Error::MatrixShape {
                        subsystem,
                        matrix,
                        found_rows,
                        found_cols,
                        rows,
                        cols,
                        reason,
                    }
                    .into());
                }
                let model = InterfaceModel { s_y, s_u, s_d, constant };
                Ok((model.state_space(), model.constant))
            }
        }
    }
}

impl From<&InterfaceModel> for GivenModel {
    fn from(model: &InterfaceModel) -> Self {
        GivenModel::Interface(GivenInterface {
            s_y: model.s_y.clone(),
            s_u: model.s_u.clone(),
            s_d: (model.s_d.max_abs() > 0.0).then(|| model.s_d.clone()),
            c: model.constant.clone(),
        })
    }
}
