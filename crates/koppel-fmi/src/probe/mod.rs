//! Capabilities are probed, not believed.
//!
//! [`probe`] tries on fresh instances of an FMU what its description declares, and tells what held: a state that was
//! saved must lead to the same future, a derivative must agree with differences, and so on. Nothing of a run is touched, so
//! a coupling method that relies on such a capability can call it before the first step, with the parameters of the run
//! and [`Scope::Coupling`], the part that costs little: roll-back, re-evaluation of outputs and directional derivatives.
//!
//! An FMU that crashes takes the probe with it; [`probe_apart`] tries each capability in a process of its own.

mod apart;
mod derivatives;
mod experiment;
mod findings;
mod freshness;
mod inputs;
mod reading;
mod state;

pub use apart::probe_apart;
pub(crate) use apart::{JOB, job};
pub use findings::{Capability, Declared, Finding, Findings, Outcome};

use crate::description::{Description, FmiVersion};
use crate::error::{Error, Result};
use crate::ffi::Kind;
use crate::fmu::Fmu;
use crate::import::{Options, ports};
use experiment::{Experiment, TRIAL, WARM_UP};
use findings::{Judgement, failed, held, not_tried};
use koppel::solver::SolverConfig;
use koppel::system::Dependencies;
use std::sync::Arc;

/// How much is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    #[default]
    All,
    /// What coupling methods rely on, at a few steps each.
    Coupling,
    /// This alone.
    Only(Capability),
}

/// How an FMU is probed.
#[derive(Clone, Default)]
pub struct ProbeOptions {
    /// Name, parameters and other settings of the instances.
    pub instance: Options,
    /// The interface; without it co-simulation if the FMU has it, else model exchange.
    pub interface: Option<Kind>,
    /// Solver for model exchange.
    pub solver: Option<SolverConfig>,
    /// Communication step, in s; without it the FMU's own proposal, else 1 ms.
    pub step: Option<f64>,
    /// How much is tried.
    pub scope: Scope,
    /// Relative difference up to which steps that are repeated count as the same; without it 1e-9.
    pub same: Option<f64>,
}

/// Tries what an FMU declares. An `Err` is an FMU that cannot be instantiated at all.
pub fn probe(fmu: &Arc<Fmu>, options: &ProbeOptions) -> Result<Findings> {
    let description = fmu.description();
    let kind = interface(fmu, options)?;
    let experiment = Experiment::new(fmu, kind, options).map_err(not_even_an_instance)?;
    let steps = judgement((|| {
        let mut body = experiment.fresh()?;
        experiment.run(&mut body, 0, WARM_UP + TRIAL)?;
        Ok(held(format!("{} steps of {} s", WARM_UP + TRIAL, experiment.step)))
    })());
    let runs = steps.0 == Outcome::Held;
    let mut list = vec![finding(Capability::Steps, Declared::Always, steps)];
    for capability in capabilities(description, kind, options.scope) {
        let declared = declared(capability, description, kind);
        let outcome = match declared {
            _ if !runs => not_tried("it does not run"),
            Declared::No => not_tried("it is not declared"),
            Declared::Yes | Declared::Always => judgement(try_out(&experiment, capability)),
        };
        list.push(finding(capability, declared, outcome));
    }
    Ok(Findings { interface: name_of(kind).into(), step: experiment.step, findings: list })
}

/// The interface that is probed.
fn interface(fmu: &Arc<Fmu>, options: &ProbeOptions) -> Result<Kind> {
    let has = |kind: &Kind| fmu.description().interface(*kind).is_some();
    let kinds = [Kind::CoSimulation, Kind::ModelExchange];
    let kind = options.interface.unwrap_or(kinds.into_iter().find(has).unwrap_or(Kind::CoSimulation));
    if has(&kind) { Ok(kind) } else { Err(fmu.lacks(kind).into()) }
}

fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::CoSimulation => "co-simulation",
        Kind::ModelExchange => "model-exchange",
    }
}

fn finding(capability: Capability, declared: Declared, (outcome, text): Judgement) -> Finding {
    Finding { capability, declared, outcome, text }
}

/// What goes wrong in a trial is its outcome.
fn judgement(result: koppel::Result<Judgement>) -> Judgement {
    result.unwrap_or_else(|error| failed(error.to_string()))
}

