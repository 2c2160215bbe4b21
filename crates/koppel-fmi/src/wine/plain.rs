//! A whole step as one message: set inputs, step, get outputs.

use super::remote::{CALL, GONE, Gone, HEAD, Remote};
use super::stubs;
use crate::description::FmiVersion;
use crate::ffi::{StepCall, StepInfo};
use std::cell::Cell;
use std::ffi::c_int;

/// Bytes of the head and of three calls, in front of the data.
const CALLS: usize = HEAD + 3 * CALL;
/// Bytes of what `fmi3DoStep` gives: three flags and a time.
const FLAGS: usize = 32;

/// The message of a step. It stays in the shared file from one step to the next.
pub(crate) struct PlainStep {
    at: usize,
    names: [&'static str; 3],
    /// Functions, by their places.
    functions: [usize; 3],
    /// Those that are called: nothing is set or got where there is nothing.
    order: Box<[usize]>,
    inputs: Box<[u32]>,
    outputs: Box<[u32]>,
    is_fmi3: bool,
    /// Where the worker had mapped the file when the message was written.
    base: Cell<u64>,
}

/// Why a step did not get to its end.
pub(crate) enum Stopped {
    /// A call returned this code.
    Failed(&'static str, c_int),
    /// The FMU stopped by itself.
    Early(StepInfo),
}

impl PlainStep {
    /// If the process is alive and knows the functions.
    pub(crate) fn new(
        remote: &Remote,
        version: FmiVersion,
        inputs: &[u32],
        outputs: &[u32],
    ) -> Option<PlainStep> {
        let is_fmi3 = version == FmiVersion::Fmi3;
        let names = match version {
            FmiVersion::Fmi2 => ["fmi2SetReal", "fmi2DoStep", "fmi2GetReal"],
            FmiVersion::Fmi3 => ["fmi3SetFloat64", "fmi3DoStep", "fmi3GetFloat64"],
        };
        let functions = names.map(stubs::place);
        let [Some(set), Some(step), Some(get)] = functions else { return None };
        let mut plain = PlainStep {
            at: 0,
            names,
            functions: [set, step, get],
            order: [(0, inputs.is_empty()), (1, false), (2, outputs.is_empty())]
                .into_iter()
                .filter_map(|(k, is_empty)| (!is_empty).then_some(k))
                .collect(),
            inputs: inputs.into(),
            outputs: outputs.into(),
            is_fmi3,
            base: Cell::new(0),
        };
        plain.at = remote.keep(plain.places()[4]).ok()?;
        Some(plain)
    }

    /// Offsets of inputs and their values, outputs and their values, and of the end, all without `at`; the flags come first.
    fn places(&self) -> [usize; 5] {
        let (n, m) = (self.inputs.len(), self.outputs.len());
        let inputs = CALLS + FLAGS;
        let values = inputs + (4 * n).next_multiple_of(8);
        let outputs = values + 8 * n;
        let results = outputs + (4 * m).next_multiple_of(8);
        [inputs, values, outputs, results, results + 8 * m]
    }

    /// Writes all that does not change from step to step.
    #[cold]
    fn write(&self, remote: &Remote) -> Result<(), Gone> {
        let [set, step, get] = self.functions;
        let addresses = [remote.address(set)?, remote.address(step)?, remote.address(get)?];
        let (memory, base) = (remote.memory(), remote.base());
        let places = self.places();
        let place = |offset: usize| base + (self.at + offset) as u64;
        let (instance, n, m) = (remote.instance.get(), self.inputs.len() as u64, self.outputs.len() as u64);
        let flags = [0, 8, 16, 24].map(|k| place(CALLS + k));
        let mut words = [0; CALLS / 8];
        words[0] = super::remote::CALLS;
        // The number of values, which FMI 3.0 wants, does not disturb FMI 2.0.
        let arguments: [&[u64]; 3] = [
            &[instance, place(places[0]), n, place(places[1]), n],
            &[instance, 0, 0, 0, flags[0], flags[1], flags[2], flags[3]],
            &[instance, place(places[2]), m, place(places[3]), m],
        ];
        for (position, &k) in self.order.iter().enumerate() {
            let first = (HEAD + position * CALL) / 8;
            words[first..first + 3].copy_from_slice(&[addresses[k], 1, 0]);
            words[first + 3..first + 3 + arguments[k].len()].copy_from_slice(arguments[k]);
        }
        // SAFETY: `keep` has made room, and this process has the turn.
        unsafe {
            memory.put(self.at, &words);
            let references = [(places[0], &self.inputs), (places[2], &self.outputs)];
            for (offset, list) in references {
                let to = memory.at(self.at + offset);
                std::ptr::copy_nonoverlapping(list.as_ptr().cast(), to, size_of_val(&**list));
            }
        }
        self.base.set(base);
        Ok(())
    }

    /// Sets the inputs, steps and gets the outputs.
    #[inline]
    pub(crate) fn run(
        &self,
        remote: &Remote,
        step: StepCall,
        values: &[f64],
        results: &mut [f64],
    ) -> Result<(), Stopped> {
        assert!(
            self.inputs.len() == values.len() && self.outputs.len() == results.len(),
            "one value per reference"
        );
        let order = &self.order[..];
        let name = |position: usize| self.names[order[position.min(order.len() - 1)]];
        let gone = |Gone| Stopped::Failed(name(remote.running()), GONE);
        if self.base.get() != remote.base() {
            self.write(remote).map_err(gone)?;
        }
        let (memory, at) = (remote.memory(), self.at);
        let places = self.places();
        let of_step = at + HEAD + if order[0] == 1 { 0 } else { CALL } + 32;
        let of_flags = at + CALLS;
        // SAFETY: `keep` has made room, and this process has the turn.
        unsafe {
            memory.put(at + 8, &[order.len() as u64]);
            memory.put(of_step, &[step.time.to_bits(), step.size.to_bits(), step.never_back.into()]);
            if self.is_fmi3 {
                memory.put(of_flags, &[0, 0, 0, (step.time + step.size).to_bits()]);
            }
            std::ptr::copy_nonoverlapping(
                values.as_ptr().cast(),
                memory.at(at + places[1]),
                size_of_val(values),
            );
        }
        remote.exchange_kept(at).map_err(gone)?;
        let done = memory.word(at + 8).min(order.len() as u64) as usize;
        for position in 0..done {
            let code = memory.word(at + HEAD + position * CALL + 16) as c_int;
            if code != 0 && code != 1 {
                return Err(Stopped::Failed(name(position), code));
            }
        }
        if self.is_fmi3 {
            let [event, terminate, early] = [0, 8, 16].map(|k| memory.word(of_flags + k) & 0xff != 0);
            if terminate || early {
                return Err(Stopped::Early(StepInfo {
                    event_needed: event,
                    terminate_simulation: terminate,
                    early_return: early,
                    last_successful_time: f64::from_bits(memory.word(of_flags + 24)),
                }));
            }
        }
        // SAFETY: within the file, whatever its content; this process has the turn.
        unsafe {
            std::ptr::copy_nonoverlapping(
                memory.at(at + places[3]),
                results.as_mut_ptr().cast(),
                size_of_val(results),
            );
        }
        Ok(())
    }
}
