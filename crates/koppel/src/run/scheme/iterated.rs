//! Iteration of the step: the members of a loop repeat the macro step until the inputs they were given fit the outputs they give
//! (Kübler & Schiehlen 2000, (24)).
//!
//! Torn outputs at the end of the step are guessed. They are delivered as if their subsystems had moved, so that the coupling
//! interpolates where it would have extrapolated: constant inputs with `zoh`, linear ones with `foh`, parabolas with `soh`. Then the
//! members move in stages, each with what those before it gave. If the results do not fit the guess, all members are rolled back.

use super::scheme::Scheme;
use super::stage::{Attempt, Stage};
use super::staged::Staged;
use crate::error::{Error, Result};
use crate::iteration::{IterationConfig, LoopWork, OnNonConvergence, Search, Verdict};
use crate::network::{Network, Slot};
use crate::signal::Step;
use crate::system::{Horizon, OutputId, Snapshot, SubsystemId, SystemGraph};
use crate::tape::Tape;
use std::ops::Range;

/// Size of differences: results of steps are exact to the solvers' tolerances.
const DELTA: f64 = 1e-3;

/// A staged scheme in which loops of subsystems are iterated.
pub(super) struct Iterated {
    staged: Staged,
    /// In the order of their stages.
    loops: Vec<StepLoop>,
}

struct StepLoop {
    stages: Range<usize>,
    members: Range<SubsystemId>,
    search: Search,
    owners: Vec<SubsystemId>,
    snapshots: Vec<Snapshot>,
    otherwise: OnNonConvergence,
    work: LoopWork,
}

impl StepLoop {
    fn new(graph: &SystemGraph, stages: &[Stage], range: Range<usize>, config: &IterationConfig) -> Self {
        let members = stages[range.start].members.start..stages[range.end - 1].members.end;
        let stage_of = |id: SubsystemId| stages.iter().position(|stage| stage.members.contains(&id));
        let is_torn = |output: &OutputId| {
            let from = graph.subsystem_of_output(*output);
            let wires = graph.wires_from(from).iter().map(|w| graph.wires()[*w]);
            let mut targets =
                wires.filter(|w| w.source == *output).map(|w| graph.subsystem_of_input(w.target));
            targets.any(|to| members.contains(&to) && (!config.torn || stage_of(to) <= stage_of(from)))
        };
        let outputs = graph.outputs_of(members.start).start..graph.outputs_of(members.end - 1).end;
        let torn: Vec<OutputId> = outputs.filter(is_torn).collect();
        let mut owners: Vec<SubsystemId> = torn.iter().map(|o| graph.subsystem_of_output(*o)).collect();
        owners.dedup();
        let names: Vec<&str> = members.clone().map(|id| graph.name(id)).collect();
        let unknowns = torn.iter().map(|o| graph.output_name(*o)).collect();
        let path = names.join(" <-> ");
        StepLoop {
            search: Search::new(graph, torn, config, DELTA),
            owners,
            snapshots: members.clone().map(|_| Snapshot::new(Horizon::Step)).collect(),
            stages: range,
            members,
            otherwise: config.otherwise,
            work: LoopWork { kind: "step".into(), path, unknowns, ..LoopWork::default() },
        }
    }
}

impl StepLoop {
    /// Keeps the states of the members and delivers a first guess.
    fn begin(&mut self, network: &mut Network, step: &Step, end: f64) -> Result<()> {
        self.save(network, step.start)?;
        self.search.begin(&network.board.outputs, end);
        self.deliver_guess(network, end);
        Ok(())
    }

    fn save(&mut self, network: &mut Network, time: f64) -> Result<()> {
        let Network { slots, graph, .. } = network;
        for (slot, snapshot) in slots[self.members.clone()].iter_mut().zip(&mut self.snapshots) {
            let saved = slot.subsystem.save(snapshot);
            saved.map_err(|source| cannot_roll_back(slot, graph, time, &source))?;
        }
        Ok(())
    }

    /// The guess arrives as if it were what the members have given at `end`.
    fn deliver_guess(&self, network: &mut Network, end: f64) {
        self.search.write(&mut network.board.outputs);
        self.owners.iter().for_each(|id| network.board.deliver_one(&network.graph, *id, end));
    }

    /// Whether the step is repeated with another guess.
    fn judge(&mut self, network: &Network) -> Verdict {
        // Nobody knows derivatives of a whole step.
        match self.search.judge(&network.board.outputs) {
            Verdict::Derivatives => self.search.differences(),
            verdict => verdict,
        }
    }

    /// All members roll back to the start of the step, and the next guess is delivered.
    fn roll_back(&self, network: &mut Network, end: f64) -> Result<()> {
        let Network { slots, graph, .. } = network;
        for (slot, snapshot) in slots[self.members.clone()].iter_mut().zip(&self.snapshots) {
            slot.subsystem.restore(snapshot).map_err(|source| Error::Subsystem {
                subsystem: graph.name(slot.id).into(),
                time: end,
                source,
            })?;
        }
        self.deliver_guess(network, end);
        Ok(())
    }

