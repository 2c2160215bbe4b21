//! What the model-based methods share: the closed loop of all interface models, the error equation, external signals.

mod closed_loop;
mod error_equation;
mod excitation;
mod local;

pub(super) use closed_loop::{ClosedLoop, wired, wired_linear};
pub(super) use error_equation::{ErrorEquation, ErrorSettings, distance};
pub use error_equation::{ErrorEquationConfig, OdeMethod};
pub(super) use excitation::{Excitation, Response};
pub use local::Goal;
pub(super) use local::{Local, LocalSettings, Now};

use crate::coupling::View;
use crate::error::{Error, Result};
use crate::identify::ModelConfig;
use crate::system::InputId;

/// Every subsystem that is filled by the method or feeds such an input must have a model.
pub(super) fn check_models(view: &View<'_>, inputs: &[InputId], source: ModelConfig) -> Result<()> {
    for &input in inputs {
        let sources = view.graph.wires_into(input).map(|wire| view.graph.wires()[wire].from);
        for id in sources.chain([view.graph.subsystem_of_input(input)]) {
            if !view.models.is_known(id) {
                return Err(Error::Unsupported {
                    what: format!("a model-based method at `{}`", view.graph.input_name(input)),
                    reason: match source {
                        ModelConfig::Exact => format!(
                            "`{}` is not known as a linear model; use model = \"derivatives\" for a native one, {{ identify = \"rls\" }} for an FMU, or another method for this connection",
                            view.graph.name(id)
                        ),
                        ModelConfig::Given => format!(
                            "no model of `{}` is given; add it, or use another method for this connection",
                            view.graph.name(id)
                        ),
                        _ => format!(
                            "`{}` gives no derivatives; learn its model with {{ identify = \"rls\" }}, or use another method for this connection",
                            view.graph.name(id)
                        ),
                    },
                }
                .into());
            }
        }
    }
    Ok(())
}
