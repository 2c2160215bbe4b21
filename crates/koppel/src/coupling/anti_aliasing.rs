//! Anti-aliasing: extrapolates the mean of each output over the finished step instead of its last value.
//!
//!   ȳ^k = (1/H) ∫_{T^{k-1}}^{T^k} y dt,     û = hold of order n through ȳ^k, ȳ^{k-1}, ...
//!
//! From intermediate outputs; of a subsystem that gives none, from its outputs at both ends of the step. Linear models
//! with exact solution are sampled at ten points, so frequencies above 5/H still fold down there. Frequencies above 1/(2H) are damped before they fold down; the mean lags
//! by H/2, which is the price.

use super::harmonic::Harmonic;
use super::hold::{add_extrapolation, usable};
use super::method::{Method, MethodInfo, Search, SettingInfo};
use super::{Coupling, CouplingConfig, Hold, Needs, Polynomials, View, terms_of, write, write_value};
use crate::error::{Result, bad};
use crate::hinf::HoldOrder;
use crate::linalg::Complex;
use crate::signal::{History, Request, Samples};
use crate::system::{InputId, SubsystemId, Wire};
use crate::tape::Tape;
use serde::{Deserialize, Serialize};

/// The method.
pub(super) static ANTI_ALIASING: MethodInfo = MethodInfo {
    settings: &[SettingInfo {
        name: "order",
        line: "of the hold on the means, 0 or 1",
        default: "0",
        search: Some(Search { values: "0, 1", count: 2, coarse: (0, 1) }),
    }],
    order: "1",
    only_extrapolates: true,
    changes_step: Some(""),
    candidates: Vec::new,
    ..MethodInfo::new::<AntiAliasingConfig>(
        "anti-aliasing",
        "holds the mean of each output over the last step",
    )
};

/// Settings of anti-aliasing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AntiAliasingConfig {
    /// 0 or 1.
    pub order: usize,
}

impl Method for AntiAliasingConfig {
    fn info(&self) -> &'static MethodInfo {
        &ANTI_ALIASING
    }

    fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>> {
        if self.order > 1 {
            return Err(bad("anti-aliasing.order", self.order, "must be 0 or 1"));
        }
        Ok(Box::new(AntiAliasing::new(self.order, hold)))
    }

    fn takes_hold(&self) -> bool {
        self.order == 0
    }

    /// The mean of the last step, held, or extended by its line.
    fn transfer(&self, signal: &Harmonic) -> Result<Option<Complex>> {
        let given = if self.order == 0 { signal.held() } else { signal.through(HoldOrder::Foh) };
        Ok(Some(signal.mean() * given))
    }

    fn at_level(&self, level: usize) -> Option<CouplingConfig> {
        Some(AntiAliasingConfig { order: level }.into())
    }
}

/// Means of the outputs, held.
#[derive(Debug)]
struct AntiAliasing {
    order: usize,
    hold: Hold,
    means: History,
    mean: Vec<f64>,
}

impl AntiAliasing {
    /// A hold of `order` 0 or 1 on means.
    fn new(order: usize, hold: Hold) -> Self {
        AntiAliasing { order, hold, means: History::default(), mean: Vec::new() }
    }
}

impl Coupling for AntiAliasing {
    fn needs(&self) -> Needs {
        let terms = if self.order == 0 { terms_of(self.hold) } else { self.order + 1 };
        // Two arrivals: the mean of a subsystem that shows nothing inside its step is that of both ends.
        Needs { depth: 2, terms, samples: Some(Request::SolverPoints), ..Needs::default() }
    }

    fn start(&mut self, view: &View<'_>, _inputs: &[InputId]) -> Result<()> {
        let graph = view.graph;
        self.means = History::new(0, graph.wires().len(), graph.len(), self.order + 1);
        let widest = (0..graph.len()).map(|id| graph.outputs_of(id).len()).max().unwrap_or(0);
        self.mean = vec![0.0; widest];
        for id in 0..graph.len() {
            self.means.open(id..id + 1, view.history.reached(id));
        }
        for wire in 0..graph.wires().len() {
            self.means.replace(wire, view.history.newest(wire));
        }
        self.means.assume_constant_past(view.step.size);
        Ok(())
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        for subsystem in view.jumped() {
            self.means.restart(subsystem);
            for &wire in view.graph.wires_from(subsystem) {
                self.means.replace(wire, view.history.newest(wire));
            }
        }
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        for &id in inputs {
            let wires = view.graph.wires_into(id);
            let out = out.of(id);
            if self.order == 0 {
                let value = view.graph.offset(id) + wires.map(|w| self.means.newest(w)).sum::<f64>();
                write_value(self.hold, view, id, value, out);
                continue;
            }
            write(out, [view.graph.offset(id)]);
            for wire in wires {
                let from = view.graph.wires()[wire].from;
                let points = usable(&self.means.times(from)[..self.means.count(from)], view.step.size);
                let (values, times) = (&self.means.values(wire)[..points], &self.means.times(from)[..points]);
                add_extrapolation(values, times, view.step.start, out);
            }
        }
        Ok(())
    }

    fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        let outputs = view.graph.outputs_of(subsystem);
        let mean = &mut self.mean[..outputs.len()];
        let is_sampled = samples.mean(mean).is_some();
        self.means.open(subsystem..subsystem + 1, view.history.reached(subsystem));
        for &wire in view.graph.wires_from(subsystem) {
            let Wire { source, gain, .. } = view.graph.wires()[wire];
            let values = view.history.values(wire);
            let value =
                if is_sampled { mean[source - outputs.start] * gain } else { 0.5 * (values[0] + values[1]) };
            self.means.push(wire, value);
        }
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        self.means.state(tape);
    }
}
