//! Iteration of the step: the members of a loop repeat the macro step until the inputs they were given fit the outputs they give
//! (Kübler & Schiehlen 2000, (24)).
//!
//! Guessed are torn outputs at the end of the step. They are delivered as if their subsystems had moved, so that the coupling
//! interpolates where it would have extrapolated: constant inputs with `zoh`, linear ones with `foh`, parabolas with `soh`. Then the
//! members move in stages, each with what those before it gave. If the results do not fit the guess, all members are rolled back.

use super::config::{IterationConfig, Otherwise};
use super::search::{Search, Verdict};
use super::tally::LoopWork;
use crate::error::{Error, Result, Subject};
use crate::run::failure::non_finite;
use crate::run::simulation::{Simulation, Stage};
use crate::run::slot::Slot;
use crate::signal::Step;
use crate::system::{Horizon, OutputId, Snapshot, SubsystemId, SystemGraph};
use std::ops::Range;

/// Size of differences: results of steps are exact to the solvers' tolerances.
const DELTA: f64 = 1e-3;

/// All loops of subsystems of a run.
#[derive(Default)]
pub(in crate::run) struct StepIteration {
    loops: Vec<StepLoop>,
    /// Which loop a stage belongs to.
    loop_of: Vec<Option<usize>>,
}

struct StepLoop {
    stages: Range<usize>,
    members: Range<SubsystemId>,
    search: Search,
    owners: Vec<SubsystemId>,
    snapshots: Vec<Snapshot>,
    otherwise: Otherwise,
    work: LoopWork,
}

impl StepIteration {
    /// For loops that consist of these ranges of stages.
    pub(in crate::run) fn new(
        graph: &SystemGraph,
        stages: &[Stage],
        loops: &[Range<usize>],
        config: &IterationConfig,
    ) -> Self {
        let mut loop_of = vec![None; stages.len()];
        for (number, range) in loops.iter().enumerate() {
            loop_of[range.clone()].fill(Some(number));
        }
        let loops = loops.iter().map(|range| StepLoop::new(graph, stages, range.clone(), config)).collect();
        StepIteration { loops, loop_of }
    }

    /// The state of a member of a loop at the begin of the step.
    pub(in crate::run) fn snapshot(&self, id: SubsystemId) -> Option<&Snapshot> {
        let of = self.loops.iter().find(|l| l.members.contains(&id))?;
        of.snapshots.get(id - of.members.start)
    }

    pub(in crate::run) fn works(&self) -> impl Iterator<Item = &LoopWork> {
        self.loops.iter().map(|l| &l.work)
    }

    pub(in crate::run) fn works_mut(&mut self) -> impl Iterator<Item = &mut LoopWork> {
        self.loops.iter_mut().map(|l| &mut l.work)
    }

    pub(in crate::run) fn save(&self, memory: &mut Vec<f64>) {
        self.loops.iter().for_each(|l| l.search.save(memory));
    }

    pub(in crate::run) fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.loops.iter_mut().fold(memory, |memory, l| l.search.restore(memory))
    }
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

impl Simulation {
    /// Refuses members of loops that cannot go back; where steps are halved, everybody must.
    pub(in crate::run) fn check_roll_back(&mut self, time: f64) -> Result<()> {
        let Simulation { steps, slots, graph, halving, .. } = self;
        for l in &mut steps.loops {
            let members = &mut slots[l.members.clone()];
            members.iter().try_for_each(|slot| {
                slot.subsystem.can_go_back().map_err(|source| cannot_go_back(slot, graph, time, &source))
            })?;
            save_members(members, &mut l.snapshots, graph, time)?;
        }
        if halving.is_none() {
            return Ok(());
        }
        for slot in slots {
            slot.subsystem.can_go_back().map_err(|source| Error::Unsupported {
                what: Subject::named("halve", "otherwise = \"halve\""),
                reason: format!(
                    "`{}` cannot roll back ({source}); use otherwise = \"stop\" or \"accept\"",
                    graph.name(slot.id)
                ),
            })?;
        }
        Ok(())
    }

    /// True if the stage belongs to a loop that is iterated.
    #[inline]
    pub(in crate::run) fn is_iterated(&self, stage: usize) -> bool {
        !self.steps.loops.is_empty() && self.steps.loop_of[stage].is_some()
    }

    /// True if steps are iterated at all.
    pub(in crate::run) fn is_iterated_somewhere(&self) -> bool {
        !self.steps.loops.is_empty()
    }

