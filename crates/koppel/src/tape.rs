//! State of a run, visited in one order: the same code writes it, reads it back and labels it.
//!
//! Every part with state has one method, `fn state(&mut self, tape: &mut Tape<'_>)`, that shows the tape all of it:
//!
//! ```
//! use koppel::tape::{StateData, Tape};
//!
//! struct Filter { size: f64, values: Vec<f64>, has_jumped: bool }
//!
//! impl Filter {
//!     fn state(&mut self, tape: &mut Tape<'_>) {
//!         tape.number(&mut self.size);
//!         tape.values(&mut self.values);
//!         tape.flag(&mut self.has_jumped);
//!     }
//! }
//!
//! let mut data = StateData::default();
//! let mut filter = Filter { size: 0.1, values: vec![1.0, 2.0], has_jumped: true };
//! filter.state(&mut Tape::write(&mut data));
//! let mut other = Filter { size: 0.0, values: vec![0.0; 2], has_jumped: false };
//! let mut tape = Tape::read(&data);
//! other.state(&mut tape);
//! assert!(tape.is_at_end() && other.values == filter.values);
//! ```
//!
//! Lists keep their lengths during a run, so they are not stored. Writing into used data allocates nothing.

use serde::{Deserialize, Serialize};

/// What a tape has written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StateData {
    /// Values, times and parameters.
    pub(crate) reals: Vec<f64>,
    /// Counts, indices and flags.
    pub(crate) counts: Vec<u64>,
}

impl StateData {
    /// Removes everything; its memory is kept.
    pub fn clear(&mut self) {
        self.reals.clear();
        self.counts.clear();
    }

    /// True if nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.reals.is_empty() && self.counts.is_empty()
    }

    /// How many reals and how many counts there are.
    pub fn size(&self) -> (usize, usize) {
        (self.reals.len(), self.counts.len())
    }
}

/// What a real number of a state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A time, a size or a parameter.
    Number,
    /// A signal.
    Value,
    /// An output of a subsystem.
    Output,
}

/// Writes, reads or labels state.
#[derive(Debug)]
pub struct Tape<'a>(Mode<'a>);

