//! The plain step: reals in, constant over the step, reals out, and nothing asked in between.
//!
//! Most steps of most runs are plain, and a cheap FMU computes for less time than a careful layer spends around it: so
//! this path is three calls of the FMU and as little memory as possible.

use super::access::{Access, Backend};
use crate::ffi::Interruption;
use koppel::signal::Step;

/// Value references of an FMU whose inputs and outputs are all reals.
pub(super) struct Plain {
    inputs: Box<[u32]>,
    outputs: Box<[u32]>,
}

impl Plain {
    /// `None` if there are other types among the ports, or arrays.
    pub(super) fn new(inputs: &Access, outputs: &Access) -> Option<Plain> {
        Some(Plain { inputs: inputs.only_reals()?.into(), outputs: outputs.only_reals()?.into() })
    }

    /// Sets the inputs, steps and gets the outputs.
    #[inline]
    pub(super) fn step(
        &self,
        on: &Backend,
        step: &Step,
        inputs: &[f64],
        outputs: &mut [f64],
    ) -> Result<(), Box<Interruption>> {
        let (set, get) = ((&*self.inputs, inputs), (&*self.outputs, outputs));
        match on {
            Backend::Two(instance) => instance.plain_step(step.start, step.size, set, get),
            Backend::Three(instance) => instance.plain_step(step.start, step.size, set, get),
        }
    }
}
