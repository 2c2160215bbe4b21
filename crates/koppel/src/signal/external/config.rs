//! External inputs as plain data, and what may be wrong with them.

use crate::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Above this, ω⁷ could overflow.
const LARGEST_FREQUENCY: f64 = 1e30;

/// An external input as plain data. Times in s, frequencies in Hz, phases in rad.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ExternalConfig {
    /// The same value for ever.
    Constant {
        /// The value.
        value: f64,
    },
    /// A jump.
    Step {
        /// When it jumps.
        time: f64,
        /// Value before the jump.
        #[serde(default)]
        before: f64,
        /// Value from the jump on.
        after: f64,
    },
    /// A line between two held values.
    Ramp {
        /// Where the line starts.
        start: f64,
        /// Where it ends.
        stop: f64,
        /// Value until the start.
        #[serde(default)]
        from: f64,
        /// Value after the stop.
        to: f64,
    },
    /// `offset + amplitude · sin(2π · frequency · t + phase)` for start ≤ t < stop, `offset` elsewhere.
    Sine {
        /// Height above the offset.
        amplitude: f64,
        /// In Hz.
        frequency: f64,
        /// Argument at t = 0 (not at the start), in rad.
        #[serde(default)]
        phase: f64,
        /// Added always.
        #[serde(default)]
        offset: f64,
        /// When it begins; without it, it has always been there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<f64>,
        /// When it ends; without it, never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<f64>,
    },
    /// A sine whose frequency grows evenly from `from` to `to` within `duration`; `offset` before and after.
    Sweep {
        /// Height above the offset.
        amplitude: f64,
        /// Frequency at the start, in Hz.
        #[serde(default)]
        from: f64,
        /// Frequency at the end, in Hz.
        to: f64,
        /// How long it takes.
        duration: f64,
        /// When it begins, with the argument zero.
        #[serde(default)]
        start: f64,
        /// Added always.
        #[serde(default)]
        offset: f64,
    },
    /// Rectangular pulses: `offset + height` for `width` from every `start + k · period`, k ≥ 0, `offset` elsewhere.
    Pulses {
        /// Height of a pulse.
        amplitude: f64,
        /// From one pulse to the next.
        period: f64,
        /// Length of a pulse, at most the period.
        width: f64,
        /// Start of the first pulse.
        #[serde(default)]
        start: f64,
        /// Added always.
        #[serde(default)]
        offset: f64,
        /// No pulse from here on; one under way is cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<f64>,
        /// Varies the height from pulse to pulse.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        modulation: Option<Modulation>,
    },
    /// Points in time; the first and the last value hold outside.
    Table {
        /// Increasing; two equal ones are a jump.
        times: Vec<f64>,
        /// One for each time.
        values: Vec<f64>,
        /// What happens between the points.
        #[serde(default)]
        interpolation: Interpolation,
    },
}

/// Pulse k has the height `amplitude · sin(2π · frequency · t_k + phase)`, t_k its start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Modulation {
    /// In Hz.
    pub frequency: f64,
    /// In rad.
    #[serde(default)]
    pub phase: f64,
}

/// Between the points of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// Straight lines.
    #[default]
    Linear,
    /// The value of the point before holds.
    Previous,
    /// Smooth and without overshoot: cubics whose slopes are chosen after Fritsch and Butland.
    Cubic,
}

/// Why an external input cannot be built.
#[derive(Debug, Clone, PartialEq, Error)]
#[expect(missing_docs, reason = "the fields are named by the messages")]
pub enum ExternalError {
    #[error("{kind}: `{field}` is {value}, but must be a finite number")]
    NotFinite { kind: &'static str, field: &'static str, value: f64 },
    #[error("{kind}: `{field}` is {value}, but must be above zero")]
    NotPositive { kind: &'static str, field: &'static str, value: f64 },
    #[error("{kind}: frequency {frequency} Hz must lie between 0 and {LARGEST_FREQUENCY:e} Hz")]
    Frequency { kind: &'static str, frequency: f64 },
    #[error("{kind}: stop {stop} s must lie after start {start} s")]
    StopBeforeStart { kind: &'static str, start: f64, stop: f64 },
    #[error("pulses: width {width} s is longer than the period {period} s")]
    WidthAbovePeriod { width: f64, period: f64 },
    #[error("table: {times} times but {values} values")]
    Lengths { times: usize, values: usize },
    #[error("table: no points")]
    Empty,
    #[error("table: times[{index}] = {time} s lies before the time above it, {before} s")]
    NotIncreasing { index: usize, time: f64, before: f64 },
}

impl ExternalError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        (*self == ExternalError::Empty).then(|| "give at least one time and one value".to_owned())
    }
}

