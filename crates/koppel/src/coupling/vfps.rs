//! The velocity-form pre-step (VFPS): a coupling for black boxes, without a learning phase.
//!
//! A step has m nodes, τ = H/m. Inputs are linear between nodes and go on without a jump from step to step. Models of the
//! nodes (`identify::NodeModel`) are fitted to each subsystem alone before the run; the measured past is their state. With
//! all signals as deviations from the consistent start, relative to their ranges, each step
//!
//! 1. scores every expert by its error over the finished step,  E ← 0.97 E + Σ_j |y_j - ŷ_j|²        (1)
//! 2. adapts the velocity form to what was seen (`adaptation`),
//! 3. selects per subsystem the expert with the smallest E (`pool`),
//! 4. finds what inputs lacked, how much of it is given back, and whether they are better extrapolated (`defect`),
//! 5. predicts the coupled nodes,  ŷ_j = (I - b_0 L)⁻¹ r_j,  u_j = L ŷ_j + s + e_j,  j = 1..m (`prediction`)     (2)
//! 6. gives the inputs u_0 (the last ones), u_1, .., u_m,
//! 7. and repeats the step with better ones where they were wrong and every subsystem can roll back (`repetition`).
//!
//! | symbol   | meaning                                                 | here                    |
//! | y_j, u_j | outputs and inputs at node j                            | `Member::y`, `Member::u` |
//! | r_j      | what earlier nodes and known inputs make of the outputs  | `Prediction::right`     |
//! | b_0      | how outputs follow inputs within one sub-step            | `NodeModel::direct`     |
//! | L        | the wiring of the connections this method fills          | `Member::wires`         |
//! | s        | what is given back of what inputs lacked                 | `Defect::known`         |
//! | e_j      | external signals                                         | `Member::signal`        |
//!
//! Feed-through loops are solved by (2). Inputs filled by other methods are taken to stay as they are. If (2) cannot be
//! solved, or its solution runs away, the fitted models are tried, then outputs that stay, and if they fail too, inputs go
//! to what has arrived. How well all this works is reported by a live figure (`estimate`).

mod adaptation;
mod config;
mod defect;
mod deviation;
mod estimate;
mod member;
mod nodes;
mod pool;
mod prediction;
mod rehearsal;
mod repetition;
mod secant;

pub(super) use config::VFPS;
pub use config::VfpsConfig;
pub use nodes::Nodes;

use super::phase::PhaseKind;
use super::review::{Notes, Review};
use super::{Coupling, ModelBased, Needs, Polynomials, Report, StepNeeds, StepResult, View, channel};
use crate::error::Result;
use crate::identify::{ModelConfig, ProbeNeeds, Probed};
use crate::record::Channel;
use crate::signal::{Request, Samples, Step};
use crate::system::{InputId, SubsystemId, SystemGraph};
use crate::tape::Tape;
use defect::Handicap;
use deviation::Coupled;
use member::Member;
use prediction::Prediction;
use repetition::Repetition;

/// Steps that are rehearsed at most.
const MOST_REHEARSED: u64 = 300;

/// The method.
pub(super) struct Vfps {
    config: VfpsConfig,
    /// How often subsystems were excited with other ranges, and whether the number of parts is settled.
    rounds: u32,
    is_settled: bool,
    probed: Vec<Probed>,
    /// Sub-steps of all experiments.
    probing: u64,
    prediction: Prediction,
    /// Of the step under way, or the one that has ended.
    last: Step,
    quality: Vec<f64>,
    phase: PhaseKind,
    notes: Notes,
    coupled: Coupled,
    repetition: Repetition,
    /// Scaled outputs of all at the nodes of the step that has ended.
    node_outputs: Vec<f64>,
    /// The same at the newest communication point, and how much they rise over a whole step.
    now: Vec<f64>,
    rise: Vec<f64>,
}

impl Vfps {
    pub(super) fn new(config: VfpsConfig) -> Self {
        Vfps {
            prediction: Prediction::new(config.nodes.at_first()),
            rounds: 0,
            is_settled: config.nodes != Nodes::Auto,
            config,
            probed: Vec::new(),
            probing: 0,
            last: Step { index: 0, start: 0.0, size: 0.0 },
            quality: Vec::new(),
            phase: PhaseKind::Full,
            notes: Notes::default(),
            coupled: Coupled::new(0),
            repetition: Repetition::default(),
            node_outputs: Vec::new(),
            now: Vec::new(),
            rise: Vec::new(),
        }
    }

