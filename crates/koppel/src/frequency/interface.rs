//! A two-sided interface of linear subsystems under a coupling.
//!
//!   u1 = (1 + φ) y2,  y1 = Q1 u1,   u2 = (1 + φ) y1,  y2 = Q2 u2
//!
//! Wires and gains belong to Q2, so that M = Q2 Q1 is square. Without exchange errors the loop is stable by assumption; with
//! them it is judged by the curve det(I - (1 + φ)² M) along the imaginary axis: each turn around zero is an unstable pole,
//! and its smallest singular value is the margin. For one signal each way that is the Nyquist curve of
//! L = -(1 + φ)² Q1 Q2 and its distance from -1. Chen et al. 2021, 2.3.
//!
//! Signals above half the sampling frequency fold down, which this view leaves out: where they matter, the spectral
//! radius of the macro step decides.

use super::{ComplexMatrix, response, transfer};
use crate::coupling::{CouplingConfig, Hold};
use crate::error::Result;
use crate::linalg::{Complex, Matrix, eigenvalues};
use crate::system::StateSpace;
use std::f64::consts::{PI, TAU};

/// Two subsystems, each the other's environment.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Q1: what the first side makes of its inputs.
    first: StateSpace,
    /// Q2, from the first side's outputs to its inputs.
    second: StateSpace,
}

/// Which side should take the force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// The causality is the better one: its loop gain is below one.
    AsItIs,
    /// The other causality has the lower loop gain.
    TheOther,
}

/// What the frequencies say of an interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Unstable poles of the loop.
    pub unstable_poles: i64,
    /// Smallest singular value of I - (1 + φ)² M; for one signal the distance of the Nyquist curve from -1.
    pub margin: f64,
    /// Where that is, as f H.
    pub margin_at: f64,
    /// ‖(1 + φ)² M‖∞: below one the loop is stable whatever the phase.
    pub gain: f64,
    /// For one signal each way: the lowest f H at which a side with its coupling stops being passive, infinite if none.
    pub passive_to: Option<[f64; 2]>,
    /// For one loop signal: which causality has the lower gain where exchanges hurt, f H from 0.05 to 0.5.
    pub force: Option<Taker>,
    /// f H, and L for one loop signal, else 1 - det.
    pub curve: Vec<(f64, Complex)>,
}

impl Verdict {
    /// Stable by the Nyquist criterion.
    pub fn is_stable(&self) -> bool {
        self.unstable_poles == 0
    }
}

/// Just beside the imaginary axis, in 1/H: poles on it count as stable.
const BESIDE: f64 = 1e-7;
/// The curve is refined until neighbours turn by less, in rad.
const TURN: f64 = 0.2;
/// Lowest and highest f H.
const LOWEST: f64 = 1e-6;
const HIGHEST: f64 = 100.0;
/// Part of its frequency around a resonance in which there are more points: the coarse grid's are 5 % apart.
const WIDE: f64 = 0.1;

impl Interface {
    /// `second` maps the first side's outputs to its inputs, wires and gains included.
    pub fn new(first: StateSpace, second: StateSpace) -> Self {
        assert!(
            first.inputs() == second.outputs() && first.outputs() == second.inputs(),
            "the sides of an interface fit each other"
        );
        Interface { first, second }
    }

    /// With wires between: u1 = `to_first` y2, u2 = `to_second` y1.
    pub fn wired(first: StateSpace, second: StateSpace, to_first: &Matrix, to_second: &Matrix) -> Self {
        let StateSpace { a, b, c, d } = second;
        let (b, d) = (&b * to_second, &d * to_second);
        Interface::new(first, StateSpace { a, b, c: to_first * &c, d: to_first * &d })
    }

    /// Q2 Q1 at s, on the narrower side.
    fn product(&self, s: Complex) -> Result<ComplexMatrix> {
        let (q1, q2) = (response(&self.first, s)?, response(&self.second, s)?);
        Ok(if self.first.inputs() <= self.first.outputs() { q2.times(&q1) } else { q1.times(&q2) })
    }

    /// What the coupling makes of the loop; `None` for methods that are no filters.
    pub fn judge(&self, coupling: &CouplingConfig, hold: Hold, step: f64) -> Result<Option<Verdict>> {
        if transfer(coupling, hold, step, Complex::imaginary(1.0 / step))?.is_none() {
            return Ok(None);
        }
        let point = |f: f64| -> Result<Point> {
            let s = Complex::new(BESIDE, TAU * f) * (1.0 / step);
            let filter = transfer(coupling, hold, step, s)?.unwrap_or(Complex::ONE);
            let product = self.product(s)?;
            let open = product.scaled(filter * filter);
            let difference = open.from_one();
            let determinant = difference.determinant();
            let (gain, margin) = (open.gains()?.0, difference.gains()?.1);
            Ok(Point { f, determinant, gain, margin, loop_gain: product.determinant().abs(), filter })
        };
        let points = refined(point, &self.resonances(step)?)?;
        let turns = points.windows(2).map(|pair| turn(&pair[0], &pair[1])).sum::<f64>() / PI;
        let narrow = self.first.inputs().min(self.first.outputs());
        let closest = points.iter().min_by(|a, b| a.margin.total_cmp(&b.margin));
        let curve = |p: &Point| (p.f, p.determinant - Complex::ONE);
        Ok(Some(Verdict {
            unstable_poles: self.open_unstable()? - turns.round() as i64,
            margin: closest.map_or(f64::NAN, |p| p.margin),
            margin_at: closest.map_or(f64::NAN, |p| p.f),
            gain: points.iter().map(|p| p.gain).fold(0.0, f64::max),
            passive_to: if narrow == 1 && self.first.outputs() == 1 && self.first.inputs() == 1 {
                Some(self.passive_to(&points, step)?)
            } else {
                None
            },
            force: (narrow == 1).then(|| taker(&points)),
            curve: points.iter().map(curve).collect(),
        }))
    }

