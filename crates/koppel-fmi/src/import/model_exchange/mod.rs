//! A model-exchange FMU as a subsystem: its equations, koppel's solver.
//!
//! The inputs are followed inside the solver: wherever it evaluates the FMU, it gets the polynomial's value at that time.
//! Discrete inputs are set in event mode, where pieces of the inputs begin; so are texts, bytes and ticks that have arrived.

mod equations;
mod events;
mod linearization;
mod snapshot;
mod stepping;

use super::access::Access;
use super::base::Base;
use super::matrices::Unknowns;
use super::messages::Given;
use super::past::Past;
use super::ports::{self, Slot};
use super::{Options, Phase, starts};
use crate::description::{Description, FmiVersion, Unknown, Variability};
use crate::error::{Error, Result};
use crate::ffi::Kind;
use crate::fmu::Fmu;
use equations::{Buffers, Jacobian};
use koppel::signal::{Samples, Segment, Step};
use koppel::solver::{Solver, SolverConfig, Tolerances};
use koppel::system::{
    Capabilities, EventLog, LinearModel, Mailbox, Message, Ports, Snapshot, StateSpace, Subsystem,
    VariableId, VariableKind,
};
use linearization::Linearization;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use stepping::{Integrator, Mode};

/// Relative tolerance where neither user nor FMU names one.
const TOLERANCE: f64 = 1e-6;

/// A model-exchange instance of FMI 2.0 or 3.0 with a solver.
pub struct ModelExchange {
    integrator: Integrator,
    linearization: Linearization,
}

impl Deref for ModelExchange {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.integrator.base
    }
}

impl DerefMut for ModelExchange {
    fn deref_mut(&mut self) -> &mut Base {
        &mut self.integrator.base
    }
}

impl ModelExchange {
    /// Makes an instance. Without `solver` it is [`SolverConfig::Adaptive`] with the tolerance of the options, else the one
    /// the FMU proposes, else 1e-6.
    pub fn new(fmu: &Arc<Fmu>, options: &Options, solver: Option<&SolverConfig>) -> Result<ModelExchange> {
        let resized = starts::adapted(fmu.description(), options)?;
        let description = resized.as_deref().unwrap_or(fmu.description());
        let not_one = || fmu.lacks(Kind::ModelExchange);
        let section = description.model_exchange.as_ref().ok_or_else(not_one)?;
        let config = solver.copied().unwrap_or_else(|| default_solver(description, options));
        let (mut ports, slots) = ports::of(description);
        starts::start_inputs(&mut ports.inputs, &options.start_values);
        let is_continuous = |slot: &Slot| {
            let variable = &description.variables[slot.variable];
            variable.variability == Variability::Continuous && variable.value_type.is_float()
        };
        let continuous = Access::some(description, &slots.inputs, |variable| {
            variable.variability == Variability::Continuous && variable.value_type.is_float()
        });
        let inputs = slots.inputs.len();
        let discrete: Vec<usize> = (0..inputs).filter(|k| !is_continuous(&slots.inputs[*k])).collect();
        let is_clocked = |slot: &Slot| !description.variables[slot.variable].clocks.is_empty();
        let is_clocked: Vec<bool> = slots.inputs.iter().map(is_clocked).collect();
        let is_tunable =
            |slot: &&Slot| description.variables[slot.variable].variability == Variability::Tunable;
        let tunables: Vec<Slot> = slots.parameters.iter().filter(is_tunable).copied().collect();
        let states = states(description);
        let failed = |source| Box::new(Error::Solver { instance: options.name.clone(), source });
        let solver = Solver::new(&config, states).map_err(failed)?;
        let wants_jacobian = matches!(config, SolverConfig::Stiff(_));
        let gives_it = section.interface.provides_directional_derivatives;
        let tunable = Access::new(description, &tunables);
        let jacobian = if wants_jacobian && gives_it { jacobian(description) } else { None };
        let is_asked = gives_it && !options.spared;
        let linearization = Linearization::new(Unknowns::new(description, &slots), is_asked);
        let has_messages = !(ports.message_inputs.is_empty() && ports.message_outputs.is_empty());
        let is_smooth = snapshot::is_smooth(description) && !has_messages;
        let at = Buffers::new(states, inputs, indicators(description));
        let completes_steps = section.needs_completed_integrator_step;
        // What is governed by clocks is given when these tick.
        let all = Access::some(description, &slots.inputs, |variable| variable.clocks.is_empty());
        let parts = (ports, slots, all);
        let base = Base::new(fmu, resized.clone(), options, parts, Kind::ModelExchange, None)?;
        let mut integrator = Integrator {
            solver,
            has_continuous_inputs: discrete.len() < inputs,
            continuous,
            discrete,
            is_clocked,
            tunable,
            tunables,
            jacobian,
            completes_steps,
            is_smooth,
            mode: Mode::Event,
            is_fresh: true,
            time: 0.0,
            next_event: None,
            events_left: 0,
            x: vec![0.0; states],
            scales: vec![1.0; states],
            settled: vec![f64::NAN; inputs],
            applied: vec![f64::NAN; inputs],
            next: vec![0.0; inputs],
            at,
            base,
        };
        integrator.base.capabilities.needs_trials = false;
        integrator.set_next_event(None);
        let with = if integrator.jacobian.is_some() { " with the FMU's Jacobian" } else { "" };
        integrator.base.describe(
            &format!("{config}{with}; "),
            "model exchange",
            "inputs followed inside the solver",
        );
        Ok(ModelExchange { integrator, linearization })
    }