    /// Starts with these models, to fill these inputs.
    fn build(&mut self, view: &View<'_>, probed: &[Probed], inputs: &[InputId]) {
        self.prediction.build(view, probed, inputs);
        let (outputs, parts) = (view.graph.outputs(), self.prediction.parts);
        self.last = view.step;
        self.quality = vec![f64::NAN; view.graph.len()];
        self.phase = PhaseKind::Full;
        self.notes = Notes::new(view.graph.len());
        self.coupled = Coupled::new(outputs);
        self.repetition.allocate(&self.prediction.nodes, inputs.len() * parts);
        self.node_outputs = vec![0.0; outputs * parts];
        self.now = vec![0.0; outputs];
        self.rise = vec![0.0; outputs];
    }

    /// What the step that has ended tells.
    fn learn(&mut self) {
        let whole = self.prediction.is_whole(self.last.size);
        let share = self.last.size / self.prediction.size;
        self.prediction.members.iter_mut().filter(|member| member.has_moved).for_each(Member::widen_extents);
        if whole && self.prediction.members.iter().all(|member| member.has_moved) {
            let width = self.now.len();
            self.prediction
                .members
                .iter()
                .for_each(|member| member.copy_outputs(&mut self.node_outputs, width));
            self.prediction.members.iter_mut().for_each(|member| member.compare(&self.node_outputs, width));
            estimate::advance(
                &mut self.coupled,
                &mut self.prediction.members,
                self.prediction.parts,
                &mut self.quality,
            );
            self.phase = self.config.thresholds().verdict(channel::norm(&self.quality));
            let handicap = match self.phase {
                PhaseKind::Hold => Handicap::Reversed,
                PhaseKind::Modified => Handicap::Less,
                _ => Handicap::Full,
            };
            self.prediction.members.iter_mut().for_each(|member| member.choose_plan(handicap));
        }
        for member in &mut self.prediction.members {
            if !std::mem::take(&mut member.has_moved) {
                continue;
            }
            if whole {
                member.learn();
                member.shift();
            } else {
                member.resample(share);
            }
        }
    }
}

/// All inputs with a wire.
fn wired(view: &View<'_>) -> Vec<InputId> {
    (0..view.graph.inputs()).filter(|input| !view.graph.is_free(*input)).collect()
}

impl Coupling for Vfps {
    fn needs(&self) -> Needs {
        Needs {
            depth: 1,
            terms: 2,
            pieces: self.prediction.parts,
            samples: Some(Request::Nodes(self.prediction.parts as u32)),
            steps: StepNeeds::OneSize("its subsystems are probed for one"),
            probe: Some(ProbeNeeds { nodes: self.prediction.parts }),
            repeats: self.config.trials > 1,
            ..Needs::default()
        }
    }

    fn start(&mut self, view: &View<'_>, inputs: &[InputId]) -> Result<()> {
        let probed = std::mem::take(&mut self.probed);
        self.build(view, &probed, inputs);
        self.probed = probed;
        Ok(())
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.learn();
        let share = self.last.size / self.prediction.size;
        for (member, has_jumped) in self.prediction.members.iter_mut().zip(view.has_jumped) {
            if *has_jumped {
                member.follow_jump(view);
            }
            let range = member.outputs.clone();
            let (now, rise) = (&mut self.now[range.clone()], &mut self.rise[range]);
            for ((now, rise), newest) in now.iter_mut().zip(rise).zip(member.newest()) {
                *rise = if *has_jumped || view.step.index == 0 { 0.0 } else { (newest - *now) / share };
                *now = *newest;
            }
        }
        self.prediction.members.iter_mut().for_each(|member| member.aim(&self.now, &self.rise));
        self.last = view.step;
        let is_learning =
            self.phase != PhaseKind::Hold && self.prediction.members.iter().any(Member::is_learning);
        let phase = if is_learning { PhaseKind::Learning } else { self.phase };
        self.notes.note(view.step.start, &self.quality, phase);
        self.repetition.begin();
        self.prediction.plan(view);
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        let m = self.prediction.parts;
        let tau = view.step.size / m as f64;
        for input in inputs {
            let Some(nodes) = self.prediction.nodes_of(*input) else { continue };
            for piece in 0..m {
                let slope = (nodes[piece + 1] - nodes[piece]) / tau;
                super::write(out.piece(*input, piece), [nodes[piece], slope]);
            }
        }
        Ok(())
    }

    fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.prediction.members[subsystem].note(view, samples);
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        tape.number(&mut self.last.start);
        tape.number(&mut self.last.size);
        let mut phase = self.phase as usize;
        tape.count_to(&mut phase, PhaseKind::ALL.len() as u64 - 1);
        self.phase = PhaseKind::ALL[phase];
        tape.numbers(&mut self.quality);
        tape.values(&mut self.now);
        tape.values(&mut self.rise);
        self.prediction.members.iter_mut().for_each(|member| member.state(tape));
    }

    fn model_based(&mut self) -> Option<&mut dyn ModelBased> {
        Some(self)
    }

    fn report(&self) -> &dyn Report {
        self
    }
}

impl ModelBased for Vfps {
    fn probed(&mut self, view: &View<'_>, probed: Vec<Probed>, steps: u64) -> Option<Vec<f64>> {
        self.probing += probed.iter().map(|probed| probed.steps).sum::<u64>();
        self.build(view, &probed, &wired(view));
        let rehearsal = self.prediction.rehearse(view, &probed, steps.min(MOST_REHEARSED));
        self.probed = probed;
        if self.rounds == 0 && rehearsal.ranges.is_some() {
            self.rounds += 1;
            return rehearsal.ranges;
        }
        if !std::mem::replace(&mut self.is_settled, true) {
            let parts =
                rehearsal.cut.map_or(self.prediction.parts, |cut| nodes::wanted(cut, rehearsal.are_linear));
            if parts != self.prediction.parts {
                self.prediction.parts = parts;
                return Some(self.prediction.ranges());
            }
        }
        None
    }

    fn must_repeat(&mut self, view: &View<'_>, result: StepResult) -> bool {
        self.try_again(view, result)
    }
}

impl Report for Vfps {
    fn spared(&self) -> Vec<String> {
        self.config.spare.clone()
    }

    fn remarks(&self, graph: &SystemGraph) -> Vec<String> {
        let remark = |(id, probed): (SubsystemId, &Probed)| {
            let reason = probed.reason.as_ref().filter(|_| !graph.outputs_of(id).is_empty())?;
            Some(format!(
                "`{}` was not probed before the run: {reason}; its outputs are held until it is learned, so choose a step at which a hold works",
                graph.name(id)
            ))
        };
        self.probed.iter().enumerate().filter_map(remark).collect()
    }

    fn quality(&self) -> &[f64] {
        &self.quality
    }

    fn channels(&self, graph: &SystemGraph) -> Vec<Channel> {
        let mut all = channel::common(graph, false);
        all.push(Channel::new("defect".into(), "mean defect of inputs at nodes, relative to their ranges"));
        all.push(Channel::new(
            "curvature".into(),
            "mean interpolation error of the lines between nodes, relative to the ranges",
        ));
        all
    }

    fn channel(&self, _view: &View<'_>, index: usize) -> f64 {
        let mean = |of: fn(&Member) -> f64| {
            let fed = self.prediction.members.iter().filter(|member| !member.wires.is_empty());
            fed.clone().map(of).sum::<f64>() / fed.count().max(1) as f64
        };
        channel::common_value(index, f64::from(self.phase as u8), &self.quality).unwrap_or_else(|rest| {
            match rest {
                0 => mean(|member| member.error.defect),
                _ => mean(|member| member.error.curvature),
            }
        })
    }

    fn review(&self, view: &View<'_>) -> Option<Review> {
        let review = self.notes.review(view, ModelConfig::default(), Some(self.config.thresholds()));
        Some(Review { source: "probing".into(), probing: Some(self.probing), ..review })
    }
}
