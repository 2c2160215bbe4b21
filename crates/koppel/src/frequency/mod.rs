//! Couplings seen as filters: what they do to a signal of one frequency, and whether a loop stands it.
//!
//! A signal-based method turns y into u = (1 + φ) y, of low frequency at least: what folds down from above 1/(2H) is left
//! out. φ is the coupling error ([`transfer`]), and two linear subsystems that exchange values form the loop
//! -(1 + φ)² Q1 Q2 ([`Interface`]). Chen et al. 2021, 2 and 3.3.

mod between;
mod interface;
mod methods;
mod response;

pub use interface::{Interface, Taker, Verdict};
pub use methods::{error_table, transfer};
pub use response::{ComplexMatrix, response};