/// What a subsystem reports, as an error of this crate.
fn not_even_an_instance(error: Box<koppel::Error>) -> Box<Error> {
    Box::new(Error::Probe { source: error })
}

/// What is tried of this kind of FMU.
fn capabilities(description: &Description, kind: Kind, scope: Scope) -> Vec<Capability> {
    use Capability as C;
    let mut list = vec![C::RollBack, C::Reevaluation, C::DirectionalDerivatives];
    match scope {
        Scope::Coupling => return list,
        Scope::Only(C::Steps) => return Vec::new(),
        Scope::Only(one) => return vec![one],
        Scope::All => {}
    }
    list.insert(1, C::Serialization);
    list.insert(3, C::Dependencies);
    if declared(C::Freshness, description, kind) == Declared::Always {
        list.insert(3, C::Freshness);
    }
    match (kind, description.fmi_version) {
        (Kind::CoSimulation, FmiVersion::Fmi2) => list.extend([C::InputDerivatives, C::VariableStepSize]),
        (Kind::CoSimulation, FmiVersion::Fmi3) => {
            list.extend([C::AdjointDerivatives, C::IntermediateUpdate, C::VariableStepSize]);
        }
        (Kind::ModelExchange, FmiVersion::Fmi2) => {}
        (Kind::ModelExchange, FmiVersion::Fmi3) => list.push(C::AdjointDerivatives),
    }
    list.extend([C::Reset, C::SecondInstance]);
    list
}

/// What an FMU says of a capability of one interface; one that it does not have has nothing.
pub fn declared(capability: Capability, description: &Description, kind: Kind) -> Declared {
    use Capability as C;
    let section = description.co_simulation.as_ref().filter(|_| kind == Kind::CoSimulation);
    let Some(interface) = description.interface(kind) else { return Declared::No };
    let says = match capability {
        C::Steps | C::Reevaluation | C::Dependencies | C::Reset => return Declared::Always,
        // Of outputs that tell what they depend on, the trial of re-evaluation tells all.
        C::Freshness if section.is_some() && has_unknown_dependencies(description) => {
            return Declared::Always;
        }
        C::Freshness => false,
        C::RollBack => interface.can_get_and_set_fmu_state,
        C::Serialization => interface.can_get_and_set_fmu_state && interface.can_serialize_fmu_state,
        C::DirectionalDerivatives => interface.provides_directional_derivatives,
        C::AdjointDerivatives => interface.provides_adjoint_derivatives,
        C::InputDerivatives => section.is_some_and(|section| section.can_interpolate_inputs),
        C::IntermediateUpdate => section.is_some_and(|section| section.provides_intermediate_update),
        C::VariableStepSize => {
            section.is_some_and(|section| section.can_handle_variable_communication_step_size)
        }
        C::SecondInstance => !interface.can_be_instantiated_only_once_per_process,
    };
    if says { Declared::Yes } else { Declared::No }
}

fn has_unknown_dependencies(description: &Description) -> bool {
    ports(description).outputs.iter().any(|output| output.depends == Dependencies::Unknown)
}

fn try_out(on: &Experiment<'_>, capability: Capability) -> koppel::Result<Judgement> {
    let varies = on.fmu.description().co_simulation.as_ref();
    let varies = varies.is_some_and(|section| section.can_handle_variable_communication_step_size);
    match capability {
        Capability::Steps => Ok(not_tried("")),
        Capability::RollBack => state::roll_back(on),
        Capability::Serialization => state::serialization(on),
        Capability::Reevaluation => reading::reevaluation(on),
        Capability::Freshness => freshness::freshness(on),
        Capability::Dependencies => reading::dependencies(on),
        Capability::DirectionalDerivatives => derivatives::directional(on),
        Capability::AdjointDerivatives => derivatives::adjoint(on),
        Capability::InputDerivatives | Capability::IntermediateUpdate if !varies => {
            Ok(not_tried("without a variable step size there is nothing to compare with"))
        }
        Capability::InputDerivatives => inputs::input_derivatives(on),
        Capability::IntermediateUpdate => inputs::intermediate_update(on),
        Capability::VariableStepSize => state::variable_step(on),
        Capability::Reset => state::reset(on),
        Capability::SecondInstance => state::second_instance(on),
    }
}
