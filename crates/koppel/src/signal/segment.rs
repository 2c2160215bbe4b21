//! One subsystem's inputs over one communication step: a piecewise polynomial.
//!
//! All inputs share the cuts between pieces. On piece p, which begins at offset o_p from the segment's start,
//!
//!   u_i(t) = Σ_j c_{p,i,j} τ^j,     τ = t - start - o_p
//!
//! Couplings write one piece, or several, into the run's own list; external inputs cut them, in a [`SegmentBuffer`].

use super::Step;
use super::external::{COEFFICIENTS, External};

/// Inputs of a subsystem over a step, as the subsystem sees them.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    start: f64,
    size: f64,
    terms: usize,
    /// Where each piece begins, relative to `start`; the first is 0.
    offsets: &'a [f64],
    /// Laid out as piece, input, power.
    coefficients: &'a [f64],
}

/// One polynomial piece of a [`Segment`].
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Where it begins, as absolute time.
    pub start: f64,
    /// Where it begins, counted from the start of the segment: free of the round-off of absolute times.
    pub offset: f64,
    /// Its length.
    pub size: f64,
    /// Coefficients per input, constant term first.
    pub terms: usize,
    coefficients: &'a [f64],
}

impl<'a> Piece<'a> {
    /// Coefficients of one input, constant term first.
    #[inline]
    pub fn of(&self, input: usize) -> &'a [f64] {
        &self.coefficients[input * self.terms..][..self.terms]
    }

    /// All inputs at τ after the piece's begin.
    #[inline]
    pub fn values(&self, tau: f64, out: &mut [f64]) {
        evaluate(self.coefficients, self.terms, tau, out);
    }
}

/// Copies; short lists without the call that `copy_from_slice` is.
#[inline(always)]
pub(crate) fn copy(from: &[f64], to: &mut [f64]) {
    match (from, &mut *to) {
        ([], []) => {}
        ([a], [x]) => *x = *a,
        ([a, b], [x, y]) => (*x, *y) = (*a, *b),
        ([a, b, c], [x, y, z]) => (*x, *y, *z) = (*a, *b, *c),
        ([a, b, c, d], [w, x, y, z]) => (*w, *x, *y, *z) = (*a, *b, *c, *d),
        _ => to.copy_from_slice(from),
    }
}

/// Polynomials at `tau`, one per entry of `out`.
pub(crate) fn evaluate(coefficients: &[f64], terms: usize, tau: f64, out: &mut [f64]) {
    if terms == 1 {
        copy(coefficients, out);
        return;
    }
    for (i, u) in out.iter_mut().enumerate() {
        *u = horner(&coefficients[i * terms..][..terms], tau);
    }
}

/// One polynomial at `tau`.
#[inline]
pub(super) fn horner(coefficients: &[f64], tau: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * tau + c)
}

impl<'a> Segment<'a> {
    /// One piece over `step`; `coefficients` holds `terms` per input.
    #[inline]
    pub fn new(step: &Step, inputs: usize, terms: usize, coefficients: &'a [f64]) -> Self {
        debug_assert_eq!(coefficients.len(), inputs * terms, "as many coefficients as inputs and terms");
        Segment { start: step.start, size: step.size, terms, offsets: &[0.0], coefficients }
    }

    /// Inputs that are held over `step`.
    #[inline]
    pub fn held(step: &Step, inputs: &'a [f64]) -> Self {
        Segment::new(step, inputs.len(), 1, inputs)
    }

    /// The same with other inputs that are held.
    #[inline]
    pub(crate) fn hold(&mut self, inputs: &'a [f64]) {
        self.coefficients = inputs;
    }

    /// A segment from its parts, as [`Segment::offsets`] and [`Segment::coefficients`] give them.
    #[inline]
    pub fn from_parts(
        step: &Step,
        inputs: usize,
        terms: usize,
        offsets: &'a [f64],
        coefficients: &'a [f64],
    ) -> Self {
        debug_assert_eq!(coefficients.len(), offsets.len() * inputs * terms, "as many as pieces want");
        Segment { start: step.start, size: step.size, terms, offsets, coefficients }
    }

