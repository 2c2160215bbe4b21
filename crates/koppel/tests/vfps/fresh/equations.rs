//! Subsystems written as a few lines of equations.

use koppel::linalg::Matrix;
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::solver::SolverConfig;
use koppel::system::{
    Dependencies, LinearOde, Ode, OdeModel, Ports, Snapshot, StateSpace, Subsystem, Variable, VariableId,
};

type Rule = Box<dyn Fn(f64, &[f64], &[f64], &mut [f64]) + Send + Sync>;

/// x' = f(t, x, u), y = g(t, x, u).
pub(crate) struct Equations {
    ports: Ports,
    derivative: Rule,
    output: Rule,
}

fn variables(prefix: &str, count: usize) -> Vec<Variable> {
    (0..count).map(|k| Variable::new(format!("{prefix}{k}"))).collect()
}

/// A subsystem with inputs u0.., outputs y0.. and these states at the start.
pub(crate) fn model(
    micro: f64,
    inputs: usize,
    outputs: usize,
    start: &[f64],
    derivative: impl Fn(f64, &[f64], &[f64], &mut [f64]) + Send + Sync + 'static,
    output: impl Fn(f64, &[f64], &[f64], &mut [f64]) + Send + Sync + 'static,
) -> OdeModel {
    let states = start.iter().enumerate().map(|(k, x)| Variable::new(format!("x{k}")).start(*x));
    let mut given = vec![0.0; inputs];
    let (mut one, mut other) = (vec![0.0; outputs], vec![0.0; outputs]);
    let (inputs, mut outputs) = (variables("u", inputs), variables("y", outputs));
    // Which outputs follow inputs directly is seen by trying.
    for input in 0..given.len() {
        for value in [-1e3, 1.0, 1e3] {
            output(0.0, start, &given, &mut one);
            given[input] = value;
            output(0.0, start, &given, &mut other);
            given[input] = 0.0;
            for (_, variable) in outputs.iter_mut().enumerate().filter(|(k, _)| one[*k] != other[*k]) {
                let known = match &variable.depends {
                    Dependencies::On(list) => list.clone(),
                    _ => Vec::new(),
                };
                let all: Vec<usize> = known.into_iter().filter(|i| *i != input).chain([input]).collect();
                variable.depends = Dependencies::On(all);
            }
        }
    }
    let ports = Ports { inputs, outputs, locals: states.collect(), ..Ports::default() };
    let ode = Equations { ports, derivative: Box::new(derivative), output: Box::new(output) };
    OdeModel::new(Box::new(ode), &SolverConfig::Rk4 { step: micro }).expect("names are unique")
}

/// A linear subsystem with the same names, solved exactly.
pub(crate) fn linear(a: Matrix, b: Matrix, c: Matrix, start: &[f64]) -> OdeModel {
    let d = Matrix::zeros(c.rows(), b.cols());
    let (inputs, outputs) = (variables("u", b.cols()), variables("y", c.rows()));
    let matrices = StateSpace::new("linear", a, b, c, d).expect("shapes fit");
    let ode = LinearOde::new(matrices, inputs, outputs, start).expect("names fit");
    OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).expect("linear")
}

impl Ode for Equations {
    fn ports(&self) -> &Ports {
        &self.ports
    }
    fn states(&self) -> usize {
        self.ports.locals.len()
    }
    fn derivative(&self, time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        (self.derivative)(time, x, u, dx);
    }
    fn output(&self, time: f64, x: &[f64], u: &[f64], y: &mut [f64]) {
        (self.output)(time, x, u, y);
    }
    fn parameter(&self, _: usize) -> f64 {
        0.0
    }
    fn set_parameter(&mut self, _: usize, _: f64) -> koppel::Result<()> {
        Ok(())
    }
}

/// A PI controller in software: e = r(t) - u0 is sampled every `period`, its answer held; r steps from 0 to 1 at 0.1 s.
pub(crate) struct Sampled {
    ports: Ports,
    period: f64,
    gains: (f64, f64),
    ticks: f64,
    integral: f64,
    held: f64,
}

impl Sampled {
    pub(crate) fn new(period: f64, gains: (f64, f64)) -> Self {
        let ports = Ports { inputs: variables("u", 1), outputs: variables("y", 1), ..Ports::default() };
        Sampled { ports, period, gains, ticks: 0.0, integral: 0.0, held: 0.0 }
    }

    fn sample(&mut self, time: f64, measured: f64) {
        let wanted = if time >= 0.1 { 1.0 } else { 0.0 };
        let error = wanted - measured;
        self.integral += self.gains.1 * self.period * error;
        self.held = self.gains.0 * error + self.integral;
        self.ticks += 1.0;
    }
}

impl Subsystem for Sampled {
    fn ports(&self) -> &Ports {
        &self.ports
    }
    fn initialize(&mut self, _: f64) -> koppel::Result<()> {
        (self.ticks, self.integral, self.held) = (0.0, 0.0, 0.0);
        Ok(())
    }
    fn read(&mut self, _: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        outputs[0] = self.held;
        Ok(())
    }
    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> koppel::Result<()> {
        samples.clear();
        let nodes = if let Request::Nodes(nodes) = samples.request() { nodes } else { 1 };
        let is_sampled = samples.request() != Request::Nothing;
        if is_sampled {
            samples.push(step.start)[0] = self.held;
        }
        let mut measured = [0.0];
        for node in 1..=nodes {
            let end = step.start + step.size * f64::from(node) / f64::from(nodes);
            while self.ticks * self.period < end - 1e-9 * self.period {
                let time = self.ticks * self.period;
                input.values(time.max(step.start), &mut measured);
                self.sample(time, measured[0]);
            }
            if is_sampled {
                samples.push(end)[0] = self.held;
            }
        }
        outputs[0] = self.held;
        Ok(())
    }
    fn get(&mut self, _: VariableId) -> koppel::Result<f64> {
        Ok(self.held)
    }
    fn set(&mut self, _: VariableId, _: f64) -> koppel::Result<()> {
        Ok(())
    }
    fn save(&mut self, snapshot: &mut Snapshot) -> koppel::Result<()> {
        snapshot.reals.clear();
        snapshot.reals.extend([self.ticks, self.integral, self.held]);
        Ok(())
    }
    fn restore(&mut self, snapshot: &Snapshot) -> koppel::Result<()> {
        (self.ticks, self.integral, self.held) = (snapshot.reals[0], snapshot.reals[1], snapshot.reals[2]);
        Ok(())
    }
}
