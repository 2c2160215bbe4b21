//! The loop of a worker.

use super::channel::{Channel, Take};
use super::lifeline::{self, Folder};
use super::memory::Memory;
use super::protocol::{
    self, ANSWER, Answer, CALL, Call, DONE, FAILED, GET, Place, RATES, READ, STEP, Trouble,
};
use super::sandbox::entry;
use super::{Job, limits, ring};
use crate::ffi::{LogMessage, LogSink, note_calls_in};
use crate::fmu::Fmu;
use crate::import::{self, Options};
use crate::probe;
use koppel::linalg::Matrix;
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{Hold, Horizon, Subsystem};
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

pub(super) fn serve(parent: &str, jobs: &[(&str, Job)]) -> io::Result<()> {
    let parent = lifeline::parent(parent)?;
    // No thread may be there before, and no FMU.
    let memory = Memory::open(entry::enter()?)?;
    let folder = lifeline::hold(parent)?;
    // The FMU finds an empty standard input.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    note_calls_in(std::slice::from_ref(&memory.control_for_ever()?.calls));
    let mut worker = Worker { channel: Channel::new(memory), jobs, folder, fmu: None, hosted: None };
    while worker.turn()? == Go::On {}
    Ok(())
}

#[derive(PartialEq, Eq)]
enum Go {
    On,
    Home,
}

struct Worker<'a> {
    channel: Channel,
    jobs: &'a [(&'a str, Job)],
    folder: Folder,
    fmu: Option<Arc<Fmu>>,
    hosted: Option<Hosted>,
}

/// An instance with the buffers of its calls.
struct Hosted {
    subsystem: Box<dyn Subsystem>,
    inputs: Vec<f64>,
    outputs: Vec<f64>,
    offsets: Vec<f64>,
    coefficients: Vec<f64>,
    samples: Samples,
    /// Of the snapshots that the parent has.
    hold: Hold,
}

impl Worker<'_> {
    /// Waits for one request and answers it.
    fn turn(&mut self) -> io::Result<Go> {
        self.channel.next();
        let (tag, request) = self.channel.read()?;
        let mut go = Go::On;
        let done = match (tag, &mut self.hosted) {
            (STEP, Some(hosted)) => {
                sent(hosted.step(request)?.map(|()| hosted.write_step(&mut self.channel)))?
            }
            (READ, Some(hosted)) => sent(hosted.read(request)?.map(|()| {
                let outputs = &hosted.outputs;
                self.channel.write(DONE, outputs.len(), |put| put.reals(outputs))
            }))?,
            (GET, Some(hosted)) => sent(
                hosted.get(request)?.map(|value| self.channel.write(DONE, 1, |put| put.reals(&[value]))),
            )?,
            (RATES, Some(hosted)) => sent(hosted.rates(request)?.map(|is_told| {
                let rates = if is_told { &hosted.outputs[..] } else { &[] };
                self.channel.write(DONE, 1 + rates.len(), |put| {
                    put.word(is_told.into());
                    put.reals(rates);
                })
            }))?,
            (CALL, _) => {
                let mut request = request;
                let call = postcard::from_bytes(&request.bytes()?).map_err(io::Error::other)?;
                if matches!(call, Call::Quit) {
                    go = Go::Home;
                }
                match self.call(call) {
                    Ok(answer) => {
                        let bytes = postcard::to_stdvec(&answer).map_err(io::Error::other)?;
                        self.channel.write_bytes(ANSWER, &bytes).map(Ok)?
                    }
                    Err(trouble) => Err(trouble),
                }
            }
            _ => return Err(super::channel::damaged()),
        };
        if let Err(trouble) = done {
            self.channel.write_bytes(FAILED, &postcard::to_stdvec(&trouble).map_err(io::Error::other)?)?;
        }
        self.channel.answer();
        Ok(go)
    }

    fn call(&mut self, call: Call) -> Result<Answer, Trouble> {
        let Some(hosted) = &mut self.hosted else { return self.prepare(call) };
        let subsystem = &mut hosted.subsystem;
        let done = match call {
            Call::Initialize(start) => subsystem.initialize(start),
            Call::LeaveInitialization => {
                return Ok(Answer::Left(subsystem.leave_initialization()?));
            }
            Call::Set(variable, value) => subsystem.set(variable, value),
            Call::Receive(input, message) => subsystem.receive(input, &message),
            Call::Send(output, mut message) => {
                subsystem.send(output, &mut message)?;
                return Ok(Answer::Sent(message));
            }
            Call::Watch(variables) => {
                subsystem.events().into_iter().for_each(|log| log.watch(variables.clone()));
                Ok(())
            }
            Call::Events(time) => {
                let events = subsystem.events().into_iter().flat_map(|log| log.take_until(time));
                return Ok(Answer::Events(events.collect()));
            }
            Call::Restore(snapshot) => subsystem.restore(&snapshot),
            Call::Linearize(inputs) => {
                let model = subsystem.linearize(&inputs)?;
                return Ok(Answer::Linear { model, capabilities: subsystem.capabilities().clone() });
            }
            Call::Release => {
                hosted.hold = Hold::default();
                Ok(())
            }
            Call::FeedThrough(inputs) => {
                let mut matrix = Matrix::zeros(hosted.outputs.len(), inputs.len());
                let is_known = subsystem.feed_through(&inputs, &mut matrix)?;
                return Ok(Answer::FeedThrough(is_known.then_some(matrix)));
            }
            Call::StateRates(inputs, states) => {
                let mut rates = vec![0.0; states];
                let are_known = subsystem.state_rates(&inputs, &mut rates)?;
                return Ok(Answer::Rates(are_known.then_some(rates)));
            }
            Call::Save(mut snapshot, horizon) => {
                snapshot.horizon = horizon;
                subsystem.save(&mut snapshot)?;
                // What crosses to the parent holds nothing here.
                if matches!(horizon, Horizon::Run | Horizon::Anywhere) {
                    hosted.hold = snapshot.hold.clone();
                }
                return Ok(Answer::Saved(snapshot));
            }
            Call::Quit => {
                self.hosted = None;
                Ok(())
            }
            Call::Open(_) | Call::Host(_) | Call::Job(..) => return Err(out_of_order()),
        };
        done?;
        Ok(Answer::Nothing)
    }

    /// Calls before there is an instance.
    fn prepare(&mut self, call: Call) -> Result<Answer, Trouble> {
        match (call, &self.fmu) {
            (Call::Quit, _) => Ok(Answer::Nothing),
            (Call::Open(place), _) => self.open(&place),
            (Call::Host(options), Some(fmu)) => {
                let fmu = fmu.clone();
                self.host(&fmu, *options)
            }
            (Call::Job(name, input), Some(fmu)) => {
                let own: (&str, Job) = (probe::JOB, probe::job);
                let job =
                    self.jobs.iter().chain([&own]).find(|(known, _)| *known == name).ok_or_else(|| {
                        Trouble::Words { text: format!("there is no job `{name}`"), hint: None }
                    })?;
                let done = job.1(fmu, &input);
                done.map(Answer::Result).map_err(|text| Trouble::Words { text, hint: None })
            }
            _ => Err(out_of_order()),
        }
    }

    fn open(&mut self, place: &Place) -> Result<Answer, Trouble> {
        *self.folder.lock().unwrap_or_else(PoisonError::into_inner) = Some(place.folder.clone());
        let too_small = |text| Trouble::Words { text, hint: Some("raise memory_limit".into()) };
        place.memory.into_iter().try_for_each(limits::apply).map_err(too_small)?;
        self.fmu = Some(Fmu::shared(&place.path, &place.folder)?);
        Ok(Answer::Nothing)
    }

    fn host(&mut self, fmu: &Arc<Fmu>, options: Options) -> Result<Answer, Trouble> {
        let options = Options { log: self.log(), ..options };
        let subsystem = import::instantiate_any(fmu, &options)?;
        let (ports, capabilities) = (subsystem.ports().clone(), subsystem.capabilities().clone());
        self.hosted = Some(Hosted {
            inputs: vec![0.0; ports.inputs.len()],
            outputs: vec![0.0; ports.outputs.len()],
            offsets: Vec::new(),
            coefficients: Vec::new(),
            samples: Samples::default(),
            hold: Hold::default(),
            subsystem,
        });
        Ok(Answer::Hosted { ports, capabilities })
    }

    /// Messages go to the ring; an FMU may send them from any thread.
    fn log(&self) -> Option<LogSink> {
        let memory = self.channel.memory().file().and_then(Memory::open).ok()?;
        let memory = Mutex::new(memory);
        Some(Arc::new(move |message: &LogMessage| {
            ring::say(&memory.lock().unwrap_or_else(PoisonError::into_inner), message);
        }))
    }
}

