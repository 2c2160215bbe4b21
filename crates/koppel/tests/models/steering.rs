//! Steering: a program that samples, and friction that sticks.

use super::{range, run};
use crate::cases::{Case, case};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::models::build;
use koppel::record::Record;
use koppel::run::RunConfig;
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::{Ode, OdeModel, Ports, SystemBuilder, Variable, monolith};
use std::collections::BTreeMap;

/// x' = d, and a program that sets d = -4 (x - u) every 0.1 s: x_{k+1} - u = 0.6 (x_k - u).
struct Servo {
    ports: Ports,
    period: f64,
}

fn servo(period: f64) -> Box<Servo> {
    let ports = Ports {
        inputs: vec![Variable::new("u")],
        outputs: vec![Variable::new("x")],
        locals: vec![Variable::new("x").start(1.0), Variable::new("d")],
        ..Ports::default()
    };
    Box::new(Servo { ports, period })
}

impl Ode for Servo {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn states(&self) -> usize {
        2
    }

    fn derivative(&self, _time: f64, x: &[f64], _u: &[f64], dx: &mut [f64]) {
        dx.copy_from_slice(&[x[1], 0.0]);
    }

    fn output(&self, _time: f64, x: &[f64], _u: &[f64], y: &mut [f64]) {
        y[0] = x[0];
    }

    fn parameter(&self, _index: usize) -> f64 {
        f64::NAN
    }

    fn set_parameter(&mut self, _index: usize, _value: f64) -> koppel::Result<()> {
        Ok(())
    }

    fn period(&self) -> Option<f64> {
        Some(self.period)
    }

    fn sample(&self, x: &[f64], u: &[f64], next: &mut [f64]) {
        next[1] = -4.0 * (x[0] - u[0]);
    }
}

/// Whatever the communication step, with the exact result between two acts of the program.
#[test]
fn a_program_acts_at_multiples_of_its_period() {
    for (step, stop) in [(0.1, 1.0), (0.03, 0.9), (0.25, 1.0), (0.01, 0.57), (1.0, 1.0)] {
        for solver in [SolverConfig::Rk4 { step: 0.05 }, SolverConfig::default()] {
            let model = OdeModel::new(servo(0.1), &solver).unwrap();
            let constant = ExternalConfig::Constant { value: 0.5 };
            let system = SystemBuilder::new().add("s", model).external("s.u", constant).build().unwrap();
            let (_, table) = run(system, &RunConfig::new(stop, step)).unwrap();
            for (time, x) in table.times.iter().zip(table.column(0)) {
                let acts = (time / 0.1 + 1e-9).floor();
                let last = 0.5 + 0.5 * 0.6_f64.powf(acts);
                let exact = last - 4.0 * (last - 0.5) * (time - 0.1 * acts);
                assert!((x - exact).abs() < 1e-12, "step {step}, t = {time}: {x} against {exact}");
            }
        }
    }
}

#[test]
fn programs_of_a_monolithic_model_act_at_one_period() {
    let parts = |periods: [f64; 2]| -> Vec<Box<dyn Ode>> { periods.map(|period| servo(period) as _).into() };
    let build = |periods: [f64; 2]| {
        let [a, b] = periods.map(|period| OdeModel::new(servo(period), &SolverConfig::default()).unwrap());
        let system = SystemBuilder::new().add("a", a).add("b", b).build().unwrap();
        monolith(&system.graph, parts(periods)).map(|whole| whole.period())
    };
    assert_eq!(build([0.1, 0.1]).unwrap(), Some(0.1));
    let error = build([0.1, 0.2]).unwrap_err().to_string();
    assert!(error.contains("`a` samples every 0.1 s, `b` every 0.2 s"), "{error}");
}

