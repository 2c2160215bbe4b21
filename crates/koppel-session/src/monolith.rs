//! The system uncut: one subsystem with the equations of all, closed at every instant.

use std::collections::BTreeMap;

use koppel::Error as Engine;
use koppel::run::{Change, Run, RunConfig};
use koppel::solver::{SolverConfig, Tolerances};
use koppel::system::{self, OdeModel, SystemBuilder};
use koppel_io::system_file::SubsystemSpec;

use crate::{Error, Result, Session};

/// Name of the one subsystem; its outputs are called `subsystem.output`.
pub const MONOLITH: &str = "monolith";

/// The system without any coupling, at the start of a run with the file's times and step, recording these outputs and
/// states. Without `solver` it is the parts' own where all share one with a fixed step, so that only the coupling makes the
/// difference; else the best there is.
///
/// # Errors
///
/// If a part is an FMU, a filter or table is on a connection, a parameter changes on the way, or there is a non-linear algebraic
/// loop.
pub fn monolith(session: &Session, solver: Option<SolverConfig>, record: &[String]) -> Result<Run> {
    let spec = &session.spec;
    let engine = |error: Box<Engine>| Box::new(Error::Engine(error));
    if let Some(link) = spec.connections().find(|one| one.filter.is_some()) {
        let what = format!("a monolithic reference with a filter into `{}`", link.to);
        let reason = "the filter belongs to the coupling; leave it out, or use another reference".into();
        return Err(engine(Box::new(Engine::Unsupported { what: what.into(), reason })));
    }
    let system = session.build()?;
    let equations = |one: &SubsystemSpec| one.equations().map_err(|mark| spec.mistake(mark));
    let parts = spec.subsystems().iter().map(equations);
    let (equations, solvers): (Vec<_>, Vec<_>) = parts.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let closed = system::monolith(&system.graph, equations).map_err(engine)?;
    let solver = solver.unwrap_or_else(|| chosen(&solvers, closed.linear().is_some()));
    let mut builder = SystemBuilder::new().add(MONOLITH, OdeModel::new(closed, &solver).map_err(engine)?);
    for (to, signal, scaling) in spec.signals() {
        builder = builder.scaled_external(&own(to), signal.clone(), scaling.clone());
    }
    let config = RunConfig {
        start: spec.run.start,
        record: koppel::record::Record::Many(record.iter().map(|name| own(name)).collect()),
        at: spec.run.at.iter().map(renamed).collect(),
        threads: koppel::run::Parallel::Never,
        ..RunConfig::new(spec.run.stop, spec.run.step)
    };
    Run::new(builder.build().map_err(engine)?, &config).map_err(engine)
}

fn own(name: &str) -> String {
    format!("{MONOLITH}.{name}")
}

fn renamed(change: &Change) -> Change {
    let set: BTreeMap<String, f64> = change.set.iter().map(|(name, value)| (own(name), *value)).collect();
    Change { time: change.time, set }
}

fn chosen(solvers: &[SolverConfig], is_linear: bool) -> SolverConfig {
    match solvers.first() {
        Some(solver @ (SolverConfig::Euler { .. } | SolverConfig::Rk4 { .. }))
            if solvers.iter().all(|other| other == solver) =>
        {
            *solver
        }
        _ if is_linear => SolverConfig::Exact {},
        _ => SolverConfig::Adaptive(Tolerances { rtol: 1e-11, atol: 1e-13, ..Tolerances::default() }),
    }
}
