//! H∞ coupling: a compensator behind every source, a smoother before every receiver.
//!
//!   y ─ K1 ─ sent at T^k, held ─ K2 ─ u                                                    (1)
//!
//! | symbol | meaning                                                     | here                       |
//! | K1     | compensator, runs on what was seen of y inside the step     | [`compensator`]            |
//! | K2     | smoother, runs inside the step on what is held              | [`smoother`]               |
//!
//! Both are the continuous filters of [`crate::hinf`], discretised exactly: K1 for the cubics through the samples of y, K2
//! for the polynomial that is held. The receiver gets K2's response as cubics with its values and slopes. K1 is scaled to
//! let constants pass unchanged (as designed it would change them by γ), and what it adds is limited to a multiple of
//! the signal's recent range, because K1(∞) multiplies every jump just before an exchange.
//!
//! The design counts on the delay of a parallel exchange. In a sequence receivers get the same values as in parallel:
//! what has arrived since T^k is left for the next step. Outputs with feed-through count as the step left them, whatever
//! the reading: what follows is continuous, u = L y is never set.
//!
//! Chen et al. 2021, 3 and 4. Differs from the paper in: K1 and K2 run here, not in the subsystems; the limiter; the
//! scaling.

mod compensator;
mod smoother;

use super::harmonic::Harmonic;
use super::method::{Method, MethodInfo, Preparation, Search, SettingInfo};
use super::{Coupling, CouplingConfig, Hold, Needs, Polynomials, StepNeeds, View};
use crate::error::{Result, bad};
use crate::hinf::{HoldOrder, Specification, designed};
use crate::linalg::Complex;
use crate::signal::{Request, Samples};
use crate::system::{InputId, SubsystemId};
use crate::tape::Tape;
use compensator::Compensators;
use serde::{Deserialize, Serialize};
use smoother::Smoothers;

/// Step sizes whose matrices are kept.
const MOST_SIZES: usize = 32;

/// Matrices for the sizes of step that were met.
struct BySize<T> {
    known: Vec<(f64, T)>,
    /// Which of them fits the present step.
    now: usize,
}

impl<T> BySize<T> {
    const NONE: Self = BySize { known: Vec::new(), now: 0 };

    /// Has those for a step of this size.
    fn get_ready(&mut self, size: f64, make: impl FnOnce() -> Result<T>) -> Result<()> {
        if self.known.get(self.now).is_some_and(|(known, _)| *known == size) {
            return Ok(());
        }
        if let Some(found) = self.known.iter().position(|(known, _)| *known == size) {
            self.now = found;
            return Ok(());
        }
        if self.known.len() >= MOST_SIZES {
            self.known.clear();
        }
        self.known.push((size, make()?));
        self.now = self.known.len() - 1;
        Ok(())
    }

    fn now(&self) -> &T {
        &self.known[self.now].1
    }
}

/// The method, as it is listed.
pub(super) static HINF: MethodInfo = MethodInfo {
    page: Some("hinf.md"),
    settings: &[
        SettingInfo::new("hold", "hold of the sent values: `zoh`, `foh` or `soh`", "\"zoh\""),
        SettingInfo::new("smoother_order", "order of the smoother, 1 to 4", "2"),
        SettingInfo::new("smoother_hz", "corner of the smoother, in Hz; 0.5 over the step unless given", ""),
        SettingInfo {
            name: "weight_order",
            line: "order of the weight, 1 to 3",
            default: "1",
            search: Some(Search { values: "1, 2, 3", count: 3, coarse: (0, 1) }),
        },
        SettingInfo::new(
            "weight_hz",
            "corner of the weight, in Hz; 0.01, 0.03 or 0.06 over the step, by order, unless given",
            "",
        ),
        SettingInfo::new(
            "disc",
            "one over the radius of the disc of poles, in s; a tenth of the step unless given",
            "",
        ),
        SettingInfo::new(
            "limit",
            "the compensator adds at most this many times the signal's recent range; 1e9 for none",
            "1.7",
        ),
        SettingInfo::new("samples", "samples of a source per step, 1 to 1000", "10"),
        SettingInfo::new("pieces", "polynomial pieces of a receiver's input per step, 1 to 100", "5"),
    ],
    order: "1, with a small factor",
    preparation: Preparation::Design,
    rank: 60,
    ..MethodInfo::new::<HinfConfig>(
        "hinf",
        "compensators behind sources and smoothers before receivers, by H-infinity synthesis",
    )
};

