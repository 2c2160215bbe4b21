//! What can go wrong in linear algebra, and the checks that find it.

use super::Matrix;

/// Result of a linear-algebra function.
pub type Result<T> = std::result::Result<T, LinalgError>;

/// Why a linear-algebra function gave no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LinalgError {
    /// An argument or a result holds NaN or infinity.
    #[error("{what} holds NaN or infinity")]
    NonFinite {
        /// The argument or result.
        what: &'static str,
    },
    /// An argument has the wrong shape.
    #[error("{what} has shape {}×{}, expected {}×{}", found.0, found.1, expected.0, expected.1)]
    Shape {
        /// The argument.
        what: &'static str,
        /// Rows and columns it should have.
        expected: (usize, usize),
        /// Rows and columns it has.
        found: (usize, usize),
    },
    /// A matrix is singular to working precision.
    #[error("{what} is singular to working precision (reciprocal condition {rcond:.1e})")]
    Singular {
        /// The matrix.
        what: &'static str,
        /// Reciprocal condition number after scaling of rows and columns, or a bound of it.
        rcond: f64,
    },
    /// An iteration did not converge.
    #[error("{what} did not converge")]
    NoConvergence {
        /// The iteration.
        what: &'static str,
    },
    /// A parameter lies outside its range.
    #[error("{what} is {value}, expected {range}")]
    OutOfRange {
        /// The parameter.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The values allowed.
        range: &'static str,
    },
}

/// Refuses a matrix that is not square or not finite.
pub(super) fn check_square_finite(what: &'static str, a: &Matrix) -> Result<()> {
    if !a.is_square() {
        return Err(LinalgError::Shape { what, expected: (a.rows(), a.rows()), found: (a.rows(), a.cols()) });
    }
    check_finite(what, a)
}

/// Refuses a matrix that holds NaN or infinity.
pub(super) fn check_finite(what: &'static str, a: &Matrix) -> Result<()> {
    if a.is_finite() { Ok(()) } else { Err(LinalgError::NonFinite { what }) }
}

/// Refuses a right-hand side whose row count differs from that of the system.
pub(super) fn check_rows(what: &'static str, b: &Matrix, rows: usize) -> Result<()> {
    if b.rows() == rows {
        return Ok(());
    }
    Err(LinalgError::Shape { what, expected: (rows, b.cols()), found: (b.rows(), b.cols()) })
}

/// Refuses a parameter that is negative, NaN or infinite.
pub(super) fn check_not_negative(what: &'static str, value: f64) -> Result<()> {
    if !value.is_finite() {
        return Err(LinalgError::NonFinite { what });
    }
    if value < 0.0 {
        return Err(LinalgError::OutOfRange { what, value, range: "0 or more" });
    }
    Ok(())
}
