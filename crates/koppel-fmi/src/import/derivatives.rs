//! Derivatives an FMU can give: of outputs by time, and of outputs by inputs.

use super::CoSimulation;
use super::ports::Slot;
use crate::description::ValueType;
use crate::error::{Error, Result};

impl CoSimulation {
    /// Highest order of time derivatives of its outputs.
    pub fn output_derivative_order(&self) -> u32 {
        self.section().max_output_derivative_order
    }

    /// Time derivatives of this order (1 or more) of some outputs, by their places among the outputs, as the last step
    /// left them.
    pub fn output_derivatives(&self, outputs: &[usize], order: u32, values: &mut [f64]) -> Result<()> {
        assert_eq!(outputs.len(), values.len(), "one value per output");
        if order == 0 || order > self.output_derivative_order() {
            let what = format!("output derivatives of order {order}");
            return Err(Error::NotOffered { instance: self.base.name.clone(), what }.into());
        }
        let references = self.references(&self.base.slots.outputs, outputs)?;
        let orders = vec![order as i32; outputs.len()];
        self.called(self.backend.get_output_derivatives(&references, &orders, values))
    }

    /// How some outputs change when some inputs change by `seed`: `change` = J `seed`, both by their places.
    pub fn directional_derivative(
        &self,
        outputs: &[usize],
        inputs: &[usize],
        seed: &[f64],
        change: &mut [f64],
    ) -> Result<()> {
        assert!(outputs.len() == change.len() && inputs.len() == seed.len(), "one value per port");
        if !self.section().interface.provides_directional_derivatives {
            return Err(self.not_offered("directional derivatives"));
        }
        let unknowns = self.references(&self.base.slots.outputs, outputs)?;
        let knowns = self.references(&self.base.slots.inputs, inputs)?;
        self.directional(&unknowns, &knowns, seed, change)
    }

    /// How a weighted sum of some outputs changes with each of some inputs: `change`ᵀ = `seed`ᵀ J (FMI 3.0).
    pub fn adjoint_derivative(
        &self,
        outputs: &[usize],
        inputs: &[usize],
        seed: &[f64],
        change: &mut [f64],
    ) -> Result<()> {
        assert!(outputs.len() == seed.len() && inputs.len() == change.len(), "one value per port");
        if !self.section().interface.provides_adjoint_derivatives {
            return Err(self.not_offered("adjoint derivatives"));
        }
        let unknowns = self.references(&self.base.slots.outputs, outputs)?;
        let knowns = self.references(&self.base.slots.inputs, inputs)?;
        self.adjoint(&unknowns, &knowns, seed, change)
    }

    /// References of scalar ports of type `Float64`.
    fn references(&self, slots: &[Slot], places: &[usize]) -> Result<Vec<u32>> {
        let reference = |place: &usize| {
            let variable = &self.description().variables[slots[*place].variable];
            if variable.is_array() || variable.value_type != ValueType::Float64 {
                return Err(self.not_offered(&format!("derivatives of `{}`", variable.name)));
            }
            Ok(variable.value_reference)
        };
        places.iter().map(reference).collect()
    }
}
