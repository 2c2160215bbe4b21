//! The interface model of a subsystem: its outputs as a differential equation in its inputs.
//!
//!   y' = S_y y + S_u u + S_d u' + c                                                       (1)
//!
//! From a state-space model, with the pseudoinverse C⁺,
//!
//!   S_y = C A C⁺,     S_u = C B - S_y D,     S_d = D                                       (2)
//!
//! which is exact if C is square and regular and a surrogate if there are more states than outputs. With x = y - S_d u,
//! (1) is the state-space model
//!
//!   x' = S_y x + (S_u + S_y S_d) u + c,     y = x + S_d u                                  (3)
//!
//! which has no derivative of the input and no jumps. c makes the model right where it stands, so that a subsystem at
//! rest away from zero stays there: c = y' - S_y y - S_u u, with y' under a held input.
//!
//! Genser 2020, (2.8), (2.12)-(2.14), which drops c.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, PseudoInverse, dot};
use crate::system::StateSpace;

/// Relative cut-off of the pseudoinverse of C.
const CUTOFF: f64 = 1e-12;

/// How a subsystem's outputs follow its inputs, equation (1).
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceModel {
    /// S_y: outputs on their own rates.
    pub s_y: Matrix,
    /// S_u: inputs on the rates.
    pub s_u: Matrix,
    /// S_d: inputs on the outputs, at once.
    pub s_d: Matrix,
    /// c.
    pub constant: Vec<f64>,
}

/// Room for the matrices on the way to a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room {
    pseudo_inverse: PseudoInverse,
    inverse: Matrix,
    product: Matrix,
}

impl InterfaceModel {
    /// Equation (2), with c = 0. `name` is the subsystem's, for the message.
    pub fn from_state_space(name: &str, matrices: &StateSpace) -> Result<Self> {
        let mut model = InterfaceModel::hold(matrices.inputs(), matrices.outputs());
        model.follow(name, matrices, &mut Room::default())?;
        Ok(model)
    }

    /// Takes the matrices of equation (2) and leaves c as it is.
    pub(crate) fn follow(&mut self, name: &str, matrices: &StateSpace, room: &mut Room) -> Result<()> {
        let StateSpace { a, b, c, d } = matrices;
        let InterfaceModel { s_y, s_u, s_d, .. } = self;
        if matrices.states() == 0 {
            s_y.reshape(c.rows(), c.rows());
        } else {
            let found = room.pseudo_inverse.of(c, CUTOFF, &mut room.inverse);
            found.map_err(|source| Error::Linalg {
                what: format!("the interface model of `{name}`"),
                source,
            })?;
            c.mul_into(a, &mut room.product);
            room.product.mul_into(&room.inverse, s_y);
        }
        s_d.copy_from(d);
        s_y.mul_into(d, s_u);
        s_u.scale(-1.0);
        c.mul_add(b, s_u);
        Ok(())
    }

    /// Knows nothing: outputs stay where they are.
    pub fn hold(inputs: usize, outputs: usize) -> Self {
        InterfaceModel {
            s_y: Matrix::zeros(outputs, outputs),
            s_u: Matrix::zeros(outputs, inputs),
            s_d: Matrix::zeros(outputs, inputs),
            constant: vec![0.0; outputs],
        }
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.s_u.cols()
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.s_y.rows()
    }

    /// B of equation (3): S_u + S_y S_d.
    pub fn input_matrix(&self) -> Matrix {
        let mut b = Matrix::default();
        self.write_input_matrix(&mut b);
        b
    }

    /// The same into a matrix that is there.
    pub(crate) fn write_input_matrix(&self, out: &mut Matrix) {
        out.copy_from(&self.s_u);
        self.s_y.mul_add(&self.s_d, out);
    }

    /// The state-space model (3), without c.
    pub fn state_space(&self) -> StateSpace {
        StateSpace {
            a: self.s_y.clone(),
            b: self.input_matrix(),
            c: Matrix::identity(self.outputs()),
            d: self.s_d.clone(),
        }
    }

