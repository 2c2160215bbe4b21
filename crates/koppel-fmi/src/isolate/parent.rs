//! The subsystem the engine sees: every call goes to the worker.

use super::ended::Input;
use super::link::{Failure, Link};
use super::protocol::{self, Answer, Call, GET, RATES, READ, STEP};
use super::{Ended, Ending, Isolation};
use crate::error::{Error, Result};
use crate::fmu::Fmu;
use crate::import::{self, Options, Solving};
use koppel::diagnostic::Seconds;
use koppel::linalg::Matrix;
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{
    Capabilities, EventLog, Holds, Horizon, LinearModel, Mailbox, Message, Ports, Snapshot, StateSpace,
    Subsystem, VariableId,
};
use std::sync::Arc;

/// An instance of an FMU in a process of its own.
pub(super) struct Isolated {
    ports: Ports,
    /// As the worker gave them last.
    capabilities: Capabilities,
    event_log: EventLog,
    /// The worker notes events.
    is_watched: bool,
    /// The end of its last step, and a little more.
    reached: f64,
    /// Snapshots that the worker must count with.
    holds: Holds,
    is_held: bool,
    link: Link,
    fmu: Arc<Fmu>,
    options: Options,
    isolation: Isolation,
}

impl Isolated {
    /// Starts a worker and makes the instance there.
    pub(super) fn new(fmu: &Arc<Fmu>, options: &Options, isolation: &Isolation) -> Result<Isolated> {
        let (link, ports, capabilities) = Self::hosted(fmu, options, isolation)?;
        let mut one = Isolated {
            ports,
            capabilities: import::capabilities(fmu, options),
            event_log: EventLog::default(),
            is_watched: false,
            reached: f64::NEG_INFINITY,
            holds: Holds::default(),
            is_held: false,
            link,
            fmu: fmu.clone(),
            options: options.clone(),
            isolation: isolation.clone(),
        };
        one.take(capabilities);
        Ok(one)
    }

    fn hosted(
        fmu: &Arc<Fmu>,
        options: &Options,
        isolation: &Isolation,
    ) -> Result<(Link, Ports, Capabilities)> {
        let mut link = Link::new(fmu, &options.name, options.log.clone(), isolation)?;
        match link.call(&Call::Host(Box::new(options.clone()))) {
            Ok(Answer::Hosted { ports, capabilities }) => Ok((link, ports, capabilities)),
            Ok(_) => Err(link.explain(Failure::Ended(Ending::Damaged), "")),
            Err(failure) => Err(link.explain(failure, "while it was instantiated")),
        }
    }

    /// Takes over what the worker says of its instance. The cache key does not cross.
    fn take(&mut self, capabilities: Capabilities) {
        let solver = format!("{}; isolated", capabilities.solver).into();
        let cache_key = self.capabilities.cache_key.take();
        self.capabilities = Capabilities { solver, cache_key, ..capabilities };
    }

    /// The worker may forget snapshots once the last of them is dropped.
    #[inline]
    fn release_dropped(&mut self) -> koppel::Result<()> {
        if self.is_held && !self.holds.are_held() {
            self.is_held = false;
            self.call(&Call::Release, "after its saved states were dropped")?;
        }
        Ok(())
    }

    /// A rare call at the time of the newest one.
    fn call(&mut self, call: &Call, doing: &str) -> koppel::Result<Answer> {
        self.call_under(call, doing, &[])
    }

    /// The same under these inputs.
    fn call_under(&mut self, call: &Call, doing: &str, inputs: &[f64]) -> koppel::Result<Answer> {
        let done = self.link.call(call);
        done.map_err(|failure| self.explain(failure, doing, inputs))
    }

    /// A failure under these inputs, at the time of the newest call.
    #[cold]
    fn explain(&mut self, failure: Failure, doing: &str, inputs: &[f64]) -> Box<koppel::Error> {
        let during = format!("{doing} at t = {} s", Seconds(self.link.time));
        let ports = &self.ports;
        explain(&mut self.link, failure, || (during, pairs(ports, inputs.iter().map(|v| (*v, *v)))))
    }
}

/// Names and values of the inputs of a step.
fn inputs(ports: &Ports, input: &Segment<'_>) -> Vec<Input> {
    let (mut begin, mut end) = (vec![0.0; input.inputs()], vec![0.0; input.inputs()]);
    input.piece(0).values(0.0, &mut begin);
    input.end_values(&mut end);
    pairs(ports, begin.into_iter().zip(end))
}

