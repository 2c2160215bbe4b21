//! `koppel models`.

use koppel::diagnostic::Diagnosis;
use koppel::error::closest;
use koppel::models::{self, ModelEntry, Port};

use super::blocks;
use super::examples;
use super::new::STARTER;
use crate::arguments::ModelsArguments;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::{Grid, print, significant};

/// Lists the models, or describes one.
pub(super) fn models(arguments: &ModelsArguments) -> Result<Exit> {
    let text = match &arguments.name {
        None if arguments.json => json_list()?,
        None => list(),
        Some(name) if arguments.example => example(name)?,
        Some(name) => describe(name, arguments.json)?,
    };
    print(&text)?;
    Ok(Exit::Ok)
}

fn list() -> String {
    let mut grid = Grid::new(&["model", "description"]);
    for entry in models::catalogue() {
        grid.row([entry.name.into(), entry.description.into()]);
    }
    grid.row(["linear".into(), "x' = A x + B u, y = C x + D u with matrices from the file".into()]);
    grid.row([
        "equations".into(),
        "your own equations, maps and events from the file (docs/equations.md)".into(),
    ]);
    format!(
        "Models (details: koppel models NAME):\n{}\nBlocks, written as equations:\n{}\nExample systems (copy one: koppel new --from NAME):\n{}",
        grid.whole(),
        blocks::list(),
        examples::list()
    )
}

fn json_list() -> Result<String> {
    let mut all: Vec<_> = models::catalogue().iter().map(as_json).collect();
    for block in models::blocks() {
        all.push(blocks::as_json(block)?);
    }
    Ok(format!("{:#}\n", serde_json::Value::Array(all)))
}

fn as_json(entry: &ModelEntry) -> serde_json::Value {
    let port = |port: &Port| serde_json::json!({ "name": port.name, "unit": port.unit, "description": port.description });
    let parameters: Vec<_> = entry
        .parameters
        .iter()
        .map(|p| serde_json::json!({ "name": p.name, "default": p.default, "unit": p.unit, "description": p.description }))
        .collect();
    let states: Vec<_> = entry
        .states
        .iter()
        .map(|s| serde_json::json!({ "name": s.name, "unit": s.unit, "description": s.description }))
        .collect();
    serde_json::json!({
        "name": entry.name,
        "description": entry.description,
        "source": entry.source,
        "inputs": entry.inputs.iter().map(port).collect::<Vec<_>>(),
        "outputs": entry.outputs.iter().map(port).collect::<Vec<_>>(),
        "parameters": parameters,
        "states": states,
    })
}

fn describe(name: &str, as_document: bool) -> Result<String> {
    let example = examples::ALL.iter().find(|example| example.name == name).map(|example| example.text);
    let text = match name {
        "linear" => Some(LINEAR),
        "equations" => Some(EQUATIONS),
        _ => example,
    };
    if let Some(text) = text {
        let document = || format!("{:#}\n", serde_json::json!({ "name": name, "text": text }));
        return Ok(if as_document { document() } else { text.into() });
    }
    if let Some(block) = models::block(name) {
        return if as_document {
            Ok(format!("{:#}\n", blocks::as_json(block)?))
        } else {
            blocks::describe(block)
        };
    }
    let entry = models::entry(name).map_err(|_| unknown(name))?;
    if as_document {
        return Ok(format!("{:#}\n", as_json(entry)));
    }
    let mut grid = Grid::new(&["", "name", "default", "unit", "meaning"]);
    for (kind, ports) in [("input", entry.inputs), ("output", entry.outputs)] {
        for port in ports {
            let about = match (kind, port.fed_by.is_empty()) {
                ("output", false) => format!("{} (feed-through)", port.description),
                _ => port.description.to_owned(),
            };
            grid.row([kind.into(), port.name.into(), String::new(), port.unit.into(), about]);
        }
    }
    for p in entry.parameters {
        grid.row([
            "parameter".into(),
            p.name.into(),
            significant(p.default, 15),
            p.unit.into(),
            p.description.into(),
        ]);
    }
    for s in entry.states {
        grid.row(["state".into(), s.name.into(), String::new(), s.unit.into(), s.description.into()]);
    }
    Ok(format!("{}: {}\nSource: {}\n\n{}", entry.name, entry.description, entry.source, grid.whole()))
}

/// No such model; the names of all.
fn unknown(name: &str) -> Failure {
    let models: Vec<String> =
        models::names().into_iter().chain(["linear", "equations"].map(String::from)).collect();
    let systems: Vec<String> = examples::ALL.iter().map(|e| e.name.to_owned()).collect();
    let all = [&models[..], &systems].concat();
    let meant = closest(name, &all).map_or(String::new(), |best| format!("did you mean `{best}`? "));
    Failure::Words(Box::new(Diagnosis {
        what: format!("unknown model or example system `{name}`"),
        hints: vec![
            format!("{meant}models: {}", models.join(", ")),
            format!("example systems: {}", systems.join(", ")),
        ],
        known: all,
        ..Diagnosis::default()
    }))
}

const LINEAR: &str = "\
linear: x' = A x + B u, y = C x + D u with matrices from the system file

  A, B, C   matrices as lists of rows; D is zero unless given
  inputs    names, or tables { name, unit, start, nominal, description }
  outputs   the same
  x0        start values, zero unless given; the states are called x[1], x[2], ...
  solver    \"exact\" unless given
";

const EQUATIONS: &str = "\
equations: your own equations in the system file

  equations       the text: der(x) = .., y = .., when .. then .. end; or equations_file = \"FILE\"
  parameters      numbers or formulas; or `parameter m = 1200 [kg]` in the text
  inputs, outputs names with units: { F = \"N\" }; or `input F [N]`, `output v [m/s]` in the text
  start, units    start values and units of variables, by name; or `state v = 0 [m/s]` in the text
  tables          lookup tables of one or two arguments, called like functions
  every           period in s, if all of it is sampled
  solver          \"exact\" if the equations are linear, else \"adaptive\" unless given

  [models.NAME] writes such a model once for several subsystems; docs/equations.md explains the language.
";

/// The first example that uses the model, or the example of that name.
fn example(name: &str) -> Result<String> {
    if let Some(example) = examples::ALL.iter().find(|example| example.name == name) {
        return Ok(example.text.into());
    }
    if name == "linear" {
        return Ok(STARTER.into());
    }
    if name == "equations" {
        return Ok(examples::find("car")?.text.into());
    }
    if let Some(block) = models::block(name) {
        return blocks::example(block);
    }
    models::entry(name).map_err(|_| unknown(name))?;
    match examples::ALL.iter().find(|example| example.uses(name)) {
        Some(example) => Ok(example.text.into()),
        None => {
            Err(Failure::words(format!("no example uses `{name}`"), "`koppel new` writes a starter file"))
        }
    }
}
