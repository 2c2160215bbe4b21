//! Subsystems that tell nothing of themselves: what was seen of them in the run must do.

use super::certified;
use super::every_case::{CASES, exact, outputs, parts};
use super::plain::{self, Plain};
use super::random::{Example, Random, overall};
use crate::cases::case;
use koppel::analysis::{Evidence, Worth};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::run::RunConfig;
use koppel::system::System;

fn plain(system: System) -> System {
    plain::each(system, |inner| Plain::new(inner, None))
}

/// Of non-linear subsystems hardly any is believed; where an estimate is given, it holds.
#[test]
fn what_was_seen_of_black_boxes_tells_the_error() {
    let mut known = 0;
    for (name, steps) in CASES {
        let case = case(name).unwrap();
        for step in steps {
            for coupling in [CouplingConfig::zoh(), CouplingConfig::foh(StartUp::Constant)] {
                let record = outputs(&case, "");
                let config = RunConfig { step: step * 1e-3, coupling, record, ..case.run.clone() };
                let Some((table, told)) = certified(|| plain(case.system().unwrap()), &config, false) else {
                    continue;
                };
                let error = overall(&parts(&case), &table, &exact(&case, &config));
                let what =
                    format!("{name} at {step} ms with {}: {error}, {}", config.coupling.name(), told.reason);
                assert!(told.verdict != Worth::Trusted, "{what}");
                assert!(error > 0.05 || told.verdict != Worth::Wrong, "{what}");
                let Some(band) = told.overall else { continue };
                assert_eq!(told.evidence, Evidence::LearnedModel);
                if error < 0.3 && error > 1e-7 {
                    known += 1;
                    assert!(band.low <= error && error <= band.high, "{what} in {band:?}");
                }
            }
        }
    }
    assert!(known >= 5, "{known}");
}

/// Short runs tell too little, and say so.
#[test]
fn short_runs_are_not_believed() {
    let mut random = Random(7);
    let mut count = 0;
    while count < 50 {
        let Some(example) = Example::new(&mut random) else { continue };
        let (_, told) = certified(|| plain(example.system()), &example.config, false).unwrap();
        count += 1;
        assert!(told.overall.is_none() && told.verdict != Worth::Trusted, "{told:?}");
    }
}
