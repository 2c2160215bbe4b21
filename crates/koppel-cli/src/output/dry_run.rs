//! What would be run.

use std::fmt::Write as _;

use koppel::run::{Run, Schedule};
use koppel::system::{Component, evaluation_order};
use koppel_session::Session;
use serde::Serialize;
use serde_json::Value;

use super::auto::auto_document;
use super::unconnected::{Default, defaults_grid, unconnected};
use super::{Grid, joined, settings};
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
    connections: Vec<Link>,
    unconnected_inputs: Vec<Default>,
    /// Outputs with feed-through, in the order in which they are read; loops are solved.
    evaluation: Vec<Reading>,
    /// Values that are set at given times, without start values.
    changes: usize,
    /// How the time is cut, in words.
    #[serde(skip)]
    grid: String,
    /// Other settings, in words.
    #[serde(skip)]
    words: Vec<(&'static str, String)>,
    columns: Vec<String>,
    /// What was chosen in place of `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    auto: Option<Value>,
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
struct Link {
    /// Outputs, summed.
    from: Vec<String>,
    to: String,
    gain: f64,
    /// Per output: from its unit to that of the input.
    unit_factors: Vec<f64>,
    offset: f64,
    /// A table in place of gain, unit factor and offset.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    map: Vec<(f64, f64)>,
}

#[derive(Debug, Serialize)]
struct Reading {
    names: Vec<String>,
    is_loop: bool,
}

/// Names of all columns, those of numbers first.
fn column_names(run: &Run) -> Vec<String> {
    let messages = run.message_columns().iter().map(|column| column.name.clone());
    run.columns().iter().map(|column| column.name.clone()).chain(messages).collect()
}

impl DryRun {
    pub(crate) fn new(session: &Session, run: &Run) -> Result<Self> {
        let graph = run.graph();
        let schedule = Schedule::new(&session.spec.run, graph)?;
        let names = |ids: &Vec<usize>| ids.iter().map(|id| graph.name(*id).to_owned()).collect();
        let last_is_extra = !run.steps().is_multiple_of(session.spec.run.record_every);
        let solvers = run.statistics().shares;
        let settings = session.spec.to_json();
        Ok(DryRun {
            status: "checked",
            title: session.spec.title.clone(),
            start: session.spec.run.start,
            stop: session.spec.run.stop,
            step: session.spec.run.step,
            steps: run.steps(),
            rows: run.steps() / session.spec.run.record_every + 1 + u64::from(last_is_extra),
            coupling: settings["run"]["coupling"].clone(),
            schedule: schedule.stages.iter().map(names).collect(),
            subsystems: (0..graph.len()).map(|id| part(graph, id, &solvers[id].solver, &schedule)).collect(),
            connections: links(session, graph),
            unconnected_inputs: unconnected(run),
            evaluation: evaluation_order(graph).iter().map(|c| reading(graph, c)).collect(),
            changes: settings::changes(&settings),
            grid: settings::steps(session, run.steps()),
            words: settings::facts(session, &settings),
            columns: column_names(run),
            auto: auto_document(session),
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
        let mut parts = Grid::new(&["subsystem", "solver", "inputs", "outputs", "advances"]);
        for p in &self.subsystems {
            let advances =
                if p.every == 1 { "every step".to_owned() } else { format!("every {} steps", p.every) };
            parts.row([
                p.name.clone(),
                p.solver.clone(),
                p.inputs.to_string(),
                p.outputs.to_string(),
                advances,
            ]);
        }
        for grid in [parts, self.wiring(), defaults_grid(&self.unconnected_inputs)] {
            if !grid.is_empty() {
                let _ = write!(text, "\n{}", grid.text());
            }
        }
        let _ = writeln!(text, "\nchecked, not run");
        text
    }

    fn wiring(&self) -> Grid {
        let mut grid = Grid::new(&["connection", "", "gain", "unit factor", "offset"]);
        for link in &self.connections {
            if !link.map.is_empty() {
                let table = format!("a table of {} entries", link.map.len());
                grid.row([
                    link.from.join(" + "),
                    format!("-> {}", link.to),
                    table,
                    String::new(),
                    String::new(),
                ]);
                continue;
            }
            let factors: Vec<String> = match &link.unit_factors[..] {
                [first, rest @ ..] if rest.iter().all(|factor| factor == first) => vec![first.to_string()],
                all => all.iter().map(f64::to_string).collect(),
            };
            grid.row([
                link.from.join(" + "),
                format!("-> {}", link.to),
                link.gain.to_string(),
                factors.join(", "),
                link.offset.to_string(),
            ]);
        }
        grid
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let stages: Vec<String> = self.schedule.iter().map(|stage| joined(stage, " | ")).collect();
        let mut facts = vec![
            ("time", format!("{} s to {} s, {}", self.start, self.stop, self.grid)),
            ("schedule", joined(&stages, " -> ")),
        ];
        facts.extend(self.words.iter().cloned());
        facts.extend([
            ("feed-through", self.evaluation()),
            ("columns", format!("{}: {}", self.columns.len(), joined(&self.columns, " "))),
            ("rows", self.rows.to_string()),
        ]);
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

/// An array is shown as one connection, by its first element; texts, bytes and clocks have neither gain nor unit.
fn links(session: &Session, graph: &Graph) -> Vec<Link> {
    let one = |connection: &koppel::system::Connection| {
        let target = graph.find_inputs(&connection.to).ok().and_then(|inputs| inputs.first().copied());
        let wires = target.map_or(0..0, |target| graph.wires_into(target));
        // A wire knows gain and unit factor as one number.
        let factor = |wire: usize| match connection.gain {
            0.0 => 1.0,
            gain => graph.wires()[wire].gain / gain,
        };
        Link {
            from: connection.from.clone(),
            to: connection.to.clone(),
            gain: connection.gain,
            unit_factors: wires.map(factor).collect(),
            offset: target.map_or(0.0, |target| graph.offset(target)),
            map: connection.map.clone(),
        }
    };
    session.spec.connections().map(one).collect()
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
