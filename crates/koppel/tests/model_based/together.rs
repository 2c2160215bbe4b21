//! Several methods in one run.

use super::*;
use koppel::identify::Learned;
use std::collections::BTreeMap;

/// What there is only once in a run cannot be set twice.
#[test]
fn methods_that_learn_differently_are_not_mixed() {
    let learned = |parts: u32| {
        let learning = LearningConfig {
            kind: LearningKind::SmallStep,
            parts,
            duration: 0.5,
            ..LearningConfig::default()
        };
        CouplingConfig::from(PrestepConfig {
            model: ModelConfig::Rls(RlsConfig::default()),
            learning: Some(learning),
            ..PrestepConfig::default()
        })
    };
    let by = |order: usize, learned: &BTreeMap<String, Learned>| {
        let rls = RlsConfig { outputs: order, inputs: order, ..RlsConfig::default() };
        let (model, learned) = (ModelConfig::Rls(rls), learned.clone());
        CouplingConfig::from(PrestepConfig { model, learned, ..PrestepConfig::default() })
    };
    let constant = |constant| CouplingConfig::from(PrestepConfig { constant, ..PrestepConfig::default() });
    let case = crate::cases::case("two-mass").unwrap();
    // What two earlier runs of other lengths have learned.
    let [first, second] = [0.5, 0.7].map(|stop| {
        let coupling = by(1, &BTreeMap::new());
        run(case.system().unwrap(), &RunConfig { coupling, ..RunConfig::new(stop, 0.01) }).0.learned()
    });
    let to = &case.connections[0].to;
    for (first, second, word) in [
        (learned(3), learned(4), "one step"),
        (constant(ConstantConfig::Measured), constant(ConstantConfig::None), "one constant"),
        (by(1, &first), by(2, &first), "one model of each subsystem"),
        (by(1, &first), by(1, &second), "one model of each subsystem"),
    ] {
        let coupling =
            CouplingConfig::Mixed { default: Box::new(first), connections: [(to.clone(), second)].into() };
        let config = RunConfig { coupling, ..RunConfig::new(1.0, 0.01) };
        let refused = Run::new(case.system().unwrap(), &config).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(word), "{refused}");
    }
}

/// A method that learns its models beside one that has them from the start.
#[test]
fn known_and_learned_models_share_a_run() {
    let case = crate::cases::case("two-mass").unwrap();
    let learned = CouplingConfig::from(PrestepConfig {
        model: ModelConfig::Rls(RlsConfig::default()),
        ..PrestepConfig::default()
    });
    let default = Box::new(CouplingConfig::from(PrestepConfig::default()));
    let connections = [(case.connections[0].to.clone(), learned)].into();
    let coupling = CouplingConfig::Mixed { default, connections };
    let (run, _) = run(case.system().unwrap(), &RunConfig { coupling, ..RunConfig::new(1.0, 0.01) });
    assert!(run.is_done());
}

/// Subsystems are excited once, for one number of nodes; and the steps of VFPS beside others are taken once, which is told.
#[test]
fn vfps_beside_other_methods() {
    let case = crate::cases::case("two-mass").unwrap();
    let vfps = |nodes| CouplingConfig::from(VfpsConfig { nodes, ..VfpsConfig::default() });
    let start = |default: CouplingConfig, other: CouplingConfig| {
        let connections = [(case.connections[0].to.clone(), other)].into();
        let coupling = CouplingConfig::Mixed { default: Box::new(default), connections };
        Run::new(case.system().unwrap(), &RunConfig { coupling, ..RunConfig::new(1.0, 0.01) })
    };
    for other in [Nodes::Fixed(1), Nodes::Auto] {
        let refused = start(vfps(Nodes::Fixed(10)), vfps(other)).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("nodes"), "{refused}");
    }
    let run = start(vfps(Nodes::Fixed(10)), CouplingConfig::zoh()).unwrap();
    let remarks: String = run.remarks().iter().map(ToString::to_string).collect();
    assert!(remarks.contains("not repeated: other methods write some of the inputs"), "{remarks}");
}

/// A stiff pair by the pre-step method and a slow absorber beside it by zero-order hold, in one run: as good as the pre-step
/// method everywhere, where the hold everywhere is lost.
#[test]
fn each_connection_by_its_own_method() {
    let mut case = crate::cases::case("dual-mass").unwrap();
    case.parts[1].parameters.extend([("ck".to_owned(), 2e5), ("dk".to_owned(), 200.0)]);
    let build = || {
        let mut system = SystemBuilder::new();
        for (part, subsystem) in case.parts.iter().zip(case.system().unwrap().subsystems) {
            system = system.add_boxed(&part.name, subsystem);
        }
        let one = |value: f64| matrix(1, 1, &[value]);
        system = system.add("absorber", linear(one(-5.0), one(5.0), one(1e4), one(0.0), &[0.0]));
        for connection in &case.connections {
            system = system.connect(connection.clone());
        }
        system
            .connect(Connection::new("left.x", "absorber.u1"))
            .connect(Connection::new("absorber.y1", "left.F_ext").gain(-1.0))
            .build()
            .unwrap()
    };
    let prestep = CouplingConfig::from(PrestepConfig::default());
    let stiff = ["left.F", "right.x", "right.v"].map(|input| (input.to_owned(), prestep.clone()));
    let mixed = CouplingConfig::Mixed { default: Box::new(CouplingConfig::zoh()), connections: stiff.into() };
    let largest = |coupling: CouplingConfig| {
        let config = RunConfig { coupling, reading: Reading::Stale, ..RunConfig::new(0.2, 4e-3) };
        let (run, table) = run(build(), &config);
        let force = run.columns().iter().position(|column| column.name == "right.F").unwrap();
        table.column(force).skip(40).fold(0.0_f64, |most, y| most.max(y.abs()))
    };
    let [hold, both, all] = [CouplingConfig::zoh(), mixed, prestep].map(largest);
    assert!(hold > 10.0 * all && (both / all - 1.0).abs() < 0.05, "{hold} {both} {all}");
}
