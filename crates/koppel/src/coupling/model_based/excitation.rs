//! What external signals do to a linear model over one step.
//!
//! Signals are known functions of time. Their values at the start of the step count as held; what they change by, ẽ(t),
//! acts on x' = A x + B ẽ from x = 0. The step is walked in ten parts, ẽ being a line in each; where a signal jumps inside a
//! part, its mean. So a jump at a communication point is met exactly, one inside the step to a tenth of it.

use crate::coupling::View;
use crate::linalg::{self, Integrals, Matrix};
use crate::signal::external::{COEFFICIENTS, External};
use crate::system::InputId;

/// Parts in which a step is walked.
const PARTS: usize = 10;

/// External signals over one step.
#[derive(Clone, Debug, Default)]
pub(in crate::coupling) struct Excitation {
    /// Values of all inputs' signals at the start, after a jump there.
    pub(in crate::coupling) start: Vec<f64>,
    /// The same before a jump there.
    pub(in crate::coupling) before: Vec<f64>,
    /// Change from the start to the end.
    pub(in crate::coupling) change: Vec<f64>,
    /// Per part: all values at its start, then all slopes.
    lines: Vec<f64>,
    /// True if some signal changes within the step.
    pub(in crate::coupling) is_active: bool,
}

impl Excitation {
    pub(in crate::coupling) fn new(inputs: usize) -> Self {
        Excitation {
            start: vec![0.0; inputs],
            before: vec![0.0; inputs],
            change: vec![0.0; inputs],
            lines: vec![0.0; 2 * PARTS * inputs],
            is_active: false,
        }
    }

    /// Looks at all signals over the step ahead.
    pub(in crate::coupling) fn look(&mut self, view: &View<'_>) {
        if view.graph.externals().is_empty() {
            return;
        }
        for list in [&mut self.start, &mut self.before, &mut self.change, &mut self.lines] {
            list.fill(0.0);
        }
        self.is_active = false;
        for (input, signal) in view.graph.externals() {
            self.add(*input, signal, view.step.start, view.step.size);
        }
    }

    fn add(&mut self, input: InputId, signal: &External, from: f64, size: f64) {
        let inputs = self.start.len();
        let start = signal.value(from);
        self.start[input] += start;
        self.before[input] += signal.value(from - 1e-9 * size);
        if signal.next_break(from).is_none_or(|time| time >= from + size) && signal.degree() == 0 {
            return;
        }
        self.is_active = true;
        let h = size / PARTS as f64;
        for part in 0..PARTS {
            let (left, right) = line(signal, from + h * part as f64, h);
            let (left, right) = (left - start, right - start);
            let lines = &mut self.lines[2 * part * inputs..][..2 * inputs];
            lines[input] += left;
            lines[inputs + input] += (right - left) / h;
            if part + 1 == PARTS {
                self.change[input] += right;
            }
        }
    }
}

/// Values of a line for a signal over [from, from + h]; the mean twice if it has a break inside.
fn line(signal: &External, from: f64, h: f64) -> (f64, f64) {
    let margin = 1e-9 * h;
    let mut c = [0.0; COEFFICIENTS];
    let evaluate = |c: &[f64], t: f64| c.iter().rev().fold(0.0, |sum, c| sum * t + c);
    if signal.next_break(from + margin).is_none_or(|time| time >= from + h - margin) {
        signal.piece(from, from + h, &mut c);
        return (c[0], evaluate(&c, h));
    }
    let (mut sum, mut at) = (0.0, from);
    while at < from + h - margin {
        let to = signal.next_break(at + margin).unwrap_or(f64::INFINITY).min(from + h);
        signal.piece(at, to, &mut c);
        let powers = c.iter().enumerate().map(|(j, c)| c * (to - at).powi(j as i32 + 1) / (j + 1) as f64);
        sum += powers.sum::<f64>();
        at = to;
    }
    (sum / h, sum / h)
}

/// How x' = A x + B ẽ answers, with the buffers it needs.
#[derive(Clone, Debug, Default)]
pub(in crate::coupling) struct Response {
    integrals: [Matrix; 3],
    work: Integrals,
    a: Matrix,
    b: Matrix,
    forcing: Vec<f64>,
    slope: Vec<f64>,
    /// x at the end.
    pub(in crate::coupling) end: Vec<f64>,
}

impl Response {
    /// For steps of this size.
    pub(in crate::coupling) fn fit(&mut self, a: &Matrix, b: &Matrix, size: f64) -> linalg::Result<()> {
        let n = a.rows();
        if self.end.len() != n {
            for list in [&mut self.forcing, &mut self.slope, &mut self.end] {
                *list = vec![0.0; n];
            }
        }
        self.a.copy_from(a);
        self.b.copy_from(b);
        self.work.all(a, size / PARTS as f64, &mut self.integrals)
    }

    /// Walks the step under the signals of the inputs that begin at `first`.
    pub(in crate::coupling) fn answer(&mut self, excitation: &Excitation, first: InputId) {
        let Response { integrals: [p0, p1, _], a, b, forcing, slope, end, .. } = self;
        let inputs = excitation.start.len();
        end.fill(0.0);
        for part in 0..PARTS {
            let lines = &excitation.lines[2 * part * inputs..][..2 * inputs];
            let (values, slopes) = lines.split_at(inputs);
            b.mul_vec_into(&values[first..][..b.cols()], forcing);
            b.mul_vec_into(&slopes[first..][..b.cols()], slope);
            a.mul_vec_add(end, forcing);
            p0.mul_vec_add(forcing, end);
            p1.mul_vec_add(slope, end);
        }
    }
}
