//! `koppel fmu info`.

use std::path::Path;

use koppel_fmi::description::{Description, Dimension, Interface, PowerBond, Start, Terminal, Variable};
use koppel_fmi::{Execution, Fmu};

use super::fmu::words;
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::{Grid, fmu_document, print, print_json, standard_word};

/// Characters of a start value that are shown.
const START: usize = 32;

/// What the FMU declares; nothing of it is run.
pub(super) fn info(file: &Path, json: bool) -> Result<Exit> {
    let fmu = Fmu::open(file).map_err(words)?;
    if json {
        print_json(&fmu_document(&fmu))?;
        return Ok(Exit::Ok);
    }
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
    fact("runs here", execution(&fmu));
    fact("co-simulation", co_simulation(description));
    fact("model exchange", model_exchange(description));
    if let Some(experiment) = &description.default_experiment {
        fact("default stop", experiment.stop_time.map(|t| format!("{t} s")).unwrap_or_default());
        fact("default step", experiment.step_size.map(|t| format!("{t} s")).unwrap_or_default());
    }
    let variables = variables(description);
    let terminals = terminals(description);
    let mut warnings: String =
        description.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    if description.more_warnings > 0 {
        warnings.push_str(&format!("warning: ... and {} more\n", description.more_warnings));
    }
    let facts = facts.whole();
    // The first line is the empty header.
    let facts = facts.split_once('\n').map_or("", |(_, rest)| rest);
    print(&format!("{facts}\n{}{terminals}{warnings}", variables.whole()))?;
    Ok(Exit::Ok)
}

/// How its interfaces would run on this machine.
fn execution(fmu: &Fmu) -> String {
    let description = fmu.description();
    let co_simulation = description.co_simulation.as_ref().map(|section| &section.interface);
    let model_exchange = description.model_exchange.as_ref().map(|section| &section.interface);
    let Some(interface) = co_simulation.or(model_exchange) else { return "no".into() };
    match fmu.execution(interface) {
        Ok(Execution::Native) => "yes".into(),
        Ok(Execution::Wine) => "yes, under Wine".into(),
        Err(error) => {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("no: {error}{hint}")
        }
    }
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

/// All variables; columns that are empty are left out.
fn variables(description: &Description) -> Grid {
    let names =
        ["variable", "causality", "variability", "type", "start", "unit", "min", "max", "nominal", "meaning"];
    let rows: Vec<_> = description.variables.iter().map(|variable| row(description, variable)).collect();
    let is_shown = |column: &usize| *column < 4 || rows.iter().any(|row| !row[*column].is_empty());
    let shown: Vec<usize> = (0..names.len()).filter(is_shown).collect();
    let mut grid = Grid::new(&shown.iter().map(|column| names[*column]).collect::<Vec<_>>());
    for row in &rows {
        grid.add(shown.iter().map(|column| row[*column].clone()).collect());
    }
    grid
}

fn row(description: &Description, variable: &Variable) -> [String; 10] {
    let attributes = &variable.attributes;
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    [
        variable.name.clone(),
        standard_word(variable.causality),
        standard_word(variable.variability),
        format!("{}{}{}", variable.value_type.name(), dimensions(description, variable), ticking(variable)),
        variable.start.as_ref().map(start).unwrap_or_default(),
        attributes.unit.clone().unwrap_or_default(),
        number(attributes.min),
        number(attributes.max),
        number(attributes.nominal),
        variable.description.clone().unwrap_or_default(),
    ]
}

/// Start values beside each other, cut where they get too long.
fn start(start: &Start) -> String {
    fn listed<T>(list: &[T], word: impl Fn(&T) -> String) -> String {
        // More than can be shown, and not more than that.
        list.iter().take(START).map(word).collect::<Vec<_>>().join(" ")
    }
    let all = match start {
        Start::Reals(list) => listed(list, f64::to_string),
        Start::Integers(list) => listed(list, i128::to_string),
        Start::Booleans(list) => listed(list, bool::to_string),
        Start::Strings(list) => listed(list, |text| format!("{text:?}")),
        Start::Binaries(list) => listed(list, |bytes| format!("{} bytes", bytes.len())),
    };
    if all.chars().count() <= START {
        return all;
    }
    format!("{}...", all.chars().take(START - 3).collect::<String>())
}
