//! The helicopter and its controller under five pilots (Genser 2020, 4.1.2, Figures 4.5-4.9).
//!
//! The figures are lost; the text says which commands act, whether they jump, and whether they overlap. Profile 1 is
//! that of docs/problems.md; 2 to 5 are drawn to the text with the amplitudes of profile 1.

use super::Case;
use koppel::coupling::Hold;
use koppel::run::RunConfig;
use koppel::signal::external::{ExternalConfig, Interpolation};
use koppel::solver::SolverConfig;
use koppel::system::Connection;
use std::f64::consts::TAU;

/// Amplitudes of the four commands: ft/s, rad, rad, rad/s.
const AMPLITUDE: [f64; 4] = [0.5, 0.1, 0.1, 0.05];
const HEAVE: usize = 0;
const PITCH: usize = 1;
const ROLL: usize = 2;
const HEADING: usize = 3;
const SIGNALS: [&str; 6] = ["heave", "pitch", "roll", "heading_rate", "roll_rate", "pitch_rate"];
const BLADES: [&str; 4] = ["collective", "longitudinal_cyclic", "lateral_cyclic", "tail_collective"];

/// u_2 = r - y_1, u_1 = y_2.
pub(super) fn helicopter(pilot: usize) -> Case {
    let euler = SolverConfig::Euler { step: 2e-3 };
    let run = RunConfig { hold: Hold::Continuous, ..RunConfig::new(150.0, 0.02) };
    let mut case = Case::new("Helicopter and its controller (Genser 2020, 4.1)", run)
        .part("helicopter", "helicopter", &[], euler)
        .part("controller", "helicopter-controller", &[], euler);
    for name in BLADES {
        case = case.connect(&format!("controller.{name}"), &format!("helicopter.{name}"));
    }
    for name in SIGNALS {
        let error = Connection::new(&format!("helicopter.{name}"), &format!("controller.e_{name}"));
        case.connections.push(error.gain(-1.0));
    }
    for (command, signal) in profile(pilot) {
        case = case.external(&format!("controller.e_{}", SIGNALS[command]), signal);
    }
    case
}

/// What the pilot wants.
fn profile(pilot: usize) -> Vec<(usize, ExternalConfig)> {
    match pilot {
        // One command at a time, no jumps.
        1 => [
            (HEAVE, 1.0),
            (HEADING, 20.0),
            (HEAVE, 35.0),
            (PITCH, 50.0),
            (ROLL, 60.0),
            (HEADING, 70.0),
            (HEAVE, 81.0),
            (ROLL, 100.0),
            (HEAVE, 115.0),
            (PITCH, 130.0),
            (HEADING, 140.0),
        ]
        .map(|(command, start)| (command, wave(command, 10.0, start, start + 10.0)))
        .into(),
        // Heave in irregular steps, heading rate in sines and steps.
        2 => vec![
            (HEAVE, steps(HEAVE, &[(2.0, 1.0), (9.0, 0.0), (14.0, -0.6), (31.0, 0.4), (38.0, 0.0)])),
            (HEAVE, steps(HEAVE, &[(52.0, 0.8), (57.0, -1.0), (79.0, 0.0), (95.0, 0.5), (128.0, 0.0)])),
            (HEADING, wave(HEADING, 5.0, 5.0, 20.0)),
            (HEADING, steps(HEADING, &[(24.0, 1.0), (33.0, -0.5), (41.0, 0.0)])),
            (HEADING, wave(HEADING, 12.0, 48.0, 84.0)),
            (HEADING, steps(HEADING, &[(90.0, -1.0), (97.0, 0.7), (110.0, 0.0)])),
            (HEADING, wave(HEADING, 4.0, 116.0, 140.0)),
        ],
        // Heave in regular steps, pitch and heading rate besides.
        3 => vec![
            (HEAVE, regular_steps(30.0, 15.0)),
            (PITCH, wave(PITCH, 20.0, 20.0, 60.0)),
            (PITCH, wave(PITCH, 20.0, 80.0, 120.0)),
            (HEADING, wave(HEADING, 30.0, 30.0, 90.0)),
            (HEADING, steps(HEADING, &[(100.0, 0.8), (130.0, 0.0)])),
        ],
        // Heave and heading rate without a jump, the latter with one pause.
        4 => vec![
            (HEAVE, wave(HEAVE, 15.0, 0.0, 60.0)),
            (HEAVE, wave(HEAVE, 20.0, 60.0, 140.0)),
            (HEADING, wave(HEADING, 20.0, 0.0, 60.0)),
            (HEADING, wave(HEADING, 20.0, 80.0, 140.0)),
        ],
        // Everything at once, the heading rate in steps.
        _ => vec![
            (HEAVE, wave(HEAVE, 10.0, 0.0, 150.0)),
            (PITCH, wave(PITCH, 15.0, 0.0, 150.0)),
            (ROLL, wave(ROLL, 12.0, 0.0, 144.0)),
            (HEADING, steps(HEADING, &HEADING_STEPS)),
        ],
    }
}

/// Times and fractions of the amplitude for pilot 5.
const HEADING_STEPS: [(f64, f64); 9] = [
    (3.0, 1.0),
    (17.0, -1.0),
    (29.0, 0.5),
    (46.0, 0.0),
    (55.0, -0.7),
    (70.0, 0.5),
    (88.0, -1.0),
    (104.0, 0.7),
    (121.0, 0.0),
];

/// Whole periods of a sine that is zero at both ends.
fn wave(command: usize, period: f64, start: f64, stop: f64) -> ExternalConfig {
    ExternalConfig::Sine {
        amplitude: AMPLITUDE[command],
        frequency: 1.0 / period,
        phase: -TAU * (start / period).fract(),
        offset: 0.0,
        start: Some(start),
        stop: Some(stop),
    }
}

/// Jumps to these fractions of the amplitude at these times.
fn steps(command: usize, levels: &[(f64, f64)]) -> ExternalConfig {
    let (times, values): (Vec<_>, Vec<_>) =
        levels.iter().map(|(time, level)| (*time, AMPLITUDE[command] * level)).unzip();
    let (times, values) = ([vec![0.0], times].concat(), [vec![0.0], values].concat());
    ExternalConfig::Table { times, values, interpolation: Interpolation::Previous }
}

fn regular_steps(period: f64, width: f64) -> ExternalConfig {
    ExternalConfig::Pulses {
        amplitude: AMPLITUDE[HEAVE],
        period,
        width,
        start: 5.0,
        offset: 0.0,
        stop: None,
        modulation: None,
    }
}
