//! The trials' common ground: fresh instances, inputs that move, what is seen of them.

use super::ProbeOptions;
use crate::description::{Variability, Variable};
use crate::ffi::Kind;
use crate::fmu::Fmu;
use crate::import::{Base, CoSimulation, ModelExchange};
use koppel::Result;
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::system::{Subsystem, VariableId, VariableKind};
use std::sync::Arc;

/// Steps before and in a trial.
pub(super) const WARM_UP: u64 = 3;
pub(super) const TRIAL: u64 = 3;

/// Most variables that are looked at.
const MOST_SEEN: usize = 500;

/// An instance of either kind.
pub(super) enum Body {
    CoSimulation(Box<CoSimulation>),
    ModelExchange(Box<ModelExchange>),
}

impl Body {
    pub(super) fn subsystem(&mut self) -> &mut dyn Subsystem {
        match self {
            Body::CoSimulation(body) => body.as_mut(),
            Body::ModelExchange(body) => body.as_mut(),
        }
    }

    pub(super) fn base(&self) -> &Base {
        match self {
            Body::CoSimulation(body) => body,
            Body::ModelExchange(body) => body,
        }
    }

    pub(super) fn base_mut(&mut self) -> &mut Base {
        match self {
            Body::CoSimulation(body) => body,
            Body::ModelExchange(body) => body,
        }
    }
}

/// How an FMU is tried.
pub(super) struct Experiment<'a> {
    pub(super) fmu: &'a Arc<Fmu>,
    pub(super) kind: Kind,
    pub(super) options: &'a ProbeOptions,
    pub(super) step: f64,
    pub(super) start: f64,
    /// Inputs at rest, and how far those that may move are moved; 0 for others.
    pub(super) rest: Vec<f64>,
    pub(super) reach: Vec<f64>,
}

