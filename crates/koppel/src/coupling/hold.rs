//! Zero-, first- and second-order hold (ZOH, FOH, SOH).
//!
//! The polynomial through the newest n + 1 arrivals of each wire, in Newton's form:
//!
//!   û(t) = v_0 + [v_0,v_1] (t - t_0) + [v_0,v_1,v_2] (t - t_0)(t - t_1),     order n
//!
//! | symbol        | meaning                              | here             |
//! | v_j, t_j      | arrival j, newest first, and its time | `history`        |
//! | [v_0,v_1,..]  | divided difference                   | `slope`, `curve` |
//!
//! Kübler & Schiehlen 2000, (4). After a jump (a timed change) only what arrived since counts. A run starts either with a constant past (v_1 = v_2 = v_0, which lowers the order
//! observed with SOH to 2), or with as many arrivals as there are, on small first steps (`reduced`).
//! ZOH takes the run's `hold`; FOH and SOH have slopes of their own and ignore it.

use super::harmonic::Harmonic;
use super::method::{Method, MethodInfo, SettingInfo};
use super::{Coupling, CouplingConfig, Hold, Needs, Polynomials, View, Work, terms_of, write, write_value};
use crate::error::Result;
use crate::hinf::HoldOrder;
use crate::linalg::Complex;
use crate::system::InputId;
use serde::{Deserialize, Serialize};

/// How a hold of higher order begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartUp {
    /// As if all values had been constant before the start.
    #[default]
    Constant,
    /// With lower order until enough has arrived, on a cascade of small first steps.
    Reduced,
}

/// Zero-order hold.
pub(super) static ZOH: MethodInfo = MethodInfo {
    order: "1",
    only_extrapolates: true,
    interpolates: Some("constant"),
    changes_step: Some(""),
    rank: 0,
    ..MethodInfo::new::<ZohConfig>("zoh", "zero-order hold: the newest value")
};

/// First-order hold.
pub(super) static FOH: MethodInfo = MethodInfo {
    settings: START,
    order: "2",
    only_extrapolates: true,
    interpolates: Some("linear"),
    changes_step: Some(""),
    rank: 10,
    ..MethodInfo::new::<FohConfig>("foh", "first-order hold: the line through the newest two values")
};

/// Second-order hold.
pub(super) static SOH: MethodInfo = MethodInfo {
    settings: START,
    order: "3",
    only_extrapolates: true,
    interpolates: Some("quadratic"),
    changes_step: Some(""),
    rank: 20,
    ..MethodInfo::new::<SohConfig>("soh", "second-order hold: the parabola through the newest three values")
};

const START: &[SettingInfo] = &[SettingInfo::new(
    "start",
    "`constant`: a constant past; `reduced`: lower order on small first steps",
    "\"constant\"",
)];

/// Zero-order hold: it has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZohConfig {}

/// Settings of first-order hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FohConfig {
    /// How the run begins.
    pub start: StartUp,
}

/// Settings of second-order hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SohConfig {
    /// How the run begins.
    pub start: StartUp,
}

impl CouplingConfig {
    /// Zero-order hold.
    pub fn zoh() -> Self {
        ZohConfig {}.into()
    }

    /// First-order hold.
    pub fn foh(start: StartUp) -> Self {
        FohConfig { start }.into()
    }

    /// Second-order hold.
    pub fn soh(start: StartUp) -> Self {
        SohConfig { start }.into()
    }
}

impl Method for ZohConfig {
    fn info(&self) -> &'static MethodInfo {
        &ZOH
    }

    fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>> {
        Ok(Box::new(ZeroOrderHold { hold }))
    }

    fn takes_hold(&self) -> bool {
        true
    }

    fn transfer(&self, signal: &Harmonic) -> Result<Option<Complex>> {
        Ok(Some(signal.held()))
    }
}

impl Method for FohConfig {
    fn info(&self) -> &'static MethodInfo {
        &FOH
    }

    fn build(&self, _hold: Hold) -> Result<Box<dyn Coupling>> {
        Ok(Box::new(PolynomialHold { order: 1, start: self.start }))
    }

    /// (1 + x) m². Chen et al. 2021, (4).
    fn transfer(&self, signal: &Harmonic) -> Result<Option<Complex>> {
        Ok(Some(signal.through(HoldOrder::Foh)))
    }

    fn linear(&self) -> std::result::Result<Option<CouplingConfig>, String> {
        Ok(Some(CouplingConfig::foh(StartUp::Constant)))
    }
}

