//! What the model-based methods share: the closed loop of all interface models, the error equation,
//! external signals, the judgement of models.

mod closed_loop;
mod course;
mod error_equation;
mod excitation;
mod judgement;
mod local;

pub(super) use closed_loop::{ClosedLoop, wired, wired_linear};
pub(super) use course::{Course, CourseRoom};
pub(super) use error_equation::{ErrorEquation, ErrorSettings, distance};
pub use error_equation::{ErrorEquationConfig, OdeMethod};
pub(super) use excitation::{Excitation, Response};
pub(super) use judgement::Judgement;
pub use local::Goal;
pub(super) use local::{Local, LocalSettings, Now};

use crate::coupling::View;
use crate::error::{Error, Result, Subject};
use crate::identify::ModelConfig;
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

/// Every subsystem that is filled by the method or feeds such an input must have a model.
pub(super) fn check_models(view: &View<'_>, inputs: &[InputId], source: ModelConfig) -> Result<()> {
    for &input in inputs {
        let sources = view.graph.wires_into(input).map(|wire| view.graph.wires()[wire].from);
        for id in sources.chain([view.graph.subsystem_of_input(input)]) {
            if !view.models.is_known(id) {
                let at = view.graph.input_name(input);
                return Err(Error::Unsupported {
                    what: Subject::named(&at, format!("a model-based method at `{at}`")),
                    reason: match source {
                        ModelConfig::Exact => format!(
                            "`{}` is not known as a linear model; use model = \"derivatives\", {{ identify = \"rls\" }}, or another method for this connection",
                            view.graph.name(id)
                        ),
                        ModelConfig::Given => format!(
                            "no model of `{}` is given; add it to the file of `model = {{ file = \"models.toml\" }}`, or use another method for this connection",
                            view.graph.name(id)
                        ),
                        _ => format!(
                            "`{}` {}; learn its model with {{ identify = \"rls\" }}, or use another method for this connection",
                            view.graph.name(id),
                            view.models.lack(id).unwrap_or("gives no derivatives")
                        ),
                    },
                }
                .into());
            }
        }
    }
    Ok(())
}
