//! The models of known equations behind a method: joined, judged, and how far outputs are from those of an ideal coupling.

use super::closed_loop::ClosedLoop;
use super::error_equation::{ErrorEquation, ErrorSettings};
use super::excitation::Excitation;
use super::judgement::Judgement;
use super::transition::Transition;
use crate::coupling::phase::{LearningConfig, PhaseKind};
use crate::coupling::review::{Notes, Review};
use crate::coupling::{View, channel};
use crate::error::{Error, Result, Subject};
use crate::identify::ModelConfig;
use crate::record::Channel;
use crate::signal::Samples;
use crate::system::{InputId, SubsystemId, SystemGraph};
use crate::tape::Tape;

/// All models of a run, with step 1 of the methods that use them.
pub(in crate::coupling) struct KnownModels {
    source: ModelConfig,
    pub(in crate::coupling) closed: ClosedLoop,
    pub(in crate::coupling) error: ErrorEquation,
    pub(in crate::coupling) excitation: Excitation,
    /// Of each subsystem; none if the models are not judged.
    pub(in crate::coupling) transitions: Vec<Transition>,
    judgement: Judgement,
    notes: Notes,
    /// Inputs the outputs were last read with, with external signals: u⁻.
    pub(in crate::coupling) last_inputs: Vec<f64>,
    /// The version of the models and the size of the step that the matrices were made for.
    fits: Option<(u64, u64)>,
}

/// Which models have changed since matrices were last made of them.
pub(in crate::coupling) struct Changed {
    is_other_size: bool,
    since: u64,
}

impl Changed {
    /// Whether this one has, or the size of the step.
    pub(in crate::coupling) fn has(&self, view: &View<'_>, id: SubsystemId) -> bool {
        self.is_other_size || view.models.version_of(id) > self.since
    }
}

impl KnownModels {
    pub(in crate::coupling) fn new(source: ModelConfig, settings: ErrorSettings) -> Self {
        KnownModels {
            source,
            closed: ClosedLoop::default(),
            error: ErrorEquation::new(settings, 0, 0),
            excitation: Excitation::default(),
            transitions: Vec::new(),
            judgement: Judgement::default(),
            notes: Notes::default(),
            last_inputs: Vec::new(),
            fits: None,
        }
    }

    /// For these inputs; the models are judged if `is_judged`.
    pub(in crate::coupling) fn start(
        &mut self,
        view: &View<'_>,
        inputs: &[InputId],
        is_judged: bool,
    ) -> Result<()> {
        check_models(view, inputs, self.source)?;
        let (m, n) = (view.graph.inputs(), view.graph.outputs());
        self.error = ErrorEquation::new(self.error.settings(), m, n);
        self.excitation = Excitation::new(m);
        let judged = if is_judged { view.graph.len() } else { 0 };
        self.transitions = (0..judged).map(|id| Transition::new(view, id)).collect();
        self.judgement = Judgement::new(view);
        self.notes = Notes::new(view.graph.len());
        self.last_inputs = vec![0.0; m];
        self.fits = None;
        Ok(())
    }

    /// All matrices for the models and the step size at hand; nothing if they are the same as before.
    pub(in crate::coupling) fn fit(&mut self, view: &View<'_>) -> Result<Option<Changed>> {
        let key = (view.models.version(), view.step.size.to_bits());
        if self.fits == Some(key) {
            return Ok(None);
        }
        let changed = Changed {
            is_other_size: self.fits.is_none_or(|(_, size)| size != key.1),
            since: self.fits.map_or(0, |(version, _)| version),
        };
        self.closed.join(view)?;
        self.error.fit(&self.closed, view.step.size)?;
        for (id, transition) in self.transitions.iter_mut().enumerate() {
            if changed.has(view, id) {
                let found = transition.fit(view.models.of(id), view.step.size);
                found.map_err(|source| Error::Linalg {
                    what: format!("the model of `{}`", view.graph.name(id)),
                    source,
                })?;
            }
        }
        self.fits = Some(key);
        Ok(Some(changed))
    }

