//! Subsystems that tell nothing of themselves: only runs at other steps tell the error.

use super::certified;
use super::every_case::{CASES, exact, outputs};
use super::plain::{self, Plain};
use super::random::{Example, Random, worst};
use crate::cases::case;
use koppel::analysis::{Evidence, RunVerdict};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::run::RunConfig;
use koppel::system::System;

fn plain(system: System) -> System {
    plain::each(system, |inner| Plain::new(inner, None))
}

/// No run is trusted that is wrong, and few that are right are not.
#[test]
fn shadows_tell_the_error_of_black_boxes() {
    let (mut trusted, mut good) = (0, 0);
    for (name, steps) in CASES {
        let case = case(name).unwrap();
        for step in steps {
            for coupling in [CouplingConfig::zoh(), CouplingConfig::foh(StartUp::Constant)] {
                let record = outputs(&case, "");
                let config = RunConfig { step: step * 1e-3, coupling, record, ..case.run.clone() };
                let Some((table, found)) = certified(|| plain(case.system().unwrap()), &config) else {
                    continue;
                };
                let error = worst(&table, &exact(&case, &config));
                let what =
                    format!("{name} at {step} ms with {}: {error}, {}", config.coupling.name(), found.reason);
                println!("{what}");
                assert_eq!(found.evidence, Evidence::Shadows, "{what}");
                let band = found.overall.unwrap();
                assert!(error > 0.1 || found.verdict != RunVerdict::Wrong, "{what}");
                if found.verdict == RunVerdict::Trusted {
                    trusted += 1;
                    assert!(error <= band.high, "{what} in {band:?}");
                }
                good += u32::from(error < 0.01);
            }
        }
    }
    assert!(trusted * 10 >= good * 9, "{trusted} trusted, {good} below 1 %");
}

/// Short runs tell too little, and say so.
#[test]
fn short_runs_are_not_believed() {
    let mut random = Random(7);
    let mut count = 0;
    while count < 50 {
        let Some(example) = Example::new(&mut random, 25.0) else { continue };
        let (_, found) = certified(|| plain(example.system()), &example.config).unwrap();
        count += 1;
        assert!(found.verdict != RunVerdict::Trusted, "{found:?}");
    }
}

/// Random linear systems as black boxes: none above 10 % is trusted, and none that is trusted is far above what is stated.
#[test]
fn random_black_boxes() {
    let mut random = Random(11);
    let (mut count, mut good, mut trusted) = (0, 0, 0);
    while count < 200 {
        let Some(example) = Example::new(&mut random, 80.0) else { continue };
        let exact = example.reference();
        let Some((table, found)) = certified(|| plain(example.system()), &example.config) else { continue };
        let error = worst(&table, &exact);
        count += 1;
        good += u32::from(error < 0.01);
        if found.verdict == RunVerdict::Trusted {
            trusted += u32::from(error < 0.01);
            assert!(error <= 2.0 * found.overall.unwrap().high, "{error}: {}", found.reason);
        }
        assert!(found.verdict != RunVerdict::Wrong || error > 0.05, "{error}: {}", found.reason);
    }
    println!("{trusted} of {good} trusted");
    assert!(trusted * 10 >= good * 9, "{trusted} of {good}");
}
