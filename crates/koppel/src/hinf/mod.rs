//! Compensators by H∞ synthesis.
//!
//! A value that is sampled every H and held arrives late. A compensator K1 before the sampling and a smoother K2 after
//! the hold make up for it:
//!
//!   y ─ K1 ─ sample, hold H* ─ K2 ─ u,      minimise ‖W (1 - K2 H* K1)‖∞                   (1)
//!
//! | symbol | meaning                                                   | here                          |
//! | H*     | the hold divided by H, its delays as Padé fractions       | [`HoldOrder`]                 |
//! | K2     | Butterworth low-pass                                      | `smoother_*`                  |
//! | W      | Butterworth low-pass: where the error counts              | `weight_*`                    |
//! | disc   | poles λ of K1 obey \|1 + disc λ\| < 1                     | `disc`                        |
//! | γ      | the norm that is reached                                  | [`Design::gamma`]             |
//!
//! Chen et al. 2021, 3. Differs from the paper in: the solution is closed ([`synthesis`]), not that of a semidefinite
//! program.

mod cache;
mod design;
mod specification;
mod synthesis;
mod zpk;

pub use cache::designed;
pub use design::Design;
pub use specification::{HoldOrder, Specification};
pub use zpk::Zpk;
