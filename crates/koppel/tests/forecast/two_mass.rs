//! The two-mass oscillator of Glumac & Kovacic 2018.

use super::linear;
use crate::cases::{Case, case};
use koppel::analysis::{self, StepMatrix};
use koppel::coupling::{CouplingConfig, RelaxedConfig};
use koppel::run::{Reading, RunConfig, ScheduleConfig};

/// Table 1 of the paper: an order, and α of the inputs of one slave.
fn master(order: [&str; 2], alpha: &[(&str, f64)], step: f64) -> Case {
    let case = case("two-mass").unwrap();
    let connections = alpha
        .iter()
        .map(|(input, alpha)| ((*input).to_owned(), CouplingConfig::from(RelaxedConfig { alpha: *alpha })))
        .collect();
    let coupling = match alpha.is_empty() {
        true => CouplingConfig::zoh(),
        false => CouplingConfig::Mixed { default: Box::default(), connections },
    };
    let schedule = ScheduleConfig::Order(order.map(str::to_owned).to_vec());
    let run = RunConfig { schedule, coupling, reading: Reading::Stale, step, stop: 100.0 * step, ..case.run };
    Case { run, ..case }
}

fn control_21(alpha: f64, step: f64) -> Case {
    master(["second", "first"], &[("second.F", alpha)], step)
}

fn control_12(alpha: [f64; 2], step: f64) -> Case {
    master(["first", "second"], &[("first.x", alpha[0]), ("first.v", alpha[1])], step)
}

/// (70) and (71).
#[test]
fn radius_and_consistency_of_the_paper() {
    for (case, radius, consistency) in
        [(control_21(0.6, 9.11), 0.45, 0.78), (control_12([0.59, 0.36], 8.9), 0.41, 1.1)]
    {
        let system = linear(&case);
        let matrix = StepMatrix::of(&system, &case.run).unwrap();
        let found = (matrix.spectrum().unwrap().radius, analysis::consistency(&system, &case.run).unwrap());
        assert!((found.0 - radius).abs() < 0.005, "{found:?}, {radius}");
        assert!((found.1 / consistency - 1.0).abs() < 0.05, "{found:?}, {consistency}");
    }
}

/// (63) and (64): the last stable of 100 values of ck or dk from 1e-5 to 1e5.
#[test]
fn limits_of_the_coupling_spring_and_damper() {
    let last_stable = |make: &dyn Fn() -> Case, parameter: &str| {
        let values = (0..100).map(|k| 10_f64.powf(-5.0 + 10.0 * f64::from(k) / 99.0));
        let is_stable = |value: &f64| {
            let mut case = make();
            case.parts[0].parameters.insert(parameter.into(), *value);
            StepMatrix::of(&linear(&case), &case.run).unwrap().spectrum().unwrap().radius < 1.0
        };
        values.take_while(is_stable).last().unwrap()
    };
    let seidel_12 = || master(["first", "second"], &[], 9.0);
    let seidel_21 = || master(["second", "first"], &[], 9.0);
    let control_12 = || control_12([0.59, 0.36], 9.0);
    let control_21 = || control_21(0.6, 9.0);
    let masters: [(&dyn Fn() -> Case, f64, f64); 4] = [
        (&seidel_12, 0.89, 2.26),
        (&seidel_21, 0.89, 2.26),
        (&control_12, 3.59, 1e5),
        (&control_21, 3.59, 1e5),
    ];
    for (make, spring, damper) in masters {
        let found = [last_stable(make, "ck"), last_stable(make, "dk")];
        let wanted = [spring, damper];
        let is_close = |(found, wanted): (&f64, &f64)| (found / wanted - 1.0).abs() < 0.005;
        assert!(found.iter().zip(&wanted).all(is_close), "{found:?}, {wanted:?}");
    }
}

