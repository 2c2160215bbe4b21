//! External inputs: functions of time, delivered as piecewise polynomials.
//!
//! On a window [a, b] without a break inside, the input is the polynomial
//!
//!   u(t) = Σ_j c_j τ^j,     τ = t - a                                                    (1)
//!
//! Breaks are the jumps, kinks and table points; all kinds but the sine are exact. The sine is cut at multiples of
//! π/8 of its argument θ = 2π f t + φ, whatever windows the caller chooses. With θ_c the middle of a piece and
//! δ = θ - θ_c, |δ| ≤ h = π/16,
//!
//!   sin θ = sin θ_c · cos δ + cos θ_c · sin δ                                            (2)
//!
//! where sin δ is its Taylor polynomial of degree 7 (error h⁹/9! = 1.2e-12) and cos δ the one of degree 8 with δ⁸
//! economised to degree 6 by T₈ (error h⁸/(2⁷ 8!) = 4e-13). Substituting δ = ω τ + δ_a gives (1).
//! Economisation: Press et al., Numerical Recipes, 3rd ed., section 5.11.
//!
//! All functions are right-continuous: at a jump the new value counts.

use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, TAU};
use thiserror::Error;

/// Number of polynomial coefficients of a piece: degree at most 7.
pub const COEFFICIENTS: usize = 8;

/// Pieces of a sine per period.
const SINE_PIECES: f64 = 16.0;

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
        /// Strictly increasing.
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
    #[error("table: no points\n  hint: give at least one time and one value")]
    Empty,
    #[error("table: times[{index}] = {time} s does not lie after the time before, {before} s")]
    NotIncreasing { index: usize, time: f64, before: f64 },
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
    match times.windows(2).position(|pair| pair[1] <= pair[0]) {
        Some(i) => Err(ExternalError::NotIncreasing { index: i + 1, time: times[i + 1], before: times[i] }),
        None => Ok(()),
    }
}

/// An external input, ready to be evaluated. Nothing here allocates after [`External::new`].
#[derive(Debug, Clone, PartialEq)]
pub struct External {
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Constant(f64),
    Step { time: f64, before: f64, after: f64 },
    Ramp { start: f64, stop: f64, from: f64, to: f64 },
    Sine(Sine),
    Pulses(Pulses),
    Table(Table),
}

impl External {
    /// Validates and builds.
    pub fn new(config: &ExternalConfig) -> Result<External, ExternalError> {
        config.validate()?;
        let shape = match *config {
            ExternalConfig::Constant { value } => Shape::Constant(value),
            ExternalConfig::Step { time, before, after } => Shape::Step { time, before, after },
            ExternalConfig::Ramp { start, stop, from, to } => Shape::Ramp { start, stop, from, to },
            ExternalConfig::Sine { amplitude, frequency, phase, offset, start, stop } => Shape::Sine(Sine {
                amplitude,
                offset,
                turning: Turning { frequency, turns: phase / TAU },
                start: start.unwrap_or(f64::NEG_INFINITY),
                stop: stop.unwrap_or(f64::INFINITY),
            }),
            ExternalConfig::Pulses { amplitude, period, width, start, offset, stop, modulation } => {
                let turning = modulation.map(|m| Turning { frequency: m.frequency, turns: m.phase / TAU });
                let stop = stop.unwrap_or(f64::INFINITY);
                Shape::Pulses(Pulses { amplitude, period, width, start, offset, stop, turning })
            }
            ExternalConfig::Table { ref times, ref values, interpolation } => {
                Shape::Table(Table { times: times.clone(), values: values.clone(), interpolation })
            }
        };
        Ok(External { shape })
    }

    /// Value at `t`; at a jump the value after it.
    pub fn value(&self, t: f64) -> f64 {
        match &self.shape {
            Shape::Constant(value) => *value,
            Shape::Step { time, before, after } => {
                if t < *time {
                    *before
                } else {
                    *after
                }
            }
            Shape::Ramp { start, stop, from, to } => {
                if t < *start {
                    *from
                } else if t >= *stop {
                    *to
                } else {
                    from + (to - from) * ((t - start) / (stop - start))
                }
            }
            Shape::Sine(sine) => sine.value(t),
            Shape::Pulses(pulses) => pulses.value(t),
            Shape::Table(table) => table.value(t),
        }
    }