impl<'a> Experiment<'a> {
    pub(super) fn new(fmu: &'a Arc<Fmu>, kind: Kind, options: &'a ProbeOptions) -> Result<Experiment<'a>> {
        let description = fmu.description();
        let proposed = description.default_experiment.unwrap_or_default();
        let fixed = description.co_simulation.as_ref().and_then(|section| section.fixed_internal_step_size);
        let sensible = |step: &f64| step.is_finite() && *step > 0.0;
        let step = options.step.or(proposed.step_size).or(fixed).filter(sensible).unwrap_or(1e-3);
        let start = proposed.start_time.unwrap_or(0.0);
        let mut experiment = Experiment { fmu, kind, options, step, start, rest: vec![], reach: vec![] };
        let mut body = experiment.instance()?;
        experiment.rest = body.subsystem().ports().inputs.iter().map(|input| input.start).collect();
        let reach = |(input, rest): (usize, &f64)| {
            reach(&description.variables[body.base().input_variable(input)], *rest)
        };
        experiment.reach = experiment.rest.iter().enumerate().map(reach).collect();
        Ok(experiment)
    }

    fn instance(&self) -> Result<Body> {
        let options = &self.options.instance;
        Ok(match self.kind {
            Kind::CoSimulation => Body::CoSimulation(Box::new(CoSimulation::new(self.fmu, options)?)),
            Kind::ModelExchange => {
                let solver = self.options.solver.as_ref();
                Body::ModelExchange(Box::new(ModelExchange::new(self.fmu, options, solver)?))
            }
        })
    }

    /// A fresh instance at its start.
    pub(super) fn fresh(&self) -> Result<Body> {
        let mut body = self.instance()?;
        self.restart(&mut body)?;
        Ok(body)
    }

    /// Back to the start.
    pub(super) fn restart(&self, body: &mut Body) -> Result<()> {
        body.subsystem().initialize(self.start)?;
        let mut outputs = vec![0.0; body.subsystem().ports().outputs.len()];
        body.subsystem().read(Some(&self.rest), &mut outputs)
    }

    /// A fresh instance after a few steps.
    pub(super) fn warm(&self) -> Result<Body> {
        let mut body = self.fresh()?;
        self.run(&mut body, 0, WARM_UP)?;
        Ok(body)
    }

    /// Whether any input may move.
    pub(super) fn moves(&self) -> bool {
        self.reach.iter().any(|reach| *reach != 0.0)
    }

    /// Inputs during step number `k`: another place in every step.
    pub(super) fn inputs(&self, k: u64) -> Vec<f64> {
        let place = [1.0, -0.5, 0.75, 0.25][(k % 4) as usize];
        self.rest.iter().zip(&self.reach).map(|(rest, reach)| rest + place * reach).collect()
    }

    /// Steps `from..from + count` under constant inputs; all that can be seen after each.
    pub(super) fn run(&self, body: &mut Body, from: u64, count: u64) -> Result<Vec<f64>> {
        let mut outputs = Vec::new();
        for k in from..from + count {
            self.advance(body, self.time(k), self.step, 1, &self.inputs(k))?;
            self.read_outputs(body, &mut outputs);
        }
        Ok(outputs)
    }

    /// Begin of step number `k`.
    pub(super) fn time(&self, k: u64) -> f64 {
        self.start + k as f64 * self.step
    }

    /// One step; `coefficients` holds `terms` for every input.
    pub(super) fn advance(
        &self,
        body: &mut Body,
        start: f64,
        size: f64,
        terms: usize,
        coefficients: &[f64],
    ) -> Result<Vec<f64>> {
        let step = Step { index: 0, start, size };
        let segment = Segment::new(&step, self.rest.len(), terms, coefficients);
        let body = body.subsystem();
        let mut outputs = vec![0.0; body.ports().outputs.len()];
        let mut samples = Samples::new(Request::Nothing, outputs.len());
        body.step(&step, &segment, &mut outputs, &mut samples)?;
        Ok(outputs)
    }

    /// Adds outputs and locals; what cannot be read is not a number.
    pub(super) fn read_outputs(&self, body: &mut Body, outputs: &mut Vec<f64>) {
        for (id, _) in self.visible(body) {
            outputs.push(body.subsystem().get(id).unwrap_or(f64::NAN));
        }
    }

    /// Outputs and locals with their names.
    pub(super) fn visible(&self, body: &mut Body) -> Vec<(VariableId, String)> {
        let ports = body.subsystem().ports();
        let is_seen = |id: &VariableId| matches!(id.kind, VariableKind::Output | VariableKind::Local);
        let all = ports.all().filter(|(id, _)| is_seen(id));
        all.take(MOST_SEEN).map(|(id, variable)| (id, variable.name.clone())).collect()
    }

    /// Where two recordings differ most; nothing if they are the same bits.
    pub(super) fn difference(&self, body: &mut Body, first: &[f64], second: &[f64]) -> Option<Difference> {
        let names = self.visible(body);
        let mut worst: Option<Difference> = None;
        for (k, (first, second)) in first.iter().zip(second).enumerate() {
            if first.to_bits() == second.to_bits() || (first.is_nan() && second.is_nan()) {
                continue;
            }
            let size = first.abs().max(second.abs()).max(1e-9);
            let relative = ((first - second).abs() / size).min(f64::MAX);
            let relative = if relative.is_nan() { f64::MAX } else { relative };
            if worst.as_ref().is_none_or(|worst| relative > worst.relative) {
                let name =
                    names.get(k % names.len().max(1)).map_or_else(String::new, |(_, name)| name.clone());
                let limit = self.options.same.unwrap_or(SAME);
                worst = Some(Difference { name, first: *first, second: *second, relative, limit });
            }
        }
        worst
    }
}

/// The largest difference of two recordings.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    pub(super) name: String,
    pub(super) first: f64,
    pub(super) second: f64,
    pub(super) relative: f64,
    limit: f64,
}

/// Bits need not be the same, digits must.
const SAME: f64 = 1e-9;

impl Difference {
    pub(super) fn is_small(&self) -> bool {
        self.relative <= self.limit
    }

    /// `v` is 0.3 instead of 0.5.
    pub(super) fn text(&self) -> String {
        format!("`{}` is {} instead of {}", self.name, self.second, self.first)
    }
}

/// How far an input may be moved from its rest within its limits.
fn reach(variable: &Variable, rest: f64) -> f64 {
    if variable.variability != Variability::Continuous || !variable.value_type.is_float() {
        return 0.0;
    }
    let attributes = &variable.attributes;
    let nominal = attributes.nominal.filter(|nominal| nominal.is_finite() && *nominal != 0.0);
    let wanted = 0.1 * nominal.unwrap_or(1.0).abs().max(rest.abs());
    let above = attributes.max.map_or(f64::INFINITY, |max| max - rest);
    let below = attributes.min.map_or(f64::INFINITY, |min| rest - min);
    // Half the reach is used downwards.
    wanted.min(above).min(2.0 * below).max(0.0)
}