impl Method for SohConfig {
    fn info(&self) -> &'static MethodInfo {
        &SOH
    }

    fn build(&self, _hold: Hold) -> Result<Box<dyn Coupling>> {
        Ok(Box::new(PolynomialHold { order: 2, start: self.start }))
    }

    /// (1 + 3x/2 + x²) m³. Chen et al. 2021, (4).
    fn transfer(&self, signal: &Harmonic) -> Result<Option<Complex>> {
        Ok(Some(signal.through(HoldOrder::Soh)))
    }

    fn linear(&self) -> std::result::Result<Option<CouplingConfig>, String> {
        Ok(Some(CouplingConfig::soh(StartUp::Constant)))
    }
}

/// A polynomial hold.
#[derive(Clone, Copy, Debug)]
struct PolynomialHold {
    /// 1 or 2.
    order: usize,
    /// How the run begins.
    start: StartUp,
}

impl Coupling for PolynomialHold {
    fn needs(&self) -> Needs {
        Needs {
            depth: self.order + 1,
            terms: self.order + 1,
            reduced_start: self.start == StartUp::Reduced,
            work: Work::Input,
            ..Needs::default()
        }
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        for &id in inputs {
            let out = out.of(id);
            write(out, [view.graph.offset(id)]);
            for wire in view.graph.wires_into(id) {
                let from = view.graph.wires()[wire].from;
                let times = view.history.times(from);
                let points =
                    usable(&times[..view.history.count(from).clamp(1, self.order + 1)], view.step.size);
                let (values, times) = (&view.history.values(wire)[..points], &times[..points]);
                add_extrapolation(values, times, view.step.start, out);
            }
        }
        Ok(())
    }
}

/// Zero-order hold: the newest arrival. Where it is constant over the step, the engine itself holds it.
#[derive(Clone, Copy, Debug)]
struct ZeroOrderHold {
    /// Shape over the step.
    hold: Hold,
}

impl Coupling for ZeroOrderHold {
    fn needs(&self) -> Needs {
        Needs {
            depth: 1,
            terms: terms_of(self.hold),
            work: if self.hold == Hold::Constant { Work::Hold } else { Work::Input },
            ..Needs::default()
        }
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        for &id in inputs {
            write_value(self.hold, view, id, view.arrival(id), out.of(id));
        }
        Ok(())
    }
}

/// How many of these times, newest first, lie far enough apart for slopes: not closer than a thousandth of the step.
pub(super) fn usable(times: &[f64], size: f64) -> usize {
    1 + times.windows(2).take_while(|pair| pair[0] - pair[1] >= 1e-3 * size).count()
}

/// Adds the polynomial through `values` at `times` (newest first, at most three), as powers of t - `start`.
pub(super) fn add_extrapolation(values: &[f64], times: &[f64], start: f64, out: &mut [f64]) {
    let a = start - times[0];
    out[0] += values[0];
    if values.len() < 2 {
        return;
    }
    let slope = (values[0] - values[1]) / (times[0] - times[1]);
    out[0] += slope * a;
    out[1] += slope;
    if values.len() < 3 {
        return;
    }
    let older = (values[1] - values[2]) / (times[1] - times[2]);
    let curve = (slope - older) / (times[0] - times[2]);
    let b = start - times[1];
    out[0] += curve * a * b;
    out[1] += curve * (a + b);
    out[2] += curve;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_of_order_n_reproduces_degree_n() {
        let times = [1.3, 1.0, 0.4];
        let p = |t: f64| 2.0 - 3.0 * t + 0.5 * t * t;
        let line = |t: f64| 2.0 - 3.0 * t;
        for start in [1.3, 1.0, 2.0] {
            let mut c = [0.0; 3];
            add_extrapolation(&times.map(p), &times, start, &mut c);
            let mut l = [0.0; 3];
            add_extrapolation(&times.map(line)[..2], &times[..2], start, &mut l);
            for tau in [0.0, 0.2, 0.7] {
                let value = c[0] + tau * (c[1] + tau * c[2]);
                assert!((value - p(start + tau)).abs() < 1e-13);
                assert!((l[0] + tau * l[1] - line(start + tau)).abs() < 1e-13);
            }
        }
    }
}
