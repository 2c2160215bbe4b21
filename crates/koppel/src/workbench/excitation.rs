//! Every subsystem alone, excited where the run begins.

use crate::error::{Error, Result};
use crate::identify::{
    KnownRanges, LinearQuery, Memory, Origin, Place, Probe, ProbeNeeds, ProbeStore, Probed, Range, Surrogate,
};
use crate::network::{Network, Settings, Slot};
use crate::signal::Clock;
use crate::system::{InputId, SubsystemId, SystemGraph};
use rayon::prelude::*;
use std::time::Instant;

/// Points at which the range of an external signal is looked for.
const POINTS: u32 = 4096;

/// A subsystem and what is known of it so far.
pub(super) struct Candidate<'a> {
    pub(super) id: SubsystemId,
    /// Nothing if it is not to be excited.
    probe: Option<Probe<'a>>,
    /// Why it has no model.
    reason: Option<String>,
    known: KnownRanges,
    /// Its inputs that can move, by their place, and their ranges, 0 where nothing is known.
    places: Vec<usize>,
    inputs: Vec<f64>,
    /// Time spent, and calls of its stepping function before.
    seconds: f64,
    calls_before: Option<u64>,
    is_copy: bool,
}

/// What was found of one subsystem.
pub(super) struct Excited<R> {
    pub(super) found: R,
    pub(super) known: KnownRanges,
    pub(super) work: Work,
}

/// What that took.
#[derive(Clone, Copy, Default)]
pub(super) struct Work {
    pub(super) seconds: f64,
    pub(super) step_calls: u64,
    pub(super) from_cache: bool,
}

/// What is the same for all.
struct Surroundings<'a> {
    graph: &'a SystemGraph,
    spared: &'a [String],
    store: Option<&'a dyn ProbeStore>,
}

/// How subsystems are excited.
#[derive(Clone, Copy)]
pub(super) struct Excitation<'a> {
    pub(super) clock: Clock,
    pub(super) needs: ProbeNeeds,
    /// What was set in each subsystem since it was initialised.
    pub(super) settings: &'a Settings,
    /// Subsystems that are left alone, by name.
    pub(super) spared: &'a [String],
    /// What was found in earlier runs.
    pub(super) store: Option<&'a dyn ProbeStore>,
    pub(super) on_threads: bool,
    /// True if copies stand in the place of the run's own subsystems.
    pub(super) are_copies: bool,
}

impl Excitation<'_> {
    /// Finds the ranges of all signals, then what `finish` finds of each subsystem and puts it back after.
    pub(super) fn each<R: Send>(
        &self,
        network: &mut Network,
        ranges: Option<&[f64]>,
        finish: impl Fn(&mut Candidate<'_>) -> R + Send + Sync,
    ) -> Result<Vec<Excited<R>>> {
        let Excitation { clock, needs, settings, spared, store, on_threads, are_copies } = *self;
        let (start, size) = (clock.time(0), clock.size());
        let stop = clock.time(clock.steps());
        for name in spared {
            network.graph.find(name)?;
        }
        let Network { graph, slots, board, .. } = network;
        let graph = &*graph;
        let around = Surroundings { graph, spared, store };
        let at_start = |slot: &Slot| {
            let value = |input| board.history.arrivals()[input] + slot.external(graph, input, start);
            slot.inputs.clone().map(value).collect()
        };
        let rest: Vec<Vec<f64>> = slots.iter().map(at_start).collect();
        let excited: Vec<Vec<InputId>> = slots.iter().map(|slot| excited(graph, slot)).collect();
        let signals: Vec<f64> = (0..graph.inputs()).map(|input| moves(graph, input, start, stop)).collect();
        let outputs = &board.outputs;
        let candidate = |slot| {
            let slot: &mut Slot = slot;
            let first = slot.inputs.start;
            let place = Place {
                start,
                size: size * f64::from(slot.every),
                nodes: needs.nodes,
                rest: &rest[slot.id],
                outputs: &outputs[slot.outputs.clone()],
                inputs: excited[slot.id].iter().map(|input| input - first).collect(),
                settings: settings[slot.id].clone(),
                is_copy: are_copies,
            };
            Candidate::new(&around, slot, place)
        };
        let mut candidates = each(on_threads, slots, candidate);
        if let Some(ranges) = ranges {
            let rehearsed = |value: &f64| Some(Range { value: *value, origin: Origin::Rehearsal });
            for (id, candidate) in candidates.iter_mut().enumerate() {
                candidate.known = ranges[graph.outputs_of(id)].iter().map(rehearsed).collect();
            }
        }
        find_ranges(graph, &mut candidates, &excited, &signals, on_threads)?;
        let finished = each(on_threads, &mut candidates, |candidate| Excited {
            found: finish(candidate),
            known: candidate.known.clone(),
            work: candidate.work(),
        });
        Ok(finished)
    }
}

