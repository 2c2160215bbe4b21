//! The model-based pre-step method in continuous time.
//!
//!   step 1   ỹ = y + δ                                   outputs of an ideal coupling now              `error_equation`
//!   step 2   ŷ = ỹ + M P_0(A) (S_y ỹ + S_u (L ỹ + w) + c)      those at the end of the step ahead            `closed_loop`
//!   step 3   u(t) = L y + s (t - T^k), y(T^{k+1}) → ŷ      inputs that lead each subsystem there         `local`
//!
//! | symbol   | meaning                                       | here           |
//! | ε        | jump of the inputs at T^k, L y + w - u⁻       | `epsilon`      |
//! | w        | offsets and external signals                  | `excitation`   |
//! | P_0      | integral of the exponential over the step     | `ahead`        |
//! | L ŷ - L y | ideal change of the inputs over the step      | `ideal`        |
//!
//! Genser 2020, 2.2.1 and 2.2.3; Genser & Benedikt 2018, 2.2. Differs in: the constant c and the external signals, which
//! the papers leave out; all equations in x = y - S_d u, so that jumps of inputs are met and no derivative of a signal is
//! needed; (2.71) with its factor 2. `modified` leaves step 3 out: the inputs move to L ŷ.
//!
//! Where a source has moved already (Gauss-Seidel), its real value replaces the prediction and the input is not optimised.

use super::model_based::{
    ClosedLoop, ErrorEquation, ErrorEquationConfig, ErrorSettings, Excitation, Goal, Local, LocalSettings,
    Now, OdeMethod, Response, check_models, distance, wired,
};
use super::phase::LearningConfig;
use super::prestep_discrete::{DiscreteSettings, PrestepDiscrete};
use super::{Coupling, Hold, ModelNeeds, Needs, Polynomials, View, write};
use crate::error::{Error, Result};
use crate::identify::{Learned, ModelConfig, Quality};
use crate::linalg::{Matrix, euler_integral};
use crate::signal::Samples;
use crate::system::{InputId, SubsystemId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The form of the inputs over a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A line that begins at the newest value.
    #[default]
    Linear,
    /// One value.
    Constant,
    /// One value with the mean of the line.
    Energy,
}

/// Where the constant of a model comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConstantConfig {
    /// From the rates of the outputs at each communication point.
    #[default]
    Measured,
    /// Zero, as in the papers: right only for systems that rest at zero.
    None,
}

/// In which units the input optimisation weighs errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// As the numbers stand.
    #[default]
    Si,
    /// Relative to nominal values.
    Nominal,
}

/// Settings of the pre-step method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PrestepConfig {
    /// Where models come from.
    pub model: ModelConfig,
    /// The models' constants.
    pub constant: ConstantConfig,
    /// Step 1.
    pub error_equation: ErrorEquationConfig,
    /// Whether step 1 uses intermediate values.
    pub intermediate: bool,
    /// How step 1 is solved.
    pub error_solver: OdeMethod,
    /// Parts of the step in which step 1 is solved.
    pub error_steps: u32,
    /// How step 2 is solved.
    pub extrapolation: OdeMethod,
    /// Parts of the step in which step 2 is solved by Euler.
    pub extrapolation_steps: u32,
    /// Form of the inputs.
    pub input: Shape,
    /// What step 3 aims at.
    pub objective: Goal,
    /// Leaves step 3 out.
    pub modified: bool,
    /// Parts of the trapezoidal rule for the matrices of step 3; 0 is exact.
    pub matrix_steps: u32,
    /// Units of step 3.
    pub weights: Weights,
    /// Phases, for learned models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning: Option<LearningConfig>,
    /// Learned models to start from, by subsystem.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub learned: BTreeMap<String, Learned>,
}

impl Default for PrestepConfig {
    fn default() -> Self {
        PrestepConfig {
            model: ModelConfig::default(),
            constant: ConstantConfig::default(),
            error_equation: ErrorEquationConfig::default(),
            intermediate: true,
            error_solver: OdeMethod::default(),
            error_steps: 20,
            extrapolation: OdeMethod::default(),
            extrapolation_steps: 100,
            input: Shape::default(),
            objective: Goal::default(),
            modified: false,
            matrix_steps: 0,
            weights: Weights::default(),
            learning: None,
            learned: BTreeMap::new(),
        }
    }
}