impl Diagnostic for ExternalError {
    fn hints(&self) -> Vec<String> {
        self.hint().into_iter().collect()
    }
}

impl ExternalConfig {
    /// Whether the numbers make sense together.
    pub fn validate(&self) -> Result<(), ExternalError> {
        match *self {
            ExternalConfig::Constant { value } => finite("constant", &[("value", value)]),
            ExternalConfig::Step { time, before, after } => {
                finite("step", &[("time", time), ("before", before), ("after", after)])
            }
            ExternalConfig::Ramp { start, stop, from, to } => {
                finite("ramp", &[("start", start), ("stop", stop), ("from", from), ("to", to)])?;
                ordered("ramp", start, stop)
            }
            ExternalConfig::Sine { amplitude, frequency, phase, offset, start, stop } => {
                finite("sine", &[("amplitude", amplitude), ("phase", phase), ("offset", offset)])?;
                check_frequency("sine", frequency)?;
                let (start, stop) = (start.unwrap_or(f64::MIN), stop.unwrap_or(f64::MAX));
                finite("sine", &[("start", start), ("stop", stop)])?;
                ordered("sine", start, stop)
            }
            ExternalConfig::Sweep { amplitude, from, to, duration, start, offset } => {
                finite("sweep", &[("amplitude", amplitude), ("start", start), ("offset", offset)])?;
                positive("sweep", &[("duration", duration)])?;
                check_frequency("sweep", from)?;
                check_frequency("sweep", to)?;
                positive("sweep", &[("to", from.max(to))])
            }
            ExternalConfig::Pulses { amplitude, period, width, start, offset, stop, modulation } => {
                finite("pulses", &[("amplitude", amplitude), ("start", start), ("offset", offset)])?;
                positive("pulses", &[("period", period), ("width", width)])?;
                if width > period {
                    return Err(ExternalError::WidthAbovePeriod { width, period });
                }
                if let Some(modulation) = modulation {
                    finite("pulses", &[("modulation.phase", modulation.phase)])?;
                    check_frequency("pulses", modulation.frequency)?;
                }
                let stop = stop.unwrap_or(f64::MAX);
                finite("pulses", &[("stop", stop)])?;
                ordered("pulses", start, stop)
            }
            ExternalConfig::Table { ref times, ref values, .. } => check_table(times, values),
        }
    }
}

fn finite(kind: &'static str, fields: &[(&'static str, f64)]) -> Result<(), ExternalError> {
    match fields.iter().find(|(_, value)| !value.is_finite()) {
        Some(&(field, value)) => Err(ExternalError::NotFinite { kind, field, value }),
        None => Ok(()),
    }
}

fn positive(kind: &'static str, fields: &[(&'static str, f64)]) -> Result<(), ExternalError> {
    finite(kind, fields)?;
    match fields.iter().find(|(_, value)| *value <= 0.0) {
        Some(&(field, value)) => Err(ExternalError::NotPositive { kind, field, value }),
        None => Ok(()),
    }
}

fn check_frequency(kind: &'static str, frequency: f64) -> Result<(), ExternalError> {
    finite(kind, &[("frequency", frequency)])?;
    let fits = (0.0..=LARGEST_FREQUENCY).contains(&frequency);
    if fits { Ok(()) } else { Err(ExternalError::Frequency { kind, frequency }) }
}

fn ordered(kind: &'static str, start: f64, stop: f64) -> Result<(), ExternalError> {
    if stop > start { Ok(()) } else { Err(ExternalError::StopBeforeStart { kind, start, stop }) }
}

fn check_table(times: &[f64], values: &[f64]) -> Result<(), ExternalError> {
    if times.len() != values.len() {
        return Err(ExternalError::Lengths { times: times.len(), values: values.len() });
    }
    if times.is_empty() {
        return Err(ExternalError::Empty);
    }
    for (&time, &value) in times.iter().zip(values) {
        finite("table", &[("times", time), ("values", value)])?;
    }
    match times.windows(2).position(|pair| pair[1] < pair[0]) {
        Some(i) => Err(ExternalError::NotIncreasing { index: i + 1, time: times[i + 1], before: times[i] }),
        None => Ok(()),
    }
}