    /// Judges the models by the step that has ended.
    pub(in crate::coupling) fn judge(&mut self, view: &View<'_>) {
        if self.transitions.is_empty() {
            return;
        }
        self.excitation.look(view);
        let external = if view.is_fresh { &self.excitation.start } else { &self.excitation.before };
        for (last, (read, external)) in self.last_inputs.iter_mut().zip(view.read_with.iter().zip(external)) {
            *last = read + external;
        }
        self.judgement.judge(view, &self.last_inputs);
    }

    /// Notes what became of the step that has ended, and in which phase the one ahead is.
    pub(in crate::coupling) fn note(&mut self, view: &View<'_>, phase: PhaseKind) {
        self.notes.note(view.step.start, self.judgement.figures(), phase);
    }

    /// What the models expect of the step ahead, without the inputs that will be given.
    pub(in crate::coupling) fn expect(&mut self, view: &View<'_>) {
        let KnownModels { judgement, transitions, last_inputs, excitation, .. } = self;
        judgement.expect(view, transitions, last_inputs, excitation);
    }

    /// A subsystem has moved; once all have, step 1 is solved.
    pub(in crate::coupling) fn observe(
        &mut self,
        view: &View<'_>,
        subsystem: SubsystemId,
        samples: &Samples,
    ) {
        self.error.collect(view, subsystem, samples);
        if subsystem + 1 == view.graph.len() {
            self.error.advance(view, &self.closed);
            self.judgement.add_inputs(view, &self.transitions);
        }
    }

    pub(in crate::coupling) fn state(&mut self, tape: &mut Tape<'_>) {
        self.error.state(tape);
        self.judgement.state(tape);
    }

    /// How well each model has predicted the last step; NaN before the first.
    pub(in crate::coupling) fn quality(&self) -> &[f64] {
        self.judgement.figures()
    }

    /// Phase, quality, and the matrices of the models.
    pub(in crate::coupling) fn channels(graph: &SystemGraph, has_phases: bool) -> Vec<Channel> {
        let mut all = channel::common(graph, has_phases);
        all.extend(channel::matrices(graph));
        all
    }

    /// One of them.
    pub(in crate::coupling) fn channel(&self, view: &View<'_>, index: usize, phase: PhaseKind) -> f64 {
        let common = channel::common_value(index, f64::from(phase as u8), self.quality());
        common.unwrap_or_else(|rest| channel::matrix_value(view, rest))
    }

    /// What the run has shown of the models.
    pub(in crate::coupling) fn review(&self, view: &View<'_>, learning: Option<LearningConfig>) -> Review {
        self.notes.review(view, self.source, learning)
    }
}

/// Every subsystem that is filled by the method or feeds such an input must have a model.
fn check_models(view: &View<'_>, inputs: &[InputId], source: ModelConfig) -> Result<()> {
    for &input in inputs {
        let sources = view.graph.wires_into(input).map(|wire| view.graph.wires()[wire].from);
        for id in sources.chain([view.graph.subsystem_of_input(input)]) {
            if !view.models.is_known(id) {
                let at = view.graph.input_name(input);
                return Err(Error::Unsupported {
                    what: Subject::named(&at, format!("a model-based method at `{at}`")),
                    reason: match source {
                        ModelConfig::Exact => format!(
                            "`{}` has no known linear model; use model = \"derivatives\", {{ identify = \"rls\" }}, or another method for this connection",
                            view.graph.name(id)
                        ),
                        ModelConfig::Given => format!(
                            "no model of `{}` is given; add it to the file of `model = {{ file = \"models.toml\" }}`, or use another method for this connection",
                            view.graph.name(id)
                        ),
                        _ => format!(
                            "`{}` {}; learn its model with {{ identify = \"rls\" }}, or use another method for this connection",
                            view.graph.name(id),
                            view.models.lack(id).unwrap_or("gives no derivatives")
                        ),
                    },
                }
                .into());
            }
        }
    }
    Ok(())
}
