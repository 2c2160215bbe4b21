//! The linear dual-mass oscillator of Genser 2020, chapter 3, with exact interface models.

use super::watched::{Trace, Watched};
use super::{global_error, prestep, stale};
use koppel::coupling::{Against, ConstantConfig, CorrectorConfig, CouplingConfig, ErrorEquationConfig, OdeMethod};
use koppel::models::cases::{Case, case};
use koppel::run::Simulation;
use koppel::system::Subsystem;

/// c_k and d_k of the coupling; explicit Euler 0.01 ms.
fn dual_mass(ck: f64, dk: f64) -> Case {
    let mut case = case("dual-mass").unwrap();
    case.parts[1].parameters.extend([("ck".to_owned(), ck), ("dk".to_owned(), dk)]);
    case
}

const STOP: f64 = 0.2;

#[test]
fn explore() {
    let case = dual_mass(2e5, 200.0);
    for ms in [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 6.0, 8.0, 9.0, 10.0] {
        let step = ms * 1e-3;
        let error = |coupling| global_error(&case, &stale(coupling, STOP, step));
        let steps = (step / 1e-5_f64).round() as u32;
        let zoh = error(CouplingConfig::Zoh {});
        let plain = error(prestep(|c| c.constant = ConstantConfig::None));
        let pinned = error(prestep(|_| ()));
        let euler = |kind, constant| {
            error(prestep(|c| {
                c.constant = constant;
                c.error_equation = kind;
                c.error_solver = OdeMethod::Euler;
                c.error_steps = steps;
            }))
        };
        let carried = euler(ErrorEquationConfig::Carried, ConstantConfig::None);
        let carried_p = euler(ErrorEquationConfig::Carried, ConstantConfig::Measured);
        let reset = euler(ErrorEquationConfig::Reset, ConstantConfig::None);
        println!(
            "{ms:5} ms: zoh {zoh:.4} plain {plain:.4} pinned {pinned:.4} carried {carried:.5} carried pinned {carried_p:.5} reset {reset:.5}"
        );
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
    let mut simulation = Simulation::new(system, &config).unwrap();
    let start: Vec<Vec<f64>> = [0, 1].map(|id| simulation.outputs(id).to_vec()).into();
    while !simulation.is_done() {
        if simulation.advance().is_err() {
            return false;
        }
    }
    let trace = trace.lock().unwrap();
    let amplitude = |outputs: usize, j: usize, from: f64, to: f64| {
        let within = trace.iter().filter(|(t, y)| y.len() == outputs && *t > from - 1e-9 && *t < to + 1e-9);
        let values = within.map(|(_, y)| y[j]).chain((from == 0.0).then_some(start[2 - outputs][j]));
        match PEAK {
            true => values.fold(0.0_f64, |most, y| most.max(y.abs())),
            false => {
                let (l, h) = values.fold((f64::MAX, f64::MIN), |(l, h), y| (l.min(y), h.max(y)));
                h - l
            }
        }
    };
    [(2, 0), (2, 1), (1, 0)].iter().all(|&(n, j)| amplitude(n, j, 0.08, 0.1) <= amplitude(n, j, 0.0, 0.02))
}
const PEAK: bool = true;

/// Area of the region connected to the smallest step, in ms times decades of c_k / d_k.
fn stable_area(coupling: impl Fn(f64) -> CouplingConfig) -> f64 {
    let (mut cells, mut row) = (0, vec![true; 71]);
    for k in 1..=20 {
        let step = 0.5e-3 * f64::from(k);
        let coupling = coupling(step);
        row = (0..71)
            .map(|j| row[j] && is_stable(&coupling, 10_f64.powf(-2.0 + 0.1 * j as f64), step))
            .collect();
        cells += row.iter().filter(|stable| **stable).count();
    }
    0.5 * 0.1 * cells as f64
}

#[test]
fn areas() {
    let euler = |step: f64| (step / 1e-5).round() as u32;
    println!("zoh {}", stable_area(|_| CouplingConfig::Zoh {}));
    let nepce = |against| CouplingConfig::Nepce { gain: 1.0, against, anti_aliasing: false };
    println!("nepce {}", stable_area(|_| nepce(Against::Extrapolated)));
    println!("nepce applied {}", stable_area(|_| nepce(Against::Applied)));
    for kind in [ErrorEquationConfig::Carried, ErrorEquationConfig::Reset] {
        let area = stable_area(|step| {
            CouplingConfig::Corrector(CorrectorConfig { error_equation: kind, error_solver: OdeMethod::Euler, error_steps: euler(step), ..CorrectorConfig::default() })
        });
        println!("corrector {kind:?} {area}");
    }
    println!("prestep {}", stable_area(|_| prestep(|_| ())));
    println!("prestep none {}", stable_area(|_| prestep(|c| c.constant = ConstantConfig::None)));
    println!("prestep carried {}", stable_area(|step| prestep(|c| { c.error_equation = ErrorEquationConfig::Carried; c.error_solver = OdeMethod::Euler; c.error_steps = euler(step); })));
}
