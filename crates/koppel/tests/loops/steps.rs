//! Iteration of steps: order, accuracy, cost; and random loops.

use crate::cases::case;
use crate::members::{Calls, Static};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::linalg::{Matrix, solve, spectral_radius};
use koppel::run::{AccelerationKind, IterationConfig, IterationKind, Reading, Run, RunConfig, RunState};
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::{Connection, System, SystemBuilder};
use std::sync::Arc;

fn iteration(kind: IterationKind) -> Option<IterationConfig> {
    Some(IterationConfig { tolerance: 1e-12, ..IterationConfig::new(kind, AccelerationKind::Broyden) })
}

fn foh() -> CouplingConfig {
    CouplingConfig::foh(StartUp::Constant)
}

/// Largest error of the position of the left mass over the run, against the monolithic exact solution.
fn dual_mass_error(coupling: CouplingConfig, step: f64, kind: Option<IterationKind>) -> f64 {
    let mut case = case("dual-mass").unwrap();
    for part in &mut case.parts {
        part.solver = SolverConfig::Exact {};
    }
    let config = RunConfig {
        coupling,
        iteration: kind.and_then(iteration),
        reading: Reading::Fresh,
        ..RunConfig::new(0.05, step)
    };
    let mut coupled = Run::new(case.system().unwrap(), &config).unwrap();
    let plain = RunConfig::new(0.05, step);
    let mut reference = Run::new(case.reference().unwrap(), &plain).unwrap();
    let left = coupled.graph().find_output("left.x").unwrap();
    let place = reference.graph().ports(0).outputs.iter().position(|v| v.name == "left.x").unwrap();
    let mut largest: f64 = 0.0;
    while !coupled.is_done() {
        coupled.advance().unwrap();
        reference.advance().unwrap();
        let id = coupled.graph().subsystem_of_output(left);
        let first = coupled.graph().outputs_of(id).start;
        largest = largest.max((coupled.outputs(id)[left - first] - reference.outputs(0)[place]).abs());
    }
    largest
}

#[test]
fn iterated_steps_with_linear_inputs_have_order_two() {
    println!("H/ms    zoh       zoh iterated   foh       foh iterated   soh iterated");
    let soh = CouplingConfig::soh(StartUp::Reduced);
    let steps = [8e-4, 4e-4, 2e-4, 1e-4, 5e-5];
    let step = Some(IterationKind::Step);
    let table: Vec<[f64; 5]> = steps
        .iter()
        .map(|h| {
            let row = [
                dual_mass_error(CouplingConfig::zoh(), *h, None),
                dual_mass_error(CouplingConfig::zoh(), *h, step),
                dual_mass_error(foh(), *h, None),
                dual_mass_error(foh(), *h, step),
                dual_mass_error(soh.clone(), *h, step),
            ];
            println!(
                "{:5.2}   {:.2e}  {:.2e}       {:.2e}  {:.2e}       {:.2e}",
                h * 1e3,
                row[0],
                row[1],
                row[2],
                row[3],
                row[4]
            );
            row
        })
        .collect();
    for pair in table.windows(2) {
        let slope = |k: usize| (pair[0][k] / pair[1][k]).log2();
        println!(
            "orders  {:.2}  {:.2}  {:.2}  {:.2}  {:.2}",
            slope(0),
            slope(1),
            slope(2),
            slope(3),
            slope(4)
        );
        assert!((slope(3) - 2.0).abs() < 0.1, "{}", slope(3));
        assert!((slope(4) - 3.0).abs() < 0.15, "{}", slope(4));
    }
}

#[test]
fn with_small_steps_only_the_solver_is_left() {
    // Inputs as parabolas at 10 µs: what is left is below 1e-9 of the amplitude of 0.1 m.
    let soh = CouplingConfig::soh(StartUp::Reduced);
    let error = dual_mass_error(soh, 1e-5, Some(IterationKind::Step));
    println!("dual mass, soh iterated, H = 10 µs: {error:.2e} m");
    assert!(error < 1e-10, "{error:e}");
}

/// A loop of random gains: some members in a ring, with more connections across.
struct RandomLoop {
    gains: Matrix,
    offsets: Vec<f64>,
    radius: f64,
}