impl PrestepConfig {
    /// Refuses settings that make no sense.
    pub(super) fn check(&self) -> Result<()> {
        let positive = [
            ("prestep.error_steps", self.error_steps),
            ("prestep.extrapolation_steps", self.extrapolation_steps),
        ];
        if let Some((what, value)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(bad(what, value, "must be at least 1"));
        }
        let at_end = matches!(self.objective, Goal::End | Goal::Trapezoid);
        if !at_end && self.extrapolation == OdeMethod::Euler {
            return Err(bad(
                "prestep.extrapolation",
                "euler",
                "goes with objective = \"end\" or \"trapezoid\"",
            ));
        }
        if !at_end && self.matrix_steps > 0 {
            let problem = "goes with objective = \"end\" or \"trapezoid\"";
            return Err(bad("prestep.matrix_steps", self.matrix_steps, problem));
        }
        Ok(())
    }

    /// The method in continuous time, or in discrete time on learned models.
    pub(super) fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>> {
        let ModelConfig::Rls(rls) = self.model else {
            if self.learning.is_some() || !self.learned.is_empty() {
                let problem = "goes with a model that is learned: model = { identify = \"rls\" }";
                return Err(bad("prestep", "learning", problem));
            }
            return Ok(Box::new(Prestep::new(self)?));
        };
        Ok(Box::new(PrestepDiscrete::new(DiscreteSettings {
            rls,
            learning: self.learning.unwrap_or_default(),
            error_equation: self.error_equation,
            intermediate: self.intermediate,
            modified: self.modified,
            learned: self.learned.clone(),
            hold,
        })?))
    }

    fn error_settings(&self) -> ErrorSettings {
        ErrorSettings {
            kind: self.error_equation,
            solver: self.error_solver,
            steps: self.error_steps,
            intermediate: self.intermediate,
        }
    }
}

fn bad(what: &str, value: impl ToString, problem: &str) -> Box<Error> {
    Error::Setting { what: what.into(), value: value.to_string(), problem: problem.into() }.into()
}

/// Relative cut-off of G⁺.
const CUTOFF: f64 = 1e-12;

/// The method.
pub(super) struct Prestep {
    config: PrestepConfig,
    /// Inputs it fills.
    is_owned: Vec<bool>,
    closed: ClosedLoop,
    /// Matrices of step 2: to the end, and to the goal; and the response to external signals.
    ahead: Ahead,
    locals: Vec<Local>,
    local_of: Vec<SubsystemId>,
    /// What the matrices were made for.
    fits: Option<(u64, u64)>,
    error: ErrorEquation,
    excitation: Excitation,
    numbers: Numbers,
    quality: Quality,
    /// Figure of each subsystem's model.
    figures: Vec<f64>,
}

#[derive(Default)]
struct Ahead {
    end: Matrix,
    goal: Matrix,
    weight: f64,
    response: Option<Response>,
}

/// Vectors over all outputs or all inputs.
#[derive(Default)]
struct Numbers {
    /// ε.
    epsilon: Vec<f64>,
    /// Inputs at the begin of the step, without and with external signals.
    start: Vec<f64>,
    start_full: Vec<f64>,
    /// ỹ, ŷ, and ŷ as the goal measures it.
    ideal_outputs: Vec<f64>,
    extrapolated: Vec<f64>,
    goal: Vec<f64>,
    /// Ideal change of the inputs.
    ideal: Vec<f64>,
    /// Inputs the outputs were last read with, with external signals: u⁻.
    last_inputs: Vec<f64>,
    /// y - S_d u at the end of the step, as the models expect it; to judge them.
    expected: Vec<f64>,
    /// True after the first step.
    is_under_way: bool,
    rates: Vec<f64>,
    scratch: Vec<f64>,
    inputs: Vec<f64>,
    slopes: Vec<f64>,
}

impl Prestep {
    pub(super) fn new(config: &PrestepConfig) -> Result<Self> {
        config.check()?;
        Ok(Prestep {
            error: ErrorEquation::new(config.error_settings(), 0, 0),
            config: config.clone(),
            is_owned: Vec::new(),
            closed: ClosedLoop::default(),
            ahead: Ahead::default(),
            locals: Vec::new(),
            local_of: Vec::new(),
            fits: None,
            excitation: Excitation::default(),
            numbers: Numbers::default(),
            quality: Quality::default(),
            figures: Vec::new(),
        })
    }

