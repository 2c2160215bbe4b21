//! Largest stable steps of holds, against matrices written here.

use super::by_hand::{Master, Rows, Slave, radius};
use super::linear;
use crate::cases::case;
use koppel::analysis::{LinearSystem, Scan, StepMatrix, stable_steps};
use koppel::coupling::{CouplingConfig, Hold};
use koppel::linalg::Matrix;
use koppel::run::{Reading, Run, RunConfig, ScheduleConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};
use std::f64::consts::PI;

pub(crate) fn rows<const N: usize>(list: &[[f64; N]]) -> Rows {
    list.iter().map(|row| row.to_vec()).collect()
}

fn mass(m: f64, c: f64, d: f64) -> Rows {
    rows(&[[0.0, 1.0], [-c / m, -d / m]])
}

/// Motion out, force in.
pub(crate) fn pushed(m: f64, c: f64, d: f64) -> Slave {
    Slave {
        a: mass(m, c, d),
        b: rows(&[[0.0], [1.0 / m]]),
        c: rows(&[[1.0, 0.0], [0.0, 1.0]]),
        d: rows(&[[0.0], [0.0]]),
        euler: None,
    }
}

/// Motion of the other side in, force of a spring and damper on it out.
pub(crate) fn sprung(m: f64, [c, d]: [f64; 2], [ck, dk]: [f64; 2]) -> Slave {
    Slave {
        a: mass(m, c + ck, d + dk),
        b: rows(&[[0.0, 0.0], [ck / m, dk / m]]),
        c: rows(&[[ck, dk]]),
        d: rows(&[[-ck, -dk]]),
        euler: None,
    }
}

fn scalar(a: f64, b: f64, c: f64, d: f64) -> Slave {
    Slave { a: rows(&[[a]]), b: rows(&[[b]]), c: rows(&[[c]]), d: rows(&[[d]]), euler: None }
}

