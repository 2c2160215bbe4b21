//! The subsystem the engine sees: every call goes to the worker.

use super::ended::Input;
use super::link::{Failure, Link};
use super::protocol::{self, Answer, Call, GET, NOT_COUNTED, RATES, READ, STEP};
use super::{Ended, Ending, Isolation};
use crate::error::{Error, Result};
use crate::fmu::Fmu;
use crate::import::{self, Options, Solving};
use koppel::diagnostic::Seconds;
use koppel::linalg::Matrix;
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{EventLog, Horizon, Message, Ports, Snapshot, StateSpace, Subsystem, VariableId};
use std::cell::RefCell;
use std::sync::Arc;

/// An instance of an FMU in a process of its own.
pub(super) struct Isolated {
    ports: Ports,
    solver: String,
    model_source: Option<String>,
    lack_of_model: Option<String>,
    /// As the worker told last.
    step_calls: Option<u64>,
    event_log: EventLog,
    /// The worker notes events.
    is_watched: bool,
    /// The end of its last step, and a little more.
    reached: f64,
    /// Saving a state needs the worker, too.
    link: RefCell<Link>,
    fmu: Arc<Fmu>,
    options: Options,
    isolation: Isolation,
}

impl Isolated {
    /// Starts a worker and makes the instance there.
    pub(super) fn new(fmu: &Arc<Fmu>, options: &Options, isolation: &Isolation) -> Result<Isolated> {
        let (link, ports, solver) = Self::hosted(fmu, options, isolation)?;
        Ok(Isolated {
            ports,
            solver: isolated(&solver),
            model_source: None,
            lack_of_model: None,
            step_calls: None,
            event_log: EventLog::default(),
            is_watched: false,
            reached: f64::NEG_INFINITY,
            link: RefCell::new(link),
            fmu: fmu.clone(),
            options: options.clone(),
            isolation: isolation.clone(),
        })
    }

    fn hosted(fmu: &Arc<Fmu>, options: &Options, isolation: &Isolation) -> Result<(Link, Ports, String)> {
        let mut link = Link::new(fmu, &options.name, options.log.clone(), isolation)?;
        match link.call(&Call::Host(Box::new(options.clone()))) {
            Ok(Answer::Hosted { ports, solver }) => Ok((link, ports, solver)),
            Ok(_) => Err(link.explain(Failure::Ended(Ending::Damaged), "")),
            Err(failure) => Err(link.explain(failure, "while it was instantiated")),
        }
    }

    /// A rare call at the time of the newest one.
    fn call(&self, call: &Call, doing: &str) -> koppel::Result<Answer> {
        self.call_under(call, doing, &[])
    }

    /// The same under these inputs.
    fn call_under(&self, call: &Call, doing: &str, inputs: &[f64]) -> koppel::Result<Answer> {
        let given = || self.pairs(inputs.iter().map(|v| (*v, *v)));
        let link = &mut *self.link.borrow_mut();
        let time = link.time;
        link.call(call).map_err(|failure| {
            explain(link, failure, || (format!("{doing} at t = {} s", Seconds(time)), given()))
        })
    }

    /// Names and values of the inputs of a step.
    fn inputs(&self, input: &Segment<'_>) -> Vec<Input> {
        let (mut begin, mut end) = (vec![0.0; input.inputs()], vec![0.0; input.inputs()]);
        input.piece(0).values(0.0, &mut begin);
        input.end_values(&mut end);
        self.pairs(begin.into_iter().zip(end))
    }

    fn pairs(&self, values: impl Iterator<Item = (f64, f64)>) -> Vec<Input> {
        let named = self.ports.inputs.iter().zip(values);
        named.map(|(v, values)| Input { name: v.name.clone(), unit: v.unit.clone(), values }).collect()
    }
}

