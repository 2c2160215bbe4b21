//! A thousand random systems: the pre-step method beside zero-order hold.

use super::{linear, run};
use koppel::coupling::{CouplingConfig, PrestepConfig};
use koppel::linalg::{Matrix, spectral_abscissa};
use koppel::record::{Record, Trajectory};
use koppel::run::{Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{
    Connection, LinearOde, Ode, OdeModel, StateSpace, System, SystemBuilder, Variable, monolith,
    monolithic_matrices,
};

/// Numbers without pattern.
struct Random(u64);

impl Random {
    /// Uniform in [0, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }

    fn count(&mut self, from: usize, to: usize) -> usize {
        from + (self.next() * (to - from + 1) as f64) as usize
    }

    fn matrix(&mut self, rows: usize, cols: usize, size: f64) -> Matrix {
        Matrix::from_fn(rows, cols, |_, _| self.between(-size, size))
    }
}

/// A system with a stable monolith and a rest point away from zero; some with feed-through.
struct Example {
    parts: Vec<(StateSpace, Vec<f64>)>,
    connections: Vec<Connection>,
    step: f64,
}

impl Example {
    fn new(random: &mut Random) -> Option<Self> {
        let count = random.count(2, 6);
        let mut parts = Vec::new();
        for _ in 0..count {
            let (n, m, p) = (random.count(1, 4), random.count(1, 4), random.count(1, 4));
            let a = random.matrix(n, n, 2.0);
            let shift = spectral_abscissa(&a).unwrap() + random.between(0.2, 3.0);
            let a = &a - &(&Matrix::identity(n) * shift);
            let through = if random.next() < 0.3 { 0.3 } else { 0.0 };
            let matrices = StateSpace {
                a,
                b: random.matrix(n, m, 1.0),
                c: random.matrix(p, n, 1.0),
                d: random.matrix(p, m, through),
            };
            parts.push((matrices, (0..n).map(|_| random.between(-1.0, 1.0)).collect()));
        }
        let mut connections = Vec::new();
        for (to, (matrices, _)) in parts.iter().enumerate() {
            for input in 1..=matrices.inputs() {
                let from = random.count(0, count - 1);
                let output = random.count(1, parts[from].0.outputs());
                let connection = Connection::new(&format!("s{from}.y{output}"), &format!("s{to}.u{input}"));
                let connection = connection.gain(random.between(-1.5, 1.5));
                connections.push(Connection { offset: random.between(-2.0, 2.0), ..connection });
            }
        }
        let example = Example { parts, connections, step: random.between(0.02, 0.4) };
        let matrices: Vec<_> = example.parts.iter().map(|(m, _)| m.clone()).collect();
        let closed = monolithic_matrices(&example.system().graph, &matrices).ok()?;
        (spectral_abscissa(&closed.a).unwrap() < -0.05).then_some(example)
    }

    fn system(&self) -> System {
        let mut builder = SystemBuilder::new();
        for (id, (m, x0)) in self.parts.iter().enumerate() {
            let part = linear(m.a.clone(), m.b.clone(), m.c.clone(), m.d.clone(), x0);
            builder = builder.add(&format!("s{id}"), part);
        }
        for connection in &self.connections {
            builder = builder.connect(connection.clone());
        }
        builder.build().unwrap()
    }

    fn reference(&self) -> Trajectory {
        let graph = self.system().graph;
        let ode = |(m, x0): &(StateSpace, Vec<f64>)| -> Box<dyn Ode> {
            let names =
                |letter: &str, count| (1..=count).map(|i| Variable::new(format!("{letter}{i}"))).collect();
            Box::new(LinearOde::new(m.clone(), names("u", m.inputs()), names("y", m.outputs()), x0).unwrap())
        };
        let closed = monolith(&graph, self.parts.iter().map(ode).collect()).unwrap();
        let model = OdeModel::new(closed, &SolverConfig::Exact {}).unwrap();
        let system = SystemBuilder::new().add("m", model).build().unwrap();
        let record = Record::One("m.*y*".into());
        run(system, &RunConfig { record, ..self.config(CouplingConfig::zoh()) }).1
    }

    fn config(&self, coupling: CouplingConfig) -> RunConfig {
        let record = Record::One("*.y*".into());
        RunConfig { coupling, record, ..RunConfig::new(60.0 * self.step, self.step) }
    }

    /// Mean error relative to each output's range, and the worst quality figure of the run.
    fn error(&self, coupling: CouplingConfig, exact: &Trajectory) -> (f64, f64) {
        let mut run = Run::new(self.system(), &self.config(coupling)).unwrap();
        let mut table = Trajectory::default();
        let mut worst = 0.0_f64;
        run.record(&mut table).unwrap();
        while !run.is_done() {
            if let Err(error) = run.advance() {
                assert!(error.to_string().contains("t = "), "{error}");
                return (f64::INFINITY, worst);
            }
            let figures = run.model_quality().iter().map(|f| f * f).sum::<f64>().sqrt();
            worst = worst.max(figures);
            run.record(&mut table).unwrap();
        }
        let width = table.rows[0].len();
        assert_eq!(width, exact.rows[0].len());
        let of_column = |j: usize| {
            let (low, high) = exact.column(j).fold((f64::MAX, f64::MIN), |(l, h), y| (l.min(y), h.max(y)));
            let sum: f64 = table.column(j).zip(exact.column(j)).map(|(a, b)| (a - b).abs()).sum();
            assert!(sum.is_finite(), "no NaN from finite numbers");
            sum / table.rows.len() as f64 / (high - low).max(1e-3)
        };
        ((0..width).map(of_column).sum::<f64>() / width as f64, worst)
    }
}

/// Seen: the pre-step method is better in 998 of 1000, its median error is 0.04 of zero-order hold's. In two it is worse, by 2.5 and
/// by 1.2; there the models' worst quality figure was 0.26 and 6.0, above 0.21, from which on the thesis leaves step 3 out. The
/// figure is a cautious one: it passes 0.21 at some time in 394 of the 1000.
#[test]
fn a_thousand_random_systems() {
    let mut random = Random(2020);
    let mut ratios = Vec::new();
    let mut figures = Vec::new();
    let mut count = 0;
    while count < 1000 {
        let Some(example) = Example::new(&mut random) else { continue };
        count += 1;
        let exact = example.reference();
        let zoh = example.error(CouplingConfig::zoh(), &exact).0;
        let (pre_step, quality) = example.error(CouplingConfig::from(PrestepConfig::default()), &exact);
        if zoh < 0.5 {
            ratios.push(pre_step / zoh);
            figures.push(quality);
            assert!(pre_step < zoh || quality > 0.21, "worse without a word: {pre_step} {zoh} {quality}");
        }
    }
    figures.sort_by(f64::total_cmp);
    let said = figures.len() - figures.partition_point(|figure| *figure <= 0.21);
    assert!(said < figures.len() / 2, "{said} of {}: a figure that always warns says nothing", figures.len());
    ratios.sort_by(f64::total_cmp);
    assert!(ratios.len() > 900, "{} with stable zero-order hold", ratios.len());
    assert!(ratios[ratios.len() * 99 / 100] < 2.0 && ratios[ratios.len() / 2] < 0.1, "{ratios:?}");
}
