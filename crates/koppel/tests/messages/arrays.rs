//! Arrays by their bare name, and inputs that are held.

use super::run;
use koppel::coupling::{AntiAliasingConfig, CouplingConfig, RelaxedConfig, StartUp};
use koppel::linalg::Matrix;
use koppel::run::{Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, SystemBuilder, Variable};

/// Three numbers out, three in, as arrays; and a matrix.
fn arrays() -> SystemBuilder {
    let with = |inputs: &[&str], outputs: &[&str]| {
        let (m, p) = (inputs.len(), outputs.len());
        let d = Matrix::from_fn(p, m, |_, _| 0.0);
        let c = Matrix::from_fn(p, 1, |i, _| i as f64 + 1.0);
        let matrices = StateSpace::new("s", Matrix::zeros(1, 1), Matrix::zeros(1, m), c, d).unwrap();
        let list = |names: &[&str]| names.iter().map(|name| Variable::new(*name)).collect();
        let ode = LinearOde::new(matrices, list(inputs), list(outputs), &[10.0]).unwrap();
        OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
    };
    SystemBuilder::new()
        .add("a", with(&["w"], &["y[1]", "y[2]", "y[3]", "m[1,1]", "m[1,2]", "m[2,1]", "m[2,2]", "z"]))
        .add("b", with(&["u[1]", "u[2]", "u[3]", "n[1,1]", "n[2,1]", "n[3,1]", "n[4,1]", "x"], &["q"]))
}

#[test]
fn the_bare_name_of_an_array_stands_for_its_elements() {
    let system = arrays().connect(Connection::new("a.y", "b.u").gain(2.0)).build().unwrap();
    let seen = run(system, &RunConfig::new(0.2, 0.1));
    for (name, value) in [("b.u[1]", 20.0), ("b.u[2]", 40.0), ("b.u[3]", 60.0)] {
        assert_eq!(seen[name].last(), Some(&value), "{name}");
    }
    let refused = |from: &str, to: &str| {
        arrays().connect(Connection::new(from, to)).build().map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        refused("a.m", "b.u"),
        "connection `a.m` -> `b.u`: the source has 4 values, the input 3 values"
    );
    assert_eq!(
        refused("a.z", "b.u"),
        "connection `a.z` -> `b.u`: the source has 1 value, the input 3 values"
    );
    assert_eq!(refused("a.m", "b.n"), "connection `a.m` -> `b.n`: the arrays have different shapes");
    assert!(refused("a.y[4]", "b.u[1]").starts_with("unknown output `a.y[4]`"));
    let twice = arrays()
        .connect(Connection::new("a.y", "b.u"))
        .connect(Connection::new("a.z", "b.u[2]"))
        .build()
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(twice.starts_with("input `b.u[2]` is connected by two entries"), "{twice}");
}

#[test]
fn a_held_input_is_never_extrapolated() {
    let model = |input: Variable| {
        let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
        let matrices = StateSpace::new("s", one(0.0), one(1.0), one(1.0), one(0.0)).unwrap();
        let ode = LinearOde::new(matrices, vec![input], vec![Variable::new("y")], &[0.0]).unwrap();
        OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
    };
    for coupling in [
        CouplingConfig::soh(StartUp::Constant),
        CouplingConfig::from(RelaxedConfig { alpha: 0.5 }),
        CouplingConfig::from(AntiAliasingConfig { order: 1 }),
    ] {
        let system = SystemBuilder::new()
            .add("ramp", model(Variable::new("u").start(1.0)))
            .add("sink", model(Variable::new("u").held()))
            .connect(Connection::new("ramp.y", "sink.u"))
            .build()
            .unwrap();
        let seen = run(system, &RunConfig { coupling, ..RunConfig::new(1.0, 0.1) });
        for (k, given) in seen["sink.u"].iter().enumerate().skip(1) {
            assert_eq!(
                *given,
                seen["ramp.y"][k - 1],
                "the value of the communication point, all through step {k}"
            );
        }
    }
}

#[test]
fn an_array_can_have_a_coupling_of_its_own() {
    let connections = [("b.u".to_owned(), CouplingConfig::from(RelaxedConfig { alpha: 0.5 }))].into();
    let coupling = CouplingConfig::Mixed { default: Box::new(CouplingConfig::zoh()), connections };
    let system = arrays().connect(Connection::new("a.y", "b.u")).build().unwrap();
    Run::new(system, &RunConfig { coupling, ..RunConfig::new(0.2, 0.1) }).unwrap();
}
