//! Parts of a step: what a piece of input does between two points of time.

use super::segment::horner;
use super::{Piece, Segment};

/// Part of a piece of the inputs.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The piece.
    pub piece: Piece<'a>,
    /// Where it begins, counted from the start of the piece.
    pub offset: f64,
    /// Its length.
    pub size: f64,
    /// True if it ends at one of the nodes, not only at a cut.
    pub ends_at_node: bool,
}

impl<'a> Part<'a> {
    /// Number `k` of `count` equal parts.
    pub fn divided(self, k: u32, count: u32) -> Part<'a> {
        let at = |k: u32| self.size * f64::from(k) / f64::from(count);
        Part { offset: self.offset + at(k), size: at(k + 1) - at(k), ..self }
    }

    /// True if none of the inputs changes on its piece.
    pub fn is_constant(&self, inputs: usize) -> bool {
        self.piece.terms == 1
            || (0..inputs)
                .all(|input| self.piece.of(input)[1..].iter().all(|coefficient| *coefficient == 0.0))
    }

    /// Mean of every input: (1/h) ∫ Σ c_j τ^j dτ = Σ c_j (b^{j+1} - a^{j+1}) / ((j+1) h).
    pub fn mean(&self, out: &mut [f64]) {
        let (a, b) = (self.offset, self.offset + self.size);
        for (input, mean) in out.iter_mut().enumerate() {
            let c = self.piece.of(input);
            // Of a line the mean is its middle, without the round-off of powers.
            *mean = match c {
                [c0] => *c0,
                [c0, c1] => c0 + c1 * 0.5 * (a + b),
                [c0, rest @ ..] if rest.iter().all(|c| *c == 0.0) => *c0,
                _ => mean_of(c, a, b),
            };
        }
    }

    /// Derivatives of one order at the start.
    pub fn derivative(&self, order: usize, out: &mut [f64]) {
        for (input, value) in out.iter_mut().enumerate() {
            let c = self.piece.of(input);
            *value = (order..c.len()).rev().fold(0.0, |sum, j| {
                let factor: f64 = ((j + 1 - order)..=j).map(|n| n as f64).product();
                sum * self.offset + factor * c[j]
            });
        }
    }

    /// Slope of the chord of every input.
    pub fn chord_slope(&self, out: &mut [f64]) {
        let (a, b) = (self.offset, self.offset + self.size);
        for (input, slope) in out.iter_mut().enumerate() {
            let c = self.piece.of(input);
            *slope = (horner(c, b) - horner(c, a)) / self.size;
        }
    }

    /// Begin of the line that has the mean of the input and the slope of its chord.
    pub fn chord_start(&self, out: &mut [f64]) {
        let (a, b) = (self.offset, self.offset + self.size);
        self.mean(out);
        for (input, start) in out.iter_mut().enumerate() {
            let c = self.piece.of(input);
            *start -= 0.5 * (horner(c, b) - horner(c, a));
        }
    }
}

fn mean_of(c: &[f64], a: f64, b: f64) -> f64 {
    let integral = |tau: f64| {
        let sum = c.iter().enumerate().rev().fold(0.0, |sum, (j, c)| sum * tau + c / (j as f64 + 1.0));
        sum * tau
    };
    (integral(b) - integral(a)) / (b - a)
}

impl Segment<'_> {
    /// Walks the step in `nodes` equal parts, stopping at the cuts of the inputs too.
    pub fn each_part<E>(
        &self,
        nodes: u32,
        mut visit: impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let size = self.size();
        let margin = 1e-9 * size;
        let node = |k: u32| size * f64::from(k) / f64::from(nodes);
        let (mut k, mut from) = (1, 0.0);
        for piece in self.pieces() {
            let end = piece.offset + piece.size;
            while from < end - margin {
                let ends_at_node = k <= nodes && node(k) < end + margin;
                let to = if ends_at_node { node(k) } else { end };
                visit(Part { piece, offset: from - piece.offset, size: to - from, ends_at_node })?;
                k += u32::from(ends_at_node);
                from = to;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Step;

    const STEP: Step = Step { index: 0, start: 2.0, size: 0.8 };

    /// u = 1 - 2 τ + 3 τ².
    fn part(segment: &Segment<'_>, visit: impl Fn(Part<'_>)) {
        segment
            .each_part(1, |part| {
                visit(part);
                Ok::<(), ()>(())
            })
            .unwrap();
    }

    #[test]
    fn means_and_chords_keep_the_integral() {
        let coefficients = [1.0, -2.0, 3.0];
        let segment = Segment::new(&STEP, 1, 3, &coefficients);
        let integral = |t: f64| t - t * t + t * t * t;
        part(&segment, |part| {
            let (mut sum, mut line_sum) = (0.0, 0.0);
            for k in 0..4 {
                let sub = part.divided(k, 4);
                let (mut mean, mut start, mut slope) = ([0.0], [0.0], [0.0]);
                sub.mean(&mut mean);
                sub.chord_start(&mut start);
                sub.chord_slope(&mut slope);
                sum += mean[0] * sub.size;
                line_sum += (start[0] + 0.5 * slope[0] * sub.size) * sub.size;
            }
            assert!((sum - integral(0.8)).abs() < 1e-14 && (line_sum - integral(0.8)).abs() < 1e-14);
        });
    }

    #[test]
    fn derivatives_are_those_of_the_polynomial() {
        let coefficients = [1.0, -2.0, 3.0];
        let segment = Segment::new(&STEP, 1, 3, &coefficients);
        part(&segment, |part| {
            let sub = part.divided(1, 2);
            let mut value = [0.0];
            sub.derivative(1, &mut value);
            assert!((value[0] - (-2.0 + 6.0 * 0.4)).abs() < 1e-15);
            sub.derivative(2, &mut value);
            assert_eq!(value[0], 6.0);
            sub.derivative(3, &mut value);
            assert_eq!(value[0], 0.0);
        });
    }

    #[test]
    fn parts_end_at_nodes_and_cover_the_step() {
        let segment = Segment::new(&STEP, 1, 1, &[7.0]);
        let mut ends = Vec::new();
        segment
            .each_part(4, |part| {
                assert!(part.ends_at_node && part.is_constant(1));
                ends.push(part.offset + part.size);
                Ok::<(), ()>(())
            })
            .unwrap();
        assert_eq!(ends.len(), 4);
        assert_eq!(ends[3], 0.8);
    }
}