/// The controller of the steering: the motor's torque stands still for 1 ms, and is what the assist curve says.
#[test]
fn the_controller_of_the_steering_samples() {
    let case = case("epas").unwrap();
    let names = ["T_m", "delta_s", "omega_s", "x", "v", "omega_m"];
    let record = names.iter().map(|name| format!("steering.{name}")).collect();
    let record = Record::Many(record);
    let (columns, table) =
        run(case.system().unwrap(), &RunConfig { record, stop: 2.0, step: 2.5e-4, ..case.run }).unwrap();
    let at = |row: &[f64], name: &str| {
        row[columns.iter().position(|column| *column == format!("steering.{name}")).unwrap()]
    };
    let mut largest = 0.0_f64;
    for (k, row) in table.rows.iter().enumerate().skip(1) {
        // Set at the start of the millisecond that ends here or later.
        let sampled = &table.rows[(k - 1) / 4 * 4];
        let twist = at(sampled, "delta_s") - at(sampled, "x") / 0.0098;
        let pinion = 115.0 * twist + 0.3 * (at(sampled, "omega_s") - at(sampled, "v") / 0.0098);
        let torque = 0.06 * pinion + 0.03 * pinion * pinion.abs() - 0.003 * at(sampled, "omega_m");
        assert!((at(row, "T_m") - torque).abs() < 1e-12, "row {k}: {} against {torque}", at(row, "T_m"));
        largest = largest.max(torque.abs());
    }
    assert!(largest > 0.05, "the motor helps: {largest} N.m");
}

/// Times (begin, length, in s) in which bristles alone give way: the rack is pushed by more than 150 µm for at least 20 ms, and slides by
/// less than 10 µm; and how far it slides in all, in m.
fn sticks(case: &Case) -> (Vec<(f64, f64)>, f64) {
    let coupling = CouplingConfig::foh(StartUp::Constant);
    let record = Record::Many(vec!["steering.x".into(), "steering.z".into()]);
    let config = RunConfig { step: 1e-3, stop: 8.0, coupling, record, ..case.run.clone() };
    let (_, table) = run(case.system().unwrap(), &config).unwrap();
    let x: Vec<f64> = table.column(0).collect();
    // What is not the bending of the bristles, z, is sliding.
    let slid: Vec<f64> = x.iter().zip(table.column(1)).map(|(x, z)| x - z).collect();
    let spread = |list: &[f64]| range(list.iter().copied()).1 - range(list.iter().copied()).0;
    let (mut found, mut k) = (Vec::new(), 0);
    while k + 20 < x.len() {
        let mut end = k + 1;
        while end < x.len() && spread(&slid[k..=end]) < 1e-5 {
            end += 1;
        }
        if end - k > 20 && spread(&x[k..end]) > 1.5e-4 {
            found.push((k as f64 * 1e-3, (end - k) as f64 * 1e-3));
            k = end;
        } else {
            k += 1;
        }
    }
    (found, slid.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum())
}

/// Chen et al. 2021, 4.2: the rack sticks at each of the six times it turns back, and slides in between. With a
/// hundredth of the friction it never sticks.
#[test]
fn the_rack_sticks_and_slips() {
    let rough = case("epas").unwrap();
    let (found, slid) = sticks(&rough);
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(found[0].1 > 0.1, "{found:?}");
    let pauses: Vec<f64> = found.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    // One for each half-wave of the torque, whose frequency grows.
    assert!(pauses.windows(2).all(|pair| pair[1] < pair[0]), "{pauses:?}");
    assert!(slid > 0.03, "it slides by {slid} m");
    let mut smooth = rough.clone();
    for name in ["Fc", "Fs"] {
        smooth.parts[0].parameters.insert(name.into(), 3.2);
    }
    let (found, slid) = sticks(&smooth);
    assert!(found.is_empty() && slid > 0.03, "{found:?}, {slid} m");
}

/// Belt and ball screw as told: a stiff spring between motor and rack, far above what the driver feels.
#[test]
fn the_belt_is_stiff() {
    let ode = build("epas", &BTreeMap::new()).unwrap();
    let (mut rest, mut pulled) = ([0.0; 8], [0.0; 8]);
    ode.derivative(0.0, &[0.0; 8], &[0.0; 2], &mut rest);
    // The motor turned as far as moves the rack by 1 µm.
    let mut x = [0.0; 8];
    x[5] = 1e-6 / (0.3509 * 0.0011);
    ode.derivative(0.0, &x, &[0.0; 2], &mut pulled);
    // 5e6 N/m on 3.78 kg, and the same force through the gear on the motor.
    assert!(((pulled[1] - rest[1]) - 5.0 / 3.78).abs() < 1e-9, "{}", pulled[1]);
    assert!(((pulled[6] - rest[6]) + 5.0 * 0.3509 * 0.0011 / 2.5906e-4).abs() < 1e-9, "{}", pulled[6]);
}