    /// Where its pieces begin, counted from its start.
    #[inline]
    pub fn offsets(&self) -> &'a [f64] {
        self.offsets
    }

    /// All coefficients, laid out as piece, input, power.
    #[inline]
    pub fn coefficients(&self) -> &'a [f64] {
        self.coefficients
    }

    /// Time at its start.
    #[inline]
    pub fn start(&self) -> f64 {
        self.start
    }

    /// Its length.
    #[inline]
    pub fn size(&self) -> f64 {
        self.size
    }

    /// How many inputs it carries.
    #[inline]
    pub fn inputs(&self) -> usize {
        self.width() / self.terms
    }

    /// Coefficients per piece.
    #[inline]
    fn width(&self) -> usize {
        match self.offsets.len() {
            1 => self.coefficients.len(),
            pieces => self.coefficients.len() / pieces,
        }
    }

    /// Coefficients per input and piece.
    #[inline]
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// How many pieces it has, at least one.
    #[expect(clippy::len_without_is_empty, reason = "a segment is never empty")]
    #[inline]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// The pieces in order of time.
    #[inline]
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'a>> {
        let segment = *self;
        (0..segment.offsets.len()).map(move |p| segment.piece(p))
    }

    /// Piece number `p`.
    #[inline]
    pub fn piece(&self, p: usize) -> Piece<'a> {
        let width = self.width();
        let end = self.offsets.get(p + 1).copied().unwrap_or(self.size);
        Piece {
            start: self.start + self.offsets[p],
            offset: self.offsets[p],
            size: end - self.offsets[p],
            terms: self.terms,
            coefficients: &self.coefficients[p * width..][..width],
        }
    }

    /// All inputs, if they are constant over the step.
    #[inline]
    pub fn constant(&self) -> Option<&'a [f64]> {
        (self.terms == 1 && self.offsets.len() == 1).then_some(self.coefficients)
    }

    /// All inputs at the end of the step.
    #[inline]
    pub fn end_values(&self, out: &mut [f64]) {
        if self.terms == 1 {
            out.copy_from_slice(&self.coefficients[self.coefficients.len() - self.width()..]);
            return;
        }
        let last = self.piece(self.offsets.len() - 1);
        last.values(last.size, out);
    }

    /// All inputs at `time`, which lies in the step.
    pub fn values(&self, time: f64, out: &mut [f64]) {
        let tau = time - self.start;
        let p = self.offsets.iter().rposition(|o| *o <= tau).unwrap_or(0);
        self.piece(p).values(tau - self.offsets[p], out);
    }
}

/// A segment that can be cut: for subsystems with external inputs, and for inputs of several pieces.
#[derive(Clone, Debug, Default)]
pub struct SegmentBuffer {
    start: f64,
    size: f64,
    inputs: usize,
    terms: usize,
    offsets: Vec<f64>,
    coefficients: Vec<f64>,
}

impl SegmentBuffer {
    /// Room for this many inputs and cuts.
    pub fn new(inputs: usize, cuts: usize) -> Self {
        let offsets = Vec::with_capacity(cuts + 1);
        let coefficients = Vec::with_capacity((cuts + 1) * inputs * COEFFICIENTS);
        SegmentBuffer { inputs, offsets, coefficients, ..SegmentBuffer::default() }
    }

    /// What the subsystem sees.
    pub fn view(&self) -> Segment<'_> {
        Segment {
            start: self.start,
            size: self.size,
            terms: self.terms,
            offsets: &self.offsets,
            coefficients: &self.coefficients,
        }
    }

    /// Starts over with equal pieces; `coefficients` are laid out as input, piece, power.
    pub fn begin(&mut self, step: &Step, terms: usize, pieces: usize, coefficients: &[f64]) {
        self.start = step.start;
        self.size = step.size;
        self.terms = terms;
        self.offsets.clear();
        self.offsets.extend((0..pieces).map(|p| step.size * p as f64 / pieces as f64));
        self.coefficients.clear();
        if pieces == 1 {
            self.coefficients.extend_from_slice(coefficients);
            return;
        }
        for p in 0..pieces {
            for of_input in coefficients.chunks_exact(pieces * terms) {
                self.coefficients.extend_from_slice(&of_input[p * terms..][..terms]);
            }
        }
    }

    /// Adds an external signal to one input, cutting the segment where the signal's own pieces end.
    pub fn add(&mut self, input: usize, external: &External) {
        self.raise(external.degree() + 1);
        self.cut_at_breaks(external);
        self.cut_evenly(external.longest_piece());
        let mut polynomial = [0.0; COEFFICIENTS];
        for p in 0..self.offsets.len() {
            let Piece { start, size, .. } = self.view().piece(p);
            external.piece(start, start + size, &mut polynomial);
            let at = (p * self.inputs + input) * self.terms;
            for (c, e) in self.coefficients[at..][..self.terms].iter_mut().zip(&polynomial) {
                *c += e;
            }
        }
    }

    /// Adds an external signal to one input without cutting the segment: a signal with a break inside the step, or one that
    /// needs several pieces, becomes the line between its values at both ends, or its value at the start if it jumps only.
    pub fn add_uncut(&mut self, input: usize, external: &External) {
        let margin = 1e-9 * self.size;
        let (start, end) = (self.start, self.start + self.size);
        let has_break = external.next_break(start + margin).is_some_and(|next| next < end - margin);
        if !has_break && self.size <= external.longest_piece() * (1.0 + 1e-9) {
            return self.add(input, external);
        }
        let first = external.next_break(start).filter(|next| *next <= start + margin).unwrap_or(start);
        let from = external.value(first);
        let slope = match external.degree() {
            0 => 0.0,
            _ => {
                self.raise(2);
                (external.value(end - margin) - from) / self.size
            }
        };
        for p in 0..self.offsets.len() {
            let at = (p * self.inputs + input) * self.terms;
            self.coefficients[at] += from + slope * self.offsets[p];
            if slope != 0.0 {
                self.coefficients[at + 1] += slope;
            }
        }
    }

    /// Cuts wherever the signal has a break inside the step.
    fn cut_at_breaks(&mut self, external: &External) {
        let margin = 1e-9 * self.size;
        let mut time = self.start + margin;
        while let Some(next) = external.next_break(time) {
            let offset = self.snapped(next - self.start);
            if offset >= self.size - margin {
                break;
            }
            self.cut(offset, margin);
            time = next;
        }
    }

    /// Cuts into equal parts no longer than `longest`.
    fn cut_evenly(&mut self, longest: f64) {
        let margin = 1e-9 * self.size;
        let parts = (self.size / longest - 1e-9).ceil().max(1.0);
        for k in 1..parts as usize {
            self.cut(self.size * k as f64 / parts, margin);
        }
    }

    /// A cut on a grid of 1e-12 of the step: breaks that recur at the same place of every step give pieces of the same
    /// size, whatever the round-off of absolute times.
    fn snapped(&self, offset: f64) -> f64 {
        const GRID: f64 = (1_u64 << 40) as f64;
        (offset / self.size * GRID).round() / GRID * self.size
    }

    /// Splits the piece that holds `offset`, unless a cut is there already.
    fn cut(&mut self, offset: f64, margin: f64) {
        let p = self.offsets.iter().rposition(|o| *o <= offset + margin).unwrap_or(0);
        if (offset - self.offsets[p]).abs() <= margin {
            return;
        }
        let shift = offset - self.offsets[p];
        let width = self.inputs * self.terms;
        self.offsets.insert(p + 1, offset);
        let old_len = self.coefficients.len();
        self.coefficients.resize(old_len + width, 0.0);
        self.coefficients.copy_within(p * width..old_len, (p + 1) * width);
        for c in self.coefficients[(p + 1) * width..][..width].chunks_exact_mut(self.terms) {
            shift_polynomial(c, shift);
        }
    }

    /// Makes room for polynomials with `terms` coefficients.
    fn raise(&mut self, terms: usize) {
        if terms <= self.terms {
            return;
        }
        let old = self.terms;
        let rows = self.offsets.len() * self.inputs;
        self.coefficients.resize(rows * terms, 0.0);
        for row in (0..rows).rev() {
            self.coefficients.copy_within(row * old..(row + 1) * old, row * terms);
            self.coefficients[row * terms + old..(row + 1) * terms].fill(0.0);
        }
        self.terms = terms;
    }
}

