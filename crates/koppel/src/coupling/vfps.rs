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
//! 7. and takes the step again with better ones where they were wrong and everybody can go back (`repetition`).
//!
//! | symbol   | meaning                                                 | here                    |
//! | y_j, u_j | outputs and inputs at node j                            | `Member::y`, `Member::u` |
//! | r_j      | what earlier nodes and known inputs make of the outputs  | `right`                 |
//! | b_0      | how outputs follow inputs within one sub-step            | `NodeModel::direct`     |
//! | L        | the wiring of the connections this method fills          | `Member::wires`         |
//! | s        | what is given back of what inputs lacked                 | `Defect::known`         |
//! | e_j      | external signals                                         | `Member::signal`        |
//!
//! Feed-through loops are solved by (2). Inputs filled by other methods are taken to stay as they are. If (2) cannot be
//! solved, or its solution runs away, the fitted models are tried, then outputs that stay, and if they fail too, inputs go
//! to what has arrived. How well all this works is told by a live figure (`estimate`).

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
use super::{Coupling, ModelBased, Needs, Polynomials, Report, StepNeeds, Trial, View, channel};
use crate::error::Result;
use crate::identify::{ModelConfig, ProbeNeeds, Probed};
use crate::linalg::{Lu, Matrix};
use crate::record::Channel;
use crate::signal::{Request, Samples, Step};
use crate::system::{InputId, SubsystemId, SystemGraph};
use crate::tape::Tape;
use defect::Handicap;
use deviation::Coupled;
use member::Member;
use repetition::Repetition;

/// Steps that are rehearsed at most.
const MOST_REHEARSED: u64 = 300;

/// The method.
pub(super) struct Vfps {
    config: VfpsConfig,
    /// Parts of a step.
    parts: usize,
    /// How often subsystems were excited with other ranges, and whether the number of parts is settled.
    rounds: u32,
    is_settled: bool,
    probed: Vec<Probed>,
    /// Sub-steps of all experiments.
    probing: u64,
    members: Vec<Member>,
    /// The communication step the models are made for.
    size: f64,
    /// Of the step under way, or the one that has ended.
    last: Step,
    /// Inputs it fills, in ascending order.
    inputs: Vec<InputId>,
    /// What they are given at nodes 0..=m of the step ahead, without external signals: input by input.
    nodes: Vec<f64>,
    /// I - b_0 L, and r_j.
    matrix: Matrix,
    lu: Lu,
    right: Vec<f64>,
    quality: Vec<f64>,
    phase: PhaseKind,
    notes: Notes,
    coupled: Coupled,
    repetition: Repetition,
    /// Scaled outputs of all at the nodes of the step that has ended.
    seen: Vec<f64>,
    /// The same at the newest communication point, and how much they rise over a whole step.
    now: Vec<f64>,
    rise: Vec<f64>,
}

impl Vfps {
    pub(super) fn new(config: VfpsConfig) -> Self {
        Vfps {
            parts: config.nodes.at_first(),
            rounds: 0,
            is_settled: config.nodes != Nodes::Auto,
            config,
            probed: Vec::new(),
            probing: 0,
            members: Vec::new(),
            size: 0.0,
            last: Step { index: 0, start: 0.0, size: 0.0 },
            inputs: Vec::new(),
            nodes: Vec::new(),
            matrix: Matrix::zeros(0, 0),
            lu: Lu::default(),
            right: Vec::new(),
            quality: Vec::new(),
            phase: PhaseKind::Full,
            notes: Notes::default(),
            coupled: Coupled::new(0),
            repetition: Repetition::default(),
            seen: Vec::new(),
            now: Vec::new(),
            rise: Vec::new(),
        }
    }

    /// Starts with these models, to fill these inputs.
    fn build(&mut self, view: &View<'_>, probed: &[Probed], inputs: &[InputId]) {
        self.size = view.step.size;
        self.last = view.step;
        self.inputs = inputs.to_vec();
        self.members = probed
            .iter()
            .enumerate()
            .map(|(id, probed)| Member::new(view, id, probed, inputs, self.parts))
            .collect();
        let ranges: Vec<f64> = self.members.iter().flat_map(Member::output_ranges).copied().collect();
        self.members.iter_mut().for_each(|member| member.connect(view, &ranges));
        let outputs = view.graph.outputs();
        self.nodes = vec![0.0; inputs.len() * (self.parts + 1)];
        self.matrix = Matrix::identity(outputs);
        self.lu = Lu::default();
        // Room for the factors, whatever the models.
        let _ = self.lu.refactor(&self.matrix);
        self.right = vec![0.0; outputs];
        self.quality = vec![f64::NAN; view.graph.len()];
        self.phase = PhaseKind::Full;
        self.notes = Notes::new(view.graph.len());
        self.coupled = Coupled::new(outputs);
        self.repetition.make_room(&self.nodes, inputs.len() * self.parts);
        self.seen = vec![0.0; outputs * self.parts];
        self.now = vec![0.0; outputs];
        self.rise = vec![0.0; outputs];
    }

