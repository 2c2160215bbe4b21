//! `koppel fmu`.

use std::path::Path;

use koppel_fmi::Fmu;
use koppel_fmi::description::{Description, Interface, Variable};

use super::fmu_export;
use crate::arguments::FmuCommand;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::{Grid, print};

/// Does what was asked of an FMU.
pub(super) fn fmu(command: &FmuCommand) -> Result<Exit> {
    match command {
        FmuCommand::Info { file } => info(file),
        FmuCommand::Export(arguments) => fmu_export::export(arguments),
    }
}

/// What the FMU declares; nothing of it is run.
fn info(file: &Path) -> Result<Exit> {
    let fmu =
        Fmu::open(file).map_err(|error| Failure::Words { message: error.to_string(), hint: error.hint() })?;
    let description = fmu.description();
    let mut facts = Grid::new(&["", ""]);
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            facts.row([name.into(), value]);
        }
    };
    fact("model", description.model_name.clone());
    fact("about", description.description.clone().unwrap_or_default());
    fact("FMI version", description.fmi_version_text.clone());
    fact("made by", description.generation_tool.clone().unwrap_or_default());
    fact("platforms", fmu.platforms().join(", "));
    fact("co-simulation", co_simulation(description));
    fact(
        "model exchange",
        description.model_exchange.as_ref().map(|m| flags(&m.interface).join(", ")).unwrap_or_default(),
    );
    if let Some(experiment) = &description.default_experiment {
        fact("default stop", experiment.stop_time.map(|t| format!("{t} s")).unwrap_or_default());
        fact("default step", experiment.step_size.map(|t| format!("{t} s")).unwrap_or_default());
    }
    let mut variables = Grid::new(&["variable", "causality", "type", "unit", "meaning"]);
    for variable in &description.variables {
        variables.row(row(variable));
    }
    let warnings: String =
        description.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    let facts = facts.whole();
    // The first line is the empty header.
    let facts = facts.split_once('\n').map_or("", |(_, rest)| rest);
    print(&format!("{facts}\n{}{warnings}", variables.whole()))?;
    Ok(Exit::Ok)
}

fn co_simulation(description: &Description) -> String {
    let Some(section) = &description.co_simulation else { return "no".into() };
    let mut list = flags(&section.interface);
    let more = [
        (section.can_handle_variable_communication_step_size, "variable step"),
        (section.can_interpolate_inputs, "input derivatives"),
        (section.provides_intermediate_update, "intermediate update"),
        (section.has_event_mode, "event mode"),
        (section.might_return_early_from_do_step, "may return early"),
    ];
    list.extend(more.iter().filter(|(has, _)| *has).map(|(_, name)| *name));
    if list.is_empty() { "yes".into() } else { list.join(", ") }
}

/// What an interface declares.
fn flags(interface: &Interface) -> Vec<&'static str> {
    let all = [
        (interface.can_get_and_set_fmu_state, "saves its state"),
        (interface.can_serialize_fmu_state, "state as bytes"),
        (interface.provides_directional_derivatives, "directional derivatives"),
        (interface.provides_adjoint_derivatives, "adjoint derivatives"),
        (interface.can_be_instantiated_only_once_per_process, "only once per process"),
        (interface.needs_execution_tool, "needs its tool"),
    ];
    all.iter().filter(|(has, _)| *has).map(|(_, name)| *name).collect()
}

fn row(variable: &Variable) -> [String; 5] {
    [
        variable.name.clone(),
        format!("{:?}", variable.causality).to_lowercase(),
        variable.value_type.name().into(),
        variable.attributes.unit.clone().unwrap_or_default(),
        variable.description.clone().unwrap_or_default(),
    ]
}