    /// Before a stage moves: if it is the first of a loop, its members' states are kept and a guess is delivered.
    #[inline]
    pub(in crate::run) fn enter_stage(&mut self, stage: usize, step: &Step, end: f64) -> Result<usize> {
        if self.steps.loops.is_empty() || stage >= self.stages.len() {
            return Ok(stage);
        }
        match self.steps.loop_of[stage] {
            Some(number) if self.steps.loops[number].stages.start == stage => {
                self.begin_loop(number, step, end).map(|()| stage)
            }
            _ => Ok(stage),
        }
    }

    /// After a stage has moved: the stage to move next. At the end of a loop that has not converged, its first.
    #[inline]
    pub(in crate::run) fn next_stage(&mut self, stage: usize, step: &Step, end: f64) -> Result<usize> {
        if self.steps.loops.is_empty() {
            return Ok(stage + 1);
        }
        match self.steps.loop_of[stage] {
            Some(number) if self.steps.loops[number].stages.end == stage + 1 => {
                self.judge_loop(number, step, end)
            }
            _ => self.enter_stage(stage + 1, step, end),
        }
    }

    fn begin_loop(&mut self, number: usize, step: &Step, end: f64) -> Result<()> {
        let Simulation { steps, slots, board, graph, .. } = self;
        let l = &mut steps.loops[number];
        save_members(&mut slots[l.members.clone()], &mut l.snapshots, graph, step.start)?;
        l.search.begin(&board.outputs, end);
        l.search.write(&mut board.outputs);
        l.owners.iter().for_each(|id| board.deliver_one(graph, *id, end));
        Ok(())
    }

    fn judge_loop(&mut self, number: usize, step: &Step, end: f64) -> Result<usize> {
        let Simulation { steps, slots, board, graph, termination, ended_trial, moved, .. } = self;
        let l = &mut steps.loops[number];
        let ended = ended_trial.take();
        // Nobody knows derivatives of a whole step.
        let verdict = match l.search.judge(&board.outputs) {
            Verdict::Derivatives => l.search.differences(),
            verdict => verdict,
        };
        if verdict == Verdict::Again {
            // A request of one that is rolled back with its step is void.
            let is_member = |name: &str| l.members.clone().any(|id| graph.name(id) == name);
            if termination.as_ref().is_some_and(|request| is_member(&request.subsystem)) {
                *termination = None;
            }
            for (slot, snapshot) in slots[l.members.clone()].iter_mut().zip(&l.snapshots) {
                slot.subsystem.restore(snapshot).map_err(|source| Error::Subsystem {
                    subsystem: graph.name(slot.id).into(),
                    time: end,
                    source,
                })?;
            }
            l.search.write(&mut board.outputs);
            l.owners.iter().for_each(|id| board.deliver_one(graph, *id, end));
            return Ok(l.stages.start);
        }
        let (evaluations, residual) = (l.search.evaluations(), l.search.size());
        l.work.note(evaluations, residual);
        // There is no better trial: a member that has ended the run inside of it has done so.
        if let Some(error) = ended {
            *moved = l.members.end;
            return Err(error);
        }
        if verdict == Verdict::Failed {
            l.work.note_unconverged(end);
            if l.otherwise != Otherwise::Accept || !residual.is_finite() {
                return Err(Error::LoopNotSolved {
                    path: l.work.path.clone(),
                    time: end,
                    residual,
                    iterations: evaluations as usize,
                    worst: graph.output_name(l.search.worst()),
                }
                .into());
            }
        }
        let last = l.members.end - 1;
        let outputs = graph.outputs_of(l.members.start).start..graph.outputs_of(last).end;
        if let Some(output) = board.non_finite(outputs) {
            return Err(non_finite(graph, &board.outputs, output, end));
        }
        if verdict == Verdict::Converged {
            l.search.write(&mut board.outputs);
            l.owners.iter().for_each(|id| board.deliver_one(graph, *id, end));
            l.search.remember(&board.outputs, end);
        } else {
            l.search.forget();
        }
        let (members, next) = (l.members.clone(), l.stages.end);
        if !self.messages.is_empty() {
            self.carry_messages(members, end)?;
        }
        self.enter_stage(next, step, end)
    }
}

fn save_members(
    slots: &mut [Slot],
    snapshots: &mut [Snapshot],
    graph: &SystemGraph,
    time: f64,
) -> Result<()> {
    for (slot, snapshot) in slots.iter_mut().zip(snapshots) {
        slot.subsystem.save(snapshot).map_err(|source| cannot_go_back(slot, graph, time, &source))?;
    }
    Ok(())
}

fn cannot_go_back(slot: &Slot, graph: &SystemGraph, time: f64, source: &Error) -> Box<Error> {
    let subsystem = graph.name(slot.id).to_owned();
    Error::CannotRollBack { subsystem, time, reason: source.to_string() }.into()
}