    /// Poles of the first and of the second side.
    fn poles(&self) -> Result<[Vec<Complex>; 2]> {
        let failed = |source| crate::Error::Linalg { what: "poles of a subsystem".into(), source };
        Ok([eigenvalues(&self.first.a).map_err(failed)?, eigenvalues(&self.second.a).map_err(failed)?])
    }

    /// Unstable poles of the two sides themselves.
    fn open_unstable(&self) -> Result<i64> {
        let mut count = 0;
        for (side, poles) in [&self.first, &self.second].into_iter().zip(self.poles()?) {
            let scale = side.a.max_abs().max(1e-300);
            count += poles.iter().filter(|pole| pole.re > 1e-9 * scale).count() as i64;
        }
        Ok(count)
    }

    /// f H on and around each resonance of the two sides: at its frequency, and at distances that grow from its width to that of
    /// the coarse grid. Between the points of that grid a weakly damped one leaves no trace.
    fn resonances(&self, step: f64) -> Result<Vec<f64>> {
        let mut all = Vec::new();
        for pole in self.poles()?.concat().into_iter().filter(|pole| pole.im > 0.0) {
            let centre = pole.im * step / TAU;
            let mut distance = (pole.re.abs() * step / TAU).max(BESIDE / TAU);
            all.push(centre);
            while distance < WIDE * centre {
                all.extend([centre - distance, centre + distance]);
                distance *= 2.0;
            }
        }
        all.retain(|f| (LOWEST..HIGHEST).contains(f));
        Ok(all)
    }

    /// The lowest f H at which (1 + φ) Q1 and -(1 + φ) Q2, or both with the other sign, turn by more than 90°.
    fn passive_to(&self, points: &[Point], step: f64) -> Result<[f64; 2]> {
        let mut best = [0.0_f64; 2];
        for sign in [1.0, -1.0] {
            let mut ends = [f64::INFINITY; 2];
            for p in points {
                let s = Complex::new(BESIDE, TAU * p.f) * (1.0 / step);
                let sides = [(&self.first, sign), (&self.second, -sign)];
                for (end, (side, sign)) in ends.iter_mut().zip(sides) {
                    let value = response(side, s)?.at(0, 0) * p.filter * sign;
                    if value.re < -1e-9 * value.abs() {
                        *end = end.min(p.f);
                    }
                }
            }
            if ends[0].min(ends[1]) >= best[0].min(best[1]) {
                best = ends;
            }
        }
        Ok(best)
    }
}

#[derive(Clone, Copy)]
struct Point {
    f: f64,
    determinant: Complex,
    gain: f64,
    margin: f64,
    /// |det M| without coupling.
    loop_gain: f64,
    filter: Complex,
}

/// By how much the determinant turns between two points.
fn turn(a: &Point, b: &Point) -> f64 {
    (b.determinant / a.determinant).angle()
}

