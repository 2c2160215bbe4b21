//! The numbers of one step of the pre-step method, and steps 1 and 2 on them.

use crate::coupling::View;
use crate::coupling::model_based::{ClosedLoop, Excitation, KnownModels, Response, distance, wired};
use crate::error::{Error, Result};
use crate::linalg::{Integrals, Matrix};

/// M P_0 of step 2, and the response to external signals.
#[derive(Default)]
pub(super) struct Ahead {
    end: Matrix,
    response: Option<Response>,
    integrals: Integrals,
    workspace: Matrix,
}

impl Ahead {
    /// With external signals or without.
    pub(super) fn new(is_driven: bool) -> Self {
        Ahead { response: is_driven.then(Response::default), ..Ahead::default() }
    }

    /// All matrices for steps of this size. Allocates only at the first call.
    pub(super) fn fit(&mut self, closed: &ClosedLoop, size: f64) -> Result<()> {
        let Ahead { end, response, integrals, workspace } = self;
        let found = integrals.first(&closed.a, size, end);
        let found = found.and_then(|()| match response {
            Some(response) => response.fit(&closed.a, &closed.b, size),
            None => Ok(()),
        });
        found.map_err(|source| Error::Linalg {
            what: "the extrapolation of the pre-step method".into(),
            source,
        })?;
        if closed.is_direct {
            closed.m.mul_into(end, workspace);
            std::mem::swap(end, workspace);
        }
        Ok(())
    }
}

/// Vectors over all outputs or all inputs.
#[derive(Default)]
pub(super) struct Numbers {
    /// ε.
    pub(super) epsilon: Vec<f64>,
    /// Inputs at the start of the step, without and with external signals.
    pub(super) start: Vec<f64>,
    pub(super) start_full: Vec<f64>,
    /// ỹ and ŷ.
    ideal_outputs: Vec<f64>,
    pub(super) extrapolated: Vec<f64>,
    /// Ideal change of the inputs.
    pub(super) ideal: Vec<f64>,
    rates: Vec<f64>,
    scratch: Vec<f64>,
    inputs: Vec<f64>,
}

impl Numbers {
    pub(super) fn new(inputs: usize, outputs: usize) -> Self {
        let (of_inputs, of_outputs) = (vec![0.0; inputs], vec![0.0; outputs]);
        Numbers {
            epsilon: of_inputs.clone(),
            start: of_inputs.clone(),
            start_full: of_inputs.clone(),
            ideal: of_inputs.clone(),
            inputs: of_inputs,
            ideal_outputs: of_outputs.clone(),
            extrapolated: of_outputs.clone(),
            rates: of_outputs.clone(),
            scratch: of_outputs,
        }
    }

    /// Inputs after the communication point, and their jump there.
    pub(super) fn look(&mut self, view: &View<'_>, known: &KnownModels) {
        for input in 0..self.start.len() {
            self.start[input] = view.arrival(input);
            self.start_full[input] = self.start[input] + known.excitation.start[input];
            self.epsilon[input] = self.start_full[input] - known.last_inputs[input];
        }
    }

    /// Steps 1 and 2: ỹ and ŷ, and the ideal change of the inputs.
    pub(super) fn extrapolate(&mut self, view: &View<'_>, known: &KnownModels, ahead: &mut Ahead) {
        let KnownModels { closed, error, excitation, .. } = known;
        let Numbers { epsilon, ideal_outputs, extrapolated, rates, scratch, inputs, .. } = self;
        distance(closed, &error.zeta, epsilon, scratch, ideal_outputs);
        ideal_outputs.iter_mut().zip(view.outputs).for_each(|(ideal, y)| *ideal += y);
        wired(view, ideal_outputs, inputs);
        inputs.iter_mut().zip(&excitation.start).for_each(|(u, e)| *u += e);
        rates.fill(0.0);
        for id in 0..view.graph.len() {
            let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            view.models.of(id).add_rates(&ideal_outputs[y.clone()], &inputs[u], &mut rates[y]);
        }
        ahead.end.mul_vec_into(rates, extrapolated);
        extrapolated.iter_mut().zip(ideal_outputs).for_each(|(end, begin)| *end += *begin);
        if let Some(response) = ahead.response.as_mut().filter(|_| excitation.is_active) {
            response.answer(excitation, 0);
            self.add_answer(closed, &response.end, excitation);
        }
        wired(view, &self.extrapolated, &mut self.ideal);
        self.ideal.iter_mut().zip(&self.start).for_each(|(ideal, start)| *ideal -= start);
    }

    /// Adds M (x + S_d ẽ), what changing external signals do.
    fn add_answer(&mut self, closed: &ClosedLoop, x: &[f64], excitation: &Excitation) {
        self.scratch.copy_from_slice(x);
        closed.s_d.mul_vec_add(&excitation.change, &mut self.scratch);
        closed.m.mul_vec_add(&self.scratch, &mut self.extrapolated);
    }
}
