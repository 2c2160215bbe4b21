//! Solvers and their orders, stiff equations, coupling with native models.

use super::*;
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::linalg::Matrix;
use koppel::record::Trajectory;
use koppel::run::{Flow, Run, RunConfig};
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, SystemBuilder, Variable};

/// x and v of x'' + x = 0.3 - 2 t + 5 t², x(0) = 1, v(0) = 0.
fn answer(t: f64) -> [f64; 2] {
    let (sine, cosine) = t.sin_cos();
    [-9.7 - 2.0 * t + 5.0 * t * t + 10.7 * cosine + 2.0 * sine, -2.0 + 10.0 * t - 10.7 * sine + 2.0 * cosine]
}

/// Largest error of x, v and y = x + 0.5 u over 2 s under the parabola.
fn oscillator_error(body: &mut ModelExchange, h: f64) -> f64 {
    let mut worst: f64 = 0.0;
    start_and_drive(body, (2.0 / h).round() as u64, h, parabola, |t, outputs| {
        let [x, v] = answer(t);
        let y = x + 0.5 * (0.3 - 2.0 * t + 5.0 * t * t);
        for (found, exact) in outputs.iter().zip([x, v, y]) {
            worst = worst.max((found - exact).abs());
        }
    });
    worst
}

#[test]
fn the_input_polynomial_is_followed_inside_the_solver_with_its_full_order() {
    for version in VERSIONS {
        let fmu = OSCILLATOR.fmu(version, ALL, &[]);
        let slopes = |solver: &dyn Fn(f64) -> SolverConfig, first: f64, order: f64| {
            let sizes: Vec<f64> = (0..5).map(|k| first / 2f64.powi(k)).collect();
            let error = |step: &f64| oscillator_error(&mut instance(&fmu, &[], solver(*step)), 0.25);
            let errors: Vec<f64> = sizes.iter().map(error).collect();
            for pair in errors.windows(2) {
                let slope = (pair[0] / pair[1]).log2();
                assert!((slope - order).abs() < 0.1, "FMI {version}, order {order}: {slope}, {errors:?}");
            }
        };
        slopes(&|step| SolverConfig::Euler { step }, 1.0 / 512.0, 1.0);
        slopes(&|step| SolverConfig::Rk4 { step }, 1.0 / 8.0, 4.0);
        for (solver, bound) in
            [(adaptive(1e-6), 1e-5), (adaptive(1e-9), 1e-8), (stiff(1e-6), 1e-4), (stiff(1e-9), 1e-7)]
        {
            for h in [0.5, 0.125, 0.04] {
                let error = oscillator_error(&mut instance(&fmu, &[], solver), h);
                assert!(error < bound, "FMI {version}, {solver}, H = {h}: {error}");
            }
        }
    }
}

#[test]
fn the_solver_is_told_and_has_sensible_defaults() {
    let with = |text: &str| {
        let description = OSCILLATOR.description(3, ALL).replace("<ModelVariables>", text);
        TestFmu::new("exchange3.c", &description, &["-DMODEL=OSCILLATOR"])
    };
    let report = |fmu: &TestFmu, solver| make(fmu, &[], solver).unwrap().capabilities().solver.clone();
    assert_eq!(
        report(&with("<ModelVariables>"), None),
        "adaptive, rtol 1e-6; FMI 3.0 model exchange by the tests; inputs followed inside the solver"
    );
    let proposed = with("<DefaultExperiment tolerance=\"1e-4\"/><ModelVariables>");
    assert!(report(&proposed, None).starts_with("adaptive, rtol 1e-4; "));
    assert!(report(&proposed, Some(stiff(1e-7))).starts_with("stiff, rtol 1e-7 with the FMU's Jacobian; "));
    assert!(report(&proposed, Some(SolverConfig::Rk4 { step: 0.1 })).starts_with("rk4, step 0.1; "));
}

#[test]
fn stiff_equations_need_few_evaluations() {
    for version in VERSIONS {
        for declared in [ALL, Declared { derivatives: false, ..ALL }] {
            let fmu = TRACKER.fmu(version, declared, &[]);
            let mut body = instance(&fmu, &[], stiff(1e-6));
            start_and_drive(&mut body, 20, 0.25, nothing, |t, outputs| {
                assert!((outputs[0] - t.cos()).abs() < 1e-5, "t = {t}: {}", outputs[0] - t.cos());
            });
            let evaluations = get(&mut body, "evaluations");
            assert!(evaluations < 3000.0, "FMI {version}, {declared:?}: {evaluations}");

            // Hairer & Wanner, Solving ODEs II, and the test set for initial value problems: y(2)
            let fmu = VAN_DER_POL.fmu(version, declared, &[]);
            let mut body = instance(&fmu, &[], stiff(1e-8));
            let mut end = [0.0; 2];
            start_and_drive(&mut body, 8, 0.25, nothing, |_, outputs| end.copy_from_slice(&outputs[..2]));
            for (found, exact) in end.iter().zip([1.706_167_732_170_483, -0.892_809_701_024_797_5]) {
                assert!((found / exact - 1.0).abs() < 1e-5, "FMI {version}, {declared:?}: {end:?}");
            }
        }
    }
}

