//! Damped hold: part of the newest value, and part of the one before.
//!
//!   û = (1 - β) v_0 + β v_1
//!
//! | symbol   | meaning                        | here      |
//! | v_0, v_1 | the newest arrival, and its predecessor | `history` |
//! | β        | 0 is ZOH, 1 is one step late   | `beta`    |
//!
//! A signal that changes at a constant rate arrives β steps later than with ZOH. At the start, and after a jump (a timed change),
//! v_1 = v_0. Order 1.

use koppel::coupling::{
    Coupling, CouplingConfig, Harmonic, Hold, Method, MethodInfo, Needs, Polynomials, Search, SettingInfo,
    View, Work, terms_of, write_value,
};
use koppel::error::{Error, Result};
use koppel::linalg::Complex;
use koppel::system::InputId;
use serde::{Deserialize, Serialize};

/// The method, as it is listed.
pub(crate) static DAMPED: MethodInfo = MethodInfo {
    settings: &[SettingInfo {
        name: "beta",
        line: "in [0, 1]: 0 is `zoh`, 1 is one step late",
        default: "0.5",
        search: Some(Search { values: "0.1, 0.2, ... 0.9", count: 9, coarse: (0, 4) }),
    }],
    order: "1",
    only_extrapolates: true,
    changes_step: Some(""),
    rank: 25,
    ..MethodInfo::new::<DampedConfig>(
        "damped",
        "damped hold: part of the newest value, part of the one before",
    )
};

/// Settings of the method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DampedConfig {
    beta: f64,
}

impl Default for DampedConfig {
    fn default() -> Self {
        DampedConfig { beta: 0.5 }
    }
}

impl Method for DampedConfig {
    fn info(&self) -> &'static MethodInfo {
        &DAMPED
    }

    fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>> {
        if !(0.0..=1.0).contains(&self.beta) {
            let (what, value) = ("damped.beta".into(), self.beta.to_string());
            return Err(Error::Setting { what, value, problem: "must lie in [0, 1]".into() }.into());
        }
        Ok(Box::new(Damped { beta: self.beta, hold }))
    }

    fn takes_hold(&self) -> bool {
        true
    }

    fn transfer(&self, signal: &Harmonic) -> Result<Option<Complex>> {
        Ok(Some(signal.held() * (signal.delay() * self.beta + Complex::ONE * (1.0 - self.beta))))
    }

    fn at_level(&self, level: usize) -> Option<CouplingConfig> {
        Some(DampedConfig { beta: (level + 1) as f64 / 10.0 }.into())
    }
}

struct Damped {
    beta: f64,
    hold: Hold,
}

impl Coupling for Damped {
    fn needs(&self) -> Needs {
        Needs { depth: 2, terms: terms_of(self.hold), work: Work::Input, ..Needs::default() }
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        for &input in inputs {
            let mut value = view.graph.offset(input);
            for wire in view.graph.wires_into(input) {
                let arrived = view.history.values(wire);
                let is_first = view.history.count(view.graph.wires()[wire].from) == 1;
                let before = if is_first { arrived[0] } else { arrived[1] };
                value += (1.0 - self.beta) * arrived[0] + self.beta * before;
            }
            write_value(self.hold, view, input, value, out.of(input));
        }
        Ok(())
    }
}