fn isolated(solver: &str) -> String {
    format!("{solver}; isolated")
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

    fn initialize(&mut self, start: f64) -> koppel::Result<()> {
        if self.link.get_mut().is_gone() {
            // A new worker: what the old one did to end itself, in an experiment before the run for example, is over.
            self.link = RefCell::new(Self::hosted(&self.fmu, &self.options, &self.isolation)?.0);
            self.is_watched = false;
        }
        self.link.get_mut().time = start;
        self.call(&Call::Initialize(start), "while it was initialised").map(|_| ())
    }

    fn leave_initialization(&mut self) -> koppel::Result<bool> {
        let answer = self.call(&Call::LeaveInitialization, "while it left its initialization")?;
        Ok(matches!(answer, Answer::Left(true)))
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        let link = self.link.get_mut();
        let reply = link.exchange(READ, 1 + inputs.map_or(0, <[f64]>::len), |put| {
            put.word(inputs.is_some().into());
            put.reals(inputs.unwrap_or(&[]));
        });
        let done = reply.and_then(|mut reply| broken(reply.reals(outputs)));
        done.map_err(|failure| {
            let link = &mut *self.link.borrow_mut();
            let time = link.time;
            explain(link, failure, || {
                let given = inputs.map_or(Vec::new(), |values| self.pairs(values.iter().map(|v| (*v, *v))));
                (format!("while its outputs were read at t = {} s", Seconds(time)), given)
            })
        })
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
        let link = self.link.get_mut();
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
        let step_calls = &mut self.step_calls;
        let done = reply.and_then(|mut reply| {
            *step_calls = Some(broken(reply.word())?).filter(|calls| *calls != NOT_COUNTED);
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
                let error = explain(&mut self.link.borrow_mut(), failure, || {
                    let during = format!(
                        "in the step from t = {} s to t = {} s",
                        Seconds(step.start),
                        Seconds(step.end())
                    );
                    (during, self.inputs(input))
                });
                if let koppel::Error::Terminated { reached: Some(reached), .. } = *error {
                    self.link.get_mut().time = reached;
                    self.read(None, outputs)?;
                }
                Err(error)
            }
        }
    }

    fn get(&mut self, variable: VariableId) -> koppel::Result<f64> {
        let link = self.link.get_mut();
        let time = link.time;
        let words = protocol::variable_words(variable);
        let reply = link.exchange(GET, words.len(), |put| words.into_iter().for_each(|word| put.word(word)));
        let value = reply.and_then(|mut reply| broken(reply.real()));
        value.map_err(|failure| {
            let name = &self.ports.variable(variable).name;
            explain(link, failure, || {
                (format!("while `{name}` was read at t = {} s", Seconds(time)), Vec::new())
            })
        })
    }

    fn set(&mut self, variable: VariableId, value: f64) -> koppel::Result<()> {
        let name = &self.ports.variable(variable).name;
        self.call(&Call::Set(variable, value), &format!("while `{name}` was set to {value}")).map(|_| ())
    }

    fn send(&mut self, output: usize, message: &mut Message) -> koppel::Result<()> {
        let name = &self.ports.message_outputs[output].name;
        let asked = Call::Send(output, message.clone());
        if let Answer::Sent(sent) = self.call(&asked, &format!("while `{name}` was read"))? {
            *message = sent;
        }
        Ok(())
    }

    fn receive(&mut self, input: usize, message: &Message) -> koppel::Result<()> {
        let name = &self.ports.message_inputs[input].name;
        self.call(&Call::Receive(input, message.clone()), &format!("while `{name}` was set")).map(|_| ())
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

    fn linearize(&mut self, inputs: &[f64]) -> koppel::Result<Option<StateSpace>> {
        if self.options.spared && self.options.solving == Solving::Own {
            self.lack_of_model = Some(import::SPARED.into());
            return Ok(None);
        }
        let asked = Call::Linearize(inputs.to_vec());
        let answer = self.call_under(&asked, "while it was linearised", inputs)?;
        let Answer::Linear { model, source, lack, solver } = answer else {
            return Ok(None);
        };
        (self.model_source, self.lack_of_model) = (source, lack);
        self.solver = isolated(&solver);
        Ok(model)
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

    fn state_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        let asked = Call::StateRates(inputs.to_vec(), rates.len());
        let answer = self.call_under(&asked, "while the rates of its states were found", inputs)?;
        let Answer::Rates(Some(found)) = answer else { return Ok(false) };
        rates.copy_from_slice(&found);
        Ok(true)
    }

    fn needs_trials(&self) -> bool {
        let section = self.fmu.description().co_simulation.as_ref();
        let section = section.filter(|_| self.options.solving == Solving::Own);
        let is_done_without = self.options.spared || self.options.without.derivatives.is_some();
        section.is_some_and(|section| is_done_without || !section.interface.provides_directional_derivatives)
    }

    fn model_source(&self) -> Option<String> {
        self.model_source.clone()
    }

    fn lack_of_model(&self) -> Option<String> {
        self.lack_of_model.clone()
    }

    fn rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> koppel::Result<bool> {
        let link = self.link.get_mut();
        let time = link.time;
        let reply = link.exchange(RATES, inputs.len(), |put| put.reals(inputs));
        let told = reply.and_then(|mut reply| {
            let is_told = broken(reply.word())? == 1;
            if is_told {
                broken(reply.reals(rates))?;
            }
            Ok(is_told)
        });
        told.map_err(|failure| {
            let during = format!("while its rates were found at t = {} s", Seconds(time));
            let link = &mut *self.link.borrow_mut();
            explain(link, failure, || (during, self.pairs(inputs.iter().map(|v| (*v, *v)))))
        })
    }

    fn solver(&self) -> String {
        self.solver.clone()
    }

    fn identity(&self) -> Option<String> {
        import::identity(&self.fmu, &self.options)
    }

    fn refusal(&self) -> Option<String> {
        import::refusal(self.fmu.description(), &self.options)
    }

    fn is_spared(&self) -> bool {
        self.options.spared && self.options.solving == Solving::Own
    }

    fn may_end_run(&self) -> bool {
        true
    }

    fn step_calls(&self) -> Option<u64> {
        self.step_calls
    }

    fn can_go_back(&self) -> koppel::Result<()> {
        if self.fmu.saves_states(&self.options) {
            return Ok(());
        }
        match self.options.solving {
            Solving::Own => Err(Box::new(import::cannot_save(&self.options)).into()),
            // One with continuous states alone can do without.
            Solving::Koppel(_) => self.save(&mut Snapshot::new(Horizon::Elsewhere)),
        }
    }

    fn save(&self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        let horizon = snapshot.horizon;
        let asked = Call::Save(std::mem::take(snapshot), horizon);
        let answer = self.call(&asked, "while its state was saved");
        let done = answer.map(|answer| {
            if let Answer::Saved(saved) = answer {
                *snapshot = saved;
            }
        });
        snapshot.horizon = horizon;
        done
    }

    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        self.call(&Call::Restore(snapshot.clone()), "while its state was restored").map(|_| ())
    }

    fn discard(&mut self) -> koppel::Result<()> {
        self.call(&Call::Discard, "after a trial").map(|_| ())
    }
}
