//! The first moment at which one of several functions of time changes sign.
//!
//! Between a, where all functions z_j have their old signs, and b, where some have changed, the next guess is the
//! earliest zero of the chords of those that changed:
//!
//!   s = a + (b - a) · min_j  w_a |z_j(a)| / (w_a |z_j(a)| + w_b |z_j(b)|)               (1)
//!
//! It replaces b if a sign has changed at s, else a, until b - a is no more than the tolerance. The weight of an end that
//! stays twice is halved (the Illinois method), a guess keeps half the tolerance away from both ends, and when two guesses in a
//! row have not halved the interval, the next is its middle. Dowell & Jarratt 1971.
//!
//! A sign is one of two: above zero, or not. A function that crosses twice between a and b is not seen; where more than
//! one crossing lies there, the one found need not be the first.

/// Whether any function has another sign than before.
pub fn has_crossed(before: &[f64], now: &[f64]) -> bool {
    before.iter().zip(now).any(|(before, now)| differs(*before, *now))
}

fn differs(before: f64, now: f64) -> bool {
    (before > 0.0) != (now > 0.0)
}

/// An interval in which a sign changes, with the functions at its ends.
#[derive(Debug)]
pub struct Bracket<'a> {
    /// Its start: no sign has changed.
    pub start: f64,
    /// Its end: some have.
    pub end: f64,
    /// The functions at its start.
    pub before: &'a mut [f64],
    /// The functions at its end.
    pub after: &'a mut [f64],
}

impl Bracket<'_> {
    /// Shrinks it to the tolerance; `evaluate` writes the functions at a time. `middle` has room for them.
    pub fn narrow<E>(
        &mut self,
        tolerance: f64,
        middle: &mut [f64],
        mut evaluate: impl FnMut(f64, &mut [f64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut weights, mut moved_end, mut slow) = ((1.0, 1.0), None, 0);
        while self.end - self.start > tolerance {
            let width = self.end - self.start;
            let guess = if slow >= 2 { self.start + 0.5 * width } else { self.chord(weights) };
            let margin = 0.5 * tolerance.min(width);
            let at = guess.clamp(self.start + margin, self.end - margin);
            if at <= self.start || at >= self.end {
                return Ok(());
            }
            evaluate(at, middle)?;
            let moves_end = has_crossed(self.before, middle);
            let stays = if moved_end == Some(moves_end) { 0.5 } else { 1.0 };
            moved_end = Some(moves_end);
            weights = if moves_end {
                self.end = at;
                self.after.copy_from_slice(middle);
                (stays * weights.0, 1.0)
            } else {
                self.start = at;
                self.before.copy_from_slice(middle);
                (1.0, stays * weights.1)
            };
            slow = if self.end - self.start > 0.5 * width { slow + 1 } else { 0 };
        }
        Ok(())
    }

    /// Equation (1).
    fn chord(&self, weights: (f64, f64)) -> f64 {
        let pairs = self.before.iter().zip(self.after.iter());
        let changed = pairs.filter(|(before, after)| differs(**before, **after));
        let parts = changed.map(|(before, after)| {
            let (before, after) = (weights.0 * before.abs(), weights.1 * after.abs());
            if before + after > 0.0 { before / (before + after) } else { 0.5 }
        });
        self.start + (self.end - self.start) * parts.fold(1.0, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the sign changes, and with how many evaluations.
    fn find<const N: usize>(end: f64, z: impl Fn(f64) -> [f64; N]) -> (f64, u32) {
        let (mut before, mut after, mut middle) = (z(0.0), z(end), [0.0; N]);
        let mut evaluations = 0;
        let mut bracket = Bracket { start: 0.0, end, before: &mut before, after: &mut after };
        bracket
            .narrow(1e-12, &mut middle, |t, out| {
                evaluations += 1;
                out.copy_from_slice(&z(t));
                Ok::<(), ()>(())
            })
            .unwrap();
        assert!(bracket.end - bracket.start <= 1e-12);
        assert!(has_crossed(&z(0.0), &z(bracket.end)) && !has_crossed(&z(0.0), &z(bracket.start)));
        (bracket.end, evaluations)
    }

    /// A function, its zero, and the most evaluations.
    type Case<'a> = (&'a dyn Fn(f64) -> [f64; 1], f64, u32);

    #[test]
    fn smooth_flat_and_jumping_functions_are_located() {
        let cases: [Case<'_>; 5] = [
            (&|t| [t - 0.3], 0.3, 4),
            (&|t| [t.cos()], std::f64::consts::FRAC_PI_2, 12),
            (&|t| [(t - 0.7).powi(3)], 0.7, 140),
            (&|t| [if t < 1.1 { 1e-3 } else { -1e6 }], 1.1, 140),
            (&|t| [(20.0 * (t - 1.9)).exp() - 1.0], 1.9, 60),
        ];
        for (z, exact, most) in cases {
            let (found, evaluations) = find(2.0, z);
            assert!((found - exact).abs() < 2e-12, "{found} against {exact}");
            assert!(evaluations <= most, "{evaluations} evaluations for {exact}");
        }
    }

    #[test]
    fn the_first_of_several_is_found() {
        let (found, _) = find(2.0, |t| [1.5 - t, t * t - 0.25, 1.0]);
        assert!((found - 0.5).abs() < 2e-12, "{found}");
    }
}
