//! What the model-based methods share: the closed loop of all interface models, the error equation,
//! external signals, the judgement of models.

mod closed_loop;
mod error_equation;
mod excitation;
mod judgement;
mod known_models;
mod local;
mod transition;

pub(super) use closed_loop::{ClosedLoop, wired, wired_linear};
pub use error_equation::ErrorEquationConfig;
pub(super) use error_equation::{ErrorSettings, distance};
pub(super) use excitation::{Excitation, Response};
pub(super) use known_models::KnownModels;
pub(super) use local::{Local, LocalSettings, Now};

use crate::coupling::View;
use crate::system::InputId;

/// Inputs that step 3 may choose: filled by the method, with a source that has not moved.
pub(super) fn free_inputs(view: &View<'_>, owned: &[InputId]) -> Vec<bool> {
    let mut is_free = vec![false; view.graph.inputs()];
    for &input in owned {
        let own = view.stages[view.graph.subsystem_of_input(input)];
        let mut wires = view.graph.wires_into(input);
        is_free[input] = wires.any(|wire| view.stages[view.graph.wires()[wire].from] >= own);
    }
    is_free
}