    /// All matrices for the models and the step size at hand.
    fn fit(&mut self, view: &View<'_>) -> Result<()> {
        let key = (view.models.version(), view.step.size.to_bits());
        if self.fits == Some(key) {
            return Ok(());
        }
        self.closed = ClosedLoop::new(view)?;
        self.error.fit(&self.closed, view.step.size)?;
        self.ahead = self.look_ahead(view)?;
        let is_free = self.free_inputs(view);
        let local = |id| {
            let settings = LocalSettings {
                id,
                goal: self.config.objective,
                is_constant: self.config.input == Shape::Constant,
                is_free: &is_free,
                matrix_steps: self.config.matrix_steps,
                cutoff: CUTOFF,
                nominal: self.config.weights == Weights::Nominal,
            };
            Local::new(view, &settings)
        };
        self.locals = (0..view.graph.len()).map(local).collect::<Result<_>>()?;
        self.fits = Some(key);
        Ok(())
    }

    fn look_ahead(&self, view: &View<'_>) -> Result<Ahead> {
        let ClosedLoop { a, b, m, .. } = &self.closed;
        let failed =
            |source| Error::Linalg { what: "the extrapolation of the pre-step method".into(), source };
        let size = view.step.size;
        let (weight, mut goal, _) = self.config.objective.integrals(a, size).map_err(failed)?;
        let (_, mut end, _) = Goal::End.integrals(a, size).map_err(failed)?;
        if self.config.extrapolation == OdeMethod::Euler {
            end = euler_integral(a, size, self.config.extrapolation_steps).map_err(failed)?;
            goal = end.clone();
        }
        let is_driven = !view.graph.externals().is_empty();
        let response = is_driven.then(|| Response::new(a, b.clone(), size)).transpose().map_err(failed)?;
        Ok(Ahead { end: m * &end, goal: m * &goal, weight, response })
    }

    /// Inputs that step 3 may choose: filled by this method, with a source that has not moved.
    fn free_inputs(&self, view: &View<'_>) -> Vec<bool> {
        let is_free = |input: InputId| {
            let own = view.stages[self.local_of[input]];
            let mut wires = view.graph.wires_into(input);
            self.is_owned[input]
                && !self.config.modified
                && wires.any(|wire| view.stages[view.graph.wires()[wire].from] >= own)
        };
        (0..view.graph.inputs()).map(is_free).collect()
    }

    /// Where the models expect x = y - S_d u at the end of the step, now that all inputs are known.
    fn expect(&mut self, view: &View<'_>) {
        let Numbers { expected, inputs, slopes, .. } = &mut self.numbers;
        for input in 0..inputs.len() {
            inputs[input] = view.given(input, 0.0);
            slopes[input] = (view.given(input, view.step.size) - inputs[input]) / view.step.size;
        }
        for local in &self.locals {
            let range = local.inputs.clone();
            local.add_input(&inputs[range.clone()], &slopes[range], &mut expected[local.outputs.clone()]);
        }
    }

    /// How well the models have predicted the step that has ended, Genser 2020, (2.92).
    fn judge(&mut self, view: &View<'_>) {
        self.quality.note(view.outputs);
        let Numbers { expected, scratch, last_inputs, .. } = &mut self.numbers;
        scratch.copy_from_slice(view.outputs);
        for (id, figure) in self.figures.iter_mut().enumerate() {
            let (inputs, outputs) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            let s_d = &view.models.of(id).s_d;
            let errors = &mut scratch[outputs.clone()];
            for (row, error) in errors.iter_mut().enumerate() {
                let through = s_d.row(row).iter().zip(&last_inputs[inputs.clone()]);
                *error -= through.map(|(d, u)| d * u).sum::<f64>() + expected[outputs.start + row];
            }
            *figure = self.quality.figure(outputs.start, errors);
        }
    }
}

impl Coupling for Prestep {
    fn needs(&self) -> Needs {
        let is_pinned = self.config.constant == ConstantConfig::Measured;
        Needs {
            depth: 1,
            terms: if self.config.input == Shape::Linear { 2 } else { 1 },
            samples: self.config.error_settings().request(),
            models: Some(ModelNeeds { source: self.config.model, is_pinned }),
            one_rate: true,
            after_steps: true,
            ..Needs::default()
        }
    }

