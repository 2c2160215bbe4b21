//! Where one subsystem comes to over a step, as its model sees it.
//!
//!   x(T^{k+1}) = x + P_0 (S_y x + c) + P_0 B u_0 + P_1 B s + v,     x = y - S_d u,     B = S_u + S_y S_d
//!
//! under u(t) = u_0 + s (t - T^k) and external signals; v is what those add as they change.

use super::excitation::{Excitation, Response};
use crate::coupling::View;
use crate::identify::InterfaceModel;
use crate::linalg::{self, Integrals, Matrix};
use crate::system::{InputId, OutputId, SubsystemId};
use std::ops::Range;

/// The matrices of the equation above.
#[derive(Clone, Debug)]
pub(in crate::coupling) struct Transition {
    pub(in crate::coupling) inputs: Range<InputId>,
    pub(in crate::coupling) outputs: Range<OutputId>,
    /// P_0 and P_1.
    pub(in crate::coupling) integrals: [Matrix; 3],
    /// P_0 B and P_1 B.
    pub(in crate::coupling) by_inputs: [Matrix; 2],
    /// Only with external signals.
    response: Option<Response>,
    rates: Vec<f64>,
    b: Matrix,
    workspace: Integrals,
}

impl Transition {
    pub(in crate::coupling) fn new(view: &View<'_>, id: SubsystemId) -> Self {
        let (inputs, outputs) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
        let is_driven = view.graph.externals().iter().any(|(input, _)| inputs.contains(input));
        Transition {
            integrals: <[Matrix; 3]>::default(),
            by_inputs: <[Matrix; 2]>::default(),
            response: is_driven.then(Response::default),
            rates: vec![0.0; outputs.len()],
            b: Matrix::default(),
            workspace: Integrals::default(),
            inputs,
            outputs,
        }
    }

    /// All matrices over a step of this size. Allocates only at the first call.
    pub(in crate::coupling) fn fit(&mut self, model: &InterfaceModel, size: f64) -> linalg::Result<()> {
        let Transition { integrals, by_inputs, response, b, workspace, .. } = self;
        workspace.both(&model.s_y, size, integrals)?;
        model.write_input_matrix(b);
        integrals[0].mul_into(b, &mut by_inputs[0]);
        integrals[1].mul_into(b, &mut by_inputs[1]);
        response.as_mut().map_or(Ok(()), |response| response.fit(&model.s_y, b, size))
    }

    /// Finds what external signals add as they change.
    pub(in crate::coupling) fn answer(&mut self, excitation: &Excitation) {
        if let (Some(response), true) = (&mut self.response, excitation.is_active) {
            response.answer(excitation, self.inputs.start);
        }
    }

    /// v, once it is found; nothing if external signals stay.
    pub(in crate::coupling) fn answered(&self, excitation: &Excitation) -> Option<&[f64]> {
        self.response.as_ref().filter(|_| excitation.is_active).map(|response| response.end.as_slice())
    }

    /// Where x comes to if nothing but external signals is given, which have been answered.
    pub(in crate::coupling) fn drift(
        &mut self,
        model: &InterfaceModel,
        x: &[f64],
        excitation: &Excitation,
        out: &mut [f64],
    ) {
        out.copy_from_slice(x);
        self.rates.copy_from_slice(&model.constant);
        model.s_y.mul_vec_add(x, &mut self.rates);
        self.integrals[0].mul_vec_add(&self.rates, out);
        self.by_inputs[0].mul_vec_add(&excitation.start[self.inputs.clone()], out);
        if let Some(answer) = self.answered(excitation) {
            out.iter_mut().zip(answer).for_each(|(x, v)| *x += v);
        }
    }

    /// Adds what an input u(t) = first + slope (t - T^k) does.
    pub(in crate::coupling) fn add_input(&self, first: &[f64], slope: &[f64], out: &mut [f64]) {
        self.by_inputs[0].mul_vec_add(first, out);
        self.by_inputs[1].mul_vec_add(slope, out);
    }
}
