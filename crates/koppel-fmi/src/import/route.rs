//! How inputs reach the FMU inside a step.

use super::Options;
use super::ports::Slot;
use crate::description::{CoSimulation, Description, FmiVersion, ValueType, Variability, Variable};

/// The way taken, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The FMU asks for inputs inside the step.
    Intermediate,
    /// Values and derivatives up to this order at the begin of a part.
    Derivatives { order: usize },
    /// Constant inputs with the right mean.
    Substeps,
}

impl Route {
    pub(super) fn choose(
        description: &Description,
        section: &CoSimulation,
        inputs: &[Slot],
        options: &Options,
    ) -> Route {
        let mut continuous = inputs
            .iter()
            .map(|slot| &description.variables[slot.variable])
            .filter(|variable| variable.variability == Variability::Continuous);
        let takes_part = |variable: &Variable| variable.intermediate_update && is_smooth(variable);
        match description.fmi_version {
            FmiVersion::Fmi3 if section.provides_intermediate_update && continuous.all(takes_part) => {
                Route::Intermediate
            }
            FmiVersion::Fmi2 if section.can_interpolate_inputs && options.input_order > 0 => {
                Route::Derivatives { order: options.input_order }
            }
            _ => Route::Substeps,
        }
    }
}

/// Inputs that follow a polynomial inside steps.
pub(super) fn is_smooth(variable: &Variable) -> bool {
    variable.value_type == ValueType::Float64 && variable.variability == Variability::Continuous
}
