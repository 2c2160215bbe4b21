//! Relative consistency: how far inputs are from what is connected to them, two steps after a consistent start.
//!
//!   δ = ‖(S_u - L S_y) Φ^k Φ_0^∞ R_v‖_F,     k = 2                                            (1)
//!
//! Column j is u - L y after two steps of the engine from the unit state j. Glumac & Kovacic 2018, (59); differs in: the
//! Frobenius norm and u - L y, which give the numbers printed there.

use super::linear_system::LinearSystem;
use crate::error::Result;
use crate::run::RunConfig;

/// k.
const STEPS: u64 = 2;

/// Equation (1) of a system with these settings.
pub fn consistency(system: &LinearSystem, config: &RunConfig) -> Result<f64> {
    let mut x0 = vec![0.0; system.states()];
    let mut sum = 0.0;
    for j in 0..x0.len() {
        x0[j] = 1.0;
        let mut run = system.run(config, STEPS, &x0)?;
        x0[j] = 0.0;
        (0..STEPS).try_for_each(|_| run.advance())?;
        sum += run.network().differences().map(|defect| defect * defect).sum::<f64>();
    }
    Ok(sum.sqrt())
}
