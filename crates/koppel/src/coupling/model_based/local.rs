//! Step 3: the input of one subsystem with which its outputs meet a goal.
//!
//! Under u(t) = u_0 + s (t - T^k) the model's outputs are
//!
//!   y(t) = y⁺ + P_0(t) (S_y y⁺ + S_u u_0 + c) + G(t) s,     G = P_1 S_u + P_0 S_d,     y⁺ = y + S_d (u_0 - u⁻)      (1)
//!
//! and the slope that comes closest to the goal, and among those is closest to the ideal one s*, is
//!
//!   s = s* + G⁺ (goal - (1) with s*) = G⁺ ρ + (I - G⁺ G) s*,     ρ = goal - (1) with s = 0               (2)
//!
//! Genser 2020, (2.44)-(2.50) and (2.64)-(2.71) in one formula for any number of inputs and outputs. For a constant input
//! u_0 + d the same with d in place of s and G = P_0 (S_u + S_y S_d) + S_d. The goal is y(T^{k+1}) of the extrapolation, (2.40).
//!
//! Inputs that another method fills, or whose sources have moved already, are not free: they count with their ideal slope.

use super::excitation::Excitation;
use super::transition::Transition;
use crate::coupling::View;
use crate::error::{Error, Result};
use crate::identify::InterfaceModel;
use crate::linalg::{self, Matrix, PseudoInverse};
use crate::system::{InputId, OutputId, SubsystemId};
use std::ops::Range;

/// Relative cut-off of G⁺.
const CUTOFF: f64 = 1e-12;

/// How the inputs of one subsystem are found.
#[derive(Clone, Debug)]
pub(in crate::coupling) struct Local {
    pub(in crate::coupling) inputs: Range<InputId>,
    pub(in crate::coupling) outputs: Range<OutputId>,
    /// G⁺, with zero rows for inputs that are not free.
    inverse: Matrix,
    /// I - G⁺ G.
    rest: Matrix,
    /// G⁺ ρ.
    shift: Vec<f64>,
    plus: Vec<f64>,
    rates: Vec<f64>,
    rho: Vec<f64>,
    /// Inputs the method may choose, counted from the first of the subsystem.
    free: Vec<usize>,
    workspace: Workspace,
}

/// Room for the matrices on the way.
#[derive(Clone, Debug, Default)]
struct Workspace {
    g: Matrix,
    scaled: Matrix,
    scaled_inverse: Matrix,
    pseudo_inverse: PseudoInverse,
}

/// What a [`Local`] is built from.
pub(in crate::coupling) struct LocalSettings<'a> {
    pub(in crate::coupling) is_constant: bool,
    /// Inputs the method may choose, over all inputs.
    pub(in crate::coupling) is_free: &'a [bool],
    pub(in crate::coupling) nominal: bool,
}

impl Local {
    pub(in crate::coupling) fn new(view: &View<'_>, id: SubsystemId, settings: &LocalSettings<'_>) -> Self {
        let (inputs, outputs) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
        let zeros = vec![0.0; outputs.len()];
        Local {
            inverse: Matrix::default(),
            rest: Matrix::default(),
            shift: vec![0.0; inputs.len()],
            plus: zeros.clone(),
            rates: zeros.clone(),
            rho: zeros,
            free: (0..inputs.len()).filter(|j| settings.is_free[inputs.start + j]).collect(),
            workspace: Workspace::default(),
            inputs,
            outputs,
        }
    }

    /// All matrices for the model and the step size at hand. Allocates only at the first call.
    pub(in crate::coupling) fn fit(
        &mut self,
        view: &View<'_>,
        id: SubsystemId,
        transition: &Transition,
        settings: &LocalSettings<'_>,
    ) -> Result<()> {
        let (model, g) = (view.models.of(id), &mut self.workspace.g);
        let [p0, p1, _] = &transition.integrals;
        if settings.is_constant {
            g.copy_from(&transition.by_inputs[0]);
            g.add_scaled(1.0, &model.s_d);
        } else {
            p1.mul_into(&model.s_u, g);
            p0.mul_add(&model.s_d, g);
        }
        self.invert(view, id, settings.nominal).map_err(|source| Error::Linalg {
            what: format!("the input optimisation of `{}`", view.graph.name(id)),
            source,
        })?;
        self.inverse.mul_into(&self.workspace.g, &mut self.rest);
        self.rest.scale(-1.0);
        self.rest.add_to_diagonal(1.0);
        Ok(())
    }

