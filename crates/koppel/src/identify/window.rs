//! The triangular factor of the newest rows of data, without taking anything out of a factor.
//!
//! Taking a row out of a factor (downdating) or out of sums loses digits exactly where data obey an equation, and data of a
//! linear system do. So rows are only ever put in. The window is cut in two:
//!
//!   front: older rows, whose factors from each mark to the end are kept; they leave one by one
//!   back:  newer rows, one factor, which grows
//!
//! The window's factor joins the back, the front's factor from the next mark on, and the few rows before that mark. When the
//! front is used up, the back becomes the front. A step costs O(p³) for p columns whatever the length of the window; every
//! number depends on rows that are still in it, so the rows alone are its state.

use super::triangle::{add_row, join};
use crate::linalg::Matrix;
use crate::tape::Tape;

/// The newest rows and their factor.
#[derive(Clone, Debug)]
pub(super) struct Window {
    capacity: usize,
    columns: usize,
    /// Rows between two marks.
    stride: usize,
    /// The rows, in a ring; the oldest at `oldest`.
    rows: Vec<f64>,
    oldest: usize,
    front: usize,
    back: usize,
    /// Factor of the newest `stride`, 2 `stride`, ... rows of the front.
    marks: Vec<Matrix>,
    growing: Matrix,
    factor: Matrix,
    row: Vec<f64>,
}

impl Window {
    pub(super) fn new(capacity: usize, columns: usize) -> Self {
        let stride = capacity.isqrt().max(1);
        Window {
            capacity,
            columns,
            stride,
            rows: vec![0.0; capacity * columns],
            oldest: 0,
            front: 0,
            back: 0,
            marks: vec![Matrix::zeros(columns, columns); capacity / stride],
            growing: Matrix::zeros(columns, columns),
            factor: Matrix::zeros(columns, columns),
            row: vec![0.0; columns],
        }
    }

    /// Rows in the window.
    pub(super) fn len(&self) -> usize {
        self.front + self.back
    }

    /// R with Rᵀ R = Σ d dᵀ over the window.
    pub(super) fn factor(&self) -> &Matrix {
        &self.factor
    }

    /// Puts a row in; the oldest leaves a full window.
    pub(super) fn push(&mut self, row: &[f64]) {
        if self.len() == self.capacity {
            if self.front == 0 {
                self.turn();
            }
            self.oldest = (self.oldest + 1) % self.capacity;
            self.front -= 1;
        }
        let place = (self.oldest + self.len()) % self.capacity;
        self.rows[place * self.columns..][..self.columns].copy_from_slice(row);
        self.back += 1;
        self.row.copy_from_slice(row);
        add_row(&mut self.growing, &mut self.row, 0);
        self.assemble();
    }

    /// The back becomes the front.
    fn turn(&mut self) {
        (self.front, self.back) = (self.back, 0);
        self.growing.as_mut_slice().fill(0.0);
        self.set_marks();
    }

    /// Factors of the front from its end backwards.
    fn set_marks(&mut self) {
        self.factor.as_mut_slice().fill(0.0);
        for count in 1..=self.front {
            self.take(self.front - count);
            add_row(&mut self.factor, &mut self.row, 0);
            if count.is_multiple_of(self.stride) {
                self.marks[count / self.stride - 1].as_mut_slice().copy_from_slice(self.factor.as_slice());
            }
        }
    }

    fn assemble(&mut self) {
        self.factor.as_mut_slice().copy_from_slice(self.growing.as_slice());
        let marked = self.front / self.stride;
        if marked > 0 {
            join(&mut self.factor, &self.marks[marked - 1], &mut self.row);
        }
        for index in 0..self.front - marked * self.stride {
            self.take(index);
            add_row(&mut self.factor, &mut self.row, 0);
        }
    }

    /// Row `index` of the window, the oldest being 0, into `row`.
    fn take(&mut self, index: usize) {
        let place = (self.oldest + index) % self.capacity;
        self.row.copy_from_slice(&self.rows[place * self.columns..][..self.columns]);
    }

    /// Shows `tape` the rows; the factors follow from them.
    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.count_to(&mut self.oldest, self.capacity as u64);
        tape.count_to(&mut self.front, self.capacity as u64);
        tape.count_to(&mut self.back, (self.capacity - self.front) as u64);
        tape.numbers(&mut self.rows);
        if tape.is_reading() {
            self.set_marks();
            self.growing.as_mut_slice().fill(0.0);
            for index in self.front..self.len() {
                self.take(index);
                add_row(&mut self.growing, &mut self.row, 0);
            }
            self.assemble();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::StateData;

    /// After any number of rows the factor is that of the newest ones, put in afresh, and the state is its rows.
    #[test]
    fn sliding_equals_a_fresh_factor() {
        let (capacity, columns) = (11, 4);
        let mut window = Window::new(capacity, columns);
        let mut state = 1_u32;
        let mut all: Vec<Vec<f64>> = Vec::new();
        for _ in 0..60 {
            let row = (0..columns).map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f64::from(state >> 8) / f64::from(1 << 24) - 0.5
            });
            all.push(row.collect());
            window.push(&all[all.len() - 1]);
            let mut fresh = Matrix::zeros(columns, columns);
            let newest = all.iter().rev().take(capacity);
            newest.for_each(|row| add_row(&mut fresh, &mut row.clone(), 0));
            let gap = (0..columns)
                .flat_map(|i| (i..columns).map(move |j| (i, j)))
                .map(|at| (window.factor()[at].abs() - fresh[at].abs()).abs());
            assert!(gap.fold(0.0, f64::max) < 1e-14);
            let mut memory = StateData::default();
            window.state(&mut Tape::write(&mut memory));
            let mut other = Window::new(capacity, columns);
            let mut tape = Tape::read(&memory);
            other.state(&mut tape);
            assert!(tape.is_at_end());
            assert_eq!(other.factor(), window.factor());
            other.push(&[0.1, 0.2, 0.3, 0.4]);
            let mut same = window.clone();
            same.push(&[0.1, 0.2, 0.3, 0.4]);
            assert_eq!(other.factor(), same.factor());
        }
    }
}
