//! NEPCE, the nearly energy-preserving coupling element.
//!
//!   u^k = L y^k + α (1/H) ∫_{T^{k-1}}^{T^k} (L y - u_ex) dt
//!
//! | symbol | meaning                                                | here                 |
//! | u_ex   | the last extrapolation, without or with its correction | `Against`            |
//! | α      | gain in [0, 1]                                         | `gain`               |
//!
//! The integral is taken on intermediate outputs; of a subsystem that gives none, on both ends of the step. With
//! anti-aliasing y^k is replaced by its mean over the last step. Benedikt et al. 2013 as used in Genser 2020, 3.3, and
//! Genser & Benedikt 2018, 3. Against the uncorrected extrapolation its loop has the non-zero eigenvalues of first-order
//! hold. What Glumac & Kovacic call NEPCE is the relaxed hold.

use super::deferred::{Against, Deferred};
use super::harmonic::Harmonic;
use super::method::{GAINS, Method, MethodInfo, SettingInfo, gain_at};
use super::{Coupling, CouplingConfig, Hold, Needs, Polynomials, StepNeeds, View, terms_of, write_value};
use crate::error::{Result, bad};
use crate::linalg::Complex;
use crate::signal::{Request, Samples};
use crate::system::{InputId, SubsystemId};
use crate::tape::Tape;
use serde::{Deserialize, Serialize};

/// The method, as it is listed.
pub(super) static NEPCE: MethodInfo = MethodInfo {
    settings: &[
        SettingInfo { name: "gain", line: "in [0, 1]", default: "1.0", search: Some(GAINS) },
        SettingInfo::new(
            "against",
            "what the correction is measured against: `extrapolated` or `applied`",
            "\"extrapolated\"",
        ),
        SettingInfo::new(
            "anti_aliasing",
            "whether the mean of each output over the last step takes the place of its last value",
            "false",
        ),
    ],
    order: "2 (1 with stale reading)",
    only_extrapolates: true,
    changes_step: Some(""),
    rank: 30,
    ..MethodInfo::new::<NepceConfig>(
        "nepce",
        "corrects each input in the next step by its defect in the last",
    )
};

/// Settings of NEPCE.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NepceConfig {
    /// α in [0, 1].
    pub gain: f64,
    /// What the correction is measured against.
    pub against: Against,
    /// Whether the mean of each output over the last step takes the place of its last value.
    pub anti_aliasing: bool,
}

impl Default for NepceConfig {
    fn default() -> Self {
        NepceConfig { gain: 1.0, against: Against::default(), anti_aliasing: false }
    }
}

impl Method for NepceConfig {
    fn info(&self) -> &'static MethodInfo {
        &NEPCE
    }

    fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>> {
        if !(0.0..=1.0).contains(&self.gain) {
            return Err(bad("nepce.gain", self.gain, "must lie in [0, 1]"));
        }
        Ok(Box::new(Nepce::new(self.gain, self.against, self.anti_aliasing, hold)))
    }

    fn takes_hold(&self) -> bool {
        true
    }

    /// (b + c) times what is held: b = 1 or m, c = α (m - b e^{-x}), or against what was applied c = α (m - b d)/(1 + α d),
    /// d = e^{-x}, or e^{-x} (1 + e^{-x})/2 if it is a line.
    fn transfer(&self, signal: &Harmonic) -> Result<Option<Complex>> {
        let NepceConfig { gain, against, anti_aliasing } = *self;
        let (mean, delay) = (signal.mean(), signal.delay());
        let base = if anti_aliasing { mean } else { Complex::ONE };
        let correction = match against {
            Against::Extrapolated => (mean - base * delay) * gain,
            Against::Applied => {
                let given = match signal.hold {
                    Hold::Constant => delay,
                    Hold::Continuous => delay * (Complex::ONE + delay) * 0.5,
                };
                (mean - base * given) * gain / (Complex::ONE + given * gain)
            }
        };
        Ok(Some((base + correction) * signal.held()))
    }

    fn at_level(&self, level: usize) -> Option<CouplingConfig> {
        Some(NepceConfig { gain: gain_at(level), ..*self }.into())
    }
}

/// The method.
#[derive(Debug)]
struct Nepce {
    deferred: Deferred,
    anti_aliasing: bool,
    hold: Hold,
    /// Size of the last step.
    size: f64,
}

impl Nepce {
    fn new(gain: f64, against: Against, anti_aliasing: bool, hold: Hold) -> Self {
        Nepce { deferred: Deferred::new(against, gain), anti_aliasing, hold, size: 0.0 }
    }
}

impl Coupling for Nepce {
    fn needs(&self) -> Needs {
        Needs {
            depth: 1,
            terms: terms_of(self.hold),
            samples: Some(Request::SolverPoints),
            steps: StepNeeds::OneRate,
            ..Needs::default()
        }
    }

    fn start(&mut self, view: &View<'_>, _inputs: &[InputId]) -> Result<()> {
        self.size = view.step.size;
        self.deferred.start(view)
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.deferred.follow_jumps(view);
        let means = std::mem::take(&mut self.deferred.means);
        self.deferred.prepare(view, self.size, |wire| wire.gain * means[wire.source]);
        self.deferred.means = means;
        self.size = view.step.size;
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        for &input in inputs {
            let newest = if self.anti_aliasing {
                let wires = &view.graph.wires()[view.graph.wires_into(input)];
                let means = wires.iter().map(|wire| wire.gain * self.deferred.means[wire.source]);
                view.graph.offset(input) + means.sum::<f64>()
            } else {
                view.arrival(input)
            };
            let value = newest + self.deferred.correction[input];
            write_value(self.hold, view, input, value, out.of(input));
        }
        Ok(())
    }

    fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.deferred.note(view, subsystem, samples);
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        tape.number(&mut self.size);
        self.deferred.state(tape);
    }
}
