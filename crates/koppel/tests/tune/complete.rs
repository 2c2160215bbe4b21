//! The search against all combinations.

use super::{connections, linear, names};
use crate::cases::case;
use koppel::coupling::CouplingConfig;
use koppel::plan::tune::{Objective, TuneOptions, Tuning, tune};
use koppel::run::RunConfig;

/// A part of the points of a front to which the other one has some that are no worse by more than this in any objective.
fn share(of: &Tuning, reached_by: &Tuning, by: f64) -> f64 {
    let values = |one: &koppel::plan::tune::Tuned| -> Vec<f64> {
        of.objectives.iter().map(|objective| objective.of(&one.score).unwrap()).collect()
    };
    let others: Vec<Vec<f64>> = reached_by.front.iter().map(values).collect();
    let is_reached = |point: &Vec<f64>| {
        others.iter().any(|other| other.iter().zip(point).all(|(a, b)| *a <= b + by * b.abs()))
    };
    let reached = of.front.iter().map(values).filter(is_reached).count();
    reached as f64 / of.front.len() as f64
}

/// With a quarter of the evaluations, the search comes within 1 % of at least nine of ten points of the complete front.
#[test]
fn the_search_finds_what_trying_all_finds() {
    let case = case("control-loop").unwrap();
    let (system, inputs) = (linear(&case), connections(&case));
    let methods = names(&["zoh", "foh", "soh", "hinf"]);
    let options = TuneOptions {
        objectives: &[Objective::Radius, Objective::Consistency, Objective::Cost],
        methods: &methods,
        steps: Some((0.05, 0.2)),
        connections: &inputs,
        ..TuneOptions::default()
    };
    let all = tune(&system, &case.run, &TuneOptions { evaluations: Some(100_000), ..options }).unwrap();
    assert!(all.is_complete && all.judged > 2000, "{}", all.judged);
    for seed in 1..=2 {
        let evaluations = all.judged / 4;
        let found =
            tune(&system, &case.run, &TuneOptions { evaluations: Some(evaluations), seed, ..options })
                .unwrap();
        assert!(!found.is_complete && found.judged <= evaluations);
        let share = share(&all, &found, 0.01);
        println!(
            "{seed}: {} of {} judged, {share:.3} of {} points",
            found.judged,
            all.judged,
            all.front.len()
        );
        assert!(share >= 0.9, "seed {seed}: {share}");
    }
}

/// Nothing on the front is beaten by anything else that was judged, and no two are equal.
#[test]
fn nothing_on_a_front_beats_another() {
    let case = case("integral-loop").unwrap();
    let (system, inputs) = (linear(&case), connections(&case));
    let methods = names(&["zoh", "foh", "nepce"]);
    let options = TuneOptions {
        methods: &methods,
        connections: &inputs,
        evaluations: Some(300),
        ..TuneOptions::default()
    };
    let found = tune(&system, &case.run, &options).unwrap();
    let value = |at: usize, objective: &Objective| objective.of(&found.front[at].score).unwrap();
    for a in 0..found.front.len() {
        for b in (0..found.front.len()).filter(|b| *b != a) {
            let better = found.objectives.iter().all(|one| value(a, one) <= value(b, one) * (1.0 - 1e-5));
            assert!(!better, "{:?} {:?}", found.front[a], found.front[b]);
        }
    }
    assert!(found.front.is_sorted_by_key(|one| one.score.cost.calls));
    // The choice is the cheapest that keeps the error.
    let chosen = found.choice(0.05).unwrap();
    let keeps = |one: &koppel::plan::tune::Tuned| one.score.error.unwrap() <= 0.05;
    assert!(keeps(&found.front[chosen]) && !found.front[..chosen].iter().any(keeps));
    assert_eq!(found.choice(0.0), None);
}

/// Zero-order hold of the quarter truck is stable up to 38.1 ms (closed-form matrices, see the forecast's tests).
#[test]
fn a_score_tells_stability_error_and_cost() {
    let truck = case("quarter-truck").unwrap();
    let system = linear(&truck);
    let own = |step: f64| {
        let run = RunConfig { coupling: CouplingConfig::zoh(), step, ..truck.run.clone() };
        let options = TuneOptions { steps: Some((0.02, 0.02)), schedules: false, ..TuneOptions::default() };
        (tune(&system, &run, &options).unwrap().own.unwrap().score, run)
    };
    for step in [0.02, 0.033, 0.038] {
        let (found, run) = own(step);
        assert!(found.is_stable && found.spectral_radius < 1.0, "{found:?}");
        let error = system.global_error(&run, &system.reference(&run).unwrap()).unwrap();
        assert_eq!(found.error, Some(error.overall));
    }
    let (lost, _) = own(0.039);
    assert!(!lost.is_stable && lost.spectral_radius > 1.0 && lost.error.is_none(), "{lost:?}");
    // Two subsystems, 3 s.
    let cost = own(0.02).0.cost;
    assert!((cost.steps - 150.0).abs() < 1e-9 && (cost.calls - 300.0).abs() < 1e-9, "{cost:?}");
}