    fn start(&mut self, view: &View<'_>, inputs: &[InputId]) -> Result<()> {
        let (m, n) = (view.graph.inputs(), view.graph.outputs());
        self.is_owned = vec![false; m];
        inputs.iter().for_each(|input| self.is_owned[*input] = true);
        self.local_of = (0..m).map(|input| view.graph.subsystem_of_input(input)).collect();
        check_models(view, inputs, self.config.model)?;
        self.error = ErrorEquation::new(self.config.error_settings(), m, n);
        self.excitation = Excitation::new(m);
        self.numbers = Numbers::new(m, n);
        self.quality = Quality::new(n);
        self.figures = vec![f64::NAN; view.graph.len()];
        self.fits = None;
        self.fit(view)
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.excitation.look(view);
        self.numbers.see(view, &self.excitation);
        if self.numbers.is_under_way {
            self.judge(view);
        }
        self.fit(view)?;
        let Prestep { closed, ahead, locals, error, excitation, numbers, .. } = self;
        numbers.extrapolate(view, closed, ahead, &error.zeta, excitation);
        if let (Some(response), true) = (&mut ahead.response, excitation.is_active) {
            response.answer(excitation, 0);
            let objective = self.config.objective;
            numbers.add_answer(closed, &response.moments.end, &excitation.change.end, End::Outputs);
            let (answer, change) = (objective.of(&response.moments), objective.of(&excitation.change));
            numbers.add_answer(closed, answer, change, End::Goal);
        }
        numbers.find_ideal_change(view);
        for (id, local) in locals.iter_mut().enumerate() {
            let model = view.models.of(id);
            let now = Now {
                y: &view.outputs[local.outputs.clone()],
                u0: &numbers.start_full[local.inputs.clone()],
                epsilon: &numbers.epsilon[local.inputs.clone()],
            };
            local.aim(model, &numbers.goal[local.outputs.clone()], &now, excitation);
            let x = &mut numbers.scratch[local.outputs.clone()];
            x.copy_from_slice(now.y);
            for (row, x) in x.iter_mut().enumerate() {
                let through = model.s_d.row(row).iter().zip(&numbers.last_inputs[local.inputs.clone()]);
                *x -= through.map(|(d, u)| d * u).sum::<f64>();
            }
            local.drift(model, x, excitation, &mut numbers.expected[local.outputs.clone()]);
        }
        numbers.is_under_way = true;
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        let size = view.step.size;
        let ideal = |input: InputId| self.ideal_change(view, input);
        for &input in inputs {
            let local = &self.locals[self.local_of[input]];
            let start = self.numbers.start[input];
            let out = out.of(input);
            match self.config.input {
                Shape::Linear => write(out, [start, local.change(input, 1.0 / size, ideal)]),
                Shape::Constant => write(out, [start + local.change(input, 1.0, ideal)]),
                Shape::Energy => {
                    write(out, [start + 0.5 * size * local.change(input, 1.0 / size, ideal)]);
                }
            }
        }
        Ok(())
    }

    fn moved(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        let is_last = subsystem + 1 == view.graph.len();
        if self.config.error_equation != ErrorEquationConfig::Off {
            self.error.collect(view, subsystem, samples);
            if is_last {
                self.error.advance(view, &self.closed);
            }
        }
        if is_last {
            self.expect(view);
        }
        Ok(())
    }

    fn quality(&self) -> &[f64] {
        &self.figures
    }

    fn save(&self, memory: &mut Vec<f64>) {
        self.error.save(memory);
        self.quality.save(memory);
        memory.extend_from_slice(&self.figures);
        memory.extend_from_slice(&self.numbers.expected);
        memory.push(f64::from(u8::from(self.numbers.is_under_way)));
    }

    fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        let rest = self.error.restore(memory);
        let rest = self.quality.restore(rest);
        let (figures, rest) = rest.split_at(self.figures.len());
        self.figures.copy_from_slice(figures);
        let (expected, rest) = rest.split_at(self.numbers.expected.len());
        self.numbers.expected.copy_from_slice(expected);
        self.numbers.is_under_way = rest[0] != 0.0;
        &rest[1..]
    }
}