fn sine(frequency: f64) -> ExternalConfig {
    ExternalConfig::Sine { amplitude: 1.0, frequency, phase: 0.0, offset: 0.0, start: None, stop: None }
}

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl RandomLoop {
    fn new(numbers: &mut Numbers) -> Self {
        let n = 2 + (9.0 * numbers.next()) as usize;
        let mut gains = Matrix::zeros(n, n);
        for i in 0..n {
            for j in 0..n {
                let is_ring = j == (i + n - 1) % n;
                if i != j && (is_ring || numbers.next() < 0.3) {
                    gains[(i, j)] = 2.0 * numbers.next() - 1.0;
                }
            }
        }
        let wanted = 10.0 * numbers.next();
        let now = spectral_radius(&gains).unwrap();
        if now > 1e-3 {
            gains = &gains * (wanted / now);
        }
        let offsets = (0..n).map(|_| 2.0 * numbers.next() - 1.0).collect();
        let radius = spectral_radius(&gains).unwrap();
        RandomLoop { gains, offsets, radius }
    }

    fn system(&self) -> System {
        let n = self.offsets.len();
        let mut builder = SystemBuilder::new();
        for i in 0..n {
            let sources: Vec<usize> = (0..n).filter(|j| self.gains[(i, *j)] != 0.0).collect();
            let names: Vec<String> = sources.iter().map(|j| format!("u{j}")).collect();
            let mut inputs: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 0.0)).collect();
            inputs.push(("e", 0.0));
            let mut row: Vec<f64> = sources.iter().map(|j| self.gains[(i, *j)]).collect();
            row.push(1.0);
            let member = Static::new(&inputs, &["y"], move |u, y| {
                y[0] = row.iter().zip(u).map(|(g, u)| g * u).sum::<f64>();
            });
            let signal = ExternalConfig::Constant { value: self.offsets[i] };
            builder = builder.external(&format!("m{i}.e"), signal);
            // From one communication point to the next it has changed altogether.
            let frequency = 1.0 + i as f64;
            builder = builder.external(&format!("m{i}.e"), sine(frequency));
            builder = builder.add(&format!("m{i}"), member);
            for j in sources {
                builder = builder.connect(Connection::new(&format!("m{j}.y"), &format!("m{i}.u{j}")));
            }
        }
        builder.build().unwrap()
    }

    /// (I - G) y = e(t).
    fn solution(&self, time: f64) -> Vec<f64> {
        let n = self.offsets.len();
        let sine = |i: usize| (std::f64::consts::TAU * (1.0 + i as f64) * time).sin();
        let rhs = Matrix::from_fn(n, 1, |i, _| self.offsets[i] + sine(i));
        solve(&(&Matrix::identity(n) - &self.gains), &rhs).unwrap().as_slice().to_vec()
    }
}

#[test]
fn two_hundred_random_loops_are_solved_or_reported() {
    use AccelerationKind::{Aitken, Broyden, FixedPoint, IqnIls, Newton};
    println!("kind      acceleration   solved  reported  evaluations per point (mean over solved)");
    for kind in [IterationKind::Outputs, IterationKind::Step] {
        for acceleration in [Broyden, Newton, IqnIls, Aitken, FixedPoint] {
            let mut numbers = Numbers(20);
            let (mut solved, mut reported, mut evaluations) = (0, 0, 0.0);
            for number in 0..200 {
                let random = RandomLoop::new(&mut numbers);
                let iteration =
                    IterationConfig { max_iterations: 100, ..IterationConfig::new(kind, acceleration) };
                let config = RunConfig { iteration: Some(iteration), ..RunConfig::new(1.0, 0.09) };
                let Ok(mut run) = Run::new(random.system(), &config) else {
                    reported += 1;
                    continue;
                };
                let mut done = Ok(());
                while done.is_ok() && !run.is_done() {
                    done = run.advance();
                    if done.is_ok() {
                        check(&run, &random, number);
                    }
                }
                match done {
                    Err(error) => {
                        let text = error.to_string();
                        assert!(text.contains("was not solved") || text.contains("became"), "{text}");
                        reported += 1;
                    }
                    Ok(()) => {
                        solved += 1;
                        evaluations += run.loop_works().map(|w| w.mean()).fold(0.0, f64::max);
                    }
                }
            }
            println!(
                "{kind:?}  {acceleration:?}  {solved}  {reported}  {:.2}",
                evaluations / f64::from(solved.max(1))
            );
            if matches!(acceleration, Broyden | Newton) {
                assert!(solved >= 195, "{kind:?} {acceleration:?}: {solved}");
            }
        }
    }
}

/// What is said to be solved is solved.
fn check(run: &Run, random: &RandomLoop, number: usize) {
    let expected = random.solution(run.time());
    let size = expected.iter().fold(0.0_f64, |most, y| most.max(y.abs()));
    for (i, expected) in expected.iter().enumerate() {
        let id = run.graph().find(&format!("m{i}")).unwrap();
        let found = run.outputs(id)[0];
        // A residual of 1e-8 may become larger by the condition of the loop.
        let error = (found - expected).abs() / size;
        assert!(error < 1e-5, "loop {number}, radius {}: {error:e}", random.radius);
    }
}