    /// The FMU it is an instance of.
    pub fn fmu(&self) -> &Arc<Fmu> {
        &self.fmu
    }

    /// Its states in the FMU's units.
    pub(crate) fn plain_states(&self) -> Vec<f64> {
        let Integrator { x, scales, .. } = &self.integrator;
        x.iter().zip(scales).map(|(x, scale)| x * scale).collect()
    }

    /// Sets states for a look at what depends on them; to be set back before the next step.
    pub(crate) fn try_states(&self, plain: &[f64]) -> Result<()> {
        self.called(self.backend.set_states(plain))
    }
}

fn default_solver(description: &Description, options: &Options) -> SolverConfig {
    let proposed = description.default_experiment.and_then(|experiment| experiment.tolerance);
    let is_sensible = |rtol: &f64| rtol.is_finite() && *rtol > 0.0;
    let rtol = options.tolerance.or(proposed).filter(is_sensible).unwrap_or(TOLERANCE);
    // States are in units of their nominal values; the standard proposes a hundredth of the tolerance for these.
    SolverConfig::Adaptive(Tolerances { rtol, atol: 0.01 * rtol, ..Tolerances::default() })
}

/// How many continuous states there are, elements of arrays counted.
fn states(description: &Description) -> usize {
    elements(description, &description.structure.continuous_state_derivatives)
}

/// How many event indicators there are; FMI 2.0 gives their number, FMI 3.0 lists them as variables.
fn indicators(description: &Description) -> usize {
    match description.fmi_version {
        FmiVersion::Fmi2 => description.number_of_event_indicators,
        FmiVersion::Fmi3 => elements(description, &description.structure.event_indicators),
    }
}

fn elements(description: &Description, unknowns: &[Unknown]) -> usize {
    let count = |unknown: &Unknown| description.elements(&description.variables[unknown.variable]) as usize;
    unknowns.iter().map(count).sum()
}

/// References of the derivatives and of the states they belong to.
fn jacobian(description: &Description) -> Option<Jacobian> {
    let variables = &description.variables;
    let (mut derivatives, mut states) = (Vec::new(), Vec::new());
    for unknown in &description.structure.continuous_state_derivatives {
        let derivative = &variables[unknown.variable];
        derivatives.push(derivative.value_reference);
        states.push(variables[derivative.derivative?].value_reference);
    }
    Some(Jacobian { derivatives, states })
}