    /// First time after `after` where a polynomial piece ends.
    pub fn next_break(&self, after: f64) -> Option<f64> {
        match &self.shape {
            Shape::Constant(_) => None,
            Shape::Step { time, .. } => (*time > after).then_some(*time),
            Shape::Ramp { start, stop, .. } => [*start, *stop].into_iter().find(|time| *time > after),
            Shape::Sine(sine) => sine.next_break(after),
            Shape::Pulses(pulses) => pulses.next_break(after),
            Shape::Table(table) => {
                table.times.get(table.times.partition_point(|time| *time <= after)).copied()
            }
        }
    }

    /// Upper bound of the breaks in any window of length `span` (in s), both ends included.
    pub fn max_breaks(&self, span: f64) -> usize {
        match &self.shape {
            Shape::Constant(_) => 0,
            Shape::Step { .. } => 1,
            Shape::Ramp { .. } => 2,
            // one more than intervals, one for round-off, and the ends of the sine or the cut pulse
            Shape::Sine(sine) if sine.is_constant() => 2,
            Shape::Sine(sine) => {
                ((span * sine.turning.frequency * SINE_PIECES).ceil() as usize).saturating_add(4)
            }
            Shape::Pulses(pulses) => {
                ((span / pulses.period).ceil() as usize).saturating_add(2).saturating_mul(2).saturating_add(1)
            }
            Shape::Table(table) => table.max_breaks(span),
        }
    }

    /// Degree of the pieces.
    pub fn degree(&self) -> usize {
        match &self.shape {
            Shape::Constant(_) | Shape::Step { .. } | Shape::Pulses(_) => 0,
            Shape::Ramp { .. } => 1,
            Shape::Sine(sine) => {
                if sine.is_constant() {
                    0
                } else {
                    COEFFICIENTS - 1
                }
            }
            Shape::Table(table) => match table.interpolation {
                Interpolation::Previous => 0,
                Interpolation::Linear => 1,
            },
        }
    }

    /// Coefficients of (1) on `[start, end]`, which must have no break inside. The piece is the one at the middle of
    /// the window: a break within round-off of either end does no harm.
    pub fn piece(&self, start: f64, end: f64, out: &mut [f64; COEFFICIENTS]) {
        *out = [0.0; COEFFICIENTS];
        let middle = start + 0.5 * (end - start);
        match &self.shape {
            Shape::Constant(_) | Shape::Step { .. } | Shape::Pulses(_) => out[0] = self.value(middle),
            Shape::Ramp { start: t0, stop: t1, from, to } => {
                if middle < *t0 || middle >= *t1 {
                    out[0] = self.value(middle);
                } else {
                    line((*t0, *from), (*t1, *to), start, out);
                }
            }
            Shape::Sine(sine) => sine.piece(start, middle, out),
            Shape::Table(table) => table.piece(start, middle, out),
        }
    }
}

/// The line through two points, written in τ from `start`.
fn line(left: (f64, f64), right: (f64, f64), start: f64, out: &mut [f64; COEFFICIENTS]) {
    let slope = (right.1 - left.1) / (right.0 - left.0);
    out[0] = left.1 + slope * (start - left.0);
    out[1] = slope;
}

/// The argument of a sine, counted in turns: f·t + φ/2π.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Turning {
    frequency: f64,
    turns: f64,
}

impl Turning {
    /// Turns since the last whole one, in [0, 1]. The product is kept exactly, so nothing is lost at large times.
    fn fraction(&self, t: f64) -> f64 {
        let product = self.frequency * t;
        let rounded_off = self.frequency.mul_add(t, -product);
        let sum = (product - product.floor()) + rounded_off + (self.turns - self.turns.floor());
        sum - sum.floor()
    }

