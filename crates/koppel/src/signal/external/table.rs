//! Points in time with lines, steps or cubics between them. Two points at one time are a jump: the first is where the
//! values before lead to, the last is what counts from then on.

use super::{COEFFICIENTS, Interpolation, horner, line, shift_polynomial};
use std::ops::Range;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    pub(super) times: Vec<f64>,
    pub(super) values: Vec<f64>,
    /// At the points; only for cubics.
    pub(super) slopes: Vec<f64>,
    pub(super) interpolation: Interpolation,
    /// Times of jumps between lines or cubics.
    jumps: Vec<f64>,
}

impl Table {
    pub(super) fn new(times: &[f64], values: &[f64], interpolation: Interpolation) -> Table {
        let (times, values) = without_middles(times, values);
        let slopes = match interpolation {
            Interpolation::Cubic => {
                sections(&times).flat_map(|of| monotone_slopes(&times[of.clone()], &values[of])).collect()
            }
            Interpolation::Linear | Interpolation::Previous => vec![],
        };
        let jumps = times.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        Table { times, values, slopes, interpolation, jumps }
    }

    /// First jump after `after`.
    pub(super) fn next_jump(&self, after: f64) -> Option<f64> {
        self.jumps.get(self.jumps.partition_point(|time| *time <= after)).copied()
    }

    /// The point left of `t`, or `None` where the table holds its first or last value.
    fn interval(&self, t: f64) -> Option<usize> {
        let points_before = self.times.partition_point(|time| *time <= t);
        (points_before > 0 && points_before < self.times.len()).then(|| points_before - 1)
    }

    fn held(&self, t: f64) -> f64 {
        if t < self.times[0] { self.values[0] } else { self.values[self.values.len() - 1] }
    }

    pub(super) fn value(&self, t: f64) -> f64 {
        match (self.interval(t), self.interpolation) {
            (None, _) => self.held(t),
            (Some(i), Interpolation::Previous) => self.values[i],
            (Some(i), Interpolation::Linear) => {
                let part = (t - self.times[i]) / (self.times[i + 1] - self.times[i]);
                self.values[i] + (self.values[i + 1] - self.values[i]) * part
            }
            (Some(i), Interpolation::Cubic) => horner(&self.cubic(i), t - self.times[i]),
        }
    }

    pub(super) fn piece(&self, start: f64, middle: f64, out: &mut [f64; COEFFICIENTS]) {
        match (self.interval(middle), self.interpolation) {
            (Some(i), Interpolation::Linear) => {
                let (left, right) =
                    ((self.times[i], self.values[i]), (self.times[i + 1], self.values[i + 1]));
                line(left, right, start, out);
            }
            (Some(i), Interpolation::Cubic) => {
                out[..4].copy_from_slice(&self.cubic(i));
                shift_polynomial(out, start - self.times[i]);
            }
            _ => out[0] = self.value(middle),
        }
    }

    /// The Hermite cubic right of point `i`, in the time since that point.
    fn cubic(&self, i: usize) -> [f64; 4] {
        let size = self.times[i + 1] - self.times[i];
        let chord = (self.values[i + 1] - self.values[i]) / size;
        let (left, right) = (self.slopes[i], self.slopes[i + 1]);
        let square = (3.0 * chord - 2.0 * left - right) / size;
        [self.values[i], left, square, (left - 2.0 * chord + right) / (size * size)]
    }

    /// The fullest window starts at a point.
    pub(super) fn max_breaks(&self, span: f64) -> usize {
        let mut most = 0;
        let mut end = 0;
        for (first, time) in self.times.iter().enumerate() {
            let reach = (time + span).next_up();
            while end < self.times.len() && self.times[end] <= reach {
                end += 1;
            }
            most = most.max(end - first);
        }
        most
    }
}

/// The points; of several at one time only the first and the last.
fn without_middles(times: &[f64], values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let is_middle =
        |i: usize| i > 0 && i + 1 < times.len() && times[i - 1] == times[i] && times[i] == times[i + 1];
    (0..times.len()).filter(|i| !is_middle(*i)).map(|i| (times[i], values[i])).unzip()
}

/// Runs of points without a jump between them.
fn sections(times: &[f64]) -> impl Iterator<Item = Range<usize>> {
    let mut first = 0;
    (1..=times.len()).filter_map(move |end| {
        let is_end = end == times.len() || times[end] == times[end - 1];
        is_end.then(|| std::mem::replace(&mut first, end)..end)
    })
}

/// Slopes at the points such that cubics keep the monotony of the points: the weighted harmonic mean of the chords,
/// or 0 at an extremum. Fritsch & Butland 1984; ends as in Moler, Numerical Computing with MATLAB, chapter 3.
pub(crate) fn monotone_slopes(times: &[f64], values: &[f64]) -> Vec<f64> {
    let last = times.len() - 1;
    let size = |i: usize| times[i + 1] - times[i];
    let chord = |i: usize| (values[i + 1] - values[i]) / size(i);
    let interval = |i: usize| (size(i), chord(i));
    let inner = |i: usize| {
        let (left, right) = (chord(i - 1), chord(i));
        if left * right <= 0.0 {
            return 0.0;
        }
        let (w1, w2) = (2.0 * size(i) + size(i - 1), size(i) + 2.0 * size(i - 1));
        (w1 + w2) / (w1 / left + w2 / right)
    };
    let slope = |i: usize| match i {
        _ if last == 0 => 0.0,
        _ if last == 1 => chord(0),
        0 => end_slope(interval(0), interval(1)),
        _ if i == last => end_slope(interval(last - 1), interval(last - 2)),
        _ => inner(i),
    };
    (0..=last).map(slope).collect()
}

/// Slope of the parabola at the end point, limited; (size, chord) of the interval at the end and of its neighbour.
fn end_slope((h0, d0): (f64, f64), (h1, d1): (f64, f64)) -> f64 {
    let slope = ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
    if slope * d0 <= 0.0 {
        0.0
    } else if d0 * d1 <= 0.0 && slope.abs() > 3.0 * d0.abs() {
        3.0 * d0
    } else {
        slope
    }
}