    /// G⁺ over the columns of free inputs; zero rows for the others.
    fn invert(&mut self, view: &View<'_>, id: SubsystemId, nominal: bool) -> linalg::Result<()> {
        let Local { inputs, outputs, inverse, free, workspace, .. } = self;
        let Workspace { g, scaled, scaled_inverse, pseudo_inverse, .. } = workspace;
        inverse.reshape(inputs.len(), outputs.len());
        if free.is_empty() || outputs.start == outputs.end {
            return Ok(());
        }
        let ports = view.graph.ports(id);
        let size_of = |value: Option<f64>| {
            if nominal { value.map_or(1.0, f64::abs).max(f64::MIN_POSITIVE) } else { 1.0 }
        };
        let of_output = |i: usize| size_of(ports.outputs[i].nominal);
        let of_input = |j: usize| size_of(ports.inputs[j].nominal);
        scaled.reshape(outputs.len(), free.len());
        for i in 0..outputs.len() {
            for (j, column) in free.iter().enumerate() {
                scaled[(i, j)] = g[(i, *column)] * of_input(*column) / of_output(i);
            }
        }
        pseudo_inverse.of(scaled, CUTOFF, scaled_inverse)?;
        for (j, column) in free.iter().enumerate() {
            for i in 0..outputs.len() {
                inverse[(*column, i)] = scaled_inverse[(j, i)] * of_input(*column) / of_output(i);
            }
        }
        Ok(())
    }

    /// Finds G⁺ ρ for a goal, from the outputs `y`, the inputs `u0` at the start of the step, and ε = u0 - u⁻.
    pub(in crate::coupling) fn aim(
        &mut self,
        (model, transition): (&InterfaceModel, &Transition),
        goal: &[f64],
        now: &Now<'_>,
        excitation: &Excitation,
    ) {
        let Local { plus, rates, rho, .. } = self;
        plus.copy_from_slice(now.y);
        model.s_d.mul_vec_add(now.epsilon, plus);
        for (row, rho) in rho.iter_mut().enumerate() {
            *rho = goal[row] - plus[row];
        }
        rates.fill(0.0);
        model.add_rates(plus, now.u0, rates);
        subtract(&transition.integrals[0], rates, rho);
        if let Some(answer) = transition.answered(excitation) {
            subtract(&model.s_d, &excitation.change[self.inputs.clone()], rho);
            rho.iter_mut().zip(answer).for_each(|(rho, v)| *rho -= v);
        }
        self.inverse.mul_vec_into(rho, &mut self.shift);
    }

    /// The change of one input over the step, by (2), with `ideal(input)` the change of an ideal coupling.
    #[inline]
    pub(in crate::coupling) fn change(
        &self,
        input: InputId,
        per: f64,
        ideal: impl Fn(InputId) -> f64,
    ) -> f64 {
        let row = self.rest.row(input - self.inputs.start);
        let rest: f64 = row.iter().zip(self.inputs.clone()).map(|(r, i)| r * ideal(i)).sum();
        rest * per + self.shift[input - self.inputs.start]
    }
}

/// A subsystem at a communication point.
pub(in crate::coupling) struct Now<'a> {
    pub(in crate::coupling) y: &'a [f64],
    pub(in crate::coupling) u0: &'a [f64],
    pub(in crate::coupling) epsilon: &'a [f64],
}

/// `out` -= A x.
fn subtract(a: &Matrix, x: &[f64], out: &mut [f64]) {
    for (row, out) in out.iter_mut().enumerate() {
        *out -= a.row(row).iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
    }
}
