//! Random linear systems with their exact solution.

use koppel::coupling::CouplingConfig;
use koppel::linalg::{Matrix, spectral_abscissa};
use koppel::record::{Record, Trajectory};
use koppel::run::{Flow, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{
    Connection, LinearOde, Ode, OdeModel, StateSpace, System, SystemBuilder, Variable, monolith,
    monolithic_matrices,
};

/// Numbers without pattern.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Uniform between two numbers.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn count(&mut self, from: usize, to: usize) -> usize {
        (self.between(from as f64, to as f64 + 1.0) as usize).min(to)
    }

    fn matrix(&mut self, rows: usize, cols: usize, size: f64) -> Matrix {
        Matrix::from_fn(rows, cols, |_, _| self.between(-size, size))
    }
}

/// A system of two to five linear subsystems, some of them vibrating, with a stable monolith.
pub(crate) struct Example {
    parts: Vec<(StateSpace, Vec<f64>)>,
    connections: Vec<Connection>,
    pub(crate) config: RunConfig,
}

impl Example {
    /// One with so many steps.
    pub(crate) fn new(random: &mut Random, steps: f64) -> Option<Self> {
        let count = random.count(2, 5);
        Self::of(random, count, 1.5, steps)
    }

    /// One of so many subsystems with gains up to this.
    pub(crate) fn of(random: &mut Random, count: usize, gain: f64, steps: f64) -> Option<Self> {
        let mut parts = Vec::new();
        for _ in 0..count {
            let (n, m, p) = (random.count(1, 4), random.count(1, 2), random.count(1, 2));
            let a = random.matrix(n, n, 2.0);
            let shift = spectral_abscissa(&a).unwrap() + random.between(0.05, 2.0);
            let a = &a - &(&Matrix::identity(n) * shift);
            let through = if random.between(0.0, 1.0) < 0.2 { 0.3 } else { 0.0 };
            let (b, c, d) =
                (random.matrix(n, m, 1.5), random.matrix(p, n, 1.5), random.matrix(p, m, through));
            parts.push((StateSpace { a, b, c, d }, (0..n).map(|_| random.between(-1.0, 1.0)).collect()));
        }
        let mut connections = Vec::new();
        for (to, (matrices, _)) in parts.iter().enumerate() {
            for input in 1..=matrices.inputs() {
                let from = random.count(0, count - 1);
                let output = random.count(1, parts[from].0.outputs());
                let connection = Connection::new(&format!("s{from}.y{output}"), &format!("s{to}.u{input}"));
                connections.push(connection.gain(random.between(-gain, gain)));
            }
        }
        // From far below to beyond what holds can do.
        let step = 10.0_f64.powf(random.between(-2.0, 0.8));
        let coupling = match random.count(0, 3) {
            0 => CouplingConfig::foh(koppel::coupling::StartUp::Constant),
            1 => CouplingConfig::soh(koppel::coupling::StartUp::Constant),
            _ => CouplingConfig::zoh(),
        };
        let config =
            RunConfig { coupling, record: Record::One("*.y*".into()), ..RunConfig::new(steps * step, step) };
        let example = Example { parts, connections, config };
        let matrices: Vec<_> = example.parts.iter().map(|(m, _)| m.clone()).collect();
        let closed = monolithic_matrices(&example.system().graph, &matrices).ok()?;
        (spectral_abscissa(&closed.a).unwrap() < -0.05).then_some(example)
    }

    fn odes(&self) -> impl Iterator<Item = Box<dyn Ode>> + '_ {
        self.parts.iter().map(|(m, x0)| -> Box<dyn Ode> {
            let names =
                |letter: &str, count| (1..=count).map(|i| Variable::new(format!("{letter}{i}"))).collect();
            Box::new(LinearOde::new(m.clone(), names("u", m.inputs()), names("y", m.outputs()), x0).unwrap())
        })
    }

    pub(crate) fn system(&self) -> System {
        let mut builder = SystemBuilder::new();
        for (id, ode) in self.odes().enumerate() {
            builder = builder.add(&format!("s{id}"), OdeModel::new(ode, &SolverConfig::Exact {}).unwrap());
        }
        for connection in &self.connections {
            builder = builder.connect(connection.clone());
        }
        builder.build().unwrap()
    }

    /// All outputs of the closed system.
    pub(crate) fn reference(&self) -> Trajectory {
        let closed = monolith(&self.system().graph, self.odes().collect()).unwrap();
        let model = OdeModel::new(closed, &SolverConfig::Exact {}).unwrap();
        let system = SystemBuilder::new().add("m", model).build().unwrap();
        let record = Record::One("m.*y*".into());
        let mut run = Run::new(system, &RunConfig { record, ..self.config.clone() }).unwrap();
        let mut table = Trajectory::default();
        run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
        table
    }
}

/// Root mean square error relative to the range of the exact solution, of the worst column.
pub(crate) fn worst(table: &Trajectory, exact: &Trajectory) -> f64 {
    (0..table.width()).map(|j| of_column(table, exact, j)).fold(0.0, f64::max)
}

fn of_column(table: &Trajectory, exact: &Trajectory, j: usize) -> f64 {
    let (low, high) = exact.column(j).fold((f64::MAX, f64::MIN), |(l, h), y| (l.min(y), h.max(y)));
    let sum: f64 = table.column(j).zip(exact.column(j)).skip(1).map(|(a, b)| (a - b).powi(2)).sum();
    (sum / (table.rows.len() - 1) as f64).sqrt() / (high - low)
}
