//! Clocks that tick by time.
//!
//! | interval variability       | ticks                                                                           |
//! | -------------------------- | ------------------------------------------------------------------------------- |
//! | constant, fixed, tunable   | at start + shift + k · interval; a new interval of a tunable one counts from its last tick |
//! | changing                   | first at start + shift, then each time after the interval told at the tick      |
//! | countdown                  | once, an interval after the event at which a new interval was told              |

use crate::description::{ClockAttributes, IntervalVariability, Variable};
use crate::ffi::{CallError, Instance, IntervalQualifier};

/// One clock and its next tick.
#[derive(Clone, Debug)]
pub(super) struct TimedClock {
    /// Place of its variable.
    pub(super) variable: usize,
    reference: u32,
    attributes: ClockAttributes,
    /// Seconds between ticks, if known.
    interval: Option<f64>,
    shift: f64,
    /// Ticks are counted from here.
    base: f64,
    count: f64,
    next: Option<f64>,
}

impl TimedClock {
    pub(super) fn new(place: usize, variable: &Variable, attributes: ClockAttributes) -> TimedClock {
        TimedClock {
            variable: place,
            reference: variable.value_reference,
            attributes,
            interval: None,
            shift: 0.0,
            base: 0.0,
            count: 0.0,
            next: None,
        }
    }

    /// When it ticks next.
    pub(super) fn next(&self) -> Option<f64> {
        self.next
    }

    /// True if it should tick by itself, but nothing says how often.
    pub(super) fn lacks_interval(&self) -> bool {
        use IntervalVariability as I;
        let is_periodic = matches!(self.attributes.interval_variability, I::Constant | I::Fixed | I::Tunable);
        is_periodic && !self.interval.is_some_and(|interval| interval > 0.0)
    }

    /// Numbers that tell where it stands.
    pub(super) fn state(&self) -> [f64; 5] {
        let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
        [or_nan(self.interval), self.shift, self.base, self.count, or_nan(self.next)]
    }

    /// Takes back what `state` gave.
    pub(super) fn restore(&mut self, state: &[f64]) {
        let known = |value: f64| (!value.is_nan()).then_some(value);
        (self.interval, self.next) = (known(state[0]), known(state[4]));
        (self.shift, self.base, self.count) = (state[1], state[2], state[3]);
    }

    /// Goes to the start of a simulation; the FMU is in event mode.
    pub(super) fn start(&mut self, fmu: &Instance, time: f64) -> Result<(), CallError> {
        let ClockAttributes { resolution, interval_counter, shift_counter, .. } = self.attributes;
        let fraction = |counter: u64| Some(counter as f64 / resolution.filter(|r| *r > 0)? as f64);
        self.interval = self.attributes.interval_decimal.or_else(|| fraction(interval_counter?));
        self.shift = match (self.attributes.shift_decimal, fraction(shift_counter)) {
            (0.0, Some(shift)) => shift,
            (shift, _) => shift,
        };
        (self.base, self.count, self.next) = (time, 0.0, None);
        use IntervalVariability as I;
        match self.attributes.interval_variability {
            I::Constant => {}
            I::Fixed | I::Tunable => {
                // What the FMU says counts more than what is written.
                if let Some((interval, _)) = self.ask(fmu, self.interval.is_some())? {
                    self.interval = Some(interval);
                }
            }
            I::Countdown => return self.follow(fmu, time, false),
            I::Changing | I::Triggered => {}
        }
        self.next = match self.attributes.interval_variability {
            I::Changing => Some(time + self.shift),
            I::Triggered => None,
            _ => self.interval.map(|_| time + self.shift),
        };
        Ok(())
    }

    /// After an event: the next tick, and what the FMU says about its interval.
    pub(super) fn follow(&mut self, fmu: &Instance, time: f64, ticked: bool) -> Result<(), CallError> {
        use IntervalVariability as I;
        match self.attributes.interval_variability {
            I::Constant | I::Fixed if ticked => self.count_on(),
            I::Tunable => {
                let last = self.next.filter(|_| ticked);
                if ticked {
                    self.count_on();
                }
                if let Some((interval, IntervalQualifier::Changed)) = self.ask(fmu, true)?
                    && Some(interval) != self.interval
                {
                    let since = last.unwrap_or(self.last_tick());
                    (self.interval, self.base, self.shift, self.count) = (Some(interval), since, 0.0, 1.0);
                    self.next = Some((since + interval).max(time));
                }
            }
            I::Changing if ticked => {
                let at = self.next.unwrap_or(time);
                self.next = self.ask(fmu, false)?.map(|(interval, _)| at + interval);
            }
            I::Countdown => {
                if ticked {
                    self.next = None;
                }
                if let Some((interval, IntervalQualifier::Changed)) = self.ask(fmu, false)? {
                    self.next = Some(time + interval);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn count_on(&mut self) {
        self.count += 1.0;
        let at = |interval: f64| self.base + self.shift + self.count * interval;
        self.next = self.interval.filter(|interval| *interval > 0.0).map(at);
    }

    /// The tick before the next.
    fn last_tick(&self) -> f64 {
        self.base + self.shift + (self.count - 1.0).max(0.0) * self.interval.unwrap_or(0.0)
    }

    /// The interval, in seconds. A function that is not needed may be missing.
    fn ask(
        &self,
        fmu: &Instance,
        may_be_missing: bool,
    ) -> Result<Option<(f64, IntervalQualifier)>, CallError> {
        let asked = if self.attributes.supports_fraction {
            let seconds = |counter: u64, resolution: u64| counter as f64 / resolution.max(1) as f64;
            fmu.interval_fraction(self.reference).map(|(c, r, qualifier)| (seconds(c, r), qualifier))
        } else {
            fmu.interval_decimal(self.reference)
        };
        match asked {
            Err(CallError::Missing { .. }) if may_be_missing => Ok(None),
            Err(error) => Err(error),
            Ok((_, IntervalQualifier::NotYetKnown)) => Ok(None),
            Ok((interval, qualifier)) => {
                Ok((interval.is_finite() && interval >= 0.0).then_some((interval, qualifier)))
            }
        }
    }
}