/// Slaves in the order of the case's parts, and L.
fn matrices(name: &str) -> (Vec<Slave>, Rows) {
    // Inputs (motion, motion, force) of outputs (force, motion, motion), and the other way round.
    let force_first = rows(&[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    let motion_first = rows(&[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    match name {
        "control-loop" => (
            vec![scalar(0.0, 1.0, 10.0, 10.0), scalar(-1.0, 1.0, 1.0, 0.0)],
            rows(&[[0.0, -1.0], [1.0, 0.0]]),
        ),
        "integral-loop" => {
            (vec![scalar(0.0, 1.0, 1.0, 0.0), scalar(-1.0, 1.0, 1.0, 0.0)], rows(&[[0.0, -1.0], [1.0, 0.0]]))
        }
        "feedthrough-pair" => (
            vec![scalar(-0.9, 0.5, 3.0, 1.0), scalar(-1.0, 10.0, -31.0, -0.9)],
            rows(&[[0.0, 1.0], [1.0, 0.0]]),
        ),
        "quarter-truck" => {
            (vec![sprung(400.0, [0.0; 2], [15_000.0, 1000.0]), pushed(40.0, 150_000.0, 0.0)], force_first)
        }
        "quarter-truck-wheel-force" => {
            (vec![pushed(400.0, 0.0, 0.0), sprung(40.0, [150_000.0, 0.0], [15_000.0, 1000.0])], motion_first)
        }
        "two-mass" => (vec![sprung(10.0, [1.0, 1.0], [1.0, 2.0]), pushed(10.0, 1.0, 2.0)], force_first),
        "two-mass-displacement" => {
            let side = |d: f64| Slave {
                a: mass(10.0, 2.0, d + 2.0),
                b: rows(&[[0.0, 0.0], [0.1, 0.2]]),
                c: rows(&[[1.0, 0.0], [0.0, 1.0]]),
                d: rows(&[[0.0, 0.0], [0.0, 0.0]]),
                euler: None,
            };
            let l = rows(&[
                [0.0, 0.0, 1.0, 0.0],
                [0.0, 0.0, 0.0, 1.0],
                [1.0, 0.0, 0.0, 0.0],
                [0.0, 1.0, 0.0, 0.0],
            ]);
            (vec![side(1.0), side(2.0)], l)
        }
        "dual-mass" => {
            let left = Slave { euler: Some(1e-5), ..pushed(10.0, 1e6, 1.0) };
            let right = Slave { euler: Some(1e-5), ..sprung(10.0, [1e7, 2.0], [1e5, 1e3]) };
            (vec![left, right], motion_first)
        }
        "undamped-two-mass" => {
            let (outer, middle) = (4.0 * PI * PI, 16.0 * PI * PI);
            (vec![pushed(1.0, outer, 0.0), sprung(1.0, [outer, 0.0], [middle, 0.0])], motion_first)
        }
        "random-dual-mass" => {
            let [first, second] = random_parameters();
            let [m, c, d, ck, dk] = first;
            // It integrates the other's velocity itself.
            let first = Slave {
                a: rows(&[[0.0, 1.0, 0.0], [-(c + ck) / m, -(d + dk) / m, ck / m], [0.0, 0.0, 0.0]]),
                b: rows(&[[0.0], [dk / m], [1.0]]),
                c: rows(&[[ck, dk, -ck]]),
                d: rows(&[[-dk]]),
                euler: Some(1e-3),
            };
            let second = Slave { euler: Some(1e-3), ..pushed(second[0], second[1], second[2]) };
            (vec![first, second], rows(&[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
        }
        other => unreachable!("{other}"),
    }
}

/// m, c, d, ck, dk of the random system of the case.
fn random_parameters() -> [[f64; 5]; 2] {
    let case = case("random-dual-mass").unwrap();
    let value = |part: usize, name: &str| case.parts[part].parameters.get(name).copied().unwrap_or(f64::NAN);
    [0, 1].map(|part| ["m", "c", "d", "ck", "dk"].map(|name| value(part, name)))
}

/// The helicopter's matrices are data, not code; they are taken from the models.
#[test]
fn the_helicopter_has_the_limits_of_its_matrices() {
    let case = case("helicopter").unwrap();
    let system = linear(&case);
    let lists = |m: &Matrix| -> Rows { (0..m.rows()).map(|i| m.row(i).to_vec()).collect() };
    let slaves = || -> Vec<Slave> {
        let equations = case.equations().unwrap();
        let matrices = equations.iter().map(|ode| ode.linear().unwrap());
        let slave = |s: StateSpace| Slave {
            a: lists(&s.a),
            b: lists(&s.b),
            c: lists(&s.c),
            d: lists(&s.d),
            euler: Some(2e-3),
        };
        matrices.map(slave).collect()
    };
    let graph = case.system().unwrap().graph;
    let mut l = vec![vec![0.0; graph.outputs()]; graph.inputs()];
    graph.wires().iter().for_each(|wire| l[wire.target][wire.source] += wire.gain);
    let constant = RunConfig { hold: Hold::Constant, reading: Reading::Stale, ..case.run.clone() };
    for (order, coupling, known) in
        [(0, CouplingConfig::zoh(), Some(0.196)), (1, CouplingConfig::foh(Default::default()), None)]
    {
        let master =
            Master { slaves: slaves(), l: l.clone(), order, groups: vec![vec![0, 1]], is_fresh: false };
        let limit = master.limit(0.02, 110).unwrap();
        let run = RunConfig { coupling, ..constant.clone() };
        let scan = Scan { from: 0.02, to: 0.5, per_decade: 20, accuracy: 1e-4 };
        let found = stable_steps(&system, &run, scan).unwrap();
        assert!((found[0].to / limit - 1.0).abs() < 1e-3, "{order}: {limit}, {found:?}");
        if let Some(known) = known {
            assert!((limit / known - 1.0_f64).abs() < 0.005, "{limit}");
        }
    }
}

#[test]
fn holds_have_the_limits_of_closed_forms() {
    let (mut worst, mut compared) = (0.0_f64, 0);
    for (name, from, strides) in [
        ("control-loop", 1e-3, 260),
        ("integral-loop", 1e-2, 260),
        ("feedthrough-pair", 1e-5, 260),
        ("quarter-truck", 1e-4, 260),
        ("quarter-truck-wheel-force", 1e-4, 260),
        ("two-mass", 1e-2, 260),
        ("two-mass-displacement", 1e-2, 260),
        ("dual-mass", 1e-3, 90),
        ("undamped-two-mass", 1e-2, 100),
        ("random-dual-mass", 2e-2, 90),
    ] {
        let case = case(name).unwrap();
        let system = linear(&case);
        let names: Vec<String> = case.parts.iter().map(|part| part.name.clone()).collect();
        for order in [0, 1] {
            for (groups, is_fresh) in [
                (vec![vec![0, 1]], false),
                (vec![vec![0], vec![1]], false),
                (vec![vec![1], vec![0]], false),
                (vec![vec![0, 1]], true),
            ] {
                let named = |group: &Vec<usize>| group.iter().map(|k| names[*k].clone()).collect();
                let schedule = ScheduleConfig::Groups(groups.iter().map(named).collect());
                let (slaves, l) = matrices(name);
                let limit = Master { slaves, l, order, groups, is_fresh }.limit(from, strides);
                let coupling = match order {
                    0 => CouplingConfig::zoh(),
                    _ => CouplingConfig::foh(Default::default()),
                };
                let reading = if is_fresh { Reading::Fresh } else { Reading::Stale };
                let run = RunConfig { coupling, schedule, reading, ..case.run.clone() };
                let scan =
                    Scan { from, to: from * 1.03_f64.powi(strides - 1), per_decade: 40, accuracy: 1e-5 };
                let what = format!("{name}, {:?}, {:?}, {reading:?}", run.coupling, run.schedule);
                let found = stable_steps(&system, &run, scan).unwrap();
                let first = found.first().filter(|first| first.from_is_open);
                match limit {
                    Some(limit) if limit > from => {
                        let first = first.unwrap_or_else(|| panic!("{what}: {limit}, {found:?}"));
                        let error = (first.to / limit - 1.0).abs();
                        assert!(error < 1e-3, "{what}: {limit}, {found:?}");
                        worst = worst.max(error);
                        compared += 1;
                    }
                    Some(_) => assert!(first.is_none(), "{what}: {found:?}"),
                    None => assert!(first.is_some_and(|first| first.to_is_open), "{what}: {found:?}"),
                }
            }
        }
    }
    assert!(compared > 30 && worst < 1e-4, "{compared} limits, worst {worst:e}");
}

fn builder_of(parameters: &[(f64, f64, f64)], l: &Rows) -> System {
    let mut builder = SystemBuilder::new();
    for (k, (a, b, c)) in parameters.iter().enumerate() {
        let of = |x: f64| Matrix::from_slice(1, 1, &[x]);
        let matrices = StateSpace::new("", of(*a), of(*b), of(*c), of(0.0)).unwrap();
        // One input for each of the other two.
        let inputs = vec![Variable::new("p"), Variable::new("q")];
        let wide = StateSpace { b: Matrix::from_slice(1, 2, &[*b, *b]), d: Matrix::zeros(1, 2), ..matrices };
        let ode = LinearOde::new(wide, inputs, vec![Variable::new("y")], &[0.0]).unwrap();
        let model = OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap();
        builder = builder.add(&format!("s{k}"), model);
        let sources: Vec<usize> = (0..3).filter(|j| *j != k).collect();
        for (port, source) in ["p", "q"].iter().zip(sources) {
            let wire = Connection::new(&format!("s{source}.y"), &format!("s{k}.{port}"));
            builder = builder.connect(wire.gain(l[k][source]));
        }
    }
    builder.build().unwrap()
}

/// Three slaves, two of them side by side before the third.
#[test]
fn mixed_schedules_have_the_step_matrix_of_a_master_written_by_hand() {
    let parameters = [(-1.0, 2.0, 1.0), (-0.3, 0.7, 1.5), (-2.0, -1.0, 0.4)];
    let l = rows(&[[0.0, 0.5, -1.0], [1.0, 0.0, 0.3], [0.8, -0.6, 0.0]]);
    for groups in [vec![vec![0, 1, 2]], vec![vec![0, 1], vec![2]], vec![vec![2], vec![0, 1]]] {
        let names = groups.iter().map(|g| g.iter().map(|k| format!("s{k}")).collect()).collect();
        let config = RunConfig { schedule: ScheduleConfig::Groups(names), ..RunConfig::new(10.0, 0.7) };
        let slaves = parameters.iter().map(|(a, b, c)| scalar(*a, *b, *c, 0.0)).collect();
        let master = Master { slaves, l: l.clone(), order: 0, groups, is_fresh: false };
        let phi = master.step_matrix(0.7);
        let mut run = Run::new(builder_of(&parameters, &l), &config).unwrap();
        let found = StepMatrix::of(&LinearSystem::new(&mut run).unwrap(), &config).unwrap();
        assert_eq!(found.states.len(), 3, "{:?}", found.states);
        let place = |state: &str| -> usize { state[1..2].parse().unwrap() };
        for (i, row) in found.states.iter().enumerate() {
            for (j, column) in found.states.iter().enumerate() {
                // y = c x at the start of the step.
                let (row, column) = (place(row), place(column));
                let wanted = phi[row][column] + phi[row][3 + column] * parameters[column].2;
                assert!((found.matrix[(i, j)] - wanted).abs() < 1e-12, "{i}, {j}");
            }
        }
        assert!((found.spectrum().unwrap().radius - radius(&phi)).abs() < 1e-9);
    }
}