    fn is_whole(&self, size: f64) -> bool {
        (size - self.size).abs() <= 1e-9 * self.size
    }

    /// What the step that has ended tells.
    fn learn(&mut self) {
        let whole = self.is_whole(self.last.size);
        let share = self.last.size / self.size;
        self.members.iter_mut().filter(|member| member.has_moved).for_each(Member::widen_extents);
        if whole && self.members.iter().all(|member| member.has_moved) {
            let width = self.now.len();
            self.members.iter().for_each(|member| member.tell(&mut self.seen, width));
            self.members.iter_mut().for_each(|member| member.compare(&self.seen, width));
            estimate::advance(&mut self.coupled, &mut self.members, self.parts, &mut self.quality);
            self.phase = self.config.thresholds().verdict(channel::norm(&self.quality));
            let handicap = match self.phase {
                PhaseKind::Hold => Handicap::Reversed,
                PhaseKind::Modified => Handicap::Less,
                _ => Handicap::Full,
            };
            self.members.iter_mut().for_each(|member| member.choose_plan(handicap));
        }
        for member in &mut self.members {
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
            pieces: self.parts,
            samples: Some(Request::Nodes(self.parts as u32)),
            steps: StepNeeds::OneSize("its subsystems are excited for one"),
            probe: Some(ProbeNeeds { nodes: self.parts }),
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
        let share = self.last.size / self.size;
        for (member, has_jumped) in self.members.iter_mut().zip(view.has_jumped) {
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
        self.members.iter_mut().for_each(|member| member.aim(&self.now, &self.rise));
        self.last = view.step;
        let is_learning = self.phase != PhaseKind::Hold && self.members.iter().any(Member::is_learning);
        let phase = if is_learning { PhaseKind::Learning } else { self.phase };
        self.notes.note(view.step.start, &self.quality, phase);
        self.repetition.begin();
        if self.predict_somehow(view) {
            self.plan(view);
        } else {
            self.plan_arrivals(view);
        }
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        let m = self.parts;
        let tau = view.step.size / m as f64;
        for input in inputs {
            let Ok(at) = self.inputs.binary_search(input) else { continue };
            let nodes = &self.nodes[at * (m + 1)..][..=m];
            for piece in 0..m {
                let slope = (nodes[piece + 1] - nodes[piece]) / tau;
                super::write(out.piece(*input, piece), [nodes[piece], slope]);
            }
        }
        Ok(())
    }

    fn moved(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.members[subsystem].note(view, samples);
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
        self.members.iter_mut().for_each(|member| member.state(tape));
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
        let rehearsal = self.rehearse(view, &probed, steps.min(MOST_REHEARSED));
        self.probed = probed;
        if self.rounds == 0 && rehearsal.ranges.is_some() {
            self.rounds += 1;
            return rehearsal.ranges;
        }
        if !std::mem::replace(&mut self.is_settled, true) {
            let parts = rehearsal.cut.map_or(self.parts, |cut| nodes::wanted(cut, rehearsal.are_linear));
            if parts != self.parts {
                self.parts = parts;
                return Some(self.members.iter().flat_map(Member::output_ranges).copied().collect());
            }
        }
        None
    }

    fn again(&mut self, view: &View<'_>, trial: Trial) -> bool {
        self.try_again(view, trial)
    }
}

impl Report for Vfps {
    fn spared(&self) -> Vec<String> {
        self.config.spare.clone()
    }

    fn remarks(&self, graph: &SystemGraph) -> Vec<String> {
        let told = |(id, probed): (SubsystemId, &Probed)| {
            let reason = probed.reason.as_ref().filter(|_| !graph.outputs_of(id).is_empty())?;
            Some(format!(
                "`{}` was not excited before the run: {reason}; until it is learned its outputs are held, so the step must be \
                 one at which a hold works",
                graph.name(id)
            ))
        };
        self.probed.iter().enumerate().filter_map(told).collect()
    }

    fn quality(&self) -> &[f64] {
        &self.quality
    }

    fn channels(&self, graph: &SystemGraph) -> Vec<Channel> {
        let mut all = channel::common(graph, false);
        all.push(Channel::new(
            "defect".into(),
            "mean of what inputs lacked at nodes, relative to their ranges",
        ));
        all.push(Channel::new(
            "curvature".into(),
            "mean of what lines between nodes cut off, relative to the ranges",
        ));
        all
    }

    fn channel(&self, _view: &View<'_>, index: usize) -> f64 {
        let mean = |of: fn(&Member) -> f64| {
            let fed = self.members.iter().filter(|member| !member.wires.is_empty());
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
