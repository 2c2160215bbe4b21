//! FMUs as subsystems.
//!
//! [`ModelExchange`] puts one of koppel's solvers to the equations of an FMU. [`CoSimulation`] drives an FMU that brings its
//! own. How the input polynomial reaches the latter, best first:
//!
//! 1. FMI 3.0 intermediate update, if every continuous input takes part: the FMU asks inside the step, and gets the
//!    polynomial's value at that time;
//! 2. FMI 2.0 input derivatives, if it can interpolate inputs: values and derivatives at the start of each piece, up to
//!    [`Options::input_order`];
//! 3. sub-steps: each sloped piece is walked in [`Options::substeps`] equal parts, with the input's mean over the part, or
//!    where outputs are looked at inside the step as stairs that end with the input's value there (`stairs.rs`).
//!
//! What an FMU refuses when it is first tried is done without (`route.rs`). [`koppel::system::Capabilities::solver`] says which was taken.
//!
//! Integers, Booleans and enumerations are numbers that are held over a step; strings, binaries and triggered clocks are
//! messages (`messages.rs`). Where the FMU has an event mode, its events are handled inside the step (`events.rs`).
//!
//! | file                           | what                                                                                                           |
//! | ------------------------------ | -------------------------------------------------------------------------------------------------------------- |
//! | `deferred.rs`                  | an FMU as a subsystem whose instance is made when it is first initialised; `identity.rs`, what is known before |
//! | `base.rs`                      | what every kind of instance has; `binding.rs`, its calls by name; `options.rs`, how it is made and driven      |
//! | `model_exchange/`              | model exchange: the equations of an FMU with koppel's solver                                                   |
//! | `stepping.rs`                  | **one communication step**; `walking.rs`, one with clocks and events inside                                    |
//! | `feed.rs`                      | inputs inside a step; `route.rs`, how they reach the FMU; `stairs.rs`, as constants                            |
//! | `inside.rs`                    | outputs at the ends of the FMU's own steps                                                                     |
//! | `events.rs`                    | event mode; `clocks.rs`, `clockwork.rs`, clocks; `messages.rs`, texts and bytes                                |
//! | `start_values.rs`, `starts.rs` | start values: checked, then set; `read_back.rs`, whether the FMU kept them                                     |
//! | `state.rs`                     | saved states; `memory.rs`, messages in them; `past.rs`, which of them may still be restored                    |
//! | `linearization.rs`             | linear models: `matrices.rs`, from derivatives; `judging.rs`, whether these are right                          |
//! | `ports.rs`                     | variables as ports; `terminals.rs`; `access.rs`, numbers in and out; `value.rs`, values of users               |

mod access;
mod base;
mod binding;
mod clocks;
mod clockwork;
mod deferred;
mod events;
mod feed;
mod identity;
mod inside;
mod judging;
mod linearization;
mod matrices;
mod memory;
mod messages;
mod model_exchange;
mod options;
mod past;
mod ports;
mod read_back;
mod route;
mod stairs;
mod start_values;
mod starts;
mod state;
mod stepping;
mod terminals;
mod value;
mod walking;

pub use base::Base;
pub use binding::Binding;
pub use deferred::Deferred;
pub(crate) use identity::capabilities;
pub use model_exchange::ModelExchange;
pub use options::{Options, Solving, Without};
pub use ports::ports;
pub use value::Value;

use crate::error::Result;
use crate::ffi::Kind;
use crate::fmu::Fmu;
use access::Access;
use events::Events;
use feed::Feed;
use inside::Inside;
use koppel::linalg::Matrix;
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::system::{
    Capabilities, Dependencies, EventLog, LinearModel, Mailbox, Message, Ports, Snapshot, StateSpace,
    Subsystem, VariableId,
};
use linearization::Linearization;
use matrices::Unknowns;
use messages::Given;
use past::Past;
use route::Route;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use stepping::{Plain, Stepper};

/// An instance of an FMU as a subsystem, of whichever kind it is: the one place where they are made.
pub fn instantiate_any(fmu: &Arc<Fmu>, options: &Options) -> Result<Box<dyn Subsystem>> {
    Ok(match &options.solving {
        Solving::Own => Box::new(CoSimulation::new(fmu, options)?),
        Solving::Koppel(solver) => Box::new(ModelExchange::new(fmu, options, solver.as_ref())?),
    })
}

/// What the instance may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Instantiated,
    Initializing,
    Stepping,
    /// It has asked to end the simulation: values can be read, nothing else.
    Over,
    /// A step has failed: only a saved state or a new start leads on.
    Failed,
}

/// A co-simulation instance of FMI 2.0 or 3.0.
pub struct CoSimulation {
    stepper: Stepper,
    linearization: Linearization,
}

