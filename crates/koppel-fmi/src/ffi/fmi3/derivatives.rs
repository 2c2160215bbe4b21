//! Derivatives of unknowns by knowns.

use super::Instance;
use crate::ffi::CallError;
use crate::ffi::twins::{call, function};

/// A call that multiplies a list with the Jacobian of the unknowns by the knowns.
macro_rules! product {
    ($(#[$about:meta] $method:ident $field:ident $symbol:literal;)*) => {$(
        #[$about]
        pub fn $method(
            &self,
            unknowns: &[u32],
            knowns: &[u32],
            seed: &[f64],
            change: &mut [f64],
        ) -> Result<(), CallError> {
            let get = function!(self, $field, $symbol);
            let (of, by, from) = (unknowns.as_ptr(), knowns.as_ptr(), seed.as_ptr());
            let (n, m, seeds, changes) = (unknowns.len(), knowns.len(), seed.len(), change.len());
            call!(self, $symbol, get, of, n, by, m, from, seeds, change.as_mut_ptr(), changes)
        }
    )*};
}

impl Instance {
    product! {
        /// `fmi3GetDirectionalDerivative`: `change` of the unknowns for a change `seed` of the knowns.
        directional_derivative get_directional_derivative "fmi3GetDirectionalDerivative";
        /// `fmi3GetAdjointDerivative`: `change`ᵀ = `seed`ᵀ J, where J is the Jacobian of the unknowns by the knowns.
        adjoint_derivative get_adjoint_derivative "fmi3GetAdjointDerivative";
    }
}