/// What came of a call, and of writing its answer.
fn sent(done: koppel::Result<io::Result<()>>) -> io::Result<Result<(), Trouble>> {
    match done {
        Ok(written) => written.map(Ok),
        Err(error) => Ok(Err(error.into())),
    }
}

fn out_of_order() -> Trouble {
    Trouble::Words { text: "calls of an isolated FMU are out of order".into(), hint: None }
}

impl Hosted {
    fn step(&mut self, mut request: Take<'_>) -> io::Result<koppel::Result<()>> {
        let (index, start, size) = (request.word()?, request.real()?, request.real()?);
        let step = Step { index, start, size };
        let wanted = protocol::request_from([request.word()?, request.word()?]);
        let (inputs, terms, pieces) = (request.word()? as usize, request.word()? as usize, request.count()?);
        request.list(pieces, &mut self.offsets)?;
        request.list(pieces * inputs * terms, &mut self.coefficients)?;
        if self.samples.request() != wanted {
            self.samples = Samples::new(wanted, self.outputs.len());
        }
        let segment = Segment::from_parts(&step, inputs, terms, &self.offsets, &self.coefficients);
        Ok(self.subsystem.step(&step, &segment, &mut self.outputs, &mut self.samples))
    }

    fn write_step(&self, channel: &mut Channel) -> io::Result<()> {
        let (outputs, times) = (&self.outputs, self.samples.times());
        let calls = self.subsystem.capabilities().step_calls;
        channel.write(DONE, 1 + outputs.len() + 1 + times.len() * (1 + outputs.len()), |put| {
            put.word(calls);
            put.reals(outputs);
            put.word(times.len() as u64);
            for (k, time) in times.iter().enumerate() {
                put.reals(&[*time]);
                put.reals(self.samples.at(k));
            }
        })
    }

    fn read(&mut self, mut request: Take<'_>) -> io::Result<koppel::Result<()>> {
        let inputs = if request.word()? == 1 {
            request.reals(&mut self.inputs)?;
            Some(&self.inputs[..])
        } else {
            None
        };
        Ok(self.subsystem.read(inputs, &mut self.outputs))
    }

    fn rates(&mut self, mut request: Take<'_>) -> io::Result<koppel::Result<bool>> {
        request.reals(&mut self.inputs)?;
        Ok(self.subsystem.rates(&self.inputs, &mut self.outputs))
    }

    fn get(&mut self, mut request: Take<'_>) -> io::Result<koppel::Result<f64>> {
        let variable = protocol::variable_from([request.word()?, request.word()?]);
        Ok(self.subsystem.get(variable))
    }
}
