//! Blocks in `koppel models`: equations, ports, and a system that runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use koppel::equations::{Equations, MapConfig};
use koppel::models::{self, Block};
use koppel::system::{Ode, Ports, Variable};

use crate::failure::Result;
use crate::output::{Grid, significant};

/// One line for each block.
pub(super) fn list() -> String {
    let mut grid = Grid::new(&["block", "description"]);
    for block in models::blocks() {
        grid.row([block.name.into(), block.description().into()]);
    }
    grid.whole()
}

/// Everything about a block.
pub(super) fn describe(block: &Block) -> Result<String> {
    let model = model(block)?;
    let ports = model.ports();
    let mut grid = Grid::new(&["", "name", "default", "unit", "meaning"]);
    for (kind, variables) in kinds(ports) {
        for variable in variables {
            let default = match kind {
                "parameter" => significant(variable.start, 15),
                "input" if variable.start != 0.0 => significant(variable.start, 15),
                _ => String::new(),
            };
            let is_fed = kind == "output" && !variable.depends.among(ports.inputs.len()).is_empty();
            let about = if is_fed {
                format!("{} (feed-through)", variable.description)
            } else {
                variable.description.clone()
            };
            let unit = variable.unit.clone().unwrap_or_default();
            grid.row([kind.into(), variable.name.clone(), default, unit, about]);
        }
    }
    let equations: String = block.text.lines().skip(1).map(|line| format!("  {line}\n")).collect();
    Ok(format!(
        "{}: {}\n\n{}\nEquations (docs/equations.md explains the language):\n{equations}\nA system that runs (koppel models {} --example > {}.toml):\n\n{}",
        block.name,
        block.description(),
        grid.whole(),
        block.name,
        block.name,
        example(block)?
    ))
}

/// A system of the block alone.
pub(super) fn example(block: &Block) -> Result<String> {
    let model = model(block)?;
    let ports = model.ports();
    let name = block.name;
    let mut text = format!(
        "title = \"{name}\"\n\n[run]\nstop = 2.0\nstep = 0.01\n\n[subsystems.{name}]\nmodel = \"{name}\"\n"
    );
    let values: Vec<String> =
        ports.parameters.iter().map(|one| format!("{} = {}", one.name, significant(one.start, 15))).collect();
    if !values.is_empty() {
        let _ = writeln!(text, "parameters = {{ {} }}", values.join(", "));
    }
    for map in block.tables() {
        let _ = writeln!(text, "tables = {{ {} = {{ {} }} }}", map.name, points(&map));
    }
    for input in ports.inputs.iter().filter(|input| input.start == 0.0) {
        let signal = "{ kind = \"sine\", amplitude = 1.0, frequency = 1.0 }";
        let _ = write!(text, "\n[[inputs]]\nto = \"{name}.{}\"\nsignal = {signal}\n", input.name);
    }
    Ok(text)
}

fn points(map: &MapConfig) -> String {
    let list = |numbers: &[f64]| format!("{numbers:?}");
    match &map.y {
        None => format!("x = {}, y = {}", list(&map.x), list(&map.values)),
        Some(y) => {
            let rows: Vec<String> = map.values.chunks(y.len().max(1)).map(list).collect();
            format!("x = {}, y = {}, z = [{}]", list(&map.x), list(y), rows.join(", "))
        }
    }
}

/// The block as data.
pub(super) fn as_json(block: &Block) -> Result<serde_json::Value> {
    let model = model(block)?;
    let ports = model.ports();
    let one =
        |v: &Variable| serde_json::json!({ "name": v.name, "unit": v.unit, "description": v.description });
    let parameter = |v: &Variable| serde_json::json!({ "name": v.name, "default": v.start, "unit": v.unit, "description": v.description });
    Ok(serde_json::json!({
        "name": block.name,
        "description": block.description(),
        "equations": block.text,
        "inputs": ports.inputs.iter().map(one).collect::<Vec<_>>(),
        "outputs": ports.outputs.iter().map(one).collect::<Vec<_>>(),
        "parameters": ports.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "states": own_states(ports).map(one).collect::<Vec<_>>(),
    }))
}

fn kinds(ports: &Ports) -> [(&'static str, Vec<&Variable>); 4] {
    [
        ("input", ports.inputs.iter().collect()),
        ("output", ports.outputs.iter().collect()),
        ("parameter", ports.parameters.iter().collect()),
        ("state", own_states(ports).collect()),
    ]
}

/// States that the text has a name for; the samples of a delay have none.
fn own_states(ports: &Ports) -> impl Iterator<Item = &Variable> {
    ports.locals.iter().filter(|state| !state.name.starts_with("delay["))
}

fn model(block: &Block) -> Result<Equations> {
    Ok(block.build(&BTreeMap::new())?)
}
