//! The inputs of a run over one step, as a method writes them and as they stand when the step has ended.
//!
//! Each input has one polynomial, or one for each of several equal pieces of the step. On piece p of length h,
//!
//!   u(t) = Σ_j c_{p,j} (t - T^k - p h)^j
//!
//! laid out as input, piece, power.

use crate::system::InputId;
use std::ops::Range;

/// Polynomials of all inputs; of free inputs, their value.
#[derive(Clone, Debug, Default)]
pub struct PredictedInputs {
    terms: usize,
    pieces: usize,
    pub(crate) coefficients: Vec<f64>,
    /// Per input, the length of a piece in the step that has ended; empty where there is one piece.
    pub(crate) sizes: Vec<f64>,
}

impl PredictedInputs {
    /// What is seen while inputs are being written.
    pub(crate) const NOTHING: PredictedInputs =
        PredictedInputs { terms: 0, pieces: 1, coefficients: Vec::new(), sizes: Vec::new() };

    /// Room for this many inputs.
    pub(crate) fn new(inputs: usize, terms: usize, pieces: usize) -> Self {
        let pieces = pieces.max(1);
        let sizes = vec![1.0; if pieces > 1 { inputs } else { 0 }];
        PredictedInputs { terms, pieces, coefficients: vec![0.0; inputs * terms * pieces], sizes }
    }

    /// Coefficients per input and piece, constant term first.
    #[inline]
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// Pieces per step, at least one.
    #[inline]
    pub fn pieces(&self) -> usize {
        self.pieces
    }

    /// All coefficients of some inputs.
    #[inline]
    pub(crate) fn of_all(&self, inputs: &Range<InputId>) -> &[f64] {
        let width = self.terms * self.pieces;
        &self.coefficients[inputs.start * width..inputs.end * width]
    }

    /// For writing.
    #[inline]
    pub(crate) fn writer(&mut self) -> Polynomials<'_> {
        Polynomials {
            terms: self.terms,
            width: self.terms * self.pieces,
            coefficients: &mut self.coefficients,
        }
    }

    /// Holds an input at a value.
    pub(crate) fn hold(&mut self, input: InputId, value: f64) {
        self.writer().hold(input, value);
    }

    /// What an input was given `tau` after the start of the step.
    #[inline]
    pub(crate) fn value(&self, input: InputId, tau: f64) -> f64 {
        if self.pieces == 1 {
            return horner(&self.coefficients[input * self.terms..][..self.terms], tau);
        }
        let size = self.sizes[input];
        let piece = ((tau / size) as usize).min(self.pieces - 1);
        horner(self.piece(input, piece), tau - piece as f64 * size)
    }

    /// Mean of what an input was given over a step of this size.
    pub(crate) fn mean(&self, input: InputId, size: f64) -> f64 {
        let size = size / self.pieces as f64;
        let mean =
            |c: &[f64]| c.iter().enumerate().rev().fold(0.0, |sum, (j, c)| sum * size + c / (j + 1) as f64);
        (0..self.pieces).map(|p| mean(self.piece(input, p))).sum::<f64>() / self.pieces as f64
    }

    /// Values at the end of a step of this size, whose pieces are noted.
    #[inline(always)]
    pub(crate) fn end_values(&mut self, inputs: Range<InputId>, size: f64, out: &mut [f64]) {
        if self.terms * self.pieces == 1 {
            crate::signal::copy(&self.coefficients[inputs], out);
        } else if self.pieces == 1 {
            crate::signal::evaluate(self.of_all(&inputs), self.terms, size, out);
        } else {
            self.end_values_of_pieces(inputs, size / self.pieces as f64, out);
        }
    }

    fn end_values_of_pieces(&mut self, inputs: Range<InputId>, size: f64, out: &mut [f64]) {
        self.sizes[inputs.clone()].fill(size);
        for (input, u) in inputs.zip(out) {
            *u = horner(self.piece(input, self.pieces - 1), size);
        }
    }

    /// Polynomial of one input on one piece.
    #[inline]
    fn piece(&self, input: InputId, piece: usize) -> &[f64] {
        &self.coefficients[(input * self.pieces + piece) * self.terms..][..self.terms]
    }
}