impl Deref for CoSimulation {
    type Target = Base;

    #[inline]
    fn deref(&self) -> &Base {
        &self.stepper.base
    }
}

impl DerefMut for CoSimulation {
    #[inline]
    fn deref_mut(&mut self) -> &mut Base {
        &mut self.stepper.base
    }
}

impl CoSimulation {
    /// Makes an instance.
    pub fn new(fmu: &Arc<Fmu>, options: &Options) -> Result<CoSimulation> {
        let resized = starts::adapted(fmu.description(), options)?;
        let description = resized.as_deref().unwrap_or(fmu.description());
        let not_one = || fmu.lacks(Kind::CoSimulation);
        let section = description.co_simulation.as_ref().ok_or_else(not_one)?;
        let (mut ports, slots) = ports::of(description);
        starts::start_inputs(&mut ports.inputs, &options.start_values);
        ports.one_step_size = !section.can_handle_variable_communication_step_size;
        let smooth = Access::some(description, &slots.inputs, route::is_smooth);
        let route = Route::choose(description, section, &slots.inputs, options);
        let events = Events::new(description, section, &slots);
        let inside = Inside::new(description, section, &slots.outputs);
        // Where events are handled, discrete inputs are set in event mode only.
        let inputs = Access::some(description, &slots.inputs, |variable| {
            !section.has_event_mode || !events::is_discrete(variable)
        });
        let mut asked: Vec<u32> = Vec::new();
        if route == Route::Intermediate {
            asked.extend(smooth.reals().map_or(&[][..], |(references, _)| references));
        }
        asked.extend(inside.as_ref().map_or(&[][..], Inside::references));
        let intermediate = (route == Route::Intermediate || inside.is_some()).then_some(asked);
        let has_feed_through = ports.outputs.iter().any(|output| output.depends != Dependencies::None);
        let width = slots.inputs.len();
        let is_offered = section.interface.provides_directional_derivatives;
        let linearization = Linearization::new(Unknowns::new(description, &slots), is_offered);
        let varies_steps = section.can_handle_variable_communication_step_size;
        let parts = (ports, slots, inputs);
        let mut base = Base::new(fmu, resized.clone(), options, parts, Kind::CoSimulation, intermediate)?;
        let plain = match (events.is_none() && base.prepare_plain_steps(), varies_steps) {
            (false, _) => Plain::None,
            (true, false) => Plain::OneSize,
            (true, true) => Plain::All,
        };
        let stepper = Stepper {
            plain,
            base,
            feed: Feed::new(smooth, route, width),
            varies_steps,
            has_feed_through,
            events,
            inside,
            asked: 0,
            time: 0.0,
            last_size: None,
            only_size: None,
        };
        let mut one = CoSimulation { stepper, linearization };
        one.capabilities.counts_step_calls = true;
        one.capabilities.needs_trials = options.spared || one.linearization.needs_trials();
        one.stepper.describe();
        Ok(one)
    }

    /// How often the FMU has asked for inputs inside steps.
    pub(crate) fn asked(&self) -> u64 {
        self.stepper.asked
    }

    /// What the FMU refused to take of moving inputs though it declares it.
    pub(crate) fn refused_inputs(&self) -> Option<&str> {
        self.stepper.feed.refused()
    }

    /// The FMU it is an instance of.
    pub fn fmu(&self) -> &Arc<Fmu> {
        &self.fmu
    }
}

impl Subsystem for CoSimulation {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn initialize(&mut self, start: f64) -> koppel::Result<()> {
        (self.stepper.time, self.stepper.last_size, self.stepper.only_size) = (start, None, None);
        self.stepper.feed.is_known = false;
        self.past = Past::default();
        self.stepper.events.iter_mut().for_each(Events::reset);
        Ok(self.start(start)?)
    }

