//! Where numbers lie, and how far they lie from others: the measures of errors, named the same everywhere.

/// The lowest and the highest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The lowest; infinite if there are none.
    pub low: f64,
    /// The highest; minus infinity if there are none.
    pub high: f64,
}

/// What moves less than this part of its size stands still.
const STILL: f64 = 1e-9;

impl Bounds {
    /// Of no numbers.
    pub const NONE: Bounds = Bounds { low: f64::INFINITY, high: f64::NEG_INFINITY };

    /// Of these numbers.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut bounds = Self::NONE;
        values.into_iter().for_each(|value| bounds.add(value));
        bounds
    }

    /// One number more.
    pub fn add(&mut self, value: f64) {
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }

    /// The highest less the lowest; 0 of no numbers.
    pub fn range(&self) -> f64 {
        (self.high - self.low).max(0.0)
    }

    /// The largest absolute value; 0 of no numbers.
    pub fn largest(&self) -> f64 {
        if self.low <= self.high { self.low.abs().max(self.high.abs()) } else { 0.0 }
    }

    /// The range; 0 if it is no more than round-off of the numbers themselves, or infinite.
    pub fn movement(&self) -> f64 {
        let range = self.range();
        if range > STILL * self.largest() && range.is_finite() { range } else { 0.0 }
    }
}

/// How far one signal lies from another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    count: f64,
    sum: f64,
    squares: f64,
    largest: f64,
}

impl Deviation {
    /// One difference more.
    pub fn add(&mut self, difference: f64) {
        let size = difference.abs();
        self.count += 1.0;
        self.sum += size;
        self.squares += size * size;
        self.largest = self.largest.max(size);
    }

    /// Sum of squares so far.
    pub fn squares(&self) -> f64 {
        self.squares
    }

    /// The largest difference.
    pub fn max(&self) -> f64 {
        self.largest
    }

    /// The mean of the differences; 0 of none.
    pub fn mean(&self) -> f64 {
        self.sum / self.count.max(1.0)
    }

    /// Their root mean square; 0 of none.
    pub fn rms(&self) -> f64 {
        (self.squares / self.count.max(1.0)).sqrt()
    }
}

/// The deviation of one signal from another.
impl FromIterator<(f64, f64)> for Deviation {
    fn from_iter<T: IntoIterator<Item = (f64, f64)>>(pairs: T) -> Self {
        let mut deviation = Deviation::default();
        pairs.into_iter().for_each(|(a, b)| deviation.add(a - b));
        deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_numbers_and_of_none() {
        let bounds = Bounds::of([1.0, -3.0, 2.0]);
        assert_eq!((bounds.low, bounds.high, bounds.range(), bounds.largest()), (-3.0, 2.0, 5.0, 3.0));
        assert_eq!((Bounds::NONE.range(), Bounds::NONE.largest(), Bounds::NONE.movement()), (0.0, 0.0, 0.0));
        assert_eq!(Bounds::of([1e9, 1e9 + 0.5]).movement(), 0.0);
        assert_eq!(Bounds::of([0.0, f64::INFINITY]).movement(), 0.0);
    }

    #[test]
    fn measures_of_differences() {
        let deviation: Deviation = [(1.0, 1.0), (2.0, -1.0), (0.0, 4.0)].into_iter().collect();
        assert_eq!((deviation.mean(), deviation.max()), (7.0 / 3.0, 4.0));
        assert_eq!((deviation.rms(), Deviation::default().rms()), ((25.0_f64 / 3.0).sqrt(), 0.0));
    }
}
