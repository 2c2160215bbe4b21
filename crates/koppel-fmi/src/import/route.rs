//! How inputs reach the FMU inside a step.
//!
//! An FMU that refuses the first call by which it is given what it declares to take (tools declare what their library only
//! has as an empty function) is driven without from then on, with a warning. By the letter of the standard an instance is
//! lost after an error; one that is will say so in the next call.

use super::feed::Feed;
use super::ports::Slot;
use super::{Base, Options};
use crate::description::{
    CoSimulation as Section, Description, FmiVersion, ValueType, Variability, Variable,
};
use crate::error::Result;
use crate::ffi::{CallError, Status};

/// The way taken, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The FMU asks for inputs inside the step.
    Intermediate,
    /// Values and derivatives up to this order at the start of a part.
    Derivatives { order: usize },
    /// Constant inputs with the right mean.
    Substeps,
}

impl Route {
    pub(super) fn choose(
        description: &Description,
        section: &Section,
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

/// What an FMU has shown to take of moving inputs.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Highest order of derivatives; 1 for values inside a step.
    order: usize,
    /// What it refused just now.
    refused: Option<CallError>,
    /// What it refused last, in words.
    reported: Option<String>,
}

impl Taken {
    /// Notes what came of giving it derivatives of an order, or values inside a step. A first refusal is kept, for
    /// [`Feed::do_without`], if the FMU may still be of use.
    #[inline]
    pub(super) fn note(&mut self, order: usize, given: Result<(), CallError>) -> Result<(), CallError> {
        match given {
            Ok(()) => self.order = self.order.max(order),
            Err(why) if self.order < order && is_harmless(&why) => self.refused = Some(why),
            Err(why) => return Err(why),
        }
        Ok(())
    }

    /// True if something was refused just now.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }
}

fn is_harmless(why: &CallError) -> bool {
    matches!(
        why,
        CallError::Missing { .. } | CallError::Status { status: Status::Discard | Status::Error, .. }
    )
}

impl Feed {
    /// Takes another route if the FMU has just refused this one; false if it has not. `is_bound`: steps of one size have begun.
    pub(super) fn do_without(&mut self, base: &mut Base, is_bound: bool, time: f64) -> bool {
        let Some(why) = self.taken.refused.take() else { return false };
        let why = why.headline();
        let (declared, kept) = match self.route {
            Route::Intermediate => {
                ("values of inputs inside steps", "; this step kept the values of its start")
            }
            _ => ("derivatives of inputs", ""),
        };
        // Those cannot be divided any more.
        if is_bound {
            base.options.substeps = 1;
        }
        self.route = match self.route {
            Route::Derivatives { .. } if self.taken.order > 0 => {
                Route::Derivatives { order: self.taken.order }
            }
            _ => Route::Substeps,
        };
        self.is_known = false;
        let parts = base.options.substeps.max(1);
        let instead = match self.route {
            Route::Derivatives { order } => format!("order {order} at most, in {parts} sub-steps"),
            _ => format!("means over {parts} sub-steps"),
        };
        let text = format!(
            "`{}` declares that it accepts {declared}, but {why}; it gets {instead} instead{kept}",
            base.fmu.path().display()
        );
        self.taken.reported = Some(why.to_owned());
        base.warn(time, text);
        true
    }

    /// What the FMU refused to take though it declares it.
    pub(super) fn refused(&self) -> Option<&str> {
        self.taken.reported.as_deref()
    }
}

/// Inputs that follow a polynomial inside steps.
pub(super) fn is_smooth(variable: &Variable) -> bool {
    variable.value_type == ValueType::Float64 && variable.variability == Variability::Continuous
}