fn pairs(ports: &Ports, values: impl Iterator<Item = (f64, f64)>) -> Vec<Input> {
    let named = ports.inputs.iter().zip(values);
    named.map(|(v, values)| Input { name: v.name.clone(), unit: v.unit.clone(), values }).collect()
}

/// A failure as the engine's error; `context` says what was being done, and with which inputs.
#[cold]
fn explain(
    link: &mut Link,
    failure: Failure,
    context: impl FnOnce() -> (String, Vec<Input>),
) -> Box<koppel::Error> {
    if let Failure::Trouble(trouble) = failure {
        return trouble.into_engine();
    }
    let (during, inputs) = context();
    match link.bury(&failure, &during) {
        Some(ended) => Box::new(Error::Ended(Box::new(Ended { inputs, ..ended }))).into(),
        None => link.explain(failure, &during).into(),
    }
}

/// Messages that make no sense count as the worker's end.
fn broken<T>(result: std::io::Result<T>) -> Result<T, Failure> {
    result.map_err(Failure::from)
}

impl Subsystem for Isolated {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn initialize(&mut self, start: f64) -> koppel::Result<()> {
        if self.link.is_gone() {
            // A new worker: what the old one did to end itself, in an experiment before the run for example, is over.
            self.link = Self::hosted(&self.fmu, &self.options, &self.isolation)?.0;
            (self.is_watched, self.is_held) = (false, false);
        }
        self.link.time = start;
        self.call(&Call::Initialize(start), "while it was initialised").map(|_| ())
    }

    fn leave_initialization(&mut self) -> koppel::Result<bool> {
        let answer = self.call(&Call::LeaveInitialization, "while it left its initialization")?;
        Ok(matches!(answer, Answer::Left(true)))
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        let reply = self.link.exchange(READ, 1 + inputs.map_or(0, <[f64]>::len), |put| {
            put.word(inputs.is_some().into());
            put.reals(inputs.unwrap_or(&[]));
        });
        let done = reply.and_then(|mut reply| broken(reply.reals(outputs)));
        done.map_err(|failure| self.explain(failure, "while its outputs were read", inputs.unwrap_or(&[])))
    }

    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> koppel::Result<()> {
        if !self.is_watched
            && let Some(variables) = self.event_log.variables()
        {
            self.call(&Call::Watch(variables.to_vec()), "while its events were asked for")?;
            self.is_watched = true;
        }
        self.release_dropped()?;
        let link = &mut self.link;
        link.time = step.start;
        let (offsets, coefficients) = (input.offsets(), input.coefficients());
        let reply = link.exchange(STEP, 8 + offsets.len() + coefficients.len(), |put| {
            put.word(step.index);
            put.reals(&[step.start, step.size]);
            protocol::request_words(samples.request()).into_iter().for_each(|word| put.word(word));
            [input.inputs(), input.terms(), offsets.len()]
                .into_iter()
                .for_each(|count| put.word(count as u64));
            put.reals(offsets);
            put.reals(coefficients);
        });
        let step_calls = &mut self.capabilities.step_calls;
        let done = reply.and_then(|mut reply| {
            *step_calls = broken(reply.word())?;
            broken(reply.reals(outputs))?;
            samples.clear();
            for _ in 0..broken(reply.count())? {
                let time = broken(reply.real())?;
                broken(reply.reals(samples.push(time)))?;
            }
            Ok(())
        });
        match done {
            Ok(()) => {
                link.time = step.end();
                self.reached = step.end() + 1e-6 * step.size;
                Ok(())
            }
            Err(failure) => {
                let ports = &self.ports;
                let error = explain(link, failure, || {
                    let during = format!(
                        "in the step from t = {} s to t = {} s",
                        Seconds(step.start),
                        Seconds(step.end())
                    );
                    (during, inputs(ports, input))
                });
                if let koppel::Error::Terminated { reached: Some(reached), .. } = *error {
                    self.link.time = reached;
                    self.read(None, outputs)?;
                }
                Err(error)
            }
        }
    }

