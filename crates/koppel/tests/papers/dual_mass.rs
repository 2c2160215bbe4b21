//! The linear dual-mass oscillator of Genser 2020, chapter 3, with exact interface models.

use super::watched::{Trace, Watched, seen};
use super::{global_error, prestep, stale};
use crate::cases::{Case, case};
use koppel::coupling::{
    Against, ConstantConfig, CorrectorConfig, CouplingConfig, ErrorEquationConfig, NepceConfig, PrestepConfig,
};
use koppel::run::Run;
use koppel::system::Subsystem;

/// c_k and d_k of the coupling; explicit Euler 0.01 ms.
fn dual_mass(ck: f64, dk: f64) -> Case {
    let mut case = case("dual-mass").unwrap();
    case.parts[1].parameters.extend([("ck".to_owned(), ck), ("dk".to_owned(), dk)]);
    case
}

const STOP: f64 = 0.2;

/// The papers' form: no constant in the models.
fn plain(change: impl FnOnce(&mut PrestepConfig)) -> CouplingConfig {
    prestep(|config| {
        config.constant = ConstantConfig::None;
        change(config);
    })
}

/// Step 1 in parts of 0.01 ms, the subsystems' own step.
fn with_error_equation(config: &mut PrestepConfig, step: f64) {
    config.error_equation = ErrorEquationConfig::Carried;
    config.error_steps = (step / 1e-5).round() as u32;
}

/// Measures: docs/problems.md. Seen: zoh 0.755 at 1 ms; pre-step 0.067 at 9 ms (0.066 with measured constants); with step 1 0.0165.
#[test]
fn regression_pre_step_stays_close_where_zero_order_hold_has_left() {
    let case = dual_mass(2e5, 200.0);
    let error = |coupling, step| global_error(&case, &stale(coupling, STOP, step));
    assert!(error(CouplingConfig::zoh(), 1e-3) > 0.6);
    for constant in [ConstantConfig::None, ConstantConfig::Measured] {
        let seen = error(prestep(|config| config.constant = constant), 9e-3);
        assert!(seen < 0.07, "{constant:?}: {seen}");
    }
    for constant in [ConstantConfig::None, ConstantConfig::Measured] {
        for ms in [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0] {
            let step = ms * 1e-3;
            let without = error(prestep(|config| config.constant = constant), step);
            let with = error(
                prestep(|config| {
                    config.constant = constant;
                    with_error_equation(config, step);
                }),
                step,
            );
            assert!(with < without / 3.0, "{constant:?}, {ms} ms: {with} with step 1, {without} without");
        }
    }
}

/// Genser 2020, 3.3.1: unstable if one of the three signals is larger in the last 20 % of the run than in the first.
fn is_stable(coupling: &CouplingConfig, ratio: f64, step: f64) -> bool {
    let product = 10_f64.powf(7.25);
    let dk = (product / ratio).sqrt();
    let case = dual_mass(ratio * dk, dk);
    let config = stale(coupling.clone(), 0.1, step);
    let trace = Trace::default();
    let mut system = case.system().unwrap();
    let watch = |inner| -> Box<dyn Subsystem> {
        Box::new(Watched { inner, micro: 1e-5, spacing: 5e-4, trace: trace.clone() })
    };
    system.subsystems = system.subsystems.into_iter().map(watch).collect();
    let mut run = Run::new(system, &config).unwrap();
    let start: Vec<Vec<f64>> = [0, 1].map(|id| run.outputs(id).to_vec()).into();
    while !run.is_done() {
        if run.advance().is_err() {
            return false;
        }
    }
    let trace = seen(&trace);
    let amplitude = |outputs: usize, j: usize, from: f64, to: f64| {
        let within = trace.iter().filter(|(t, y)| y.len() == outputs && *t > from - 1e-9 && *t < to + 1e-9);
        let values = within.map(|(_, y)| y[j]).chain((from == 0.0).then_some(start[2 - outputs][j]));
        values.fold(0.0_f64, |most, y| most.max(y.abs()))
    };
    [(2, 0), (2, 1), (1, 0)].iter().all(|&(n, j)| amplitude(n, j, 0.08, 0.1) <= amplitude(n, j, 0.0, 0.02))
}

/// Area of the region connected to the smallest step, in ms times decades of c_k / d_k.
fn stable_area(coupling: impl Fn(f64) -> CouplingConfig) -> f64 {
    const RATIOS: usize = 71;
    let row = |k: usize| -> Vec<bool> {
        let step = 0.5e-3 * (k + 1) as f64;
        let coupling = coupling(step);
        (0..RATIOS).map(|j| is_stable(&coupling, 10_f64.powf(-2.0 + 0.1 * j as f64), step)).collect()
    };
    let rows: Vec<Vec<bool>> = (0..20).map(row).collect();
    let mut is_reached = vec![[false; RATIOS]; rows.len()];
    let mut edge: Vec<(usize, usize)> = (0..RATIOS).map(|j| (0, j)).collect();
    let mut cells = 0;
    while let Some((k, j)) = edge.pop() {
        if !rows[k][j] || std::mem::replace(&mut is_reached[k][j], true) {
            continue;
        }
        cells += 1;
        let neighbours = [(k.wrapping_sub(1), j), (k + 1, j), (k, j.wrapping_sub(1)), (k, j + 1)];
        edge.extend(neighbours.into_iter().filter(|(k, j)| *k < rows.len() && *j < RATIOS));
    }
    0.5 * 0.1 * f64::from(cells)
}

/// Genser 2020, Figure 3.52, on the grid of docs/problems.md, with half a millisecond between samples.
///
/// | method    | the thesis | others  | here                                        |
/// | zoh       | 7.5        | 4-8     | 6.2                                         |
/// | nepce     | 10.5       | 6-11    | 8.7                                         |
/// | corrector | 19.5       | 22-39   | 25.0; with Euler in the error equation 16.7, and 19.3 if reset |
/// | pre-step  | 62         | 54-62   | 61.2 (c = 0, as in the thesis), 58 (measured) |
#[test]
fn stability_areas_of_the_thesis() {
    let corrector = CouplingConfig::from(CorrectorConfig { error_steps: 50, ..CorrectorConfig::default() });
    let nepce =
        CouplingConfig::from(NepceConfig { gain: 1.0, against: Against::Extrapolated, anti_aliasing: false });
    let zoh = stable_area(|_| CouplingConfig::zoh());
    let nepce = stable_area(|_| nepce.clone());
    let corrector = stable_area(|_| corrector.clone());
    let pre_step = stable_area(|_| plain(|_| ()));
    let seen = [zoh, nepce, corrector, pre_step];
    // Zero-order hold and NEPCE differ from the thesis by a sixth of the area, the corrector by three tenths (the solver of its error
    // equation decides, as above), the pre-step method by 1.3 %.
    let published = [7.5, 10.5, 19.5, 62.0];
    for ((seen, published), apart) in seen.iter().zip(published).zip([0.2, 0.2, 0.3, 0.02]) {
        assert!((seen / published - 1.0).abs() < apart, "{seen}, the thesis has {published}");
    }
    assert!((5.5..6.5).contains(&zoh), "{seen:?}");
    assert!((8.0..9.5).contains(&nepce), "{seen:?}");
    assert!((22.0..25.01).contains(&corrector), "{seen:?}");
    assert!(pre_step >= 60.0, "{seen:?}");
}