    /// Makes the model right at one point: outputs `y` change at `rates` while the inputs `u` are held.
    pub fn pin(&mut self, rates: &[f64], y: &[f64], u: &[f64]) {
        for (row, constant) in self.constant.iter_mut().enumerate() {
            let modelled = dot(self.s_y.row(row), y) + dot(self.s_u.row(row), u);
            *constant = rates[row] - modelled;
        }
    }

    /// y' of (1) under a held input, added to `out`.
    #[inline]
    pub fn add_rates(&self, y: &[f64], u: &[f64], out: &mut [f64]) {
        for (row, out) in out.iter_mut().enumerate() {
            *out += dot(self.s_y.row(row), y) + dot(self.s_u.row(row), u) + self.constant[row];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oscillator() -> StateSpace {
        StateSpace {
            a: Matrix::from_slice(2, 2, &[0.0, 1.0, -4.0, -0.5]),
            b: Matrix::from_slice(2, 1, &[0.0, 2.0]),
            c: Matrix::from_slice(2, 2, &[1.0, 0.0, 3.0, 2.0]),
            d: Matrix::from_slice(2, 1, &[0.0, 0.7]),
        }
    }

    #[test]
    fn a_regular_c_makes_the_model_exact() {
        let system = oscillator();
        let model = InterfaceModel::from_state_space("s", &system).unwrap();
        let (x, u, rate) = ([0.3, -1.1], [0.9], [-0.4]);
        let (mut y, mut dx) = (system.c.mul_vec(&x), system.a.mul_vec(&x));
        system.d.mul_vec_add(&u, &mut y);
        system.b.mul_vec_add(&u, &mut dx);
        let mut truth = system.c.mul_vec(&dx);
        system.d.mul_vec_add(&rate, &mut truth);
        let mut seen = model.s_d.mul_vec(&rate);
        model.add_rates(&y, &u, &mut seen);
        assert!(truth.iter().zip(&seen).all(|(a, b)| (a - b).abs() < 1e-13), "{truth:?} {seen:?}");
    }

    #[test]
    fn the_dual_mass_surrogate_has_one_pole_at_minus_1020() {
        // docs/problems.md, dual mass: two poles -10 ± 1010i seen through one output, c_k = 2e5, d_k = 200.
        let (m, c, d, ck, dk) = (10.0, 1e7, 2.0, 2e5, 200.0);
        let matrices = StateSpace {
            a: Matrix::from_slice(2, 2, &[0.0, 1.0, -(c + ck) / m, -(d + dk) / m]),
            b: Matrix::from_slice(2, 2, &[0.0, 0.0, ck / m, dk / m]),
            c: Matrix::from_slice(1, 2, &[ck, dk]),
            d: Matrix::from_slice(1, 2, &[-ck, -dk]),
        };
        let model = InterfaceModel::from_state_space("s", &matrices).unwrap();
        assert!((model.s_y[(0, 0)] + 1020.0).abs() < 1.0, "{}", model.s_y[(0, 0)]);
    }

    #[test]
    fn without_states_only_feed_through_is_left() {
        let matrices = StateSpace {
            a: Matrix::zeros(0, 0),
            b: Matrix::zeros(0, 2),
            c: Matrix::zeros(1, 0),
            d: Matrix::from_slice(1, 2, &[2.0, -1.0]),
        };
        let model = InterfaceModel::from_state_space("s", &matrices).unwrap();
        assert_eq!((model.s_y.max_abs(), model.s_u.max_abs()), (0.0, 0.0));
        assert_eq!(model.s_d, matrices.d);
    }

    #[test]
    fn pinned_at_rest_it_rests() {
        let mut model = InterfaceModel::from_state_space("s", &oscillator()).unwrap();
        model.pin(&[0.0, 0.0], &[300.0, 250.0], &[17.0]);
        let mut rates = [0.0, 0.0];
        model.add_rates(&[300.0, 250.0], &[17.0], &mut rates);
        assert!(rates.iter().all(|rate| rate.abs() < 1e-12));
    }
}