/// Rewrites p(τ) as a polynomial in τ - `shift` (Horner's scheme repeated).
pub(crate) fn shift_polynomial(c: &mut [f64], shift: f64) {
    for i in 0..c.len().saturating_sub(1) {
        for j in (i..c.len() - 1).rev() {
            c[j] += shift * c[j + 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::external::ExternalConfig;
    use super::*;

    const STEP: Step = Step { index: 0, start: 1.0, size: 0.5 };

    fn external(text: &str) -> External {
        let config: ExternalConfig = serde_json::from_str(text).unwrap();
        External::new(&config).unwrap()
    }

    #[test]
    fn cutting_changes_no_value() {
        let mut segment = SegmentBuffer::new(2, 4);
        segment.begin(&STEP, 3, 1, &[1.0, -2.0, 3.0, 0.5, 0.25, -1.0]);
        let before = segment.clone();
        segment.cut(0.2, 1e-12);
        segment.cut(0.1, 1e-12);
        segment.cut(0.2, 1e-12);
        assert_eq!(segment.view().len(), 3);
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        for k in 0..=50 {
            let t = 1.0 + 0.01 * f64::from(k);
            before.view().values(t, &mut a);
            segment.view().values(t, &mut b);
            assert!((a[0] - b[0]).abs() < 1e-14 && (a[1] - b[1]).abs() < 1e-14);
        }
    }

    #[test]
    fn external_signals_add_up_inside_the_step() {
        let mut segment = SegmentBuffer::new(1, 16);
        segment.begin(&STEP, 2, 1, &[1.0, 2.0]);
        segment.add(0, &external(r#"{"kind":"step","time":1.3,"after":10.0}"#));
        segment.add(0, &external(r#"{"kind":"sine","amplitude":2.0,"frequency":1.5}"#));
        let mut u = [0.0];
        for k in 0..500 {
            let t = 1.0 + 0.001 * f64::from(k);
            segment.view().values(t, &mut u);
            if (t - 1.3).abs() < 1e-9 {
                continue; // the jump lies within round-off of its time
            }
            let jump = if t >= 1.3 { 10.0 } else { 0.0 };
            let exact = 1.0 + 2.0 * (t - 1.0) + jump + 2.0 * (3.0 * std::f64::consts::PI * t).sin();
            assert!((u[0] - exact).abs() < 1e-10, "t = {t}: {} against {exact}", u[0]);
        }
    }
}
