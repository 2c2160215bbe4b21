//! `documentation/` of an FMU: a page with its variables, and the licences of koppel.

use super::{Content, Export, plain};
use crate::interface::{Role, Variable};
use koppel_fmi::xml::escape_text;
use std::fmt::Write;

pub(super) const LICENSE: &str =
    concat!(include_str!("../../../../LICENSE-MIT"), "\n\n", include_str!("../../../../LICENSE-APACHE"));

pub(super) fn page(export: &Export) -> String {
    let what = match &export.content {
        Content::Model(model) => {
            format!("The model <code>{}</code>, solver: {}.", escaped(&model.name), model.solver)
        }
        Content::Subsystem {} => format!(
            "The subsystem <code>{}</code> of a system. Its equations, parameters and solver are in <code>resources/system.toml</code>.",
            escaped(&export.name)
        ),
        Content::System {} => format!(
            "A whole system with its coupling inside; its communication step is {} s. All its settings are in <code>resources/system.toml</code>.",
            export.experiment.step.unwrap_or_default()
        ),
    };
    let mut rows = String::new();
    for variable in &export.interface.variables {
        let _ = writeln!(rows, "{}", row(variable));
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{name}</title>\n\
         <h1>{name}</h1>\n<p>{about}</p>\n<p>{what} Made by koppel {version}.</p>\n\
         <table>\n<tr><th>variable<th>part<th>unit<th>start<th>meaning\n{rows}</table>\n</html>\n",
        name = escaped(&export.name),
        about = escaped(&export.description),
        version = env!("CARGO_PKG_VERSION"),
    )
}

fn row(variable: &Variable) -> String {
    let part = match variable.role {
        Role::Time => "time",
        Role::Input(_) => "input",
        Role::Output(_) => "output",
        Role::Parameter(_) => "parameter",
        Role::Local(_) => "local",
        Role::Derivative(_) => "derivative",
        Role::Indicator(_) => "event indicator",
    };
    let start = match variable.role {
        Role::Input(_) | Role::Parameter(_) => variable.start.to_string(),
        _ => String::new(),
    };
    let unit = variable.unit.as_deref().unwrap_or_default();
    let cells = [&variable.name, part, unit, &start, &variable.description];
    cells.iter().fold("<tr>".to_owned(), |row, cell| row + "<td>" + &escaped(cell))
}

/// Text that stands for itself in HTML.
fn escaped(text: &str) -> String {
    escape_text(&plain(text)).replace('"', "&quot;")
}
