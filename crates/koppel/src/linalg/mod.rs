//! Dense linear algebra for small systems: the one matrix type, its exponential and its
//! decompositions.
//!
//! Every function that can meet bad numbers returns a [`LinalgError`]; NaN and infinity are
//! refused at the door, so no iteration below ever runs on them. A shape that is wrong by the
//! caller's own doing in an operator (`&a * &b`) is a bug and panics.
//!
//! Nothing here starts a thread: equal input gives equal bits.

mod balance;
mod cholesky;
mod complex;
mod eigen;
mod error;
mod expm;
mod irreducible;
mod logm;
mod lu;
mod matrix;
mod ops;
mod phi;
mod pinv;
mod rotation;
mod sparse;
mod svd;

pub use balance::{Balanced, balance};
pub(crate) use cholesky::{factor as cholesky_factor, fast_dot, solve as cholesky_solve};
pub use eigen::{Complex, SymmetricEigen, eigenvalues, spectral_abscissa, spectral_radius, symmetric_eigen};
pub use error::{LinalgError, Result};
pub use expm::expm;
pub(crate) use irreducible::{block, components, strongly_connected};
pub use logm::logm;
pub use lu::{Lu, inverse, solve};
pub use matrix::Matrix;
pub(crate) use ops::dot;
pub(crate) use phi::Integrals;
pub use phi::{exponential_integral, exponential_integrals};
pub(crate) use pinv::PseudoInverse;
pub use pinv::pinv;
pub(crate) use rotation::{orthogonalizing, turn, two_rows};
pub(crate) use sparse::SparseLu;
pub use svd::{Svd, default_cutoff, least_squares, rank, svd};