impl Prestep {
    /// How much an ideally coupled input would change over the step; with real values where sources have moved.
    fn ideal_change(&self, view: &View<'_>, input: InputId) -> f64 {
        let own = view.stages[self.local_of[input]];
        let wires = view.graph.wires_into(input);
        let has_moved = |wire: usize| view.stages[view.graph.wires()[wire].from] < own;
        if !wires.clone().any(has_moved) {
            return self.numbers.ideal[input];
        }
        let value = |number: usize| {
            let wire = view.graph.wires()[number];
            let predicted = wire.gain * self.numbers.extrapolated[wire.source];
            if has_moved(number) { view.history.newest(number) } else { predicted }
        };
        view.graph.offset(input) + wires.map(value).sum::<f64>() - self.numbers.start[input]
    }
}

/// What an answer to external signals is added to.
#[derive(Clone, Copy)]
enum End {
    Outputs,
    Goal,
}

impl Numbers {
    fn new(inputs: usize, outputs: usize) -> Self {
        let (of_inputs, of_outputs) = (vec![0.0; inputs], vec![0.0; outputs]);
        Numbers {
            epsilon: of_inputs.clone(),
            start: of_inputs.clone(),
            start_full: of_inputs.clone(),
            last_inputs: of_inputs.clone(),
            ideal: of_inputs.clone(),
            inputs: of_inputs.clone(),
            slopes: of_inputs,
            ideal_outputs: of_outputs.clone(),
            extrapolated: of_outputs.clone(),
            goal: of_outputs.clone(),
            expected: of_outputs.clone(),
            rates: of_outputs.clone(),
            scratch: of_outputs,
            is_under_way: false,
        }
    }

    /// Inputs before and after the communication point.
    fn see(&mut self, view: &View<'_>, excitation: &Excitation) {
        for input in 0..self.start.len() {
            self.start[input] = view.arrival(input);
            self.start_full[input] = self.start[input] + excitation.start[input];
            let external = if view.is_fresh { excitation.start[input] } else { excitation.before[input] };
            self.last_inputs[input] = view.read_with[input] + external;
            self.epsilon[input] = self.start_full[input] - self.last_inputs[input];
        }
    }

    /// Steps 1 and 2: ỹ and ŷ, with external signals as they are at the begin of the step.
    fn extrapolate(
        &mut self,
        view: &View<'_>,
        closed: &ClosedLoop,
        ahead: &Ahead,
        zeta: &[f64],
        excitation: &Excitation,
    ) {
        let Numbers { epsilon, ideal_outputs, extrapolated, goal, rates, scratch, inputs, .. } = self;
        distance(closed, zeta, epsilon, scratch, ideal_outputs);
        ideal_outputs.iter_mut().zip(view.outputs).for_each(|(ideal, y)| *ideal += y);
        wired(view, ideal_outputs, inputs);
        inputs.iter_mut().zip(&excitation.start).for_each(|(u, e)| *u += e);
        rates.fill(0.0);
        for id in 0..view.graph.len() {
            let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            view.models.of(id).add_rates(&ideal_outputs[y.clone()], &inputs[u], &mut rates[y]);
        }
        extrapolated.copy_from_slice(ideal_outputs);
        ahead.end.mul_vec_add(rates, extrapolated);
        for (goal, y) in goal.iter_mut().zip(ideal_outputs.iter()) {
            *goal = ahead.weight * y;
        }
        ahead.goal.mul_vec_add(rates, goal);
    }

    /// Adds M (x + S_d ẽ), what changing external signals do.
    fn add_answer(&mut self, closed: &ClosedLoop, x: &[f64], change: &[f64], end: End) {
        self.scratch.copy_from_slice(x);
        closed.s_d.mul_vec_add(change, &mut self.scratch);
        let out = match end {
            End::Outputs => &mut self.extrapolated,
            End::Goal => &mut self.goal,
        };
        closed.m.mul_vec_add(&self.scratch, out);
    }

    fn find_ideal_change(&mut self, view: &View<'_>) {
        wired(view, &self.extrapolated, &mut self.ideal);
        self.ideal.iter_mut().zip(&self.start).for_each(|(ideal, start)| *ideal -= start);
    }
}