#[inline]
fn horner(coefficients: &[f64], tau: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * tau + c)
}

/// Where a method writes: the coefficients of all inputs.
pub struct Polynomials<'a> {
    /// Coefficients per input and piece, constant term first.
    pub terms: usize,
    /// Coefficients per input: terms times pieces.
    pub width: usize,
    /// Input by input.
    pub coefficients: &'a mut [f64],
}

impl Polynomials<'_> {
    /// Pieces of the step.
    #[inline]
    pub fn pieces(&self) -> usize {
        self.width / self.terms
    }

    /// The coefficients of one input, of the first piece if there are several.
    #[inline]
    pub fn of(&mut self, input: InputId) -> &mut [f64] {
        &mut self.coefficients[input * self.width..][..self.terms]
    }

    /// The coefficients of one input on one piece.
    #[inline]
    pub fn piece(&mut self, input: InputId, piece: usize) -> &mut [f64] {
        &mut self.coefficients[input * self.width + piece * self.terms..][..self.terms]
    }

    /// Holds an input at a value.
    #[inline]
    pub fn hold(&mut self, input: InputId, value: f64) {
        for piece in self.coefficients[input * self.width..][..self.width].chunks_exact_mut(self.terms) {
            piece.fill(0.0);
            piece[0] = value;
        }
    }

    /// Lets the polynomial of an input's first piece go on over all pieces of a step of this size.
    pub fn spread(&mut self, input: InputId, size: f64) {
        let all = &mut self.coefficients[input * self.width..][..self.width];
        let size = size / (self.width / self.terms) as f64;
        for at in (self.terms..self.width).step_by(self.terms) {
            all.copy_within(at - self.terms..at, at);
            crate::signal::shift_polynomial(&mut all[at..][..self.terms], size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One input of 1 - 2 τ + 3 τ² as four pieces of a step of 0.8, between two that are held.
    fn spread() -> PredictedInputs {
        let mut predicted = PredictedInputs::new(3, 3, 4);
        let mut out = predicted.writer();
        assert_eq!(out.pieces(), 4);
        out.hold(0, 7.0);
        out.of(1).copy_from_slice(&[1.0, -2.0, 3.0]);
        out.spread(1, 0.8);
        out.hold(2, -7.0);
        predicted
    }

    #[test]
    fn a_polynomial_goes_on_over_all_pieces() {
        let mut predicted = spread();
        let mut end = [0.0; 3];
        predicted.end_values(0..3, 0.8, &mut end);
        let exact = |tau: f64| 1.0 - 2.0 * tau + 3.0 * tau * tau;
        assert!((end[1] - exact(0.8)).abs() < 1e-14 && end[0] == 7.0 && end[2] == -7.0);
        for k in 0..=80 {
            let tau = 0.01 * f64::from(k);
            assert!((predicted.value(1, tau) - exact(tau)).abs() < 1e-14, "at {tau}");
        }
        let mean = 1.0 - 0.8 + 0.64;
        assert!((predicted.mean(1, 0.8) - mean).abs() < 1e-14 && predicted.mean(0, 0.8) == 7.0);
    }

    #[test]
    fn one_piece_is_the_polynomial() {
        let mut predicted = PredictedInputs::new(2, 2, 0);
        predicted.coefficients.copy_from_slice(&[1.0, 2.0, 3.0, -4.0]);
        let mut end = [0.0; 2];
        predicted.end_values(0..2, 0.5, &mut end);
        assert_eq!((predicted.pieces(), end), (1, [2.0, 1.0]));
        assert_eq!((predicted.value(1, 0.25), predicted.mean(1, 0.5)), (2.0, 2.0));
    }
}
