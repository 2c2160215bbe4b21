//! Swinging from one communication point to the next: what a coupling does that is about to go unstable, or a sampled
//! vibration that is faster than the communication.

use super::signal;
use crate::signal::Bounds;
use crate::system::SystemGraph;

/// Swings in a row that make a ripple.
const SWINGS: u32 = 8;

/// A ripple grows if its last swing is larger than its first by this factor.
const GROWTH: f64 = 1.5;

/// Swings below this share of the signal's range over the whole run do not count.
const SMALL: f64 = 0.01;

/// What grows by this factor from one of the last fifths of a run to the next explodes...
const EXPLODING: f64 = 10.0;

/// ... if it is so many times what it was before.
const ABSURD: f64 = 1e6;

/// The last values of one output.
#[derive(Clone, Copy, Debug)]
struct Ripple {
    last: f64,
    difference: f64,
    bounds: Bounds,
    /// Swings in a row, and the first of them.
    swings: u32,
    first: f64,
    /// Largest ripple that grew: swings, size, end.
    worst: Option<(u32, f64, f64)>,
    /// Where it was in each fifth of the run.
    fifths: [Bounds; 5],
}

/// Looks for ripple in all outputs.
pub(super) struct Ripples(Vec<Ripple>);

impl Ripples {
    pub(super) fn new(outputs: &[f64]) -> Self {
        let one = |y: &f64| Ripple {
            last: *y,
            difference: 0.0,
            bounds: Bounds::of([*y]),
            swings: 0,
            first: 0.0,
            worst: None,
            fifths: [Bounds::NONE; 5],
        };
        Ripples(outputs.iter().map(one).collect())
    }

    /// Notes the outputs at a time, `share` of the way through the run.
    pub(super) fn note(&mut self, time: f64, share: f64, outputs: &[f64]) {
        let fifth = ((share * 5.0) as usize).min(4);
        for (ripple, y) in self.0.iter_mut().zip(outputs) {
            ripple.fifths[fifth].add(*y);
            let difference = y - ripple.last;
            if difference * ripple.difference < 0.0 {
                if ripple.swings == 0 {
                    ripple.first = ripple.difference.abs();
                }
                ripple.swings += 1;
                ripple.judge(difference.abs(), time);
            } else {
                ripple.swings = 0;
            }
            (ripple.last, ripple.difference) = (*y, difference);
            ripple.bounds.add(*y);
        }
    }

    pub(super) fn any_growing(&self, graph: &SystemGraph) -> bool {
        let grows = |(output, ripple): (usize, &Ripple)| {
            ripple.explodes() || ripple.large(signal::range(graph, output, &ripple.bounds)).is_some()
        };
        self.0.iter().enumerate().any(grows)
    }

    /// An output that moves far more at the end of the run than ever before, if there is one.
    pub(super) fn growing_late(&self) -> Option<usize> {
        self.0.iter().position(Ripple::grows_late)
    }

    /// An output that grows without end, if there is one.
    pub(super) fn exploding(&self) -> Option<usize> {
        self.0.iter().position(Ripple::explodes)
    }

    /// The ripples in words.
    pub(super) fn signs(&self, graph: &SystemGraph) -> Vec<String> {
        let words = |(output, ripple): (usize, &Ripple)| {
            if ripple.explodes() {
                let (name, last) = (graph.output_name(output), ripple.fifths[4].largest());
                return Some(format!(
                    "`{name}` grows without bound, more than tenfold in a fifth of the run, to {last:.3e}"
                ));
            }
            let (swings, size, end) = ripple.large(signal::range(graph, output, &ripple.bounds))?;
            Some(format!(
                "`{}` oscillates at every communication point, {swings} times up to t = {} s, and grows to {size:.3e}",
                graph.output_name(output),
                (end * 1e9).round() / 1e9
            ))
        };
        self.0.iter().enumerate().filter_map(words).collect()
    }
}

impl Ripple {
    /// Its range in the last fifth is more than tenfold of that in any before.
    fn grows_late(&self) -> bool {
        let [.., last] = self.fifths.map(|fifth| fifth.range());
        let before = self.fifths[..4].iter().map(Bounds::range).fold(0.0, f64::max);
        before > 0.0 && last > EXPLODING * before
    }

    /// More than tenfold from one of the last fifths of the run to the next, and far from what it was.
    fn explodes(&self) -> bool {
        let fifths = self.fifths.map(|fifth| fifth.largest());
        let [first, second, third, _, last] = fifths;
        let is_growing = fifths[2..].windows(2).all(|pair| pair[1] > EXPLODING * pair[0]);
        let before = first.max(second).max(third);
        before > 0.0 && is_growing && last > ABSURD * first.max(second).max(f64::MIN_POSITIVE)
    }

    /// The largest ripple, if it is no trifle beside this range.
    fn large(&self, range: f64) -> Option<(u32, f64, f64)> {
        self.worst.filter(|(_, size, _)| *size > SMALL * range)
    }

    fn judge(&mut self, size: f64, time: f64) {
        let is_growing = self.swings >= SWINGS && size > GROWTH * self.first;
        if is_growing && self.worst.is_none_or(|(_, largest, _)| size > largest) {
            self.worst = Some((self.swings, size, time));
        }
    }
}