    fn sine(&self, t: f64) -> f64 {
        (TAU * self.fraction(t)).sin()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Sine {
    amplitude: f64,
    offset: f64,
    turning: Turning,
    start: f64,
    stop: f64,
}

impl Sine {
    fn is_on(&self, t: f64) -> bool {
        t >= self.start && t < self.stop
    }

    fn is_constant(&self) -> bool {
        self.amplitude == 0.0 || self.turning.frequency == 0.0
    }

    fn value(&self, t: f64) -> f64 {
        if self.is_on(t) { self.offset + self.amplitude * self.turning.sine(t) } else { self.offset }
    }

    fn next_break(&self, after: f64) -> Option<f64> {
        if after >= self.stop {
            return None;
        }
        if after < self.start {
            return Some(self.start);
        }
        let end = if self.is_constant() { self.stop } else { self.next_cut(after).min(self.stop) };
        end.is_finite().then_some(end)
    }

    /// Next multiple of 1/16 turn, from its integer.
    fn next_cut(&self, after: f64) -> f64 {
        let Turning { frequency, turns } = self.turning;
        let index = (SINE_PIECES * (frequency * after + turns)).floor() - 1.0;
        let cut = |ahead: i32| ((index + f64::from(ahead)) / SINE_PIECES - turns) / frequency;
        (0..4).map(cut).find(|time| *time > after).unwrap_or(after.next_up())
    }

    /// Equation (2) on the 1/16 turn that holds `middle`, moved to `start`.
    fn piece(&self, start: f64, middle: f64, out: &mut [f64; COEFFICIENTS]) {
        out[0] = self.offset;
        if !self.is_on(middle) {
            return;
        }
        if self.is_constant() {
            out[0] += self.amplitude * self.turning.sine(middle);
            return;
        }
        let centre = ((SINE_PIECES * self.turning.fraction(middle)).floor() + 0.5) / SINE_PIECES;
        let turns = self.turning.fraction(start) - centre;
        let delta = TAU * (turns - turns.round());
        let (sine, cosine) = (TAU * centre).sin_cos();
        let mut polynomial = centred_sine(sine, cosine);
        shift(&mut polynomial, delta);
        let mut scale = self.amplitude;
        for (coefficient, term) in out.iter_mut().zip(polynomial) {
            *coefficient += scale * term;
            scale *= TAU * self.turning.frequency;
        }
    }
}

/// sin(θ_c + δ) as a polynomial in δ, equation (2).
fn centred_sine(sine: f64, cosine: f64) -> [f64; COEFFICIENTS] {
    // δ⁸/8! with δ⁸ ≈ 2h²δ⁶ - (5/4)h⁴δ⁴ + (1/4)h⁶δ² - h⁸/128, from T₈(δ/h) ≈ 0
    const H2: f64 = (PI / SINE_PIECES) * (PI / SINE_PIECES);
    const EIGHTH: f64 = 1.0 / 40320.0;
    const EVEN: [f64; 4] = [
        1.0 - EIGHTH * H2 * H2 * H2 * H2 / 128.0,
        -1.0 / 2.0 + EIGHTH * H2 * H2 * H2 / 4.0,
        1.0 / 24.0 - EIGHTH * H2 * H2 * 1.25,
        -1.0 / 720.0 + EIGHTH * H2 * 2.0,
    ];
    const ODD: [f64; 4] = [1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0];
    let mut polynomial = [0.0; COEFFICIENTS];
    for i in 0..4 {
        polynomial[2 * i] = sine * EVEN[i];
        polynomial[2 * i + 1] = cosine * ODD[i];
    }
    polynomial
}

/// p(x) becomes p(x + by), by repeated synthetic division.
fn shift(polynomial: &mut [f64; COEFFICIENTS], by: f64) {
    for low in 0..COEFFICIENTS - 1 {
        for i in (low..COEFFICIENTS - 1).rev() {
            polynomial[i] += by * polynomial[i + 1];
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Pulses {
    amplitude: f64,
    period: f64,
    width: f64,
    start: f64,
    offset: f64,
    stop: f64,
    turning: Option<Turning>,
}

impl Pulses {
    fn rise(&self, index: f64) -> f64 {
        self.start + index * self.period
    }

    /// End of the pulse; never after the next one rises.
    fn fall(&self, index: f64) -> f64 {
        let next = self.rise(index + 1.0);
        if self.width == self.period { next } else { (self.rise(index) + self.width).min(next) }
    }

    /// The pulse that rose last; the quotient can be wrong by one when `t` is an edge.
    fn index(&self, t: f64) -> f64 {
        let guess = ((t - self.start) / self.period).floor();
        if self.rise(guess) > t {
            guess - 1.0
        } else if self.rise(guess + 1.0) <= t {
            guess + 1.0
        } else {
            guess
        }
    }

    fn value(&self, t: f64) -> f64 {
        if t < self.start || t >= self.stop {
            return self.offset;
        }
        let index = self.index(t);
        if t >= self.fall(index) {
            return self.offset;
        }
        let height = self.turning.map_or(1.0, |turning| turning.sine(self.rise(index)));
        self.offset + self.amplitude * height
    }

    fn next_break(&self, after: f64) -> Option<f64> {
        if after >= self.stop {
            return None;
        }
        if after < self.start {
            return Some(self.start);
        }
        let index = self.index(after);
        let fall = self.fall(index);
        let edge = if after < fall { fall } else { self.rise(index + 1.0) };
        Some(edge.max(after.next_up()).min(self.stop))
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Table {
    times: Vec<f64>,
    values: Vec<f64>,
    interpolation: Interpolation,
}

impl Table {
    /// The point left of `t`, or `None` where the table holds its first or last value.
    fn interval(&self, t: f64) -> Option<usize> {
        let points_before = self.times.partition_point(|time| *time <= t);
        (points_before > 0 && points_before < self.times.len()).then(|| points_before - 1)
    }

    fn held(&self, t: f64) -> f64 {
        if t < self.times[0] { self.values[0] } else { self.values[self.values.len() - 1] }
    }

    fn value(&self, t: f64) -> f64 {
        match (self.interval(t), self.interpolation) {
            (None, _) => self.held(t),
            (Some(i), Interpolation::Previous) => self.values[i],
            (Some(i), Interpolation::Linear) => {
                let part = (t - self.times[i]) / (self.times[i + 1] - self.times[i]);
                self.values[i] + (self.values[i + 1] - self.values[i]) * part
            }
        }
    }

    fn piece(&self, start: f64, middle: f64, out: &mut [f64; COEFFICIENTS]) {
        match (self.interval(middle), self.interpolation) {
            (Some(i), Interpolation::Linear) => {
                line((self.times[i], self.values[i]), (self.times[i + 1], self.values[i + 1]), start, out);
            }
            _ => out[0] = self.value(middle),
        }
    }

    /// The fullest window starts at a point.
    fn max_breaks(&self, span: f64) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn build(config: ExternalConfig) -> External {
        External::new(&config).unwrap_or_else(|error| panic!("{error}"))
    }

    fn sine(frequency: f64, phase: f64) -> ExternalConfig {
        ExternalConfig::Sine { amplitude: 3.0, frequency, phase, offset: 0.5, start: None, stop: None }
    }

    fn pulses(period: f64, width: f64, start: f64) -> ExternalConfig {
        ExternalConfig::Pulses {
            amplitude: 2.0,
            period,
            width,
            start,
            offset: 1.0,
            stop: None,
            modulation: None,
        }
    }

    fn table(interpolation: Interpolation) -> ExternalConfig {
        ExternalConfig::Table {
            times: vec![0.0, 1.0, 1.5, 4.0],
            values: vec![2.0, -1.0, 3.0, 0.5],
            interpolation,
        }
    }

    fn all_kinds() -> Vec<ExternalConfig> {
        let modulation = Some(Modulation { frequency: 0.07, phase: 0.3 });
        vec![
            ExternalConfig::Constant { value: -4.0 },
            ExternalConfig::Step { time: 1.25, before: 1.0, after: -2.0 },
            ExternalConfig::Ramp { start: 0.5, stop: 3.0, from: -1.0, to: 5.0 },
            sine(0.3, 0.4),
            sine(17.0, -2.0),
            sine(0.0, 1.0),
            ExternalConfig::Sine {
                amplitude: 1.5,
                frequency: 2.0,
                phase: 0.1,
                offset: 1.0,
                start: Some(0.7),
                stop: Some(3.1),
            },
            pulses(0.3, 0.1, 0.2),
            pulses(0.1, 0.1, -1.0),
            ExternalConfig::Pulses {
                amplitude: 2.0,
                period: 0.7,
                width: 0.3,
                start: 0.1,
                offset: 0.0,
                stop: Some(3.0),
                modulation,
            },
            table(Interpolation::Linear),
            table(Interpolation::Previous),
        ]
    }

    fn horner(coefficients: &[f64; COEFFICIENTS], tau: f64) -> f64 {
        coefficients.iter().rev().fold(0.0, |sum, c| sum * tau + c)
    }

    /// Largest difference of pieces and value over a window cut at the breaks, seen at points inside the pieces.
    fn disagreement(external: &External, from: f64, to: f64) -> f64 {
        let mut worst: f64 = 0.0;
        let mut start = from;
        let mut coefficients = [f64::NAN; COEFFICIENTS];
        let mut breaks = 0;
        while start < to {
            let end = external.next_break(start).unwrap_or(to).min(to);
            assert!(end > start, "no progress at {start}");
            breaks += usize::from(end < to);
            external.piece(start, end, &mut coefficients);
            assert!(coefficients[external.degree() + 1..].iter().all(|c| *c == 0.0));
            for i in 0..32 {
                let t = start + (end - start) * f64::from(i) / 32.0;
                worst = worst.max((horner(&coefficients, t - start) - external.value(t)).abs());
            }
            start = end;
        }
        assert!(breaks <= external.max_breaks(to - from), "{breaks} breaks in {}", to - from);
        worst
    }

    proptest! {
        #[test]
        fn pieces_agree_with_values(from in -2.0..6.0f64, length in 1e-6..3.0f64) {
            for config in all_kinds() {
                let worst = disagreement(&build(config.clone()), from, from + length);
                prop_assert!(worst < 1e-11, "{config:?}: {worst:e}");
            }
        }

        #[test]
        fn sine_keeps_its_accuracy_at_any_frequency_and_time(
            exponent in -6.0..9.0f64, phase in -20.0..20.0f64, from in -1e6..1e6f64, periods in 0.001..3.0f64
        ) {
            let frequency = 10f64.powf(exponent);
            let t = from / frequency.max(1.0);
            let worst = disagreement(&build(sine(frequency, phase)), t, t + periods / frequency);
            // a step of round-off in time is a step of 2π f ulp(t) in the argument
            let granularity = TAU * frequency * (t.abs() * f64::EPSILON);
            prop_assert!(worst < 3.0 * (1e-11 + 2.0 * granularity), "{worst:e} at {t}, {frequency} Hz");
        }

        #[test]
        fn sine_pieces_do_not_depend_on_windows(cut in 0.05..0.95f64, index in 0..60i32) {
            let external = build(sine(0.3, 0.4));
            let left = external.next_break(f64::from(index)).unwrap();
            let right = external.next_break(left).unwrap();
            let middle = left + cut * (right - left);
            let (mut whole, mut part) = ([0.0; COEFFICIENTS], [0.0; COEFFICIENTS]);
            external.piece(left, right, &mut whole);
            external.piece(middle, right, &mut part);
            for i in 0..=8 {
                let t = middle + (right - middle) * f64::from(i) / 8.0;
                prop_assert!((horner(&whole, t - left) - horner(&part, t - middle)).abs() < 3.0 * 2e-15);
            }
        }
    }

    #[test]
    fn sine_is_the_sine_of_the_library_at_small_arguments() {
        let external = build(sine(1.0, 0.25));
        for i in -200..200 {
            let t = f64::from(i) * 0.0137;
            let expected = 0.5 + 3.0 * (TAU * t + 0.25).sin();
            assert!((external.value(t) - expected).abs() < 2e-14, "t = {t}");
        }
        assert!(disagreement(&external, 0.0, 10.0) < 3.0 * 3e-12);
        let longest = external.next_break(external.next_break(0.0).unwrap()).unwrap()
            - external.next_break(0.0).unwrap();
        assert!(TAU * longest <= 0.5);
    }

    #[test]
    fn sine_at_a_large_time_loses_nothing() {
        // 50 Hz at whole multiples of 1/4 period, one million seconds on: exact in binary
        let external = build(ExternalConfig::Sine {
            amplitude: 1.0,
            frequency: 50.0,
            phase: 0.0,
            offset: 0.0,
            start: None,
            stop: None,
        });
        assert!((external.value(1_048_576.25) - (TAU * 0.5f64).sin()).abs() < 1e-15);
        assert!((external.value(1_048_576.125) - (TAU * 0.25f64).sin()).abs() < 1e-15);
    }

    #[test]
    fn pulse_edges_are_exact() {
        for (period, width, start) in
            [(0.1, 0.03, 0.0), (0.3, 0.1, 0.2), (1e-3, 7e-4, 5.0), (1.0 / 3.0, 1.0 / 7.0, -2.0)]
        {
            let external = build(pulses(period, width, start));
            let mut expected = vec![];
            for k in 0..2000 {
                let rise = start + f64::from(k) * period;
                expected.extend([(rise, 3.0, 1.0), (rise + width, 1.0, 3.0)]);
            }
            let mut time = f64::NEG_INFINITY;
            for (edge, after, before) in expected {
                time = external.next_break(time).unwrap();
                assert_eq!(time, edge);
                assert_eq!(external.value(edge), after, "at {edge}");
                assert_eq!(external.value(edge.next_down()), before, "before {edge}");
            }
        }
        let full = build(pulses(0.1, 0.1, 0.0));
        assert!((0..10_000).all(|i| full.value(f64::from(i) * 0.0137) == 3.0));
    }

    #[test]
    fn modulated_pulses_have_the_height_of_their_start() {
        let modulation = Some(Modulation { frequency: 0.07, phase: 0.3 });
        let external = build(ExternalConfig::Pulses {
            amplitude: 2.0,
            period: 0.5,
            width: 0.2,
            start: 0.25,
            offset: 1.0,
            stop: Some(20.1),
            modulation,
        });
        for k in 0..39 {
            let start = 0.25 + 0.5 * f64::from(k);
            let expected = 1.0 + 2.0 * (TAU * 0.07 * start + 0.3).sin();
            for t in [start, start + 0.1, start + 0.1999] {
                assert!((external.value(t) - expected).abs() < 1e-14, "t = {t}");
            }
            assert_eq!(external.value(start + 0.3), 1.0);
        }
        assert_eq!(external.next_break(20.0), Some(20.1));
        assert_eq!(external.next_break(20.1), None);
        assert_eq!(external.value(20.3), 1.0);
    }

    #[test]
    fn jumps_are_right_continuous_and_tables_hold_their_ends() {
        let step = build(ExternalConfig::Step { time: 1.0, before: 2.0, after: 5.0 });
        assert_eq!((step.value(1.0), step.value(1f64.next_down())), (5.0, 2.0));
        assert_eq!((step.next_break(1f64.next_down()), step.next_break(1.0)), (Some(1.0), None));
        let ramp = build(ExternalConfig::Ramp { start: 0.1, stop: 0.7, from: 0.0, to: 0.3 });
        assert_eq!((ramp.value(0.1), ramp.value(0.7), ramp.value(9.0)), (0.0, 0.3, 0.3));
        let linear = build(table(Interpolation::Linear));
        assert_eq!((linear.value(-9.0), linear.value(0.5), linear.value(1.0)), (2.0, 0.5, -1.0));
        assert_eq!((linear.value(4.0), linear.value(99.0)), (0.5, 0.5));
        let previous = build(table(Interpolation::Previous));
        assert_eq!((previous.value(-9.0), previous.value(0.99), previous.value(1.0)), (2.0, 2.0, -1.0));
        assert_eq!((previous.value(3.99), previous.value(4.0), previous.value(99.0)), (3.0, 0.5, 0.5));
        assert_eq!((linear.max_breaks(0.4), linear.max_breaks(0.5), linear.max_breaks(1.5)), (1, 2, 3));
        let sine = build(ExternalConfig::Sine {
            amplitude: 1.0,
            frequency: 1.0,
            phase: 1.0,
            offset: 7.0,
            start: Some(1.0),
            stop: Some(2.0),
        });
        assert_eq!((sine.value(1f64.next_down()), sine.value(2.0)), (7.0, 7.0));
        assert!(sine.value(1.0) > 7.8);
    }

    #[test]
    fn piece_survives_a_break_within_round_off_of_its_ends() {
        let external = build(sine(1.0, 0.0));
        let (left, right) = (external.next_break(3.0).unwrap(), external.next_break(3.1).unwrap());
        let mut coefficients = [0.0; COEFFICIENTS];
        external.piece(left.next_down(), right.next_up(), &mut coefficients);
        let t = 0.5 * (left + right);
        assert!((horner(&coefficients, t - left) - external.value(t)).abs() < 1e-11);
    }

    #[test]
    fn senseless_numbers_are_refused() {
        let refused = [
            ExternalConfig::Constant { value: f64::NAN },
            ExternalConfig::Step { time: f64::INFINITY, before: 0.0, after: 1.0 },
            ExternalConfig::Ramp { start: 1.0, stop: 1.0, from: 0.0, to: 1.0 },
            sine(-1.0, 0.0),
            sine(1e40, 0.0),
            ExternalConfig::Sine {
                amplitude: 1.0,
                frequency: 1.0,
                phase: 0.0,
                offset: 0.0,
                start: Some(2.0),
                stop: Some(1.0),
            },
            pulses(1.0, 1.1, 0.0),
            pulses(0.0, 0.0, 0.0),
            ExternalConfig::Table { times: vec![], values: vec![], interpolation: Interpolation::Linear },
            ExternalConfig::Table {
                times: vec![0.0, 1.0],
                values: vec![1.0],
                interpolation: Interpolation::Linear,
            },
            ExternalConfig::Table {
                times: vec![0.0, 0.0],
                values: vec![1.0, 2.0],
                interpolation: Interpolation::Linear,
            },
        ];
        for config in refused {
            assert!(External::new(&config).is_err(), "{config:?}");
        }
        let error = pulses(1.0, 1.1, 0.0).validate().unwrap_err();
        assert_eq!(error.to_string(), "pulses: width 1.1 s is longer than the period 1 s");
    }
}