#[derive(Debug)]
enum Mode<'a> {
    Write(&'a mut StateData),
    Read(Rest<'a>),
    /// One label for each real, in the order in which they are written.
    Label(&'a mut Vec<Label>),
}

/// What has not been read yet.
#[derive(Debug)]
struct Rest<'a> {
    reals: &'a [f64],
    counts: &'a [u64],
    /// False once something did not fit; nothing is read after that.
    fits: bool,
}

impl<'a> Tape<'a> {
    /// Writes over `data`.
    pub fn write(data: &'a mut StateData) -> Self {
        data.clear();
        Tape(Mode::Write(data))
    }

    /// Reads `data` back.
    pub fn read(data: &'a StateData) -> Self {
        Tape(Mode::Read(Rest { reals: &data.reals, counts: &data.counts, fits: true }))
    }

    /// Appends the labels of all reals.
    pub fn label(labels: &'a mut Vec<Label>) -> Self {
        Tape(Mode::Label(labels))
    }

    /// True if state is being read back: what is derived from it must be computed again.
    pub fn is_reading(&self) -> bool {
        matches!(self.0, Mode::Read(_))
    }

    /// After reading: true if everything was read and fitted.
    pub fn is_at_end(&self) -> bool {
        match &self.0 {
            Mode::Read(rest) => rest.fits && rest.reals.is_empty() && rest.counts.is_empty(),
            _ => true,
        }
    }

    /// Signals: an analysis may disturb them to see what follows.
    #[inline]
    pub fn values(&mut self, list: &mut [f64]) {
        self.reals(list, Label::Value);
    }

    /// One signal.
    #[inline]
    pub fn value(&mut self, value: &mut f64) {
        self.reals(std::slice::from_mut(value), Label::Value);
    }

    /// Outputs of subsystems.
    #[inline]
    pub(crate) fn outputs(&mut self, list: &mut [f64]) {
        self.reals(list, Label::Output);
    }

    /// Times, sizes and parameters: no analysis disturbs them.
    #[inline]
    pub fn numbers(&mut self, list: &mut [f64]) {
        self.reals(list, Label::Number);
    }

    /// One time, size or parameter.
    #[inline]
    pub fn number(&mut self, number: &mut f64) {
        self.reals(std::slice::from_mut(number), Label::Number);
    }

    /// A flag.
    #[inline]
    pub fn flag(&mut self, flag: &mut bool) {
        let mut count = u64::from(*flag);
        self.count_to(&mut count, 1);
        *flag = count != 0;
    }

    /// A count.
    #[inline]
    pub fn count<T: Copy + TryInto<u64> + TryFrom<u64>>(&mut self, count: &mut T) {
        self.count_to(count, u64::MAX);
    }

    /// A count or an index of at most `most`.
    #[inline]
    pub fn count_to<T: Copy + TryInto<u64> + TryFrom<u64>>(&mut self, count: &mut T, most: u64) {
        match &mut self.0 {
            // No count of this machine is wider than 64 bits.
            Mode::Write(data) => data.counts.push((*count).try_into().unwrap_or(u64::MAX)),
            Mode::Read(rest) => rest.count(count, most),
            Mode::Label(_) => {}
        }
    }

    #[inline]
    fn reals(&mut self, list: &mut [f64], label: Label) {
        match &mut self.0 {
            Mode::Write(data) => data.reals.extend_from_slice(list),
            Mode::Read(rest) => rest.reals(list),
            Mode::Label(labels) => labels.extend(std::iter::repeat_n(label, list.len())),
        }
    }
}

impl Rest<'_> {
    fn reals(&mut self, list: &mut [f64]) {
        match self.reals.split_at_checked(list.len()).filter(|_| self.fits) {
            Some((own, rest)) => {
                list.copy_from_slice(own);
                self.reals = rest;
            }
            None => self.fits = false,
        }
    }

    fn count<T: TryFrom<u64>>(&mut self, count: &mut T, most: u64) {
        let saved = self.counts.split_first().filter(|(saved, _)| self.fits && **saved <= most);
        match saved.and_then(|(saved, rest)| Some((T::try_from(*saved).ok()?, rest))) {
            Some((saved, rest)) => (*count, self.counts) = (saved, rest),
            None => self.fits = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Part {
        values: [f64; 2],
        size: f64,
        chosen: usize,
        is_new: bool,
    }

    impl Part {
        fn state(&mut self, tape: &mut Tape<'_>) {
            tape.values(&mut self.values);
            tape.number(&mut self.size);
            tape.count_to(&mut self.chosen, 3);
            tape.flag(&mut self.is_new);
        }
    }

    fn written() -> (Part, StateData) {
        let mut part = Part { values: [1.5, f64::MIN_POSITIVE], size: 0.1, chosen: 3, is_new: true };
        let mut data = StateData::default();
        part.state(&mut Tape::write(&mut data));
        (part, data)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let (part, data) = written();
        let mut other = Part::default();
        let mut tape = Tape::read(&data);
        other.state(&mut tape);
        assert!(tape.is_at_end());
        assert_eq!(other, part);
    }

    #[test]
    fn labels_follow_the_order_of_writing_and_change_nothing() {
        let (mut part, data) = written();
        let before = part.clone();
        let mut labels = Vec::new();
        part.state(&mut Tape::label(&mut labels));
        assert_eq!(labels, [Label::Value, Label::Value, Label::Number]);
        assert_eq!((labels.len(), 2), data.size());
        assert_eq!(part, before);
    }

    #[test]
    fn state_that_does_not_fit_is_noticed() {
        let (_, data) = written();
        let with = |change: &dyn Fn(&mut StateData)| {
            let mut changed = data.clone();
            change(&mut changed);
            let mut tape = Tape::read(&changed);
            Part::default().state(&mut tape);
            tape.is_at_end()
        };
        assert!(with(&|_| {}));
        assert!(!with(&|data| data.reals.truncate(2)), "too short");
        assert!(!with(&|data| data.reals.push(0.0)), "too long");
        assert!(!with(&|data| data.counts.truncate(1)), "a flag is missing");
        assert!(!with(&|data| data.counts[0] = 4), "an index out of range");
        assert!(!with(&|data| data.counts[1] = 2), "neither true nor false");
        assert!(!with(&StateData::clear), "empty");
    }
}
