//! The pre-step method of `koppel`, solved by the numerical methods that the papers compare.
//!
//!   step 1   ζ' = A ζ + B̄ ε                      exactly, or by Euler's method in `error_steps` parts
//!   step 2   ŷ = ỹ + M P_0(A) (S_y ỹ + S_u (L ỹ + o) + c)    P_0 exactly, or by Euler's method in `extrapolation_steps` parts
//!   step 3   G = P_1 S_u + P_0 S_d                 P_0 and P_1 exactly, or by the trapezoidal rule on `matrix_steps` parts
//!
//! Equations and symbols are those of `koppel::coupling`, `prestep.rs` and `model_based`. Genser 2020, Table 3.2; Genser & Benedikt
//! 2018. For members that move side by side, without signals from outside.

use koppel::coupling::{
    ConstantConfig, Coupling, ErrorEquationConfig, Hold, Method, MethodInfo, ModelNeeds, ModelSettings,
    Needs, Polynomials, Shape, StepNeeds, View, add_method,
};
use koppel::error::{Error, Result};
use koppel::identify::ModelConfig;
use koppel::linalg::{self, Matrix, exponential_integral, exponential_integrals, inverse, pinv};
use koppel::signal::{Request, Samples};
use koppel::system::{InputId, SubsystemId};
use koppel::tape::Tape;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Once;

static INFO: MethodInfo = MethodInfo::new::<NumericalPrestep>(
    "numerical-prestep",
    "the pre-step method solved by the numerical methods that the papers compare",
);

/// Adds the method to those that files may name.
pub(crate) fn add() {
    static ADDED: Once = Once::new();
    ADDED.call_once(|| add_method(&INFO).expect("no other method has its name"));
}

/// How a differential equation is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Solver {
    #[default]
    Exact,
    Euler,
}

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NumericalPrestep {
    pub(crate) model: ModelConfig,
    pub(crate) constant: ConstantConfig,
    pub(crate) error_equation: ErrorEquationConfig,
    pub(crate) intermediate: bool,
    pub(crate) error_solver: Solver,
    pub(crate) error_steps: u32,
    pub(crate) extrapolation: Solver,
    pub(crate) extrapolation_steps: u32,
    pub(crate) input: Shape,
    /// 0 is exact.
    pub(crate) matrix_steps: u32,
}

impl Default for NumericalPrestep {
    fn default() -> Self {
        NumericalPrestep {
            model: ModelConfig::default(),
            constant: ConstantConfig::default(),
            error_equation: ErrorEquationConfig::default(),
            intermediate: true,
            error_solver: Solver::default(),
            error_steps: 20,
            extrapolation: Solver::default(),
            extrapolation_steps: 100,
            input: Shape::default(),
            matrix_steps: 0,
        }
    }
}

impl Method for NumericalPrestep {
    fn info(&self) -> &'static MethodInfo {
        &INFO
    }

    fn build(&self, _hold: Hold) -> Result<Box<dyn Coupling>> {
        Ok(Box::new(Run { config: self.clone(), ..Run::default() }))
    }

    fn gives_slopes(&self, _hold: Hold) -> bool {
        true
    }

    fn models(&self) -> Option<ModelSettings<'_>> {
        static NOTHING: (
            BTreeMap<String, koppel::identify::Learned>,
            BTreeMap<String, koppel::identify::GivenModel>,
        ) = (BTreeMap::new(), BTreeMap::new());
        let (constant, learning) = (Some(self.constant), None);
        Some(ModelSettings { model: self.model, constant, learning, learned: &NOTHING.0, models: &NOTHING.1 })
    }
}

/// Step 3 of one subsystem.
struct Local {
    /// P_0 of the part with y, and of the part with u.
    on_outputs: Matrix,
    on_inputs: Matrix,
    /// G⁺ and I - G⁺ G.
    inverse: Matrix,
    rest: Matrix,
    /// G⁺ ρ.
    shift: Vec<f64>,
}