    /// The last trial counts: it has converged, or is accepted all the same.
    fn accept(&mut self, network: &mut Network, verdict: Verdict, end: f64) -> Result<()> {
        let (evaluations, residual) = (self.search.evaluations(), self.search.size());
        if verdict == Verdict::Failed {
            self.work.note_unconverged(end);
            if self.otherwise != OnNonConvergence::Accept || !residual.is_finite() {
                return Err(Error::LoopNotSolved {
                    path: self.work.path.clone(),
                    time: end,
                    residual,
                    iterations: evaluations as usize,
                    worst: network.graph.output_name(self.search.worst()),
                }
                .into());
            }
        }
        let graph = &network.graph;
        let outputs = graph.outputs_of(self.members.start).start..graph.outputs_of(self.members.end - 1).end;
        network.check_finite(outputs, end)?;
        if verdict == Verdict::Converged {
            self.deliver_guess(network, end);
            self.search.remember(&network.board.outputs, end);
        } else {
            self.search.forget();
        }
        Ok(())
    }
}

impl Iterated {
    /// Refuses members of loops that cannot roll back. Loops consist of these ranges of stages.
    pub(super) fn new(
        staged: Staged,
        network: &mut Network,
        loops: &[Range<usize>],
        config: &IterationConfig,
        time: f64,
    ) -> Result<Self> {
        let new = |range: &Range<usize>| StepLoop::new(&network.graph, &staged.stages, range.clone(), config);
        let mut loops: Vec<StepLoop> = loops.iter().map(new).collect();
        for l in &mut loops {
            for slot in &network.slots[l.members.clone()] {
                let can = slot.subsystem.can_roll_back();
                can.map_err(|source| cannot_roll_back(slot, &network.graph, time, &source))?;
            }
            l.save(network, time)?;
        }
        Ok(Iterated { staged, loops })
    }

    /// The stages of one loop, until inputs and outputs fit.
    fn iterate(&mut self, network: &mut Network, number: usize, step: &Step, end: f64) -> Result<()> {
        let Iterated { staged, loops } = self;
        let l = &mut loops[number];
        l.begin(network, step, end)?;
        let verdict = loop {
            for stage in l.stages.clone() {
                staged.stage(network, stage, step, end, Attempt::Trial)?;
            }
            let ended = staged.outcome.ended_trial.take();
            let verdict = l.judge(network);
            if verdict == Verdict::Again {
                // The request of a member that is rolled back with its step is void.
                let is_member = |name: &str| l.members.clone().any(|id| network.graph.name(id) == name);
                if staged.outcome.termination.as_ref().is_some_and(|request| is_member(&request.subsystem)) {
                    staged.outcome.termination = None;
                }
                l.roll_back(network, end)?;
                continue;
            }
            l.work.note(l.search.evaluations(), l.search.size());
            // There is no better trial: a member that has ended the run inside it has done so.
            if let Some(error) = ended {
                staged.outcome.advanced = l.members.end;
                return Err(error);
            }
            break verdict;
        };
        l.accept(network, verdict, end)?;
        if !network.messages.is_empty() {
            network.carry_messages(l.members.clone(), end)?;
        }
        Ok(())
    }
}

impl Scheme for Iterated {
    fn advance(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        self.staged.prepare(network, step)?;
        let (mut stage, mut number) = (0, 0);
        while stage < self.staged.stages.len() {
            match self.loops.get(number).map(|l| l.stages.clone()) {
                Some(stages) if stages.start == stage => {
                    self.iterate(network, number, &step, end)?;
                    (stage, number) = (stages.end, number + 1);
                }
                _ => {
                    self.staged.stage(network, stage, &step, end, Attempt::Final)?;
                    stage += 1;
                }
            }
        }
        self.staged.finish(network, end)
    }

    fn staged(&self) -> &Staged {
        &self.staged
    }

    fn staged_mut(&mut self) -> &mut Staged {
        &mut self.staged
    }

    fn snapshot(&self, id: SubsystemId) -> Option<&Snapshot> {
        let of = self.loops.iter().find(|l| l.members.contains(&id))?;
        of.snapshots.get(id - of.members.start)
    }

    fn keeps_states(&self) -> bool {
        true
    }

    fn loop_work(&self, number: usize) -> Option<&LoopWork> {
        self.loops.get(number).map(|l| &l.work)
    }

    fn loop_work_mut(&mut self, number: usize) -> Option<&mut LoopWork> {
        self.loops.get_mut(number).map(|l| &mut l.work)
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        self.loops.iter_mut().for_each(|l| l.search.state(tape));
    }
}

fn cannot_roll_back(slot: &Slot, graph: &SystemGraph, time: f64, source: &Error) -> Box<Error> {
    let subsystem = graph.name(slot.id).to_owned();
    Error::CannotRollBack { subsystem, time, reason: source.to_string() }.into()
}
