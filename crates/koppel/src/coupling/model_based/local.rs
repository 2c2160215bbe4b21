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
//! u_0 + d the same with d in place of s and G = P_0 (S_u + S_y S_d) + S_d. The goal is a value of the extrapolated outputs:
//!
//! | goal        | y, P_0, P_1 become                | source                        |
//! | `end`       | at T^{k+1}                        | (2.40)                        |
//! | `trapezoid` | sum of both ends                  | after (2.40)                  |
//! | `midpoint`  | at the middle                     | mentioned there               |
//! | `integral`  | integrated over the step: H, P_1, P_2 | Genser & Benedikt 2018, future work |
//!
//! Inputs that another method fills, or whose sources have moved already, are not free: they count with their ideal slope.

use super::course::Course;
use super::excitation::{Excitation, Moments};
use crate::coupling::View;
use crate::error::{Error, Result};
use crate::identify::InterfaceModel;
use crate::linalg::{self, Integrals, Matrix, PseudoInverse};
use crate::system::{InputId, OutputId, SubsystemId};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What the optimised input is to meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// The extrapolated outputs at the end of the step.
    #[default]
    End,
    /// Their mean by the trapezoidal rule.
    Trapezoid,
    /// Their value in the middle.
    Midpoint,
    /// Their integral.
    Integral,
}

impl Goal {
    /// Factor of y.
    pub(in crate::coupling) fn weight(self, size: f64) -> f64 {
        match self {
            Goal::End | Goal::Midpoint => 1.0,
            Goal::Trapezoid => 2.0,
            Goal::Integral => size,
        }
    }

    /// True if the goal is the end of the step, by whatever weight.
    pub(in crate::coupling) fn is_at_end(self) -> bool {
        matches!(self, Goal::End | Goal::Trapezoid)
    }

    /// The same measure of a response to external signals.
    pub(in crate::coupling) fn of(self, moments: &Moments) -> &[f64] {
        match self {
            Goal::End | Goal::Trapezoid => &moments.end,
            Goal::Midpoint => &moments.middle,
            Goal::Integral => &moments.integral,
        }
    }
}

/// How the inputs of one subsystem are found.
#[derive(Clone, Debug)]
pub(in crate::coupling) struct Local {
    pub(in crate::coupling) inputs: Range<InputId>,
    pub(in crate::coupling) outputs: Range<OutputId>,
    /// To predict the end of the step.
    pub(in crate::coupling) course: Course,
    goal: Goal,
    weight: f64,
    /// P_0 of the goal for the part with y, and for the part with u.
    on_outputs: Matrix,
    on_inputs: Option<Matrix>,
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
    room: Room,
}

/// Room for the matrices on the way.
#[derive(Clone, Debug, Default)]
struct Room {
    integrals: Integrals,
    /// P_0, P_1, P_2 over the step, and P_0, P_1 as the part with u takes them.
    whole: [Matrix; 3],
    half: [Matrix; 3],
    by_trapezoids: Trapezoids,
    b: Matrix,
    g: Matrix,
    scaled: Matrix,
    scaled_inverse: Matrix,
    pseudo_inverse: PseudoInverse,
}

/// What a [`Local`] is built from.
pub(in crate::coupling) struct LocalSettings<'a> {
    pub(in crate::coupling) goal: Goal,
    pub(in crate::coupling) is_constant: bool,
    /// Inputs the method may choose, over all inputs.
    pub(in crate::coupling) is_free: &'a [bool],
    /// Intermediate points of the integrals on inputs; 0 is exact.
    pub(in crate::coupling) matrix_steps: u32,
    pub(in crate::coupling) cutoff: f64,
    pub(in crate::coupling) nominal: bool,
}

impl Local {
    pub(in crate::coupling) fn new(view: &View<'_>, id: SubsystemId, settings: &LocalSettings<'_>) -> Self {
        let (inputs, outputs) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
        let zeros = vec![0.0; outputs.len()];
        Local {
            goal: settings.goal,
            weight: 0.0,
            on_outputs: Matrix::default(),
            on_inputs: (settings.matrix_steps > 0).then(Matrix::default),
            inverse: Matrix::default(),
            rest: Matrix::default(),
            course: Course::new(view, id),
            shift: vec![0.0; inputs.len()],
            plus: zeros.clone(),
            rates: zeros.clone(),
            rho: zeros,
            free: (0..inputs.len()).filter(|j| settings.is_free[inputs.start + j]).collect(),
            room: Room::default(),
            inputs,
            outputs,
        }
    }

    /// All matrices for the model and the step size at hand. Allocates only at the first call.
    pub(in crate::coupling) fn fit(
        &mut self,
        view: &View<'_>,
        id: SubsystemId,
        settings: &LocalSettings<'_>,
    ) -> Result<()> {
        self.find_matrices(view, id, settings).map_err(|source| {
            let what = format!("the input optimisation of `{}`", view.graph.name(id));
            Error::Linalg { what, source }.into()
        })
    }

