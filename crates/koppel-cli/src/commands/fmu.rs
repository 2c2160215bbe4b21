//! `koppel fmu`.

use std::path::Path;
use std::time::Duration;

use koppel_fmi::Fmu;
use koppel_fmi::description::{Description, Dimension, Interface, PowerBond, Terminal, Variable};
use koppel_fmi::ffi::Kind;
use koppel_fmi::probe::Findings;

use serde_json::{Value, json};

use super::{fmu_export, told, worker};
use crate::arguments::FmuCommand;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::{Grid, error_document, print, print_json};

/// Does what was asked of an FMU.
pub(super) fn fmu(command: &FmuCommand) -> Result<Exit> {
    match command {
        FmuCommand::Info { file } => info(file),
        FmuCommand::Check { file, step, timeout, json } => told(check(file, *step, *timeout, *json), *json),
        FmuCommand::Export(arguments) => fmu_export::export(arguments),
    }
}

fn words(error: Box<koppel_fmi::Error>) -> Failure {
    Failure::Words { message: error.to_string(), hint: error.hint() }
}

/// What the FMU declares beside what holds of it, for each of its interfaces, tried in a process of its own.
fn check(file: &Path, step: Option<f64>, timeout: f64, json: bool) -> Result<Exit> {
    let fmu = Fmu::open(file).map_err(words)?;
    let description = fmu.description();
    let mut kinds = Vec::new();
    if description.co_simulation.is_some() || description.model_exchange.is_none() {
        kinds.push(Kind::CoSimulation);
    }
    if description.model_exchange.is_some() {
        kinds.push(Kind::ModelExchange);
    }
    let timeout = Duration::from_secs_f64(timeout.min(1e9));
    let mut all = Vec::new();
    for kind in kinds {
        all.push((kind, worker::check_apart(&fmu, kind, step, timeout)));
    }
    // An FMU of which nothing could be tried is bad input.
    let was_never_tried =
        |one: &Result<Findings>| one.as_ref().is_err_and(|why| why.code() == Exit::BadInput);
    if all.iter().all(|(_, one)| was_never_tried(one)) {
        all.iter().skip(1).filter_map(|(_, one)| one.as_ref().err()).for_each(Failure::show);
        all.swap_remove(0).1?;
    }
    let holds = all.iter().all(|(_, one)| one.as_ref().is_ok_and(Findings::hold));
    if json {
        let interfaces: Vec<Value> = all.iter().map(|(kind, one)| document(*kind, one)).collect();
        print_json(&json!({ "verdict": verdict(holds), "interfaces": interfaces }))?;
    } else {
        let tables = all.iter().filter_map(|(_, one)| Some(table(one.as_ref().ok()?)));
        print(&tables.collect::<Vec<_>>().join("\n"))?;
    }
    all.iter().filter_map(|(_, one)| one.as_ref().err()).for_each(Failure::show);
    Ok(if holds { Exit::Ok } else { Exit::RunFailed })
}

fn verdict(holds: bool) -> &'static str {
    if holds { "held" } else { "failed" }
}

/// One interface as JSON: its findings, or why there are none.
fn document(kind: Kind, tried: &Result<Findings>) -> Value {
    match tried {
        Ok(findings) => {
            let mut document = serde_json::to_value(findings).unwrap_or_default();
            document["verdict"] = verdict(findings.hold()).into();
            document
        }
        Err(failure) => {
            let interface = if kind == Kind::CoSimulation { "co-simulation" } else { "model-exchange" };
            let verdict = if matches!(failure, Failure::Crash { .. }) { "crashed" } else { verdict(false) };
            json!({ "interface": interface, "verdict": verdict, "error": error_document(failure) })
        }
    }
}

fn table(findings: &Findings) -> String {
    let mut grid = Grid::new(&["capability", "declared", "found", "how"]);
    for finding in &findings.findings {
        grid.row([
            finding.capability.to_string(),
            finding.declared.to_string(),
            finding.outcome.to_string(),
            finding.text.clone(),
        ]);
    }
    format!("{} in steps of {} s\n\n{}", findings.interface, findings.step, grid.whole())
}

/// What the FMU declares; nothing of it is run.
fn info(file: &Path) -> Result<Exit> {
    let fmu = Fmu::open(file).map_err(words)?;
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
    fact("model exchange", model_exchange(description));
    if let Some(experiment) = &description.default_experiment {
        fact("default stop", experiment.stop_time.map(|t| format!("{t} s")).unwrap_or_default());
        fact("default step", experiment.step_size.map(|t| format!("{t} s")).unwrap_or_default());
    }
    let mut variables = Grid::new(&["variable", "causality", "type", "unit", "meaning"]);
    for variable in &description.variables {
        variables.row(row(description, variable));
    }
    let terminals = terminals(description);
    let warnings: String =
        description.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    let facts = facts.whole();
    // The first line is the empty header.
    let facts = facts.split_once('\n').map_or("", |(_, rest)| rest);
    print(&format!("{facts}\n{}{terminals}{warnings}", variables.whole()))?;
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

fn model_exchange(description: &Description) -> String {
    let Some(section) = &description.model_exchange else { return "no".into() };
    let list = flags(&section.interface);
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

/// Which variables belong together; for a power bond, which is the effort and which the flow.
fn terminals(description: &Description) -> String {
    let mut grid = Grid::new(&["terminal", "rule", "kind", "members"]);
    let mut waiting: Vec<(String, &Terminal)> =
        description.terminals.iter().rev().map(|terminal| (terminal.name.clone(), terminal)).collect();
    while let Some((name, terminal)) = waiting.pop() {
        let of = |place: usize| description.variables[place].name.as_str();
        let members: Vec<&str> = terminal.members.iter().map(|member| of(member.variable)).collect();
        let members = match terminal.power_bond() {
            Some(PowerBond { effort, flow, sign }) => {
                let into = if sign > 0 { "into" } else { "out of" };
                format!("power bond: effort {}, flow {} {into} the FMU", of(effort), of(flow))
            }
            None => members.join(", "),
        };
        let kind = terminal.terminal_kind.clone().unwrap_or_default();
        grid.row([name.clone(), terminal.matching_rule.clone(), kind, members]);
        let inner = terminal.terminals.iter().rev();
        waiting.extend(inner.map(|inner| (format!("{name}.{}", inner.name), inner)));
    }
    if grid.is_empty() { String::new() } else { format!("\n{}", grid.whole()) }
}

/// `[2,n]` for an array.
fn dimensions(description: &Description, variable: &Variable) -> String {
    let size = |dimension: &Dimension| match dimension {
        Dimension::Fixed(size) => size.to_string(),
        Dimension::Parameter(place) => description.variables[*place].name.clone(),
    };
    let sizes: Vec<String> = variable.dimensions.iter().map(size).collect();
    if sizes.is_empty() { String::new() } else { format!("[{}]", sizes.join(",")) }
}

/// How a clock ticks.
fn ticking(variable: &Variable) -> String {
    let Some(clock) = &variable.attributes.clock else { return String::new() };
    format!(" ({})", format!("{:?}", clock.interval_variability).to_lowercase())
}

fn row(description: &Description, variable: &Variable) -> [String; 5] {
    [
        variable.name.clone(),
        format!("{:?}", variable.causality).to_lowercase(),
        format!("{}{}{}", variable.value_type.name(), dimensions(description, variable), ticking(variable)),
        variable.attributes.unit.clone().unwrap_or_default(),
        variable.description.clone().unwrap_or_default(),
    ]
}
