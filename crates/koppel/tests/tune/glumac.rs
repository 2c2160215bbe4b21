//! The two-mass oscillator of Glumac & Kovacic 2018, section 5: figures 5 to 7, (70) and (71).
//!
//! Masters are those of their table 1: an order, zero-order hold, and relaxed hold (their NEPCE, (45)) for the inputs of one
//! slave. Figures beside α and h were computed from the closed-form step matrix in Python, without koppel.

use super::{linear, names};
use crate::cases::{Case, case};
use koppel::coupling::{CouplingConfig, RelaxedConfig};
use koppel::plan::tune::{Objective, TuneOptions, Tuned, Tuning, tune};
use koppel::run::{Reading, RunConfig, ScheduleConfig};

const BOTH: [Objective; 2] = [Objective::Radius, Objective::Consistency];

/// A master without relaxation; what is tuned is put in.
fn master(order: [&str; 2]) -> Case {
    let case = case("two-mass").unwrap();
    let schedule = ScheduleConfig::Order(order.map(str::to_owned).to_vec());
    let coupling = CouplingConfig::zoh();
    let run = RunConfig { reading: Reading::Stale, schedule, coupling, step: 9.0, stop: 900.0, ..case.run };
    Case { run, ..case }
}

fn tuned(case: &Case, inputs: &[&str], options: TuneOptions<'_>) -> Tuning {
    let (methods, connections) = (names(&["zoh", "relaxed"]), names(inputs));
    let options = TuneOptions { methods: &methods, connections: &connections, schedules: false, ..options };
    tune(&linear(case), &case.run, &options).unwrap()
}

/// α of an input; 0 without relaxation.
fn alpha(one: &Tuned, input: &str) -> f64 {
    let CouplingConfig::Mixed { connections, .. } = &one.candidate.coupling else { return 0.0 };
    let own = connections.get(input).and_then(CouplingConfig::settings::<RelaxedConfig>);
    own.map_or(0.0, |own| own.alpha)
}

fn values(one: &Tuned) -> (f64, f64) {
    (one.score.spectral_radius, one.score.consistency.unwrap())
}

/// Figure 6: over α and h, zero-order hold makes the front at small steps, relaxed hold with α near 0.6 at the largest.
#[test]
fn the_front_of_control_21() {
    let case = master(["second", "first"]);
    let options = TuneOptions {
        objectives: &BOTH,
        steps: Some((1e-3, 10.0)),
        evaluations: Some(1000),
        ..TuneOptions::default()
    };
    let found = tuned(&case, &["second.F"], options);
    assert!(!found.is_complete && found.judged == 1000, "{}", found.judged);
    for one in &found.front {
        let (alpha, step) = (alpha(one, "second.F"), one.candidate.step);
        let is_expected = if step < 1.0 { alpha < 0.05 } else { (0.3..=0.7).contains(&alpha) && step > 5.0 };
        assert!(is_expected, "{alpha} {step}");
    }
    assert!(found.front.iter().filter(|one| one.candidate.step > 5.0).count() >= 2);
    assert!(found.front.iter().filter(|one| one.candidate.step < 1.0).count() >= 20);
}

/// (70), α = 0.6 and h = 9.11 with ρ = 0.45 and δ = 0.78, chosen for the smallest radius at a large step: at that step hardly an α
/// has a smaller radius. Where the step is free, α = 0.48 and h = 8.6 (ρ = 0.411, δ = 0.606) is better in both: the
/// grid of the paper passed it by. The search finds it.
#[test]
fn the_choice_of_control_21() {
    let case = master(["second", "first"]);
    let at = TuneOptions { objectives: &BOTH, steps: Some((9.11, 9.11)), ..TuneOptions::default() };
    let found = tuned(&case, &["second.F"], at);
    assert!(found.is_complete && found.judged == 100, "{}", found.judged);
    let paper = found.front.iter().find(|one| alpha(one, "second.F") == 0.6).unwrap();
    let is_close = |a: f64, b: f64| (a - b).abs() < 1e-4;
    assert!(is_close(values(paper).0, 0.4504) && is_close(values(paper).1, 0.7825), "{paper:?}");
    let least = found
        .front
        .iter()
        .min_by(|a, b| a.score.spectral_radius.total_cmp(&b.score.spectral_radius))
        .unwrap();
    assert!((alpha(least, "second.F") - 0.6).abs() < 0.015 && values(least).0 > 0.445, "{least:?}");

    let free = TuneOptions {
        objectives: &BOTH,
        steps: Some((8.0, 9.2)),
        evaluations: Some(400),
        ..TuneOptions::default()
    };
    let found = tuned(&case, &["second.F"], free);
    let beats = |one: &&Tuned| values(one).0 < 0.42 && values(one).1 < 0.65;
    let best = found.front.iter().find(beats).unwrap_or_else(|| panic!("{:#?}", found.front));
    println!(
        "control 21: {:?} at {} s, alpha {}",
        values(best),
        best.candidate.step,
        alpha(best, "second.F")
    );
    assert!(
        (best.candidate.step - 8.6).abs() < 0.3 && (alpha(best, "second.F") - 0.5).abs() < 0.05,
        "{best:?}"
    );
}

/// (71), figure 7: α1 = 0.59, α2 = 0.36 and h = 8.9 with ρ = 0.41 and δ = 1.1, a narrow spot: at h = 8.96 it is 0.436. At that
/// step the search comes to within 3 % of it in both with 600 of 10 000 settings, and finds none that beats it by more than 3 % in both.
#[test]
fn the_choice_of_control_12() {
    let case = master(["first", "second"]);
    let options = TuneOptions {
        objectives: &BOTH,
        steps: Some((8.9, 8.9)),
        evaluations: Some(600),
        ..TuneOptions::default()
    };
    let found = tuned(&case, &["first.x", "first.v"], options);
    assert!(!found.is_complete && found.combinations == 1e4, "{}", found.combinations);
    let report: Vec<_> =
        found.front.iter().map(|one| (alpha(one, "first.x"), alpha(one, "first.v"), values(one))).collect();
    println!("control 12: {report:.3?}");
    let reaches = |one: &Tuned| values(one).0 <= 1.03 * 0.4125 && values(one).1 <= 1.03 * 1.103;
    assert!(found.front.iter().any(reaches), "{report:.3?}");
    let beats = |one: &Tuned| values(one).0 < 0.97 * 0.4125 && values(one).1 < 0.97 * 1.103;
    assert!(!found.front.iter().any(beats), "{report:.3?}");
}

/// Table 1 and figure 5: at h = 9 both orders with zero-order hold are near instability (ρ = 0.93 and more); relaxed hold is far
/// from it. Of all orders and methods the tuned ones are at least as good as the paper's masters.
#[test]
fn orders_and_methods() {
    let mut case = master(["first", "second"]);
    case.run.coupling = CouplingConfig::zoh();
    let system = linear(&case);
    let (methods, inputs) = (names(&["zoh", "relaxed"]), names(&["first.x", "first.v", "second.F"]));
    let options = TuneOptions {
        objectives: &BOTH,
        methods: &methods,
        connections: &inputs,
        steps: Some((9.0, 9.0)),
        evaluations: Some(600),
        ..TuneOptions::default()
    };
    let found = tune(&system, &case.run, &options).unwrap();
    let own = found.own.clone().unwrap();
    let least = found.front.iter().map(|one| one.score.spectral_radius).fold(f64::INFINITY, f64::min);
    println!("at 9 s: zero-order hold {:?}, least radius {least}", values(&own));
    assert!(own.score.spectral_radius > 0.9 && least < 0.45, "{own:?} {least}");
}
