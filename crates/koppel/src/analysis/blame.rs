//! Which connection is to blame: each one held ideal in turn, its signal there at every instant.
//!
//! Both ends of the connection become one subsystem that is solved exactly; all else is coupled as in the run.

use super::global_error::Reference;
use super::linear_system::LinearSystem;
use crate::coupling::CouplingConfig;
use crate::error::Result;
use crate::run::{Run, RunConfig, ScheduleConfig};
use crate::system::{Merged, SystemGraph, with_ideal_wire};
use rayon::prelude::*;
use serde::Serialize;

/// What becomes of a run if one connection is ideal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blame {
    /// The connection, `a.x -> b.u`.
    pub connection: String,
    /// Growth per macro step without its error.
    pub spectral_radius: f64,
    /// The error without it; not known without a reference, or if the run still grows.
    pub error: Option<f64>,
    /// True if the run is unstable and becomes stable.
    pub restores_stability: bool,
    /// True if the error becomes half or less.
    pub halves_error: bool,
}

/// A run as it is, to compare with.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// True if nothing grows.
    pub is_bounded: bool,
    /// Its error, if known.
    pub error: Option<f64>,
    /// What errors are measured against, if known.
    pub reference: Option<&'a Reference>,
}

/// The same system with one wire ideal, and the settings that go with it; nothing if its ends cannot be one.
pub fn ideal_wire(
    system: &LinearSystem,
    wire: usize,
    config: &RunConfig,
) -> Result<Option<(LinearSystem, RunConfig)>> {
    let Some(merged) = with_ideal_wire(&system.graph, &system.parts, wire)? else { return Ok(None) };
    let (taken, keeper) = (&merged.taken.0, &merged.taken.1);
    if config.every.get(taken) != config.every.get(keeper) {
        return Ok(None);
    }
    let mut config = RunConfig {
        schedule: rename(&config.schedule, taken, keeper),
        coupling: rename_inputs(&config.coupling, &system.graph, &merged)?,
        ..config.clone()
    };
    config.every.remove(taken);
    let ideal = LinearSystem {
        graph: merged.graph,
        parts: merged.parts,
        time: system.time,
        own_rates: system.own_rates.clone(),
    };
    Ok(Some((ideal, config)))
}

/// Connections that are judged unless all are asked for, of systems with few states and with many: the work for each grows with
/// the system.
const JUDGED: [usize; 2] = [24, 8];
/// States from which there are many.
const MANY: usize = 60;

/// The connections whose ends differ most in a run of the stand-ins, which is about what their sources move in it:
/// at most [`JUDGED`], or all.
pub(super) fn suspects(system: &LinearSystem, config: &RunConfig) -> Vec<usize> {
    let wires = system.graph.wires();
    let all: Vec<usize> = (0..wires.len()).collect();
    let judged = JUDGED[usize::from(system.states() > MANY)];
    if all.len() <= judged {
        return all;
    }
    let Ok(steps) = system.watched_steps(config) else { return all };
    let Ok(mut run) = system.disturbed(config, steps as u64) else { return all };
    let places = system.places(&run);
    let mut moved = vec![0.0; wires.len()];
    let value = |run: &Run, wire: usize| {
        let (id, place) = places[wires[wire].source];
        wires[wire].gain * run.outputs(id)[place]
    };
    let mut before: Vec<f64> = all.iter().map(|wire| value(&run, *wire)).collect();
    for _ in 0..steps {
        if run.advance().is_err() {
            break;
        }
        for wire in &all {
            let now = value(&run, *wire);
            moved[*wire] += (now - before[*wire]).powi(2);
            before[*wire] = now;
        }
    }
    let mut ranked = all;
    crate::sort::sort_by(&mut ranked, |a, b| moved[*b].total_cmp(&moved[*a]).then(a.cmp(b)));
    ranked.truncate(judged);
    ranked
}

/// These connections, the one to blame most first. Those that cannot be judged are left out.
pub fn blame(
    system: &LinearSystem,
    config: &RunConfig,
    standing: Standing<'_>,
    wires: &[usize],
) -> Result<Vec<Blame>> {
    let judge = |wire: usize| -> Result<Option<Blame>> {
        let Some((ideal, config)) = ideal_wire(system, wire, config)? else { return Ok(None) };
        let growth = ideal.growth(&config)?;
        let error = match standing.reference.filter(|_| growth.is_bounded) {
            // The outputs have another order there.
            Some(_) => ideal.reference(&config).and_then(|r| ideal.global_error(&config, &r)).ok(),
            None => None,
        };
        let error = error.map(|error| error.overall).filter(|error| error.is_finite());
        let wire = system.graph.wires()[wire];
        Ok(Some(Blame {
            connection: format!(
                "{} -> {}",
                system.graph.output_name(wire.source),
                system.graph.input_name(wire.target)
            ),
            spectral_radius: growth.radius,
            error,
            restores_stability: !standing.is_bounded && growth.is_bounded,
            halves_error: matches!((error, standing.error), (Some(new), Some(old)) if new <= 0.5 * old),
        }))
    };
    let judged: Result<Vec<Option<Blame>>> = wires.par_iter().map(|wire| judge(*wire)).collect();
    let mut all: Vec<Blame> = judged?.into_iter().flatten().collect();
    crate::sort::sort_by(&mut all, |a, b| {
        let by_error = || {
            let error = |blame: &Blame| blame.error.unwrap_or(f64::INFINITY);
            error(a).total_cmp(&error(b)).then(a.spectral_radius.total_cmp(&b.spectral_radius))
        };
        match standing.is_bounded {
            true => by_error(),
            false => a.spectral_radius.total_cmp(&b.spectral_radius),
        }
    });
    Ok(all)
}

fn rename(schedule: &ScheduleConfig, taken: &str, keeper: &str) -> ScheduleConfig {
    // The two move where the first of them did.
    let mut is_placed = false;
    let mut keep = |name: &String| {
        if name != taken && name != keeper {
            return Some(name.clone());
        }
        (!std::mem::replace(&mut is_placed, true)).then(|| keeper.to_owned())
    };
    match schedule {
        ScheduleConfig::Named(named) => ScheduleConfig::Named(*named),
        ScheduleConfig::Order(names) => ScheduleConfig::Order(names.iter().filter_map(keep).collect()),
        ScheduleConfig::Groups(groups) => {
            let groups = groups.iter().map(|names| names.iter().filter_map(&mut keep).collect::<Vec<_>>());
            ScheduleConfig::Groups(groups.filter(|names| !names.is_empty()).collect())
        }
    }
}

fn rename_inputs(coupling: &CouplingConfig, graph: &SystemGraph, merged: &Merged) -> Result<CouplingConfig> {
    let CouplingConfig::Mixed { default, connections } = coupling else { return Ok(coupling.clone()) };
    let mut named = std::collections::BTreeMap::new();
    for (name, method) in connections {
        for input in graph.find_inputs(name)? {
            let input = merged.inputs[input];
            if !merged.graph.is_free(input) {
                named.insert(merged.graph.input_name(input), method.clone());
            }
        }
    }
    Ok(match named.is_empty() {
        true => (**default).clone(),
        false => CouplingConfig::Mixed { default: default.clone(), connections: named },
    })
}