    fn find_matrices(
        &mut self,
        view: &View<'_>,
        id: SubsystemId,
        settings: &LocalSettings<'_>,
    ) -> linalg::Result<()> {
        let model = view.models.of(id);
        let size = view.step.size;
        self.weight = settings.goal.weight(size);
        let Room { integrals, whole, half, by_trapezoids, b, g, .. } = &mut self.room;
        match settings.goal {
            Goal::Integral => integrals.all(&model.s_y, size, whole)?,
            _ => integrals.both(&model.s_y, size, whole)?,
        }
        model.write_input_matrix(b);
        let (x0, x1) = match settings.goal {
            Goal::End | Goal::Trapezoid => (&whole[0], &whole[1]),
            Goal::Integral => (&whole[1], &whole[2]),
            Goal::Midpoint => {
                integrals.both(&model.s_y, 0.5 * size, half)?;
                (&half[0], &half[1])
            }
        };
        self.on_outputs.copy_from(x0);
        let (x0, x1) = match &mut self.on_inputs {
            None => (x0, x1),
            Some(on_inputs) => {
                by_trapezoids.find(integrals, &model.s_y, size, settings.matrix_steps)?;
                on_inputs.copy_from(&by_trapezoids.sum);
                (&by_trapezoids.sum, &by_trapezoids.ramp)
            }
        };
        if settings.is_constant {
            x0.mul_into(b, g);
            g.add_scaled(self.weight, &model.s_d);
        } else {
            x1.mul_into(&model.s_u, g);
            x0.mul_add(&model.s_d, g);
        }
        self.course.fit(model, b, whole, size)?;
        self.invert(view, id, settings)?;
        self.inverse.mul_into(&self.room.g, &mut self.rest);
        self.rest.scale(-1.0);
        self.rest.add_to_diagonal(1.0);
        Ok(())
    }

    /// G⁺ over the columns of free inputs; zero rows for the others.
    fn invert(
        &mut self,
        view: &View<'_>,
        id: SubsystemId,
        settings: &LocalSettings<'_>,
    ) -> linalg::Result<()> {
        let Local { inputs, outputs, inverse, free, room, .. } = self;
        let Room { g, scaled, scaled_inverse, pseudo_inverse, .. } = room;
        inverse.reshape(inputs.len(), outputs.len());
        if free.is_empty() || outputs.start == outputs.end {
            return Ok(());
        }
        let ports = view.graph.ports(id);
        let size_of = |nominal: Option<f64>| {
            if settings.nominal { nominal.map_or(1.0, f64::abs).max(f64::MIN_POSITIVE) } else { 1.0 }
        };
        let of_output = |i: usize| size_of(ports.outputs[i].nominal);
        let of_input = |j: usize| size_of(ports.inputs[j].nominal);
        scaled.reshape(outputs.len(), free.len());
        for i in 0..outputs.len() {
            for (j, column) in free.iter().enumerate() {
                scaled[(i, j)] = g[(i, *column)] * of_input(*column) / of_output(i);
            }
        }
        pseudo_inverse.of(scaled, settings.cutoff, scaled_inverse)?;
        for (j, column) in free.iter().enumerate() {
            for i in 0..outputs.len() {
                inverse[(*column, i)] = scaled_inverse[(j, i)] * of_input(*column) / of_output(i);
            }
        }
        Ok(())
    }

    /// Finds G⁺ ρ for a goal, from the outputs `y`, the inputs `u0` at the begin of the step, and ε = u0 - u⁻.
    pub(in crate::coupling) fn aim(
        &mut self,
        model: &InterfaceModel,
        goal: &[f64],
        now: &Now<'_>,
        excitation: &Excitation,
    ) {
        let Local { plus, rates, rho, course, .. } = self;
        plus.copy_from_slice(now.y);
        model.s_d.mul_vec_add(now.epsilon, plus);
        for (row, rho) in rho.iter_mut().enumerate() {
            *rho = goal[row] - self.weight * plus[row];
        }
        rates.fill(0.0);
        match &self.on_inputs {
            None => {
                model.add_rates(plus, now.u0, rates);
                subtract(&self.on_outputs, rates, rho);
            }
            Some(on_inputs) => {
                model.s_y.mul_vec_into(plus, rates);
                subtract(&self.on_outputs, rates, rho);
                rates.copy_from_slice(&model.constant);
                model.s_u.mul_vec_add(now.u0, rates);
                subtract(on_inputs, rates, rho);
            }
        }
        if let Some(moments) = course.answer(excitation) {
            let change = &self.goal.of(&excitation.change)[self.inputs.clone()];
            subtract(&model.s_d, change, rho);
            rho.iter_mut().zip(self.goal.of(moments)).for_each(|(rho, v)| *rho -= v);
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

/// P_0 and P_1 by the trapezoidal rule, with exact exponentials.
#[derive(Clone, Debug, Default)]
struct Trapezoids {
    sum: Matrix,
    ramp: Matrix,
    over_one: Matrix,
    power: Matrix,
    next: Matrix,
}

impl Trapezoids {
    /// On `steps` parts.
    fn find(&mut self, integrals: &mut Integrals, a: &Matrix, size: f64, steps: u32) -> linalg::Result<()> {
        let Trapezoids { sum, ramp, over_one, power, next } = self;
        let n = a.rows();
        let h = size / f64::from(steps);
        integrals.first(a, h, power)?;
        a.mul_into(power, over_one);
        over_one.add_to_diagonal(1.0);
        sum.reshape(n, n);
        ramp.reshape(n, n);
        power.set_identity(n);
        for k in 0..=steps {
            let weight = if k == 0 || k == steps { 0.5 * h } else { h };
            sum.add_scaled(weight, power);
            ramp.add_scaled(weight * (size - h * f64::from(k)), power);
            over_one.mul_into(power, next);
            std::mem::swap(power, next);
        }
        Ok(())
    }
}

/// `out` -= A x.
fn subtract(a: &Matrix, x: &[f64], out: &mut [f64]) {
    for (row, out) in out.iter_mut().enumerate() {
        *out -= a.row(row).iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
    }
}
