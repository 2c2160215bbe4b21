//! What every method does, whatever its order: memory, windows, failures.

use super::*;

fn all_methods() -> [SolverConfig; 4] {
    [
        SolverConfig::Euler { step: 1e-3 },
        SolverConfig::Rk4 { step: 3e-2 },
        SolverConfig::Adaptive(Tolerances::default()),
        SolverConfig::Stiff(Tolerances::default()),
    ]
}

#[test]
fn restored_memory_repeats_the_same_bits() {
    for config in all_methods() {
        let mut solver = Solver::new(&config, 3).unwrap();
        let mut problem = Problem::new(3, circling);
        let mut x = [0.0, 1.0, 0.3];
        solver.advance(&mut problem, 0.0, 0.7, &mut x, &mut |_, _| {}).unwrap();
        let (memory, saved) = (solver.memory().to_vec(), x);
        let mut first = vec![];
        solver.advance(&mut problem, 0.7, 1.9, &mut x, &mut |t, x| first.push((t, x.to_vec()))).unwrap();
        solver.advance(&mut problem, 1.9, 5.0, &mut x, &mut |_, _| {}).unwrap();
        for mut other in [solver.clone(), Solver::new(&config, 3).unwrap()] {
            let mut second = vec![];
            other.set_memory(&memory);
            x = saved;
            other.advance(&mut problem, 0.7, 1.9, &mut x, &mut |t, x| second.push((t, x.to_vec()))).unwrap();
            assert_eq!(first, second, "{config:?}");
        }
    }
}

#[test]
fn windows_end_exactly_and_empty_ones_change_nothing() {
    for config in all_methods() {
        let mut solver = Solver::new(&config, 3).unwrap();
        let mut problem = Problem::new(3, circling);
        let mut x = [0.0, 1.0, 0.3];
        for k in 0..50 {
            let (t0, t1) = (f64::from(k) * 0.1, f64::from(k + 1) * 0.1);
            let mut times = vec![t0];
            solver.advance(&mut problem, t0, t1, &mut x, &mut |t, _| times.push(t)).unwrap();
            assert_eq!(times.last(), Some(&t1), "{config:?}");
            assert!(times.windows(2).all(|pair| pair[1] > pair[0]), "{times:?}");
        }
        let (before, memory, evaluations) = (x, solver.memory().to_vec(), problem.evaluations);
        solver.advance(&mut problem, 5.0, 5.0, &mut x, &mut |_, _| panic!("no step is taken")).unwrap();
        assert_eq!((x, solver.memory(), problem.evaluations), (before, &memory[..], evaluations));
        let sliver = 5f64.next_up();
        solver.advance(&mut problem, 5.0, sliver, &mut x, &mut |t, _| assert_eq!(t, sliver)).unwrap();
    }
}

#[test]
fn fixed_steps_are_counted_not_summed() {
    for (window, step, expected) in
        [(0.1, 0.01, 10), (0.3, 0.1, 3), (1.0, 1e-3, 1000), (0.25, 0.1, 3), (0.05, 0.1, 1)]
    {
        for k in [0.0, 1.0, 12_345.0] {
            let (t0, t1) = (k * window, (k + 1.0) * window);
            let mut solver = Solver::new(&SolverConfig::Euler { step }, 1).unwrap();
            let mut problem = Problem::new(1, |_, _: &[f64], dx: &mut [f64]| dx[0] = 1.0);
            let mut x = [0.0];
            let mut times = vec![];
            solver.advance(&mut problem, t0, t1, &mut x, &mut |t, _| times.push(t)).unwrap();
            assert_eq!(times.len(), expected, "{window} in steps of {step} from {t0}");
            assert!((x[0] - window).abs() < 1e-12 * t1.max(1.0));
        }
    }
}

#[test]
fn short_windows_do_not_shorten_the_remembered_step() {
    for config in [SolverConfig::Adaptive(tolerance(1e-6)), SolverConfig::Stiff(tolerance(1e-6))] {
        let mut solver = Solver::new(&config, 2).unwrap();
        let mut problem = Problem::new(2, oscillator(1.0));
        let mut x = [1.0, 0.0];
        solver.advance(&mut problem, 0.0, 20.0, &mut x, &mut |_, _| {}).unwrap();
        let natural = solver.memory()[0];
        assert!(natural > 0.05, "{natural}");
        for k in 0..100 {
            let t = 20.0 + f64::from(k) * 1e-4;
            solver.advance(&mut problem, t, t + 1e-4, &mut x, &mut |_, _| {}).unwrap();
        }
        assert!(solver.memory()[0] >= natural);
        let mut steps = 0;
        solver.advance(&mut problem, 20.01, 20.01 + natural, &mut x, &mut |_, _| steps += 1).unwrap();
        assert!(steps <= 2, "{steps}");
    }
}

