//! The predicted error against runs of the systems themselves.

use super::linear;
use crate::cases::{Case, case};
use koppel::analysis::{LinearSystem, Methods, Scan, candidates, limits, recommend};
use koppel::coupling::{CouplingConfig, PrestepConfig, VfpsConfig};
use koppel::run::{Run, RunConfig};

/// Root mean square over the range, the largest of all outputs: run against the uncut system, for so many steps. The range is that
/// at the steps of the case, as in the prediction: large steps see little of what moves between them.
fn seen(case: &Case, run: &RunConfig, horizon: f64) -> f64 {
    let steps = (horizon / run.step).floor();
    let config = RunConfig { stop: run.start + steps * run.step, ..run.clone() };
    let fine = RunConfig { coupling: CouplingConfig::zoh(), schedule: plain(), ..config.clone() };
    let mut coupled = Run::new(case.system().unwrap(), &config).unwrap();
    let mut uncut = Run::new(case.reference().unwrap(), &fine).unwrap();
    let graph = case.system().unwrap().graph;
    let names: Vec<(String, usize, usize)> = (0..graph.outputs())
        .map(|output| {
            let id = graph.subsystem_of_output(output);
            let own = coupled.graph().find(graph.name(id)).unwrap();
            (graph.output_name(output), own, output - graph.outputs_of(id).start)
        })
        .collect();
    let place = |name: &str| uncut_place(&uncut, name);
    let places: Vec<usize> = names.iter().map(|(name, ..)| place(name)).collect();
    let mut sums = vec![0.0; names.len()];
    let mut ranges: Vec<[f64; 2]> = places.iter().map(|p| [uncut.outputs(0)[*p]; 2]).collect();
    let own_steps = (horizon / case.run.step).floor();
    let own = RunConfig { step: case.run.step, stop: run.start + own_steps * case.run.step, ..fine.clone() };
    let mut wide = Run::new(case.reference().unwrap(), &own).unwrap();
    while !wide.is_done() {
        wide.advance().unwrap();
        for (range, place) in ranges.iter_mut().zip(&places) {
            let y = wide.outputs(0)[*place];
            *range = [range[0].min(y), range[1].max(y)];
        }
    }
    while !coupled.is_done() {
        coupled.advance().unwrap();
        uncut.advance().unwrap();
        for (k, (_, id, at)) in names.iter().enumerate() {
            let ideal = uncut.outputs(0)[places[k]];
            sums[k] += (coupled.outputs(*id)[*at] - ideal).powi(2);
        }
    }
    let errors = sums.iter().zip(&ranges).filter(|(_, r)| r[1] - r[0] > 1e-12);
    errors.map(|(sum, r)| (sum / steps).sqrt() / (r[1] - r[0])).fold(0.0, f64::max)
}

fn plain() -> koppel::run::ScheduleConfig {
    koppel::run::ScheduleConfig::PARALLEL
}

fn uncut_place(uncut: &Run, name: &str) -> usize {
    let outputs = &uncut.graph().ports(0).outputs;
    outputs.iter().position(|output| output.name == name).unwrap()
}

/// On linear systems the stand-ins are the system: what is predicted is what is seen, external signals, start values and micro
/// solvers included.
#[test]
fn predicted_errors_are_those_of_runs() {
    let methods = [
        CouplingConfig::zoh(),
        CouplingConfig::foh(Default::default()),
        CouplingConfig::from(PrestepConfig::default()),
        CouplingConfig::from(VfpsConfig::default()),
    ];
    for name in ["control-loop", "quarter-truck", "two-mass", "dual-mass", "random-dual-mass", "helicopter"] {
        let case = case(name).unwrap();
        let system = linear(&case);
        for coupling in &methods {
            let short = RunConfig { stop: case.run.stop.min(1000.0 * case.run.step), ..case.run.clone() };
            let run = RunConfig { coupling: coupling.clone(), ..short };
            let reference = system.reference(&run).unwrap();
            let predicted = system.global_error(&run, &reference).unwrap();
            let seen = seen(&case, &run, reference.horizon());
            let what = format!("{name}, {}: {} {seen}", coupling.name(), predicted.overall);
            // Methods that probe see round-off of other numbers.
            let tolerance = if coupling.name() == "vfps" { 0.05 } else { 1e-3 };
            assert!((predicted.overall - seen).abs() <= tolerance * seen + 1e-9, "{what}");
            assert!(predicted.outputs.is_sorted_by(|a, b| a.error >= b.error), "{what}");
        }
    }
}