impl Subsystem for ModelExchange {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn initialize(&mut self, start: f64) -> koppel::Result<()> {
        self.start(start)?;
        self.past = Past::default();
        self.integrator.solver.reset();
        self.integrator.mode = Mode::Event;
        self.integrator.is_fresh = true;
        self.integrator.time = start;
        self.integrator.set_next_event(None);
        self.integrator.applied.fill(f64::NAN);
        self.integrator.settled.fill(f64::NAN);
        Ok(())
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        if let Some(inputs) = inputs.filter(|_| self.phase != Phase::Over) {
            self.integrator.next.copy_from_slice(inputs);
            let changes = |place: &usize| {
                self.integrator.next[*place] != self.integrator.applied[*place]
                    && !self.integrator.is_clocked[*place]
            };
            // What such a change sets off waits for the next step: more trials of the inputs may follow.
            if self.phase == Phase::Stepping && self.integrator.discrete.iter().any(changes) {
                self.integrator.enter_event_mode()?;
            }
            self.integrator.write_inputs()?;
        }
        Ok(self.get_outputs(outputs)?)
    }

    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> koppel::Result<()> {
        let mut done = self.integrator.go(step, input, outputs, samples);
        if let Err(error) = &mut done {
            self.close_failed(error, outputs);
        }
        Ok(done?)
    }

    fn get(&mut self, variable: VariableId) -> koppel::Result<f64> {
        Ok(self.read_one(self.slot(variable))?)
    }

    fn set(&mut self, variable: VariableId, value: f64) -> koppel::Result<()> {
        if self.phase == Phase::Stepping && variable.kind == VariableKind::Parameter {
            self.integrator.enter_event_mode()?;
        }
        Ok(self.change(variable, value)?)
    }

    fn save(&mut self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        Ok(self.integrator.write(snapshot)?)
    }

    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        self.integrator.take_back(snapshot)?;
        self.integrator.base.event_log.forget_after(self.integrator.time);
        Ok(())
    }

    fn linear_model(&mut self) -> Option<&mut dyn LinearModel> {
        Some(self)
    }

    fn mailbox(&mut self) -> Option<&mut dyn Mailbox> {
        Some(self)
    }
}

impl LinearModel for ModelExchange {
    fn linearize(&mut self, inputs: &[f64], out: &mut StateSpace) -> koppel::Result<bool> {
        *out = self.matrices(inputs)?;
        Ok(true)
    }

    fn rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        self.output_rates(inputs, rates)?;
        Ok(true)
    }

    fn state_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        Ok(self.rates_of_states(inputs, rates)?)
    }
}

impl Mailbox for ModelExchange {
    fn send(&mut self, output: usize, message: &mut Message) -> koppel::Result<()> {
        let base = &mut self.integrator.base;
        Ok(base.mail.read(&base.binding, output, message)?)
    }

    fn receive(&mut self, input: usize, message: &Message) -> koppel::Result<()> {
        let given = if self.phase == Phase::Stepping { Given::InEvents } else { Given::Unclocked };
        let base = &mut self.integrator.base;
        Ok(base.mail.take(&base.binding, input, message, given)?)
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        Some(&mut self.integrator.base.event_log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::matrices::tests::with_three_states;

    #[test]
    fn elements_of_arrays_are_states_and_event_indicators() {
        let description = with_three_states(
            r#"<Float64 name="y" valueReference="3" initial="exact" start="0"/>
              <Float64 name="dy" valueReference="4" derivative="3"/>
              <Float64 name="z" valueReference="5"><Dimension start="2"/></Float64>"#,
            r#"<ContinuousStateDerivative valueReference="2"/><ContinuousStateDerivative valueReference="4"/>
              <EventIndicator valueReference="5"/><EventIndicator valueReference="3"/>"#,
        );
        assert_eq!((states(&description), indicators(&description)), (4, 3));
        let Jacobian { derivatives, states } = jacobian(&description).unwrap();
        assert_eq!((derivatives, states), (vec![2, 4], vec![1, 3]));
    }
}