/// Settings of the method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HinfConfig {
    /// How sent values are held.
    pub hold: HoldOrder,
    /// Order of the smoother, 1 to 4.
    pub smoother_order: usize,
    /// Corner of the smoother, in Hz; 0.5 over the step unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoother_hz: Option<f64>,
    /// Order of the weight, 1 to 3.
    pub weight_order: usize,
    /// Corner of the weight, in Hz; 0.01, 0.03 or 0.06 over the step, by order, unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_hz: Option<f64>,
    /// Radius of the disc of poles is one over this, in s; a tenth of the step unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disc: Option<f64>,
    /// The compensator adds at most this many times the signal's recent range; 1e9 for none.
    pub limit: f64,
    /// Parts of a step in which sources are sampled.
    pub samples: u32,
    /// Pieces in which receivers get their inputs.
    pub pieces: usize,
}

impl Default for HinfConfig {
    fn default() -> Self {
        HinfConfig {
            hold: HoldOrder::Zoh,
            smoother_order: 2,
            smoother_hz: None,
            weight_order: 1,
            weight_hz: None,
            disc: None,
            limit: 1.7,
            samples: 10,
            pieces: 5,
        }
    }
}

impl HinfConfig {
    /// What it means at a communication step.
    pub fn specification(&self, step: f64) -> Specification {
        let usual = Specification::new(step, self.weight_order);
        Specification {
            hold: self.hold,
            smoother_order: self.smoother_order,
            smoother_hz: self.smoother_hz.unwrap_or(usual.smoother_hz),
            weight_hz: self.weight_hz.unwrap_or(usual.weight_hz),
            disc: self.disc.unwrap_or(usual.disc),
            ..usual
        }
    }
}

impl Method for HinfConfig {
    fn info(&self) -> &'static MethodInfo {
        &HINF
    }

    /// Refuses settings that make no sense at any step.
    fn build(&self, _hold: Hold) -> Result<Box<dyn Coupling>> {
        self.specification(1.0).check_orders()?;
        let mut problem = None;
        if self.limit.is_nan() || self.limit < 0.0 {
            problem = Some(("limit", self.limit.to_string(), "must not be below zero; 1e9 for none"));
        } else if !(1..=1000).contains(&self.samples) {
            problem = Some(("samples", self.samples.to_string(), "must lie in 1 to 1000"));
        } else if !(1..=100).contains(&self.pieces) {
            problem = Some(("pieces", self.pieces.to_string(), "must lie in 1 to 100"));
        }
        if let Some((what, value, problem)) = problem {
            return Err(bad(&format!("hinf.{what}"), value, problem));
        }
        Ok(Box::new(Hinf { config: self.clone(), parts: None }))
    }

    /// K1 zoh K2.
    fn transfer(&self, signal: &Harmonic) -> Result<Option<Complex>> {
        let design = designed(&self.specification(signal.step))?;
        let designed = Complex::ONE - design.real_error(signal.s);
        Ok(Some(designed * (1.0 / design.static_gain())))
    }

    fn linear(&self) -> std::result::Result<Option<CouplingConfig>, String> {
        Ok(Some(HinfConfig { limit: f64::INFINITY, ..self.clone() }.into()))
    }

    fn at_level(&self, level: usize) -> Option<CouplingConfig> {
        Some(HinfConfig { weight_order: level + 1, ..self.clone() }.into())
    }
}

struct Hinf {
    config: HinfConfig,
    /// Made at the start, when the step is known.
    parts: Option<Parts>,
}

struct Parts {
    compensators: Compensators,
    smoothers: Smoothers,
}

impl Hinf {
    fn parts(&mut self) -> &mut Parts {
        self.parts.as_mut().expect("a run starts before it goes on")
    }
}

impl Coupling for Hinf {
    fn needs(&self) -> Needs {
        Needs {
            depth: 1,
            terms: 4,
            pieces: self.config.pieces,
            samples: Some(Request::Nodes(self.config.samples)),
            steps: StepNeeds::OneSize("its compensators are designed for one"),
            ..Needs::default()
        }
    }

    fn start(&mut self, view: &View<'_>, inputs: &[InputId]) -> Result<()> {
        let design = designed(&self.config.specification(view.step.size))?;
        let smoothers = Smoothers::new(&design, self.config.pieces, view, inputs);
        let compensators = Compensators::new(&design, self.config.samples, self.config.limit, view);
        self.parts = Some(Parts { compensators, smoothers });
        Ok(())
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        let Parts { compensators, smoothers } = self.parts();
        view.jumped().for_each(|subsystem| compensators.restart(view, subsystem));
        compensators.get_ready(view.step.size)?;
        smoothers.begin(view, |input| {
            let wires = view.graph.wires_into(input);
            view.graph.offset(input) + wires.map(|wire| compensators.sent(wire)).sum::<f64>()
        })
    }

    fn input(&self, _view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        let parts = self.parts.as_ref().expect("a run starts before it goes on");
        inputs.iter().for_each(|input| parts.smoothers.write(*input, out));
        Ok(())
    }

    fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.parts().compensators.observe(view, subsystem, samples);
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        if let Some(Parts { compensators, smoothers }) = &mut self.parts {
            compensators.state(tape);
            smoothers.state(tape);
        }
    }
}
