//! The numbers of one step of the pre-step method, and steps 1 and 2 on them.

use super::PrestepConfig;
use crate::coupling::View;
use crate::coupling::model_based::{ClosedLoop, Excitation, Goal, OdeMethod, Response, distance, wired};
use crate::linalg::{self, Integrals, Matrix};

/// Matrices of step 2: to the end of the step and to the goal, and the response to external signals.
#[derive(Default)]
pub(super) struct Ahead {
    pub(super) end: Matrix,
    /// Only where the goal is not at the end.
    goal: Matrix,
    is_at_end: bool,
    weight: f64,
    pub(super) response: Option<Response>,
    integrals: Integrals,
    room: [Matrix; 3],
}

impl Ahead {
    /// With external signals or without.
    pub(super) fn new(is_driven: bool) -> Self {
        Ahead { response: is_driven.then(Response::default), ..Ahead::default() }
    }

    /// All matrices for x' = A x + B w and steps of this size. Allocates only at the first call.
    pub(super) fn fit(
        &mut self,
        config: &PrestepConfig,
        a: &Matrix,
        b: &Matrix,
        size: f64,
    ) -> linalg::Result<()> {
        let Ahead { end, goal, integrals, room, .. } = self;
        match config.extrapolation {
            OdeMethod::Exact => integrals.first(a, size, end)?,
            OdeMethod::Euler => integrals.euler(a, size, config.extrapolation_steps, end)?,
        }
        match config.objective {
            Goal::End | Goal::Trapezoid => (),
            Goal::Midpoint => integrals.first(a, 0.5 * size, goal)?,
            Goal::Integral => {
                integrals.all(a, size, room)?;
                goal.copy_from(&room[1]);
            }
        }
        self.is_at_end = config.objective.is_at_end();
        self.weight = config.objective.weight(size);
        self.response.as_mut().map_or(Ok(()), |response| response.fit(a, b, size))
    }

    /// Puts M before the matrices.
    pub(super) fn close(&mut self, m: &Matrix) {
        let Ahead { end, goal, room, .. } = self;
        m.mul_into(end, &mut room[0]);
        std::mem::swap(end, &mut room[0]);
        if !self.is_at_end {
            m.mul_into(goal, &mut room[0]);
            std::mem::swap(goal, &mut room[0]);
        }
    }

    /// Where outputs that begin at `first` and change at `rates` come to: at the end, and as the goal measures it.
    fn follow(&self, first: &[f64], rates: &[f64], end: &mut [f64], goal: &mut [f64]) {
        if self.is_at_end {
            self.end.mul_vec_into(rates, goal);
        } else {
            self.end.mul_vec_into(rates, end);
            self.goal.mul_vec_into(rates, goal);
        }
        for ((end, goal), first) in end.iter_mut().zip(goal).zip(first) {
            *end = first + if self.is_at_end { *goal } else { *end };
            *goal += self.weight * first;
        }
    }
}

/// Vectors over all outputs or all inputs.
#[derive(Default)]
pub(super) struct Numbers {
    /// ε.
    pub(super) epsilon: Vec<f64>,
    /// Inputs at the begin of the step, without and with external signals.
    pub(super) start: Vec<f64>,
    pub(super) start_full: Vec<f64>,
    /// ỹ, ŷ, and ŷ as the goal measures it.
    pub(super) ideal_outputs: Vec<f64>,
    pub(super) extrapolated: Vec<f64>,
    pub(super) goal: Vec<f64>,
    /// Ideal change of the inputs.
    pub(super) ideal: Vec<f64>,
    /// Inputs the outputs were last read with, with external signals: u⁻.
    pub(super) last_inputs: Vec<f64>,
    pub(super) rates: Vec<f64>,
    pub(super) scratch: Vec<f64>,
    pub(super) inputs: Vec<f64>,
}

/// What an answer to external signals is added to.
#[derive(Clone, Copy)]
pub(super) enum End {
    Outputs,
    Goal,
}

impl Numbers {
    pub(super) fn new(inputs: usize, outputs: usize) -> Self {
        let (of_inputs, of_outputs) = (vec![0.0; inputs], vec![0.0; outputs]);
        Numbers {
            epsilon: of_inputs.clone(),
            start: of_inputs.clone(),
            start_full: of_inputs.clone(),
            last_inputs: of_inputs.clone(),
            ideal: of_inputs.clone(),
            inputs: of_inputs,
            ideal_outputs: of_outputs.clone(),
            extrapolated: of_outputs.clone(),
            goal: of_outputs.clone(),
            rates: of_outputs.clone(),
            scratch: of_outputs,
        }
    }

    /// Inputs before and after the communication point.
    pub(super) fn see(&mut self, view: &View<'_>, excitation: &Excitation) {
        for input in 0..self.start.len() {
            self.start[input] = view.arrival(input);
            self.start_full[input] = self.start[input] + excitation.start[input];
            let external = if view.is_fresh { excitation.start[input] } else { excitation.before[input] };
            self.last_inputs[input] = view.read_with[input] + external;
            self.epsilon[input] = self.start_full[input] - self.last_inputs[input];
        }
    }

    /// Steps 1 and 2: ỹ and ŷ, with external signals as they are at the begin of the step.
    pub(super) fn extrapolate(
        &mut self,
        view: &View<'_>,
        closed: &ClosedLoop,
        ahead: &Ahead,
        zeta: &[f64],
        excitation: &Excitation,
    ) {
        let Numbers { epsilon, ideal_outputs, extrapolated, goal, rates, scratch, inputs, .. } = self;
        distance(closed, zeta, epsilon, scratch, ideal_outputs);
        ideal_outputs.iter_mut().zip(view.outputs).for_each(|(ideal, y)| *ideal += y);
        wired(view, ideal_outputs, inputs);
        inputs.iter_mut().zip(&excitation.start).for_each(|(u, e)| *u += e);
        rates.fill(0.0);
        for id in 0..view.graph.len() {
            let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            view.models.of(id).add_rates(&ideal_outputs[y.clone()], &inputs[u], &mut rates[y]);
        }
        ahead.follow(ideal_outputs, rates, extrapolated, goal);
    }

    /// Adds M (x + S_d ẽ), what changing external signals do.
    pub(super) fn add_answer(&mut self, closed: &ClosedLoop, x: &[f64], change: &[f64], end: End) {
        self.scratch.copy_from_slice(x);
        closed.s_d.mul_vec_add(change, &mut self.scratch);
        let out = match end {
            End::Outputs => &mut self.extrapolated,
            End::Goal => &mut self.goal,
        };
        closed.m.mul_vec_add(&self.scratch, out);
    }

    pub(super) fn find_ideal_change(&mut self, view: &View<'_>) {
        wired(view, &self.extrapolated, &mut self.ideal);
        self.ideal.iter_mut().zip(&self.start).for_each(|(ideal, start)| *ideal -= start);
    }
}
