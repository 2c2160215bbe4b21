//! The certificate: what a run is told to be worth, against what it is.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed, and prints figures"
)]

mod black_box;
#[path = "../common/cases/mod.rs"]
mod cases;
mod every_case;
mod fast_outputs;
#[path = "../common/plain.rs"]
mod plain;
mod random;

use koppel::analysis::{Certificate, Certifier, Evidence, Points, RunVerdict, Shadow};
use koppel::record::Trajectory;
use koppel::run::{Flow, Run, RunConfig};
use koppel::system::System;
use random::{Example, Random, worst};

/// Runs with a certifier beside it, and with shadows where it asks for them; nothing if the run failed.
fn certified(system: impl Fn() -> System, config: &RunConfig) -> Option<(Trajectory, Certificate)> {
    let mut run = Run::new(system(), config).unwrap();
    let mut certifier = Certifier::new(&mut run, &config.coupling);
    let mut table = Trajectory::default();
    let ending = run.run(&mut table, &mut |run| {
        certifier.look(run);
        Ok(Flow::Continue)
    });
    ending.ok()?;
    let certificate = certifier.certificate(&run, &mut |shadow: Shadow| {
        if config.adaptive.is_some() {
            return Err("steps that adapt have no shadow".into());
        }
        let config = RunConfig { step: config.step * shadow.ratio(), ..config.clone() };
        let mut run = Run::new(system(), &config).unwrap();
        let points = Points::of(&mut run, &mut |_| true).map_err(|error| error.to_string())?;
        Ok(points.unwrap())
    });
    Some((table, certificate))
}

/// Random linear systems of so many steps: what is found of their errors, and how wide bands are.
fn random_systems(steps: f64, count: u32) {
    let mut random = Random(7);
    let (mut done, mut inside, mut widths) = (0, 0, Vec::new());
    let (mut bad, mut caught, mut small, mut alarms) = (0, 0, 0, 0);
    while done < count {
        let Some(example) = Example::new(&mut random, steps) else { continue };
        let exact = example.reference();
        let (table, found) = certified(|| example.system(), &example.config).unwrap();
        let error = worst(&table, &exact);
        let band = found.overall.unwrap();
        assert_eq!(found.evidence, Evidence::LinearModel);
        done += 1;
        // Beyond that a range says little.
        let is_inside = error > 0.3 || band.low <= error && error <= band.high;
        if !is_inside {
            println!("{error} in {band:?}");
        }
        inside += u32::from(is_inside);
        if error > 1e-3 {
            widths.push((band.high - band.low) / error);
        }
        assert!(
            found.verdict != RunVerdict::Trusted || error <= 0.05,
            "{error} is trusted: {}",
            found.reason
        );
        assert!(found.verdict != RunVerdict::Wrong || error > 0.1, "{error} is wrong: {}", found.reason);
        let is_trusted = found.verdict == RunVerdict::Trusted;
        if error > 0.05 {
            (bad, caught) = (bad + 1, caught + u32::from(!is_trusted));
        } else if error < 0.03 {
            (small, alarms) = (small + 1, alarms + u32::from(!is_trusted));
        }
    }
    widths.sort_by(f64::total_cmp);
    let width = widths[widths.len() / 2];
    println!(
        "{inside} of {done} in their band, {caught} of {bad} found, {alarms} of {small} not trusted, width {width}"
    );
    assert!(inside == done, "{inside} of {done} in their band");
    assert!(width < 1.0, "median width {width}");
    assert!(bad * 10 >= done && caught == bad, "{caught} of {bad} found");
    assert!(alarms * 100 <= 2 * small, "{alarms} false alarms in {small}");
}

#[test]
fn five_hundred_random_systems() {
    random_systems(80.0, 500);
}

/// What is linear needs no least number of steps.
#[test]
fn random_systems_of_few_steps() {
    random_systems(8.0, 300);
}

/// Some two hundred states each: their errors are followed as those of small systems.
#[test]
fn systems_of_many_states() {
    let (mut random, mut done) = (Random(3), 0);
    while done < 4 {
        let Some(example) = Example::of(&mut random, 80, 0.5, 60.0) else { continue };
        done += 1;
        let (table, found) = certified(|| example.system(), &example.config).unwrap();
        let (error, band) = (worst(&table, &example.reference()), found.overall.unwrap());
        println!("{error} in {band:?}");
        assert_eq!(found.evidence, Evidence::LinearModel);
        assert!(error > 0.3 || band.low <= error && error <= band.high, "{error} in {band:?}");
    }
}

/// Two masses on a spring exchange power; what held inputs create is what the certificate says, by hand.
#[test]
fn power_that_a_connection_creates() {
    let case = crate::cases::case("two-mass").unwrap();
    let (_, fine) =
        certified(|| case.system().unwrap(), &RunConfig { step: 1e-3, ..case.run.clone() }).unwrap();
    let (_, coarse) =
        certified(|| case.system().unwrap(), &RunConfig { step: 4e-3, ..case.run.clone() }).unwrap();
    let share = |found: &Certificate| {
        let bond = found.bonds.first().unwrap();
        bond.residual / bond.energy
    };
    let ratio = share(&coarse) / share(&fine);
    assert!((3.5..4.5).contains(&ratio), "residual power is of first order, {ratio}");
}
