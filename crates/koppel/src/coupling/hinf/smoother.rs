//! K2 of every input: x' = A x + B w, u = C x, on what is held.
//!
//! w is a polynomial over the step: the newest value sent, or the line or parabola through the newest two or three. The
//! receiver gets u piece by piece as the cubic with K2's values and slopes at both ends.

use super::BySize;
use crate::coupling::{Polynomials, View};
use crate::error::Result;
use crate::hinf::{Design, HoldOrder};
use crate::linalg::Matrix;
use crate::system::{InputId, StateSpace};
use crate::tape::Tape;

/// Most coefficients of what is held.
const TERMS: usize = 3;
/// Highest order.
const ORDER: usize = 4;

/// The smoothers of all connected inputs.
pub(super) struct Smoothers {
    matrices: StateSpace,
    hold: HoldOrder,
    pieces: usize,
    discrete: BySize<Discrete>,
    /// The inputs, ascending.
    inputs: Vec<InputId>,
    /// By input: its place among the smoothers.
    places: Vec<usize>,
    smoothers: Vec<Smoother>,
    /// Size of the present step; 0 before the first.
    size: f64,
    /// Size of most steps.
    nominal: f64,
}

/// One piece of a step of a certain size.
struct Discrete {
    /// Length of the piece.
    piece: f64,
    transition: Matrix,
    inputs: Vec<Matrix>,
}

#[derive(Clone, Copy)]
struct Smoother {
    /// u at the start, from which all else counts.
    reference: f64,
    /// x at the start of the present step.
    state: [f64; ORDER],
    /// Values that arrived, newest first, and their times.
    arrived: [[f64; 2]; TERMS],
}

impl Smoother {
    /// A value has come. Of a step that was cut short only its end counts: slopes need room.
    fn arrive(&mut self, value: f64, time: f64, nominal: f64, has_jumped: bool) {
        if time - self.arrived[0][1] > 0.5 * nominal {
            self.arrived.rotate_right(1);
        }
        self.arrived[0] = [value, time];
        // Its past says nothing of what follows.
        if has_jumped {
            self.arrived = std::array::from_fn(|k| [value, time - k as f64 * nominal]);
        }
    }
}

impl Smoothers {
    pub(super) fn new(design: &Design, pieces: usize, view: &View<'_>, inputs: &[InputId]) -> Self {
        let smoother = |input: &InputId| {
            let value = view.arrival(*input);
            let past = |k: usize| [0.0, view.step.start - (k + 1) as f64 * view.step.size];
            let arrived = std::array::from_fn(past);
            Smoother { reference: value, state: [0.0; ORDER], arrived }
        };
        let mut places = vec![usize::MAX; view.graph.inputs()];
        inputs.iter().enumerate().for_each(|(place, input)| places[*input] = place);
        Smoothers {
            matrices: design.smoother_matrices(),
            hold: design.specification.hold,
            pieces,
            discrete: BySize::NONE,
            inputs: inputs.to_vec(),
            places,
            smoothers: inputs.iter().map(smoother).collect(),
            size: 0.0,
            nominal: design.specification.step,
        }
    }

    /// Has the matrices for a step of this size.
    pub(super) fn get_ready(&mut self, size: f64) -> Result<()> {
        let (matrices, piece, points) = (&self.matrices, size / self.pieces as f64, self.hold.points());
        self.discrete.get_ready(size, || {
            let crate::system::Discrete { transition, inputs } = matrices.discretize(piece, points)?;
            Ok(Discrete { piece, transition, inputs })
        })
    }

    /// Ends the step under way, if there is one, and begins the next: `sent` tells what has arrived at an input.
    pub(super) fn begin(&mut self, view: &View<'_>, sent: impl Fn(InputId) -> f64) -> Result<()> {
        if self.size > 0.0 {
            self.get_ready(self.size)?;
            for smoother in &mut self.smoothers {
                let mut walk = Walk::new(smoother, self.hold);
                (0..self.pieces).for_each(|_| walk.advance(self.discrete.now()));
                smoother.state = walk.state;
            }
        }
        for (smoother, input) in self.smoothers.iter_mut().zip(&self.inputs) {
            let mut wires = view.graph.wires()[view.graph.wires_into(*input)].iter();
            let has_jumped = wires.any(|wire| view.has_jumped[wire.from]);
            smoother.arrive(sent(*input) - smoother.reference, view.step.start, self.nominal, has_jumped);
        }
        self.size = view.step.size;
        self.get_ready(self.size)
    }

    /// Writes an input over the step that has begun.
    pub(super) fn write(&self, input: InputId, out: &mut Polynomials<'_>) {
        let smoother = &self.smoothers[self.places[input]];
        let discrete = self.discrete.now();
        let h = discrete.piece;
        let mut walk = Walk::new(smoother, self.hold);
        let (mut u0, mut s0) = walk.value_and_slope(&self.matrices);
        for piece in 0..self.pieces {
            walk.advance(discrete);
            let (u1, s1) = walk.value_and_slope(&self.matrices);
            let chord = (u1 - u0) / h;
            let out = out.piece(input, piece);
            out.fill(0.0);
            out[0] = smoother.reference + u0;
            out[1] = s0;
            out[2] = (3.0 * chord - 2.0 * s0 - s1) / h;
            out[3] = (s0 + s1 - 2.0 * chord) / (h * h);
            (u0, s0) = (u1, s1);
        }
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.number(&mut self.size);
        for Smoother { reference, state, arrived } in &mut self.smoothers {
            tape.value(reference);
            tape.values(state);
            for [value, time] in arrived {
                tape.value(value);
                tape.number(time);
            }
        }
    }
}

/// A smoother on its way through a step.
struct Walk {
    state: [f64; ORDER],
    /// What is held, as a polynomial in the time from here.
    held: [f64; TERMS],
}

impl Walk {
    fn new(smoother: &Smoother, hold: HoldOrder) -> Self {
        let [[y0, t0], [y1, t1], [y2, t2]] = smoother.arrived;
        // Newton's divided differences.
        let first = (y0 - y1) / (t0 - t1);
        let held = match hold {
            HoldOrder::Zoh => [y0, 0.0, 0.0],
            HoldOrder::Foh => [y0, first, 0.0],
            HoldOrder::Soh => {
                let second = (first - (y1 - y2) / (t1 - t2)) / (t0 - t2);
                [y0, first + second * (t0 - t1), second]
            }
        };
        Walk { state: smoother.state, held }
    }

    /// Over one piece.
    fn advance(&mut self, discrete: &Discrete) {
        let order = discrete.transition.rows();
        let mut next = [0.0; ORDER];
        discrete.transition.mul_vec_into(&self.state[..order], &mut next[..order]);
        for (gamma, held) in discrete.inputs.iter().zip(&self.held) {
            next.iter_mut().zip(gamma.as_slice()).for_each(|(x, gamma)| *x += gamma * held);
        }
        self.state = next;
        let ([c0, c1, c2], h) = (self.held, discrete.piece);
        self.held = [c0 + h * (c1 + h * c2), c1 + 2.0 * h * c2, c2];
    }

    /// u and u'.
    fn value_and_slope(&self, matrices: &StateSpace) -> (f64, f64) {
        let StateSpace { a, b, c, .. } = matrices;
        let row = |row: &[f64]| row.iter().zip(&self.state).map(|(a, x)| a * x).sum::<f64>();
        let rate = |i: usize| row(a.row(i)) + b[(i, 0)] * self.held[0];
        let slope = c.row(0).iter().enumerate().map(|(i, c)| c * rate(i)).sum();
        (row(c.row(0)), slope)
    }
}
