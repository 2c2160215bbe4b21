//! Before the run: every subsystem alone, excited where it stands.

use super::simulation::{Simulation, view};
use super::slot::Slot;
use crate::error::Result;
use crate::identify::{Known, Place, Probe, ProbeNeeds, Probed};
use crate::system::{InputId, SystemGraph};
use rayon::prelude::*;

/// How often subsystems are excited at most.
const ROUNDS: usize = 2;
/// Points at which the range of an external signal is looked for.
const POINTS: u32 = 4096;

/// A subsystem and what is known of it so far.
struct Candidate<'a> {
    /// Nothing if it is not to be excited, or did not come through.
    probe: Option<Probe<'a>>,
    reason: Option<String>,
    known: Known,
    /// Its inputs that can move, by their place, and their ranges, 0 where nothing is known.
    places: Vec<usize>,
    inputs: Vec<f64>,
}

impl Simulation {
    /// Excites all subsystems, again with other ranges if the coupling finds that better.
    pub(super) fn probe_all(&mut self, needs: ProbeNeeds) -> Result<()> {
        let spared = self.coupling.spared().to_vec();
        let mut ranges = None;
        for _ in 0..ROUNDS {
            let probed = self.probe(needs, &spared, ranges.as_deref())?;
            let view = view(&self.graph, &self.board, self.clock.step(0, 1));
            ranges = self.coupling.probed(&view, probed, self.clock.steps());
            if ranges.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// What exciting each subsystem tells about it. All subsystems stand as before afterwards.
    fn probe(&mut self, needs: ProbeNeeds, spared: &[String], ranges: Option<&[f64]>) -> Result<Vec<Probed>> {
        let (start, size) = (self.clock.time(0), self.clock.size());
        let stop = self.clock.time(self.clock.steps());
        for name in spared {
            self.graph.find(name)?;
        }
        let graph = &self.graph;
        let rest: Vec<Vec<f64>> = self.slots.iter().map(|slot| self.inputs_at(slot, start)).collect();
        let excited: Vec<Vec<InputId>> = self.slots.iter().map(|slot| excited(graph, slot)).collect();
        let signals: Vec<f64> = (0..graph.inputs()).map(|input| moves(graph, input, start, stop)).collect();
        let outputs = &self.board.outputs;
        let mut candidates: Vec<Candidate<'_>> = self
            .slots
            .par_iter_mut()
            .map(|slot| {
                let first = slot.inputs.start;
                let place = Place {
                    start,
                    size,
                    nodes: needs.nodes,
                    rest: &rest[slot.id],
                    outputs: &outputs[slot.outputs.clone()],
                    inputs: excited[slot.id].iter().map(|input| input - first).collect(),
                };
                Candidate::new(graph, slot, place, spared)
            })
            .collect();
        if let Some(ranges) = ranges {
            for (id, candidate) in candidates.iter_mut().enumerate() {
                candidate.known = ranges[graph.outputs_of(id)].iter().copied().map(Some).collect();
            }
        }
        find_ranges(graph, &mut candidates, &excited, &signals)?;
        let probed: Result<Vec<Probed>> = candidates.par_iter_mut().map(Candidate::finish).collect();
        drop(candidates);
        let probed = probed?;
        // Those that were started anew have forgotten their inputs.
        self.find_consistent_start(start)?;
        Ok(probed)
    }

    fn inputs_at(&self, slot: &Slot, time: f64) -> Vec<f64> {
        let value = |input| self.board.history.arrivals()[input] + slot.external(&self.graph, input, time);
        slot.inputs.clone().map(value).collect()
    }
}

impl<'a> Candidate<'a> {
    fn new(graph: &SystemGraph, slot: &'a mut Slot, place: Place<'a>, spared: &[String]) -> Self {
        let nominal: Vec<_> = graph.ports(slot.id).outputs.iter().map(|output| output.nominal).collect();
        let at_start = |value: f64| (value != 0.0).then(|| value.abs());
        let known = |k: usize| nominal[k].or(at_start(place.outputs[k]));
        let known: Known = (0..nominal.len()).map(known).collect();
        let (places, inputs) = (place.inputs.clone(), vec![0.0; place.inputs.len()]);
        if spared.iter().any(|name| name == graph.name(slot.id)) {
            let reason = Some("it is not to be excited".into());
            return Candidate { probe: None, reason, known, places, inputs };
        }
        match Probe::new(slot.subsystem.as_mut(), place) {
            Ok(probe) => {
                let known = probe.ranges_at_rest(&nominal);
                Candidate { probe: Some(probe), reason: None, known, places, inputs }
            }
            Err(error) => Candidate { probe: None, reason: Some(error.to_string()), known, places, inputs },
        }
    }

    /// Excites it with the ranges that have been found, and puts it back.
    fn finish(&mut self) -> Result<Probed> {
        let outputs: Vec<f64> = self.known.iter().map(|range| range.unwrap_or(1.0)).collect();
        let inputs: Vec<f64> = self.inputs.iter().map(|r| if *r > 0.0 { *r } else { 1.0 }).collect();
        let Some(probe) = &mut self.probe else {
            let reason = self.reason.take();
            return Ok(Probed::without_model(self.places.clone(), inputs, outputs, reason));
        };
        let probed = probe.run(&inputs, &outputs);
        probe.rewind()?;
        Ok(probed.unwrap_or_else(|error| {
            Probed::without_model(self.places.clone(), inputs, outputs, Some(error.to_string()))
        }))
    }
}

/// Ranges of all signals, from subsystem to subsystem.
fn find_ranges(
    graph: &SystemGraph,
    candidates: &mut [Candidate<'_>],
    excited: &[Vec<InputId>],
    signals: &[f64],
) -> Result<()> {
    // Every round settles at least one subsystem.
    for _ in 0..=candidates.len() {
        let known: Vec<f64> =
            candidates.iter().flat_map(|c| c.known.iter().map(|range| range.unwrap_or(0.0))).collect();
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
        let settled =
            candidates.par_iter_mut().map(Candidate::settle).try_reduce(|| false, |a, b| Ok(a | b))?;
        if !settled && let Some(first) = candidates.iter_mut().find(|c| c.known.iter().any(Option::is_none)) {
            first.known.iter_mut().for_each(|range| *range = range.or(Some(1.0)));
        }
    }
    Ok(())
}

impl Candidate<'_> {
    /// Finds the ranges of its outputs if its inputs are known to move; true if it found one.
    fn settle(&mut self) -> Result<bool> {
        let Candidate { probe: Some(probe), known, inputs, .. } = self else { return Ok(false) };
        let before = known.iter().flatten().count();
        if before == known.len() || inputs.iter().all(|range| *range == 0.0) {
            return Ok(false);
        }
        // What fails here fails again when it is excited, and is told there.
        let _ = probe.ranges_excited(inputs, known);
        Ok(known.iter().flatten().count() > before)
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
