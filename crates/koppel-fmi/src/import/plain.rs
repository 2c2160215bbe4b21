//! The plain step: reals in, constant over the step, reals out, and nothing asked in between.
//!
//! Most steps of most runs are plain, and a cheap FMU computes for less time than a careful layer spends around it: so
//! this path is three calls of the FMU and as little memory as possible.

use super::access::{Access, Backend};
use crate::ffi::Interruption;

/// Value references of an FMU whose inputs and outputs are all reals.
pub(super) struct Plain {
    /// Inputs, then outputs.
    references: Box<[u32]>,
    inputs: usize,
}

impl Plain {
    /// `None` if there are other types among the ports, or arrays.
    pub(super) fn new(inputs: &Access, outputs: &Access) -> Option<Plain> {
        let (inputs, outputs) = (inputs.only_reals()?, outputs.only_reals()?);
        Some(Plain { references: [inputs, outputs].concat().into(), inputs: inputs.len() })
    }

    /// Sets the inputs, steps and gets the outputs.
    #[inline]
    pub(super) fn step(
        &self,
        on: &Backend,
        time: f64,
        size: f64,
        inputs: &[f64],
        outputs: &mut [f64],
    ) -> Result<(), Box<Interruption>> {
        let (set, get) = self.references.split_at(self.inputs);
        match on {
            Backend::Two(instance) => instance.plain_step(time, size, (set, inputs), (get, outputs)),
            Backend::Three(instance) => instance.plain_step(time, size, (set, inputs), (get, outputs)),
        }
    }
}