/// Side by side, unless threads are not wanted.
fn each<'s, T: Send, R: Send>(
    on_threads: bool,
    list: &'s mut [T],
    work: impl Fn(&'s mut T) -> R + Send + Sync,
) -> Vec<R> {
    if on_threads { list.par_iter_mut().map(work).collect() } else { list.iter_mut().map(work).collect() }
}

impl<'a> Candidate<'a> {
    fn new(around: &Surroundings<'a>, slot: &'a mut Slot, place: Place<'a>) -> Self {
        let begin = Instant::now();
        let Surroundings { graph, spared, store } = *around;
        let nominal: Vec<_> = graph.ports(slot.id).outputs.iter().map(|output| output.nominal).collect();
        let calls_before = slot.subsystem.capabilities().counted_steps();
        let gets_messages = graph.message_wires().iter().any(|wire| wire.to == slot.id);
        let reason = if spared.iter().any(|name| name == graph.name(slot.id)) {
            Some("it must not be probed".into())
        } else if gets_messages && slot.subsystem.can_roll_back().is_err() {
            Some("it receives messages and cannot save its state".into())
        } else {
            slot.subsystem.capabilities().not_to_probe.clone()
        };
        let (places, inputs) = (place.inputs.clone(), vec![0.0; place.inputs.len()]);
        let mut new = Candidate {
            is_copy: place.is_copy,
            id: slot.id,
            probe: None,
            reason,
            known: Vec::new(),
            places,
            inputs,
            seconds: 0.0,
            calls_before,
        };
        if new.reason.is_some() {
            new.known = declared(&nominal, place.outputs);
            return new;
        }
        // The cache key does not cover what it gets by messages.
        let identity = if gets_messages { None } else { slot.subsystem.identity() };
        let memory = store.zip(identity).map(|(store, identity)| Memory { store, identity });
        let outputs = place.outputs;
        let probe = Probe::new(slot.subsystem.as_mut(), place, memory);
        new.reason = probe.subject.lack();
        new.known =
            if new.reason.is_none() { probe.ranges_at_rest(&nominal) } else { declared(&nominal, outputs) };
        new.probe = Some(probe);
        new.seconds = begin.elapsed().as_secs_f64();
        new
    }

    /// Ranges of the inputs that are excited and of all outputs.
    fn ranges(&self) -> (Vec<f64>, Vec<f64>) {
        let outputs = self.known.iter().map(|range| range.map_or(1.0, |r| r.value)).collect();
        let inputs = self.inputs.iter().map(|r| if *r > 0.0 { *r } else { 1.0 }).collect();
        (inputs, outputs)
    }

    /// Excites it with the ranges that have been found, and puts it back.
    pub(super) fn finish(&mut self) -> Result<Probed> {
        let (inputs, outputs) = self.ranges();
        let places = self.places.clone();
        let without = |reason: String| {
            Probed::without_model(places.clone(), inputs.clone(), outputs.clone(), Some(reason))
        };
        let found = self.tried(|probe| probe.run(&inputs, &outputs))?;
        Ok(found.unwrap_or_else(without))
    }