/// Points close enough together to follow the curve.
fn refined(point: impl Fn(f64) -> Result<Point>, resonances: &[f64]) -> Result<Vec<Point>> {
    let count = 400;
    let coarse = (0..=count).map(|k| LOWEST * (HIGHEST / LOWEST).powf(f64::from(k) / f64::from(count)));
    let mut all: Vec<f64> = coarse.chain(resonances.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let mut points = vec![point(all[0])?];
    for f in all.into_iter().skip(1) {
        let mut ahead = vec![point(f)?];
        while let Some(next) = ahead.last().copied() {
            let last = points[points.len() - 1];
            if turn(&last, &next).abs() < TURN || next.f - last.f < 1e-9 * next.f {
                points.push(next);
                ahead.pop();
            } else {
                ahead.push(point(0.5 * (last.f + next.f))?);
            }
        }
    }
    Ok(points)
}

/// The side with the lower gain where exchanges hurt.
fn taker(points: &[Point]) -> Taker {
    let logs = points.iter().filter(|p| (0.05..=0.5).contains(&p.f)).map(|p| p.loop_gain.ln());
    let (sum, count) = logs.fold((0.0, 0), |(sum, count), log| (sum + log, count + 1));
    if sum / f64::from(count.max(1)) <= 0.0 { Taker::AsItIs } else { Taker::TheOther }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::build;
    use std::collections::BTreeMap;

    fn linear(model: &str, parameters: &[(&str, f64)]) -> StateSpace {
        let parameters: BTreeMap<_, _> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        build(model, &parameters).unwrap().linear().unwrap()
    }

    /// The quarter truck (docs/problems.md): zero-order hold, stale reading, is unstable above 12.55 ms.
    fn truck() -> Interface {
        let wheel = linear("wheel", &[]);
        // The force alone; the road is no part of the loop.
        let wheel = StateSpace { b: wheel.b.block(0, 0, 2, 1), d: wheel.d.block(0, 0, 2, 1), ..wheel };
        Interface::new(wheel, linear("chassis", &[]))
    }

    #[test]
    fn the_quarter_truck_loses_its_margin_near_its_largest_step() {
        let judge = |step| truck().judge(&CouplingConfig::zoh(), Hold::Constant, step).unwrap().unwrap();
        let small = judge(0.005);
        assert!(small.is_stable() && small.margin > 0.05, "{} {}", small.unstable_poles, small.margin);
        let large = judge(0.03);
        assert_eq!(large.unstable_poles, 2, "one pair");
        assert!(small.gain > 1.0, "small gain cannot tell: {}", small.gain);
    }

    /// A resonance of damping ζ at ω against a lag, -k: the closed loop is one matrix, and at this step two holds lag by 0.01 rad only. The
    /// gain at which it turns unstable is known from that matrix; resonances between the points of the coarse grid must not be missed.
    #[test]
    fn weak_resonances_are_seen() {
        let mut wrong = Vec::new();
        for zeta in [1e-2, 2e-3, 5e-4] {
            for omega in [1.0, 3.3, 7.7] {
                for k in [0.5 * omega * zeta, 2.0 * omega * zeta] {
                    // x'' + 2 ζ ω x' + ω² x = u, y = 2 k x', in positive feedback with 1: damping 2 ζ ω - 2 k.
                    let resonance = StateSpace {
                        a: Matrix::from_slice(2, 2, &[0.0, 1.0, -omega * omega, -2.0 * zeta * omega]),
                        b: Matrix::from_slice(2, 1, &[0.0, 1.0]),
                        c: Matrix::from_slice(1, 2, &[0.0, 2.0 * k]),
                        d: Matrix::zeros(1, 1),
                    };
                    let gain = StateSpace {
                        a: Matrix::zeros(0, 0),
                        b: Matrix::zeros(0, 1),
                        c: Matrix::zeros(1, 0),
                        d: Matrix::from_slice(1, 1, &[1.0]),
                    };
                    let judged = Interface::new(resonance, gain)
                        .judge(&CouplingConfig::zoh(), Hold::Constant, 0.01 / omega)
                        .unwrap()
                        .unwrap();
                    let expected = if 2.0 * k > 2.0 * zeta * omega { 2 } else { 0 };
                    let peak = 2.0 * k / (2.0 * zeta * omega);
                    if judged.unstable_poles != expected || (judged.gain / peak - 1.0).abs() > 0.02 {
                        wrong.push((zeta, omega, k, judged.unstable_poles, judged.gain / peak));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    /// Two first-order lags with one sign change: the uncut loop is stable for any gain, delayed it is not.
    #[test]
    fn gain_and_turns_of_two_lags() {
        let lag = |gain: f64| StateSpace {
            a: Matrix::from_slice(1, 1, &[-1.0]),
            b: Matrix::from_slice(1, 1, &[1.0]),
            c: Matrix::from_slice(1, 1, &[gain]),
            d: Matrix::zeros(1, 1),
        };
        let zoh = CouplingConfig::zoh();
        let weak = Interface::new(lag(0.9), lag(-1.0)).judge(&zoh, Hold::Constant, 0.5).unwrap().unwrap();
        assert!(weak.is_stable() && weak.gain < 1.0 && (weak.gain - 0.9).abs() < 1e-3);
        assert_eq!(weak.force, Some(Taker::AsItIs));
        // 9 / (1 + s)² with the delay e^{-s/2} of two holds of 0.5 s turns past -1 where it is still above one.
        let strong = Interface::new(lag(9.0), lag(-1.0)).judge(&zoh, Hold::Constant, 0.5).unwrap().unwrap();
        assert_eq!(strong.unstable_poles, 2);
        let fine = Interface::new(lag(9.0), lag(-1.0)).judge(&zoh, Hold::Constant, 0.01).unwrap().unwrap();
        assert!(fine.is_stable());
        // 1/(1 + s) with half a step of delay turns by 90° where ω tan(ω H/2) = 1: ω = √(2/H) for small steps.
        let expected = (2.0 / 0.01_f64).sqrt() * 0.01 / TAU;
        for end in fine.passive_to.unwrap() {
            assert!((end / expected - 1.0).abs() < 0.05, "{end} against {expected}");
        }
    }
}
