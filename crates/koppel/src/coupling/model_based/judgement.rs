//! How well the models have predicted the step that has ended, under the inputs really given: Genser 2020, (2.92).

use super::excitation::Excitation;
use super::transition::Transition;
use crate::coupling::View;
use crate::identify::Quality;
use crate::linalg::{Matrix, dot};
use crate::tape::Tape;

/// What was expected of the step under way, and the figures of the one before.
#[derive(Default)]
pub(super) struct Judgement {
    /// x = y - S_d u at the end of the step, as the models expect it.
    expected: Vec<f64>,
    /// S_d of each model over the step under way.
    through: Vec<Matrix>,
    quality: Quality,
    figures: Vec<f64>,
    /// True after the first step.
    is_under_way: bool,
    errors: Vec<f64>,
    inputs: Vec<f64>,
    slopes: Vec<f64>,
}

impl Judgement {
    pub(super) fn new(view: &View<'_>) -> Self {
        let graph = view.graph;
        let s_d = |id| Matrix::zeros(graph.outputs_of(id).len(), graph.inputs_of(id).len());
        let mut quality = Quality::new(graph.outputs());
        quality.note(view.outputs);
        Judgement {
            expected: vec![0.0; graph.outputs()],
            through: (0..graph.len()).map(s_d).collect(),
            quality,
            figures: vec![f64::NAN; graph.len()],
            is_under_way: false,
            errors: vec![0.0; graph.outputs()],
            inputs: vec![0.0; graph.inputs()],
            slopes: vec![0.0; graph.inputs()],
        }
    }

    /// Figure of each subsystem's model; NaN before the first step.
    pub(super) fn figures(&self) -> &[f64] {
        &self.figures
    }

    /// Judges the step that has ended; `last_inputs` are those the outputs were read with, external signals included.
    pub(super) fn judge(&mut self, view: &View<'_>, last_inputs: &[f64]) {
        if !self.is_under_way {
            return;
        }
        self.quality.note(view.outputs);
        for (id, figure) in self.figures.iter_mut().enumerate() {
            // A jump is no fault of the model.
            if view.has_jumped[id] {
                continue;
            }
            let outputs = view.graph.outputs_of(id);
            let inputs = &last_inputs[view.graph.inputs_of(id)];
            for (row, output) in outputs.clone().enumerate() {
                let through = dot(self.through[id].row(row), inputs);
                self.errors[output] = view.outputs[output] - through - self.expected[output];
            }
            *figure = self.quality.figure(outputs.start, &self.errors[outputs]);
        }
    }

    /// What the models expect of the step ahead, without the inputs that will be given.
    pub(super) fn expect(
        &mut self,
        view: &View<'_>,
        transitions: &mut [Transition],
        last_inputs: &[f64],
        excitation: &Excitation,
    ) {
        for (id, transition) in transitions.iter_mut().enumerate() {
            let model = view.models.of(id);
            self.through[id].copy_from(&model.s_d);
            let x = &mut self.errors[transition.outputs.clone()];
            for (row, x) in x.iter_mut().enumerate() {
                let through = dot(model.s_d.row(row), &last_inputs[transition.inputs.clone()]);
                *x = view.outputs[transition.outputs.start + row] - through;
            }
            transition.answer(excitation);
            transition.drift(model, x, excitation, &mut self.expected[transition.outputs.clone()]);
            self.is_under_way = true;
        }
    }

    /// Adds what the inputs do, now that they all have been given.
    pub(super) fn add_inputs(&mut self, view: &View<'_>, transitions: &[Transition]) {
        let Judgement { expected, inputs, slopes, .. } = self;
        for input in 0..inputs.len() {
            inputs[input] = view.given(input, 0.0);
            slopes[input] = (view.given(input, view.step.size) - inputs[input]) / view.step.size;
        }
        for transition in transitions {
            let range = transition.inputs.clone();
            let expected = &mut expected[transition.outputs.clone()];
            transition.add_input(&inputs[range.clone()], &slopes[range], expected);
        }
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        self.quality.state(tape);
        tape.numbers(&mut self.figures);
        tape.values(&mut self.expected);
        self.through.iter_mut().for_each(|s_d| tape.numbers(s_d.as_mut_slice()));
        tape.flag(&mut self.is_under_way);
    }
}