    /// Where events are handled, the first of them belongs to the first step.
    fn leave_initialization(&mut self) -> koppel::Result<bool> {
        let is_due = self.phase == Phase::Initializing && self.stepper.events.is_none();
        if is_due {
            self.exit_initialization()?;
        }
        Ok(is_due)
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        if let Some(inputs) = inputs.filter(|_| self.phase != Phase::Over) {
            self.stepper.feed.next.copy_from_slice(inputs);
            if self.phase == Phase::Stepping && self.options.without.reevaluation.is_some() {
                // Outputs would not follow: they are those of the last step.
            } else if self.stepper.events.is_none() {
                self.stepper.feed.set(&mut self.stepper.base)?;
            } else {
                self.stepper.set_inputs_and_events()?;
            }
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
        if self.phase == Phase::Stepping
            && (self.stepper.plain == Plain::All || self.stepper.is_of_one_size(step))
            && samples.request() == Request::Nothing
            && let Some(inputs) = input.constant()
        {
            return self.stepper.plain_step(step, inputs, outputs);
        }
        self.stepper.step_with_care(step, input, outputs, samples)
    }

    fn get(&mut self, variable: VariableId) -> koppel::Result<f64> {
        Ok(self.read_one(self.slot(variable))?)
    }

    fn set(&mut self, variable: VariableId, value: f64) -> koppel::Result<()> {
        // Where events are handled, parameters change in event mode.
        let is_event = self.phase == Phase::Stepping && self.stepper.has_event_mode();
        if is_event {
            self.stepper.enter_event_mode()?;
        }
        let changed = self.change(variable, value);
        if is_event {
            self.stepper.finish_event(&[])?;
        }
        Ok(changed?)
    }

    fn save(&mut self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        self.cut_memory(snapshot);
        let Base { states, binding, past, options, .. } = &mut self.stepper.base;
        let saved = states.save(&binding.backend, snapshot.horizon, &mut snapshot.bytes);
        state::explain(saved, options)?;
        past.note(snapshot, self.stepper.time);
        snapshot.reals.clear();
        snapshot.reals.push(if self.phase == Phase::Stepping { 1.0 } else { 0.0 });
        snapshot.reals.push(if self.stepper.feed.is_known { 1.0 } else { 0.0 });
        snapshot.reals.push(self.stepper.time);
        snapshot.reals.extend_from_slice(&self.stepper.feed.applied);
        self.stepper.events.iter().for_each(|events| events.save(&mut snapshot.reals));
        self.save_memory(snapshot);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        let size = self.stepper.feed.applied.len();
        let events = self.stepper.events.as_ref().map_or(0, Events::state_size);
        let not_ours = || Err(state::StateError::Restore("it is not one of this FMU"));
        let restored = match &snapshot.reals[..] {
            [phase, knows_inputs, time, numbers @ ..]
                if numbers.len() == size + events + self.memory_size() =>
            {
                // FMUs exist whose state does not hold the mode: one that is to step must have left initialization.
                if *phase == 1.0 && self.phase == Phase::Initializing {
                    self.stepper.begin_step(self.stepper.time, 0.0)?;
                }
                self.phase = if *phase == 1.0 { Phase::Stepping } else { Phase::Initializing };
                self.stepper.feed.is_known = *knows_inputs == 1.0;
                self.stepper.time = *time;
                self.stepper.base.event_log.forget_after(*time);
                self.stepper.feed.applied.copy_from_slice(&numbers[..size]);
                self.stepper.events.iter_mut().for_each(|now| now.restore(&numbers[size..size + events]));
                match self.restore_memory(&numbers[size + events..], &snapshot.bytes) {
                    Some(own) => self.states.restore(&self.backend, own),
                    None => not_ours(),
                }
            }
            _ => not_ours(),
        };
        Ok(state::explain(restored, &self.options)?)
    }

    fn linear_model(&mut self) -> Option<&mut dyn LinearModel> {
        Some(self)
    }

    fn mailbox(&mut self) -> Option<&mut dyn Mailbox> {
        Some(self)
    }
}

impl LinearModel for CoSimulation {
    fn linearize(&mut self, inputs: &[f64], out: &mut StateSpace) -> koppel::Result<bool> {
        let found = if self.options.spared { None } else { self.matrices(inputs)? };
        Ok(found.map(|found| *out = found).is_some())
    }

    fn feed_through(&mut self, inputs: &[f64], out: &mut Matrix) -> koppel::Result<bool> {
        let given = if self.options.spared { None } else { self.given_feed_through(inputs)? };
        Ok(given.map(|d| *out = d).is_some())
    }

    fn rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        if self.options.spared { Ok(false) } else { self.output_rates(inputs, rates) }
    }

    fn state_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        self.rates_of_states(inputs, rates)
    }
}

impl Mailbox for CoSimulation {
    fn send(&mut self, output: usize, message: &mut Message) -> koppel::Result<()> {
        let base = &mut self.stepper.base;
        Ok(base.mail.read(&base.binding, output, message)?)
    }

    fn receive(&mut self, input: usize, message: &Message) -> koppel::Result<()> {
        let given = match self.stepper.has_event_mode() {
            false => Given::AtOnce,
            true if self.phase == Phase::Stepping => Given::InEvents,
            true => Given::Unclocked,
        };
        let base = &mut self.stepper.base;
        Ok(base.mail.take(&base.binding, input, message, given)?)
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        self.stepper.has_event_mode().then_some(&mut self.stepper.base.event_log)
    }
}
