//! Model-based couplings that cannot go on say where, when and why.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use koppel::coupling::{CorrectorConfig, CouplingConfig, PrestepConfig};
use koppel::identify::ModelConfig;
use koppel::run::{Reading, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, Ode, OdeModel, Ports, SystemBuilder, Variable};

/// x' = speed, y = g(x, u).
struct Walker {
    ports: Ports,
    speed: f64,
    output: fn(f64, f64) -> f64,
}

impl Walker {
    fn build(x0: f64, speed: f64, output: fn(f64, f64) -> f64) -> OdeModel {
        let ports = Ports {
            inputs: vec![Variable::new("u")],
            outputs: vec![Variable::new("y").fed_by(&[0])],
            locals: vec![Variable::new("x").start(x0)],
            ..Ports::default()
        };
        OdeModel::new(Box::new(Walker { ports, speed, output }), &SolverConfig::Euler { step: 0.25 }).unwrap()
    }
}

impl Ode for Walker {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn states(&self) -> usize {
        1
    }

    fn derivative(&self, _time: f64, _x: &[f64], _u: &[f64], dx: &mut [f64]) {
        dx[0] = self.speed;
    }

    fn output(&self, _time: f64, x: &[f64], u: &[f64], y: &mut [f64]) {
        y[0] = (self.output)(x[0], u[0]);
    }

    fn parameter(&self, _index: usize) -> f64 {
        f64::NAN
    }

    fn set_parameter(&mut self, _index: usize, _value: f64) -> koppel::Result<()> {
        Ok(())
    }
}

fn methods() -> Vec<CouplingConfig> {
    let model = ModelConfig::Derivatives;
    let continuous = PrestepConfig { model, ..PrestepConfig::default() };
    vec![
        CouplingConfig::from(continuous),
        CouplingConfig::from(CorrectorConfig { model, error_steps: 1, ..CorrectorConfig::default() }),
    ]
}

/// The message with which the run ends.
fn failure(coupling: CouplingConfig, first: OdeModel, second: OdeModel) -> String {
    let system = SystemBuilder::new()
        .add("first", first)
        .add("second", second)
        .connect(Connection::new("first.y", "second.u"))
        .connect(Connection::new("second.y", "first.u"))
        .build()
        .unwrap();
    let config = RunConfig { coupling, reading: Reading::Stale, ..RunConfig::new(5.0, 0.25) };
    let mut run = Run::new(system, &config).unwrap();
    loop {
        assert!(!run.is_done(), "{config:?}");
        if let Err(error) = run.advance() {
            assert!(error.hint().is_some() || error.to_string().contains("first"), "{error}");
            return error.to_string();
        }
    }
}

/// y = x u with x = t around a gain of one: at t = 1 s the loop of the models has no solution.
#[test]
fn a_loop_without_a_solution_is_told_with_its_time() {
    for coupling in methods() {
        let text =
            failure(coupling, Walker::build(0.0, 1.0, |x, u| x * u), Walker::build(0.0, 0.0, |_, u| u));
        assert!(text.contains("t = 1 s"), "{text}");
        assert!(text.contains("algebraic loop of the interface models"), "{text}");
    }
}

/// y = √x with x = 0.5 - t: at t = 0.5 s it has no derivative.
#[test]
fn a_model_without_derivatives_is_told_with_subsystem_and_time() {
    for coupling in methods() {
        let text =
            failure(coupling, Walker::build(0.5, -1.0, |x, _| x.sqrt()), Walker::build(0.0, 0.0, |_, _| 1.0));
        assert!(text.contains("`first`") && text.contains("t = 0.5 s"), "{text}");
        assert!(text.contains("not finite"), "{text}");
    }
}