/// e^{A h} and ∫ e^{A s} ds B, by many small steps of a Taylor series: no matrix function of the library.
fn discretize(a: [[f64; 2]; 2], b: [[f64; 2]; 2], h: f64) -> ([[f64; 2]; 2], [[f64; 2]; 2]) {
    let times = |a: [[f64; 2]; 2], b: [[f64; 2]; 2]| {
        std::array::from_fn(|i| std::array::from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
    };
    let (parts, one) = (64, [[1.0, 0.0], [0.0, 1.0]]);
    let s = h / f64::from(parts);
    let (mut step, mut integral, mut term) = (one, [[0.0; 2]; 2], one);
    for k in 1..30 {
        for i in 0..2 {
            for j in 0..2 {
                integral[i][j] += term[i][j] * s / f64::from(k);
            }
        }
        let next: [[f64; 2]; 2] = times(a, term);
        term = next.map(|row| row.map(|x| x * s / f64::from(k)));
        for i in 0..2 {
            for j in 0..2 {
                step[i][j] += term[i][j];
            }
        }
    }
    let (mut whole, mut sum) = (one, [[0.0; 2]; 2]);
    for _ in 0..parts {
        let more = times(whole, integral);
        for i in 0..2 {
            for j in 0..2 {
                sum[i][j] += more[i][j];
            }
        }
        whole = times(step, whole);
    }
    (whole, times(sum, b))
}

/// A master of these two slaves, step by step: z = (x1, v1, x2, v2, F), F as it was read last.
fn by_hand(z: &[f64], schedule: &str, step: f64) -> Vec<f64> {
    let (m, c, ck, dk) = (10.0, 1.0, 1.0, 2.0);
    let first =
        discretize([[0.0, 1.0], [-(c + ck) / m, -(1.0 + dk) / m]], [[0.0, 0.0], [ck / m, dk / m]], step);
    let second = discretize([[0.0, 1.0], [-c / m, -2.0 / m]], [[0.0, 0.0], [1.0 / m, 0.0]], step);
    let moved = |(a, b): ([[f64; 2]; 2], [[f64; 2]; 2]), x: [f64; 2], u: [f64; 2]| -> [f64; 2] {
        std::array::from_fn(|i| a[i][0] * x[0] + a[i][1] * x[1] + b[i][0] * u[0] + b[i][1] * u[1])
    };
    let (one, two) = ([z[0], z[1]], [z[2], z[3]]);
    let force = |one: [f64; 2], two: [f64; 2]| ck * (one[0] - two[0]) + dk * (one[1] - two[1]);
    let (one, two, seen) = match schedule {
        "parallel" => (moved(first, one, two), moved(second, two, [z[4], 0.0]), two),
        "first-second" => {
            let one = moved(first, one, two);
            (one, moved(second, two, [force(one, two), 0.0]), two)
        }
        _ => {
            let two = moved(second, two, [z[4], 0.0]);
            (moved(first, one, two), two, two)
        }
    };
    vec![one[0], one[1], two[0], two[1], force(one, seen)]
}

#[test]
fn step_matrices_are_those_of_a_master_written_by_hand() {
    let order = |names: [&str; 2]| ScheduleConfig::Order(names.map(str::to_owned).to_vec());
    let schedules = [
        ("parallel", ScheduleConfig::PARALLEL),
        ("first-second", order(["first", "second"])),
        ("second-first", order(["second", "first"])),
    ];
    let names = ["first.x[1]", "first.x[2]", "second.x[1]", "second.x[2]", "first.F"];
    for (name, schedule) in schedules {
        for step in [0.2, 1.0, 9.0] {
            let case = case("two-mass").unwrap();
            let run =
                RunConfig { schedule: schedule.clone(), reading: Reading::Stale, step, ..case.run.clone() };
            let matrix = StepMatrix::of(&linear(&case), &run).unwrap();
            let mut worst = 0.0_f64;
            for (j, state) in matrix.states.iter().enumerate() {
                let at = names.iter().position(|name| name == state).expect(state);
                let mut unit = [0.0; 5];
                unit[at] = 1.0;
                if !matrix.states.iter().any(|state| state == "first.F") {
                    // It is a function of the states then: `first` moves last, with what `second` gives.
                    unit[4] = (unit[0] - unit[2]) + 2.0 * (unit[1] - unit[3]);
                }
                let column = by_hand(&unit, name, step);
                for (i, state) in matrix.states.iter().enumerate() {
                    let row = names.iter().position(|name| name == state).unwrap();
                    worst = worst.max((matrix.matrix[(i, j)] - column[row]).abs());
                }
            }
            assert!(
                matrix.states.len() >= 4 && worst < 1e-12,
                "{name}, {step}: {worst:e}, {:?}",
                matrix.states
            );
        }
    }
}