#[test]
fn an_fmu_that_leaves_its_domain_says_so() {
    for version in VERSIONS {
        let fmu = TANK.fmu(version, ALL, &[]);
        for solver in [adaptive(1e-8), stiff(1e-8), SolverConfig::Rk4 { step: 1e-3 }] {
            let mut body = instance(&fmu, &[], solver);
            start_and_drive(&mut body, 8, 0.12, nothing, |t, outputs| {
                assert!((outputs[0] - (1.0 - t)).abs() < 1e-12, "{solver}, {t}: {}", outputs[0]);
            });
            let error = drive(&mut body, 8..9, 0.12, nothing, |_, _| {}).unwrap_err();
            assert!(error.contains("Derivatives returned discard"), "{error}");
            body.initialize(0.0).unwrap();
            drive(&mut body, 0..4, 0.12, nothing, |_, _| {}).unwrap();
        }
    }
}

/// The oscillator as a native model.
fn native(m: f64, c: f64, d: f64, solver: &SolverConfig) -> OdeModel {
    let matrices = StateSpace::new(
        "oscillator",
        Matrix::from_slice(2, 2, &[0.0, 1.0, -c / m, -d / m]),
        Matrix::from_slice(2, 1, &[0.0, 1.0 / m]),
        Matrix::from_slice(3, 2, &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0]),
        Matrix::from_slice(3, 1, &[0.0, 0.0, 0.5]),
    );
    let outputs = ["x1", "x2", "y"].map(Variable::new).to_vec();
    let ode = LinearOde::new(matrices.unwrap(), vec![Variable::new("u")], outputs, &[1.0, 0.0]).unwrap();
    OdeModel::new(Box::new(ode), solver).unwrap()
}

#[test]
fn coupled_with_a_native_model_it_gives_the_numbers_of_two_native_models() {
    let run = |a: Box<dyn Subsystem>, b: Box<dyn Subsystem>, coupling: &CouplingConfig| {
        let system = SystemBuilder::new()
            .add_boxed("a", a)
            .add_boxed("b", b)
            .connect(Connection::new("a.x1", "b.u").gain(4.0))
            .connect(Connection::new("b.x1", "a.u").gain(4.0));
        let config = RunConfig { coupling: coupling.clone(), ..RunConfig::new(5.0, 0.01) };
        let mut run = Run::new(system.build().unwrap(), &config).unwrap();
        run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap();
        [run.outputs(0)[..3].to_vec(), run.outputs(1)[..3].to_vec()].concat()
    };
    let fmus = VERSIONS.map(|version| OSCILLATOR.fmu(version, ALL, &[]));
    for solver in [SolverConfig::Euler { step: 1e-3 }, SolverConfig::Rk4 { step: 1e-3 }] {
        for coupling in [&CouplingConfig::zoh(), &CouplingConfig::foh(StartUp::default())] {
            let left = || Box::new(native(1.0, 6.0, 0.1, &solver));
            let right = || Box::new(native(3.0, 9.0, 0.2, &solver));
            let reference = run(left(), right(), coupling);
            for fmu in &fmus {
                let make =
                    |p1, p2, p3| Box::new(instance(fmu, &[("p1", p1), ("p2", p2), ("p3", p3)], solver));
                for found in [
                    run(make(1.0, 6.0, 0.1), right(), coupling),
                    run(make(1.0, 6.0, 0.1), make(3.0, 9.0, 0.2), coupling),
                ] {
                    for (found, reference) in found.iter().zip(&reference) {
                        assert!((found - reference).abs() < 1e-12, "{found} against {reference}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_run_says_why() {
    let fmu = OSCILLATOR.fmu(3, ALL, &[]);
    let error = make(&fmu, &[], Some(SolverConfig::Exact {})).err().unwrap();
    assert!(error.starts_with("`body`: solver `exact` integrates linear models only"), "{error}");
    let error = make(&TestFmu::two(MASS2), &[], None).err().unwrap();
    assert!(error.ends_with("is no model-exchange FMU"), "{error}");
}