    fn get(&mut self, variable: VariableId) -> koppel::Result<f64> {
        let words = protocol::variable_words(variable);
        let reply =
            self.link.exchange(GET, words.len(), |put| words.into_iter().for_each(|word| put.word(word)));
        let value = reply.and_then(|mut reply| broken(reply.real()));
        value.map_err(|failure| {
            let doing = format!("while `{}` was read", self.ports.variable(variable).name);
            self.explain(failure, &doing, &[])
        })
    }

    fn set(&mut self, variable: VariableId, value: f64) -> koppel::Result<()> {
        let doing = format!("while `{}` was set to {value}", self.ports.variable(variable).name);
        self.call(&Call::Set(variable, value), &doing).map(|_| ())
    }

    fn save(&mut self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        snapshot.release();
        self.release_dropped()?;
        let horizon = snapshot.horizon;
        let asked = Call::Save(std::mem::take(snapshot), horizon);
        let answer = self.call(&asked, "while its state was saved");
        let done = answer.map(|answer| {
            if let Answer::Saved(saved) = answer {
                *snapshot = saved;
            }
        });
        snapshot.horizon = horizon;
        if done.is_ok() && matches!(horizon, Horizon::Run | Horizon::Anywhere) {
            snapshot.hold = self.holds.hold();
            self.is_held = true;
        }
        done
    }

    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        self.call(&Call::Restore(snapshot.clone()), "while its state was restored").map(|_| ())
    }

    fn linear_model(&mut self) -> Option<&mut dyn LinearModel> {
        Some(self)
    }

    fn mailbox(&mut self) -> Option<&mut dyn Mailbox> {
        Some(self)
    }
}

impl LinearModel for Isolated {
    fn linearize(&mut self, inputs: &[f64], out: &mut StateSpace) -> koppel::Result<bool> {
        if self.capabilities.is_spared {
            return Ok(false);
        }
        let asked = Call::Linearize(inputs.to_vec());
        let answer = self.call_under(&asked, "while it was linearised", inputs)?;
        let Answer::Linear { model, capabilities } = answer else { return Ok(false) };
        self.take(capabilities);
        Ok(model.map(|model| *out = model).is_some())
    }

    fn feed_through(&mut self, inputs: &[f64], out: &mut Matrix) -> koppel::Result<bool> {
        if self.options.spared {
            return Ok(false);
        }
        let asked = Call::FeedThrough(inputs.to_vec());
        let answer = self.call_under(&asked, "while its feed-through was found", inputs)?;
        let Answer::FeedThrough(Some(matrix)) = answer else { return Ok(false) };
        *out = matrix;
        Ok(true)
    }

    fn rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        let reply = self.link.exchange(RATES, inputs.len(), |put| put.reals(inputs));
        let known = reply.and_then(|mut reply| {
            let are_known = broken(reply.word())? == 1;
            if are_known {
                broken(reply.reals(rates))?;
            }
            Ok(are_known)
        });
        known.map_err(|failure| self.explain(failure, "while its rates were found", inputs))
    }

    fn state_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        let asked = Call::StateRates(inputs.to_vec(), rates.len());
        let answer = self.call_under(&asked, "while the rates of its states were found", inputs)?;
        let Answer::Rates(Some(found)) = answer else { return Ok(false) };
        rates.copy_from_slice(&found);
        Ok(true)
    }
}

impl Mailbox for Isolated {
    fn send(&mut self, output: usize, message: &mut Message) -> koppel::Result<()> {
        let doing = format!("while `{}` was read", self.ports.message_outputs[output].name);
        if let Answer::Sent(sent) = self.call(&Call::Send(output, message.clone()), &doing)? {
            *message = sent;
        }
        Ok(())
    }

    fn receive(&mut self, input: usize, message: &Message) -> koppel::Result<()> {
        let doing = format!("while `{}` was set", self.ports.message_inputs[input].name);
        self.call(&Call::Receive(input, message.clone()), &doing).map(|_| ())
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        let section = self.fmu.description().co_simulation.as_ref();
        let has_events = match self.options.solving {
            Solving::Own => section.is_some_and(|section| section.has_event_mode),
            Solving::Koppel(_) => true,
        };
        if self.is_watched {
            let asked = Call::Events(self.reached);
            // A worker that has ended says so in the next step.
            if let Ok(Answer::Events(events)) = self.call(&asked, "while its events were read") {
                events.into_iter().for_each(|event| self.event_log.note(event));
            }
        }
        has_events.then_some(&mut self.event_log)
    }
}