    /// Its linear model of these outputs, or why there is none; and puts it back.
    pub(super) fn linear(
        &mut self,
        watched: &[usize],
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<std::result::Result<Surrogate, String>> {
        let (inputs, outputs) = self.ranges();
        let look = LinearQuery { inputs: &inputs, outputs: &outputs, watched, progress };
        self.tried(|probe| probe.linear(&look))
    }

    /// Puts it back where it was.
    pub(super) fn leave(&mut self) -> Result<()> {
        self.probe.as_mut().map_or(Ok(()), |probe| probe.subject.rewind())
    }

    /// What an attempt finds, or why nothing; an error if the subsystem cannot be put back.
    fn tried<T>(
        &mut self,
        attempt: impl FnOnce(&mut Probe<'_>) -> Result<T>,
    ) -> Result<std::result::Result<T, String>> {
        let begin = Instant::now();
        let found = match (&mut self.probe, &self.reason) {
            (Some(probe), None) => attempt(probe).map_err(|error| reason(&error)),
            (_, reason) => Err(reason.clone().unwrap_or_default()),
        };
        let back = self.leave();
        self.seconds += begin.elapsed().as_secs_f64();
        // The run does not depend on what became of a copy.
        if self.is_copy { Ok(found) } else { back.map(|()| found) }
    }

    /// What it took.
    fn work(&self) -> Work {
        let Some(probe) = &self.probe else { return Work::default() };
        let counted =
            self.calls_before.zip(probe.subject.step_calls()).map(|(before, now)| now.saturating_sub(before));
        Work {
            seconds: self.seconds,
            step_calls: counted.unwrap_or(probe.subject.steps()),
            from_cache: probe.subject.is_recalled(),
        }
    }
}

fn reason(error: &Error) -> String {
    match error {
        Error::Unsupported { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

/// Ranges of outputs of which nothing but nominal and start values can be known.
fn declared(nominal: &[Option<f64>], outputs: &[f64]) -> KnownRanges {
    let range = |(nominal, value): (&Option<f64>, &f64)| match nominal.map(f64::abs) {
        Some(value) if value > 0.0 && value.is_finite() => Some(Range { value, origin: Origin::Nominal }),
        _ => (*value != 0.0).then(|| Range { value: value.abs(), origin: Origin::Start }),
    };
    nominal.iter().zip(outputs).map(range).collect()
}

/// Ranges of all signals, from subsystem to subsystem.
fn find_ranges(
    graph: &SystemGraph,
    candidates: &mut [Candidate<'_>],
    excited: &[Vec<InputId>],
    signals: &[f64],
    on_threads: bool,
) -> Result<()> {
    // Every round settles at least one subsystem.
    for _ in 0..=candidates.len() {
        let known: Vec<f64> = candidates
            .iter()
            .flat_map(|c| c.known.iter().map(|range| range.map_or(0.0, |r| r.value)))
            .collect();
        let range = |input: &InputId| {
            let wires = &graph.wires()[graph.wires_into(*input)];
            signals[*input] + wires.iter().map(|wire| wire.gain.abs() * known[wire.source]).sum::<f64>()
        };
        for (candidate, inputs) in candidates.iter_mut().zip(excited) {
            candidate.inputs = inputs.iter().map(range).collect();
        }
        if candidates.iter().all(|c| c.known.iter().all(Option::is_some)) {
            return Ok(());
        }
        let settled = each(on_threads, candidates, Candidate::settle).into_iter().any(|settled| settled);
        if !settled && let Some(first) = candidates.iter_mut().find(|c| c.known.iter().any(Option::is_none)) {
            let one = Range { value: 1.0, origin: Origin::Assumed };
            first.known.iter_mut().for_each(|range| *range = range.or(Some(one)));
        }
    }
    Ok(())
}

impl Candidate<'_> {
    /// Finds the ranges of its outputs if its inputs are known to move; true if it found one.
    fn settle(&mut self) -> bool {
        let Candidate { probe: Some(probe), known, inputs, reason: None, .. } = self else { return false };
        let before = known.iter().flatten().count();
        if before == known.len() || inputs.iter().all(|range| *range == 0.0) {
            return false;
        }
        let begin = Instant::now();
        // What fails here fails again when it is excited, and is told there.
        let _ = probe.ranges_excited(inputs, known);
        self.seconds += begin.elapsed().as_secs_f64();
        known.iter().flatten().count() > before
    }
}

/// Inputs of a subsystem that can move during the run.
fn excited(graph: &SystemGraph, slot: &Slot) -> Vec<InputId> {
    let moves = |input: &InputId| {
        let is_held = graph.input_variable(*input).is_held || graph.map(*input).is_some();
        let has_signal = graph.externals().iter().any(|(other, _)| other == input);
        !is_held && (has_signal || !graph.is_free(*input))
    };
    slot.inputs.clone().filter(moves).collect()
}

/// How far the external signals of an input move over the run.
fn moves(graph: &SystemGraph, input: InputId, start: f64, stop: f64) -> f64 {
    let mut sum = 0.0;
    for (_, signal) in graph.externals().iter().filter(|(other, _)| *other == input) {
        let at = |k: u32| signal.value(start + (stop - start) * f64::from(k) / f64::from(POINTS));
        let (low, high) = (0..=POINTS)
            .map(at)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v: f64| (l.min(v), h.max(v)));
        sum += high - low;
    }
    sum
}