fn counted(gain: f64) -> (System, Vec<Arc<Calls>>) {
    // A loop of two, fed by one outside and feeding another.
    let members =
        [Static::gain(gain, 1.0), Static::gain(1.0, 0.5), Static::gain(0.0, 1.0), Static::gain(1.0, 0.0)];
    let calls = members.iter().map(|m| Arc::clone(&m.calls)).collect();
    let mut builder = SystemBuilder::new();
    for (name, member) in ["a", "b", "before", "after"].into_iter().zip(members) {
        builder = builder.add(name, member);
    }
    let sum = Connection { from: vec!["b.y".into(), "before.y".into()], ..Connection::new("", "a.u") };
    let system = builder
        .connect(sum)
        .connect(Connection::new("a.y", "b.u"))
        .connect(Connection::new("b.y", "after.u"))
        .external("a.u", sine(7.0))
        .build()
        .unwrap();
    (system, calls)
}

#[test]
fn only_the_loop_is_repeated() {
    for gain in [0.5, -4.0] {
        let (system, calls) = counted(gain);
        let config = RunConfig {
            iteration: iteration(IterationKind::Step),
            reading: Reading::Stale,
            ..RunConfig::new(1.0, 0.01)
        };
        let mut run = Run::new(system, &config).unwrap();
        while !run.is_done() {
            run.advance().unwrap();
        }
        let work = run.loop_works().next().unwrap().clone();
        assert_eq!(work.points, 100);
        assert_eq!((calls[0].steps(), calls[1].steps()), (work.evaluations, work.evaluations));
        assert_eq!((calls[2].steps(), calls[3].steps()), (100, 100));
        // Iterating outputs repeats no step at all.
        let (system, calls) = counted(gain);
        let config = RunConfig { iteration: iteration(IterationKind::Outputs), ..config };
        let mut run = Run::new(system, &config).unwrap();
        let before: Vec<u64> = calls.iter().map(|c| c.reads()).collect();
        while !run.is_done() {
            run.advance().unwrap();
        }
        let work = run.loop_works().next().unwrap().clone();
        assert!(calls.iter().all(|c| c.steps() == 100));
        let reads: Vec<u64> = calls.iter().zip(before).map(|(c, before)| c.reads() - before).collect();
        // Three more at the first communication point, to see that they follow their inputs.
        assert_eq!(reads, [work.evaluations + 3, work.evaluations + 3, 0, 0]);
        assert!(work.evaluations > 150);
    }
}

#[test]
fn saved_and_restored_goes_on_with_the_same_bits() {
    for kind in [IterationKind::Outputs, IterationKind::Step] {
        for acceleration in [
            AccelerationKind::Aitken,
            AccelerationKind::Broyden,
            AccelerationKind::IqnIls,
            AccelerationKind::Newton,
        ] {
            let config = RunConfig {
                iteration: Some(IterationConfig::new(kind, acceleration)),
                coupling: foh(),
                ..RunConfig::new(0.2, 1e-3)
            };
            let build = || {
                let system = crate::double_pendulum::system(4.0, None, 1e-3);
                Run::new(system, &config).unwrap()
            };
            let mut run = build();
            (0..20).for_each(|_| run.advance().unwrap());
            let mut state = RunState::default();
            run.save(&mut state).unwrap();
            let mut other = build();
            other.restore(&state).unwrap();
            for _ in 0..20 {
                run.advance().unwrap();
                other.advance().unwrap();
                for id in 0..2 {
                    assert_eq!(run.outputs(id), other.outputs(id), "{kind:?} {acceleration:?}");
                }
            }
        }
    }
}

/// Seconds of a run of the double pendulum with 20 micro steps in each step, and evaluations per step.
fn timed(iteration: Option<IterationConfig>) -> (f64, f64) {
    let config = RunConfig {
        reading: Reading::Stale,
        iteration,
        threads: koppel::run::Parallel::Never,
        ..RunConfig::new(0.1, 1e-3)
    };
    let mut run = Run::new(crate::double_pendulum::system(0.25, None, 5e-5), &config).unwrap();
    let begin = std::time::Instant::now();
    while !run.is_done() {
        run.advance().unwrap();
    }
    let seconds = begin.elapsed().as_secs_f64();
    let mean = run.loop_works().next().map_or(0.0, |work| work.mean());
    (seconds, mean)
}

#[test]
fn a_converged_step_costs_no_more_than_its_evaluations() {
    // Short runs in turn, the quickest of each counts: on a busy machine it was not interrupted.
    let step = IterationConfig::new(IterationKind::Step, AccelerationKind::Broyden);
    let (mut plain, mut iterated, mut mean) = (f64::INFINITY, f64::INFINITY, 0.0);
    for _ in 0..100 {
        plain = plain.min(timed(None).0);
        let (seconds, evaluations) = timed(Some(step.clone()));
        (iterated, mean) = (iterated.min(seconds), evaluations);
    }
    println!(
        "plain {plain:.2e} s, iterated {iterated:.2e} s: {:.2} times at {mean:.2} evaluations",
        iterated / plain
    );
    assert!(iterated < 1.1 * (mean + 1.0) * plain, "{} times at {mean} evaluations", iterated / plain);
}
