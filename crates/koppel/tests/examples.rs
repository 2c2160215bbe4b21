//! The examples: each runs, and its numbers are those of a closed form.

#[path = "../examples/compare_methods.rs"]
mod compare_methods;
#[path = "../examples/own_model.rs"]
mod own_model;
#[path = "../examples/stability_and_certificate.rs"]
mod stability_and_certificate;

use koppel::coupling::{CouplingConfig, StartUp, VfpsConfig};

/// Normal modes of two equal masses and three equal springs: ω² = 1 and 3. Order 2 of the first-order hold, and VFPS, which knows
/// the linear models, far below both holds.
#[test]
fn methods_against_normal_modes() {
    compare_methods::main().unwrap();
    let error = |coupling: &CouplingConfig, step| compare_methods::largest_error(coupling, step).unwrap();
    let foh = CouplingConfig::foh(StartUp::Constant);
    let (zoh, vfps) = (CouplingConfig::zoh(), CouplingConfig::from(VfpsConfig::default()));
    let order = |coupling: &CouplingConfig| (error(coupling, 0.02) / error(coupling, 0.01)).log2();
    assert!((order(&zoh) - 1.0).abs() < 0.1, "{}", order(&zoh));
    assert!((order(&foh) - 2.0).abs() < 0.1, "{}", order(&foh));
    assert!(error(&vfps, 0.1) < 0.01 * error(&foh, 0.1), "{} {}", error(&vfps, 0.1), error(&foh, 0.1));
}

/// y_{k+1} = (4 e^{-H} - 3) y_k leaves the unit circle at H = ln 2; without a cut y = e^{-4t}.
#[test]
fn stable_step_and_certificate_against_closed_forms() {
    stability_and_certificate::main().unwrap();
    let limit = stability_and_certificate::largest_stable_step().unwrap();
    assert!((limit / 2_f64.ln() - 1.0).abs() < 1e-3, "{limit}");
    for step in [0.4, 0.1, 0.01] {
        let (table, certificate) = stability_and_certificate::certified_run(step).unwrap();
        // Mean over the run, relative to the range, of both outputs: Genser 2020, (3.9), (3.10). The feedback is -3 times the plant.
        let distance = table.times.iter().zip(table.column(0)).map(|(t, y)| (y - (-4.0 * t).exp()).abs());
        let mean = distance.sum::<f64>() / (table.times.len() - 1) as f64 / (1.0 - (-8_f64).exp());
        let (error, band) = (2_f64.sqrt() * mean, certificate.overall.unwrap());
        assert!(band.low <= error && error <= band.high, "step {step}: {error} outside {band:?}");
    }
}

/// Dead beat: at the target after one step, and the demand is what holds it there.
#[test]
fn own_model_reaches_its_target_in_one_step() {
    own_model::main().unwrap();
    let table = own_model::run(0.5).unwrap();
    assert_eq!(table.rows.len(), 4);
    assert!(table.rows[0][0] == 0.0 && (table.rows[0][1] - 1.0 / (1.0 - (-0.5_f64).exp())).abs() < 1e-12);
    for row in &table.rows[1..] {
        assert!((row[0] - 1.0).abs() < 1e-12 && (row[1] - 1.0).abs() < 1e-12, "{row:?}");
    }
}
