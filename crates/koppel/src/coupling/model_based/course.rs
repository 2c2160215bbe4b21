//! Where one subsystem comes to over a step, as its model sees it.
//!
//!   x(T^{k+1}) = x + P_0 (S_y x + c) + P_0 B u_0 + P_1 B s + v,     x = y - S_d u,     B = S_u + S_y S_d
//!
//! under u(t) = u_0 + s (t - T^k) and external signals; v is what those add as they change.

use super::excitation::{Excitation, Moments, Response};
use crate::coupling::View;
use crate::identify::InterfaceModel;
use crate::linalg::{self, Integrals, Matrix};
use crate::system::{InputId, OutputId, SubsystemId};
use std::ops::Range;

/// The matrices of the equation above.
#[derive(Clone, Debug)]
pub(in crate::coupling) struct Course {
    pub(in crate::coupling) inputs: Range<InputId>,
    pub(in crate::coupling) outputs: Range<OutputId>,
    /// P_0, P_0 B and P_1 B.
    end: [Matrix; 3],
    /// Only with external signals.
    response: Option<Response>,
    rates: Vec<f64>,
}

impl Course {
    pub(in crate::coupling) fn new(view: &View<'_>, id: SubsystemId) -> Self {
        let (inputs, outputs) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
        let is_driven = view.graph.externals().iter().any(|(input, _)| inputs.contains(input));
        Course {
            end: <[Matrix; 3]>::default(),
            response: is_driven.then(Response::default),
            rates: vec![0.0; outputs.len()],
            inputs,
            outputs,
        }
    }

    /// Takes B and the integrals P_0 and P_1 over a step of this size. Allocates only at the first call.
    pub(in crate::coupling) fn fit(
        &mut self,
        model: &InterfaceModel,
        b: &Matrix,
        integrals: &[Matrix; 3],
        size: f64,
    ) -> linalg::Result<()> {
        self.end[0].copy_from(&integrals[0]);
        integrals[0].mul_into(b, &mut self.end[1]);
        integrals[1].mul_into(b, &mut self.end[2]);
        self.response.as_mut().map_or(Ok(()), |response| response.fit(&model.s_y, b, size))
    }

    /// What external signals add as they change; nothing if they stay.
    pub(in crate::coupling) fn answer(&mut self, excitation: &Excitation) -> Option<&Moments> {
        let response = self.response.as_mut().filter(|_| excitation.is_active)?;
        response.answer(excitation, self.inputs.start);
        Some(&response.moments)
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
        self.end[0].mul_vec_add(&self.rates, out);
        self.end[1].mul_vec_add(&excitation.start[self.inputs.clone()], out);
        if let (Some(response), true) = (&self.response, excitation.is_active) {
            out.iter_mut().zip(&response.moments.end).for_each(|(x, v)| *x += v);
        }
    }

    /// Adds what an input u(t) = first + slope (t - T^k) does.
    pub(in crate::coupling) fn add_input(&self, first: &[f64], slope: &[f64], out: &mut [f64]) {
        self.end[1].mul_vec_add(first, out);
        self.end[2].mul_vec_add(slope, out);
    }
}

/// Room for the matrices of a [`Course`] that stands alone.
#[derive(Default)]
pub(in crate::coupling) struct CourseRoom {
    integrals: Integrals,
    whole: [Matrix; 3],
    b: Matrix,
}

impl CourseRoom {
    /// Fits a course to a model.
    pub(in crate::coupling) fn fit(
        &mut self,
        course: &mut Course,
        model: &InterfaceModel,
        size: f64,
    ) -> linalg::Result<()> {
        self.integrals.both(&model.s_y, size, &mut self.whole)?;
        model.write_input_matrix(&mut self.b);
        course.fit(model, &self.b, &self.whole, size)
    }
}