/// The real system run as recommended keeps the error; the cheapest comes first.
#[test]
fn recommended_steps_keep_the_error() {
    for (name, wanted) in [("quarter-truck", 0.02), ("control-loop", 0.05), ("two-mass", 0.01)] {
        let case = case(name).unwrap();
        let system = linear(&case);
        let settings = candidates(&case.run, Methods::All);
        let scan = Scan { per_decade: 6, accuracy: 0.01, ..Scan::around(case.run.step) };
        let limits = limits(&system, &settings, scan, &|_| {});
        assert_eq!(limits.len(), settings.len());
        let reference = system.reference(&case.run).unwrap();
        let recommended = recommend(&system, &limits, Some(&reference), wanted);
        assert!(recommended.len() >= 8, "{name}: {recommended:#?}");
        assert!(recommended.is_sorted_by(|a, b| a.cost.calls_per_second <= b.cost.calls_per_second));
        for item in &recommended {
            let seen = seen(&case, &item.config, reference.horizon());
            let what = format!("{name}, {}, {:?}: {}", item.method, item.schedule, item.step);
            assert!(seen <= 1.02 * wanted, "{what}: {seen}");
            assert!(item.spectral_radius <= 1.0, "{what}: {}", item.spectral_radius);
        }
        // The own step could be longer: the recommendation is of use.
        assert!(recommended[0].step > case.run.step, "{name}: {:?}", recommended[0]);
    }
}

/// Filters are part of the system: what is predicted with one is what the run does, against the same at a tiny step.
#[test]
fn the_error_of_a_system_with_a_filter() {
    let mut case = case("dual-mass").unwrap();
    let filtered = case.connections.iter_mut().find(|c| c.to == "left.F").unwrap();
    filtered.filter = Some(koppel::system::FilterConfig::pt2(2000.0));
    let run = |step: f64| {
        let record = koppel::record::Record::Many(vec!["left.x".into(), "left.v".into(), "right.F".into()]);
        let every = (1e-3 / step).round() as u64;
        let config = RunConfig { step, stop: 0.1, record, record_every: every, ..case.run.clone() };
        let mut table = koppel::record::Trajectory::default();
        let mut run = Run::new(case.system().unwrap(), &config).unwrap();
        run.run(&mut table, &mut |_| Ok(koppel::run::Flow::Continue)).unwrap();
        table
    };
    let (coarse, fine) = (run(1e-3), run(1e-5));
    let error = |k: usize| {
        let pairs = || coarse.column(k).zip(fine.column(k)).skip(1);
        let squares: f64 = pairs().map(|(a, b)| (a - b) * (a - b)).sum();
        let range = fine.column(k).fold(f64::MIN, f64::max) - fine.column(k).fold(f64::MAX, f64::min);
        (squares / pairs().count() as f64).sqrt() / range
    };
    let seen = (0..3).map(error).fold(0.0, f64::max);
    let config = RunConfig { step: 1e-3, stop: 0.1, ..case.run.clone() };
    let mut run = Run::new(case.system().unwrap(), &config).unwrap();
    let system = LinearSystem::new(&mut run).unwrap();
    let reference = system.reference(&config).unwrap();
    let predicted = system.global_error(&config, &reference).unwrap();
    let own = |name: &str| ["left.x", "left.v", "right.F"].contains(&name);
    let named = predicted.outputs.iter().filter(|one| own(&one.output)).map(|one| one.error);
    let predicted = named.fold(0.0, f64::max);
    assert!((0.8..1.25).contains(&(predicted / seen)), "{predicted} instead of {seen}");
}