#[test]
fn a_jump_between_windows_is_seen() {
    for config in [SolverConfig::Adaptive(tolerance(1e-9)), SolverConfig::Stiff(tolerance(1e-9))] {
        let mut solver = Solver::new(&config, 1).unwrap();
        let mut x = [0.0];
        for (input, t0) in [(1.0, 0.0), (-3.0, 1.0), (1e3, 2.0)] {
            let mut problem = Problem::new(1, move |_, x: &[f64], dx: &mut [f64]| dx[0] = input - x[0]);
            let expected = input + (x[0] - input) * (-1f64).exp();
            solver.advance(&mut problem, t0, t0 + 1.0, &mut x, &mut |_, _| {}).unwrap();
            assert!((x[0] - expected).abs() < 1e-8 * input.abs(), "{} {expected}", x[0]);
        }
    }
}

#[test]
fn failures_name_time_and_cause() {
    let blow_up = |_: f64, x: &[f64], dx: &mut [f64]| dx[0] = x[0] * x[0];
    for config in [SolverConfig::Adaptive(Tolerances::default()), SolverConfig::Stiff(Tolerances::default())]
    {
        let mut solver = Solver::new(&config, 1).unwrap();
        let mut x = [1.0];
        let error =
            solver.advance(&mut Problem::new(1, blow_up), 0.0, 2.0, &mut x, &mut |_, _| {}).unwrap_err();
        let (SolverError::StepUnderflow { time, .. } | SolverError::NonFinite { time, .. }) = error else {
            panic!("{error}");
        };
        assert!((time - 1.0).abs() < 1e-3, "{error}");
    }
    let missing =
        |t: f64, _: &[f64], dx: &mut [f64]| dx.copy_from_slice(&[0.0, if t > 0.5 { f64::NAN } else { 1.0 }]);
    for config in all_methods() {
        let mut solver = Solver::new(&config, 2).unwrap();
        let error = solver
            .advance(&mut Problem::new(2, missing), 0.0, 1.0, &mut [0.0; 2], &mut |_, _| {})
            .unwrap_err();
        let SolverError::NonFinite { time, index: 1, .. } = error else { panic!("{config:?}: {error}") };
        assert!((time - 0.5).abs() < 0.05, "{error}");
    }
    let few = Tolerances { max_steps: 10, ..Tolerances::default() };
    let mut solver = Solver::new(&SolverConfig::Adaptive(few), 2).unwrap();
    let error =
        solver.advance(&mut Problem::new(2, oscillator(1.0)), 0.0, 100.0, &mut [1.0, 0.0], &mut |_, _| {});
    assert!(matches!(error, Err(SolverError::TooManySteps { limit: 10, .. })), "{error:?}");
    assert!(matches!(Solver::new(&SolverConfig::Exact {}, 2), Err(SolverError::NotLinear { .. })));
}

#[test]
fn no_states_are_no_trouble() {
    for config in all_methods() {
        let mut solver = Solver::new(&config, 0).unwrap();
        let mut last = 0.0;
        let mut problem = Problem::new(0, |_, _: &[f64], _: &mut [f64]| {});
        solver.advance(&mut problem, 0.0, 1.0, &mut [], &mut |t, _| last = t).unwrap();
        assert_eq!(last, 1.0);
    }
}

#[test]
fn a_solver_stopped_and_set_back_leaps_to_the_point_in_between() {
    for config in all_methods() {
        let mut solver = Solver::new(&config, 3).unwrap();
        let mut problem = Problem::new(3, circling);
        let (mut x, mut seen) = ([0.0, 1.0, 0.3], vec![(0.0, vec![0.0, 1.0, 0.3])]);
        let reached = solver
            .advance_until(&mut problem, 0.0, 2.0, &mut x, &mut |_, t, x| {
                seen.push((t, x.to_vec()));
                if seen.len() > 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .unwrap();
        assert!(seen.len() == 6 && reached == seen[5].0 && x[..] == seen[5].1, "{config:?}");
        let memory = solver.memory().to_vec();
        let (before, start) = (seen[4].0, seen[4].1.clone());
        let mut again = start.clone();
        solver.leap(&mut problem, before, reached, &mut again).unwrap();
        assert!(again.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-14), "{config:?}: {again:?} {x:?}");
        // half the step twice is as near as the method's local error
        let middle = 0.5 * (before + reached);
        let mut twice = start;
        solver.leap(&mut problem, before, middle, &mut twice).unwrap();
        solver.leap(&mut problem, middle, reached, &mut twice).unwrap();
        let bound = if matches!(config, SolverConfig::Euler { .. }) { 1e-2 } else { 1e-5 };
        assert!(twice.iter().zip(&x).all(|(a, b)| (a - b).abs() < bound), "{config:?}: {twice:?} {x:?}");
        assert_eq!(solver.memory(), memory, "a leap leaves no trace");
    }
}