#[derive(Default)]
struct Run {
    config: NumericalPrestep,
    fits: Option<(u64, u64)>,
    /// A, B̄, M and S_d of the closed loop, and M P_0 of step 2.
    a: Matrix,
    b: Matrix,
    m: Matrix,
    s_d: Matrix,
    ahead: Matrix,
    /// P_0 and P_1 over a part of step 1.
    flow: Option<[Matrix; 3]>,
    locals: Vec<Local>,
    zeta: Vec<f64>,
    /// Outputs at the ends of the parts of the step under way.
    inside: Vec<Vec<f64>>,
    /// Change of ideally coupled inputs over the step.
    ideal: Vec<f64>,
}

fn wired(view: &View<'_>, y: &[f64]) -> Vec<f64> {
    let mut u = view.graph.offsets().to_vec();
    for wire in view.graph.wires() {
        u[wire.target] += wire.gain * y[wire.source];
    }
    u
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// P_0 by Euler's method: Σ (I + A h)^j h.
fn euler_integral(a: &Matrix, size: f64, count: u32) -> Matrix {
    let h = size / f64::from(count);
    let once = &Matrix::identity(a.rows()) * h;
    (1..count).fold(once.clone(), |sum, _| &(&once + &sum) + &(&(a * &sum) * h))
}

/// P_0 and P_1 by the trapezoidal rule, with exact exponentials.
fn trapezoids(a: &Matrix, size: f64, steps: u32) -> linalg::Result<[Matrix; 2]> {
    let (n, h) = (a.rows(), size / f64::from(steps));
    let over_one = &Matrix::identity(n) + &(a * &exponential_integral(a, h)?);
    let (mut sum, mut ramp, mut power) = (Matrix::zeros(n, n), Matrix::zeros(n, n), Matrix::identity(n));
    for k in 0..=steps {
        let weight = if k == 0 || k == steps { 0.5 * h } else { h };
        sum += &(&power * weight);
        ramp += &(&power * (weight * (size - h * f64::from(k))));
        power = &over_one * &power;
    }
    Ok([sum, ramp])
}

impl Run {
    fn fit(&mut self, view: &View<'_>) -> linalg::Result<()> {
        let (graph, models, size) = (view.graph, view.models, view.step.size);
        let (inputs, outputs) = (graph.inputs(), graph.outputs());
        let mut s_y = Matrix::zeros(outputs, outputs);
        let (mut by_inputs, mut s_d) = (Matrix::zeros(outputs, inputs), Matrix::zeros(outputs, inputs));
        let mut wiring = Matrix::zeros(inputs, outputs);
        graph.wires().iter().for_each(|wire| wiring[(wire.target, wire.source)] += wire.gain);
        for id in 0..graph.len() {
            let (row, column) = (graph.outputs_of(id).start, graph.inputs_of(id).start);
            s_y.set_block(row, row, &models.of(id).s_y);
            by_inputs.set_block(row, column, &models.of(id).input_matrix());
            s_d.set_block(row, column, &models.of(id).s_d);
        }
        self.m = inverse(&(&Matrix::identity(outputs) - &(&s_d * &wiring)))?;
        let lm = &wiring * &self.m;
        self.a = &s_y + &(&by_inputs * &lm);
        self.b = &by_inputs * &(&Matrix::identity(inputs) + &(&lm * &s_d));
        self.s_d = s_d;
        let part = size / f64::from(self.config.error_steps);
        let is_exact = self.config.error_solver == Solver::Exact;
        self.flow = if is_exact { Some(exponential_integrals(&self.a, part)?) } else { None };
        self.ahead = &self.m
            * &match self.config.extrapolation {
                Solver::Exact => exponential_integral(&self.a, size)?,
                Solver::Euler => euler_integral(&self.a, size, self.config.extrapolation_steps),
            };
        let local = |id| self.local(view, id);
        self.locals = (0..graph.len()).map(local).collect::<linalg::Result<_>>()?;
        Ok(())
    }

    fn local(&self, view: &View<'_>, id: SubsystemId) -> linalg::Result<Local> {
        let (model, size) = (view.models.of(id), view.step.size);
        let [on_outputs, p1, _] = exponential_integrals(&model.s_y, size)?;
        let [on_inputs, ramp] = match self.config.matrix_steps {
            0 => [on_outputs.clone(), p1],
            steps => trapezoids(&model.s_y, size, steps)?,
        };
        let g = match self.config.input {
            Shape::Constant => &(&on_inputs * &model.input_matrix()) + &model.s_d,
            Shape::Linear => &(&ramp * &model.s_u) + &(&on_inputs * &model.s_d),
        };
        // What is not connected cannot be chosen.
        let first = view.graph.inputs_of(id).start;
        let chosen = Matrix::from_fn(g.rows(), g.cols(), |row, column| {
            if view.graph.is_free(first + column) { 0.0 } else { g[(row, column)] }
        });
        let inverse = pinv(&chosen, 1e-12)?;
        let rest = &Matrix::identity(model.inputs()) - &(&inverse * &g);
        Ok(Local { on_outputs, on_inputs, inverse, rest, shift: Vec::new() })
    }

    /// δ = M (ζ + S_d ε).
    fn distance(&self, epsilon: &[f64]) -> Vec<f64> {
        let mut x = self.zeta.clone();
        self.s_d.mul_vec_add(epsilon, &mut x);
        self.m.mul_vec(&x)
    }

    /// Step 1 over the step that has ended.
    fn advance(&mut self, view: &View<'_>) {
        if self.config.error_equation == ErrorEquationConfig::Reset {
            self.zeta.fill(0.0);
        }
        let part = view.step.size / f64::from(self.config.error_steps);
        let epsilon = |node: usize, y: &[f64]| -> Vec<f64> {
            let given: Vec<f64> =
                (0..view.graph.inputs()).map(|input| view.given(input, part * node as f64)).collect();
            difference(&wired(view, y), &given)
        };
        for node in 1..self.inside.len() {
            let before = epsilon(node - 1, &self.inside[node - 1]);
            let mut rates = self.b.mul_vec(&before);
            self.a.mul_vec_add(&self.zeta, &mut rates);
            match &self.flow {
                Some([p0, p1, _]) => {
                    let change = difference(&epsilon(node, &self.inside[node]), &before);
                    let slope: Vec<f64> = change.iter().map(|change| change / part).collect();
                    p0.mul_vec_add(&rates, &mut self.zeta);
                    p1.mul_vec_add(&self.b.mul_vec(&slope), &mut self.zeta);
                }
                None => self.zeta.iter_mut().zip(rates).for_each(|(zeta, rate)| *zeta += part * rate),
            }
        }
    }
}

impl Coupling for Run {
    fn needs(&self) -> Needs {
        let is_pinned = self.config.constant == ConstantConfig::Measured;
        let nodes = if self.config.intermediate { self.config.error_steps } else { 1 };
        Needs {
            depth: 1,
            terms: 2,
            samples: (self.config.error_equation != ErrorEquationConfig::Off)
                .then_some(Request::Nodes(nodes)),
            models: Some(ModelNeeds { source: self.config.model, is_pinned }),
            steps: StepNeeds::OneRate,
            ..Needs::default()
        }
    }

    fn start(&mut self, view: &View<'_>, _inputs: &[InputId]) -> Result<()> {
        let outputs = view.graph.outputs();
        self.zeta = vec![0.0; outputs];
        self.ideal = vec![0.0; view.graph.inputs()];
        self.inside = vec![vec![0.0; outputs]; self.config.error_steps as usize + 1];
        Ok(())
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        let key = Some((view.models.version(), view.step.size.to_bits()));
        if self.fits != key {
            self.fit(view).map_err(|source| Error::Linalg { what: "the pre-step method".into(), source })?;
            self.fits = key;
        }
        let start: Vec<f64> = (0..view.graph.inputs()).map(|input| view.arrival(input)).collect();
        let epsilon = difference(&start, view.read_with);
        let mut extrapolated = self.distance(&epsilon);
        extrapolated.iter_mut().zip(view.outputs).for_each(|(ideal, y)| *ideal += y);
        let u = wired(view, &extrapolated);
        let mut rates = vec![0.0; extrapolated.len()];
        for id in 0..view.graph.len() {
            let (inputs, outputs) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            view.models.of(id).add_rates(&extrapolated[outputs.clone()], &u[inputs], &mut rates[outputs]);
        }
        self.ahead.mul_vec_add(&rates, &mut extrapolated);
        self.ideal = difference(&wired(view, &extrapolated), &start);
        for (id, local) in self.locals.iter_mut().enumerate() {
            let (inputs, outputs) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            let model = view.models.of(id);
            let mut plus = view.outputs[outputs.clone()].to_vec();
            model.s_d.mul_vec_add(&epsilon[inputs.clone()], &mut plus);
            let mut forced = model.constant.clone();
            model.s_u.mul_vec_add(&start[inputs], &mut forced);
            let rho = difference(&extrapolated[outputs], &plus);
            let rho = difference(&rho, &local.on_outputs.mul_vec(&model.s_y.mul_vec(&plus)));
            let rho = difference(&rho, &local.on_inputs.mul_vec(&forced));
            local.shift = local.inverse.mul_vec(&rho);
        }
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        for &input in inputs {
            let id = view.graph.subsystem_of_input(input);
            let (own, local) = (view.graph.inputs_of(id), &self.locals[id]);
            let row = local.rest.row(input - own.start).iter().zip(&self.ideal[own.clone()]);
            let rest: f64 = row.map(|(rest, ideal)| rest * ideal).sum();
            let (start, shift) = (view.arrival(input), local.shift[input - own.start]);
            let coefficients = match self.config.input {
                Shape::Linear => [start, rest / view.step.size + shift],
                Shape::Constant => [start + rest + shift, 0.0],
            };
            out.of(input).copy_from_slice(&coefficients);
        }
        Ok(())
    }

    fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        let range = view.graph.outputs_of(subsystem);
        let (last, times) = (samples.times().len().saturating_sub(1), self.inside.len() - 1);
        for (node, outputs) in self.inside.iter_mut().enumerate() {
            // A line between the points that are shown, which are nodes themselves or the two ends of the step.
            let place = node as f64 * last as f64 / times as f64;
            let (below, share) = (place as usize, place.fract());
            for (k, output) in range.clone().enumerate() {
                if samples.times().is_empty() {
                    outputs[output] = view.outputs[output];
                    continue;
                }
                let begin = samples.at(below)[k];
                outputs[output] = begin + share * (samples.at((below + 1).min(last))[k] - begin);
            }
        }
        if subsystem + 1 == view.graph.len() {
            self.advance(view);
        }
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        tape.values(&mut self.zeta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::case;
    use koppel::coupling::{CouplingConfig, PrestepConfig};
    use koppel::record::Trajectory;
    use koppel::run::{Flow, Reading, RunConfig};

    fn rows(coupling: CouplingConfig) -> Vec<Vec<f64>> {
        let config = RunConfig { coupling, reading: Reading::Stale, ..RunConfig::new(0.05, 1e-3) };
        let mut run = koppel::run::Run::new(case("dual-mass").unwrap().system().unwrap(), &config).unwrap();
        let mut table = Trajectory::default();
        run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
        table.rows
    }

    #[test]
    fn solved_exactly_it_is_the_method_of_koppel() {
        use ErrorEquationConfig::{Carried, Off, Reset};
        for input in [Shape::Linear, Shape::Constant] {
            for (error_equation, intermediate) in
                [(Off, true), (Carried, true), (Reset, true), (Carried, false)]
            {
                let constant = ConstantConfig::None;
                let ours = NumericalPrestep {
                    constant,
                    error_equation,
                    intermediate,
                    input,
                    ..NumericalPrestep::default()
                };
                let theirs = PrestepConfig {
                    constant,
                    error_equation,
                    intermediate,
                    input,
                    ..PrestepConfig::default()
                };
                let fine = NumericalPrestep { matrix_steps: 10_000, ..ours.clone() };
                let (ours, theirs, fine) = (rows(ours.into()), rows(theirs.into()), rows(fine.into()));
                for k in 0..theirs[0].len() {
                    let size = theirs.iter().fold(0.0_f64, |most, row| most.max(row[k].abs()));
                    for (row, (other, fine)) in ours.iter().zip(theirs.iter().zip(&fine)) {
                        let setting = format!("{input:?}, {error_equation:?}, {intermediate}, column {k}");
                        assert!(
                            (row[k] - other[k]).abs() <= 1e-9 * size,
                            "{setting}: {} {}",
                            row[k],
                            other[k]
                        );
                        assert!(
                            (fine[k] - other[k]).abs() <= 1e-5 * size,
                            "{setting}: {} {}",
                            fine[k],
                            other[k]
                        );
                    }
                }
            }
        }
    }
}
