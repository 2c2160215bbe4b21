//! What would be run.

use std::fmt::Write as _;

use koppel::run::{Schedule, Simulation};
use koppel::system::{Component, evaluation_order};
use koppel_io::system_file::SystemFile;
use serde::Serialize;
use serde_json::Value;

use super::summary::{Default, defaults_grid, unconnected};
use super::{Grid, joined, significant};
use crate::failure::Result;

/// A run that was checked but not started.
#[derive(Debug, Serialize)]
pub(crate) struct DryRun {
    status: &'static str,
    title: String,
    start: f64,
    stop: f64,
    step: f64,
    steps: u64,
    rows: u64,
    coupling: Value,
    schedule: Vec<Vec<String>>,
    subsystems: Vec<Part>,
    connections: Vec<Wire>,
    unconnected_inputs: Vec<Default>,
    /// Outputs with feed-through, in the order in which they are read; loops are solved.
    evaluation: Vec<Reading>,
    changes: usize,
    columns: Vec<String>,
    settings: Value,
}

#[derive(Debug, Serialize)]
struct Part {
    name: String,
    solver: String,
    inputs: usize,
    outputs: usize,
    every: u32,
}

#[derive(Debug, Serialize)]
struct Wire {
    from: String,
    to: String,
    gain: f64,
    offset: f64,
}

#[derive(Debug, Serialize)]
struct Reading {
    names: Vec<String>,
    is_loop: bool,
}

impl DryRun {
    pub(crate) fn new(file: &SystemFile, simulation: &Simulation) -> Result<Self> {
        let graph = simulation.graph();
        let schedule = Schedule::new(&file.run, graph)?;
        let names = |ids: &Vec<usize>| ids.iter().map(|id| graph.name(*id).to_owned()).collect();
        let last_is_extra = !simulation.steps().is_multiple_of(file.run.record_every);
        let solvers = simulation.statistics().shares;
        let settings = file.to_json();
        Ok(DryRun {
            status: "checked",
            title: file.title.clone(),
            start: file.run.start,
            stop: file.run.stop,
            step: file.run.step,
            steps: simulation.steps(),
            rows: simulation.steps() / file.run.record_every + 1 + u64::from(last_is_extra),
            coupling: settings["run"]["coupling"].clone(),
            schedule: schedule.stages.iter().map(names).collect(),
            subsystems: (0..graph.len()).map(|id| part(graph, id, &solvers[id].solver, &schedule)).collect(),
            connections: wires(graph),
            unconnected_inputs: unconnected(simulation),
            evaluation: evaluation_order(graph).iter().map(|c| reading(graph, c)).collect(),
            changes: file.run.at.iter().map(|change| change.set.len()).sum(),
            columns: simulation.columns().iter().map(|column| column.name.clone()).collect(),
            settings,
        })
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(text, "{}", self.title);
        }
        for (name, value) in self.facts() {
            let _ = writeln!(text, "  {name:12} {value}");
        }
        let mut parts = Grid::new(&["subsystem", "solver", "inputs", "outputs", "moves"]);
        for p in &self.subsystems {
            let moves =
                if p.every == 1 { "every step".to_owned() } else { format!("every {} steps", p.every) };
            parts.row([p.name.clone(), p.solver.clone(), p.inputs.to_string(), p.outputs.to_string(), moves]);
        }
        let mut wires = Grid::new(&["connection", "", "gain", "offset"]);
        for w in &self.connections {
            wires.row([w.from.clone(), format!("-> {}", w.to), w.gain.to_string(), w.offset.to_string()]);
        }
        for grid in [parts, wires, defaults_grid(&self.unconnected_inputs)] {
            if !grid.is_empty() {
                let _ = write!(text, "\n{}", grid.text());
            }
        }
        let _ = writeln!(text, "\nchecked, not run");
        text
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let stages: Vec<String> = self.schedule.iter().map(|stage| joined(stage, " | ")).collect();
        let mut facts = vec![
            (
                "time",
                format!(
                    "{} s to {} s, {} steps of {} s",
                    self.start,
                    self.stop,
                    self.steps,
                    significant(self.step, 15)
                ),
            ),
            ("schedule", joined(&stages, " -> ")),
            ("coupling", inline(&self.coupling)),
            ("feed-through", self.evaluation()),
            ("columns", format!("{}: {}", self.columns.len(), joined(&self.columns, " "))),
            ("rows", self.rows.to_string()),
        ];
        if self.changes > 0 {
            facts.push(("changes", format!("{} values are set at given times", self.changes)));
        }
        facts
    }

    fn evaluation(&self) -> String {
        let one = |r: &Reading| {
            if r.is_loop { format!("algebraic loop ({})", r.names.join(" <-> ")) } else { r.names.join(", ") }
        };
        match self.evaluation.len() {
            0 => "none between connected subsystems".into(),
            _ => self.evaluation.iter().map(one).collect::<Vec<_>>().join(", then "),
        }
    }
}

/// A coupling as `foh, start constant`.
fn inline(coupling: &Value) -> String {
    let Some(table) = coupling.as_object() else { return coupling.to_string() };
    let method = table.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
    let rest = table.iter().filter(|(key, _)| *key != "method").map(|(key, value)| match value {
        Value::String(text) => format!("{key} {text}"),
        Value::Object(_) if key == "connections" || key == "default" => format!("{key}: {}", nested(value)),
        other => format!("{key} {other}"),
    });
    std::iter::once(method).chain(rest).collect::<Vec<_>>().join(", ")
}

fn nested(value: &Value) -> String {
    if value.get("method").is_some() {
        return inline(value);
    }
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(name, coupling)| format!("{name} {}", inline(coupling))).collect::<Vec<_>>().join("; ")
}

type Graph = koppel::system::SystemGraph;

fn part(graph: &Graph, id: usize, solver: &str, schedule: &Schedule) -> Part {
    Part {
        name: graph.name(id).to_owned(),
        solver: solver.to_owned(),
        inputs: graph.inputs_of(id).len(),
        outputs: graph.outputs_of(id).len(),
        every: schedule.every[id],
    }
}

fn wires(graph: &Graph) -> Vec<Wire> {
    let wire = |w: &koppel::system::Wire| Wire {
        from: graph.output_name(w.source),
        to: graph.input_name(w.target),
        gain: w.gain,
        offset: graph.offset(w.target),
    };
    graph.wires().iter().map(wire).collect()
}

fn reading(graph: &Graph, component: &Component) -> Reading {
    match component {
        Component::Direct(ids) => {
            Reading { names: ids.iter().map(|id| graph.name(*id).to_owned()).collect(), is_loop: false }
        }
        Component::Loop(outputs) => {
            Reading { names: outputs.iter().map(|o| graph.output_name(*o)).collect(), is_loop: true }
        }
    }
}
