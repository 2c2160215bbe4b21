//! Candidates and the choice, on systems of the library.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "common/cases/mod.rs"]
mod cases;

use crate::cases::{Case, case};
use koppel::coupling::{AutoConfig, CouplingConfig, Save};
use koppel::plan::{Basis, Choice, Steps, Task, choose};
use koppel::run::{Run, RunConfig, ScheduleConfig};

fn auto(case: &Case, steps: Steps, aim: AutoConfig) -> Choice {
    let coupling = CouplingConfig::Auto(aim);
    let step = if steps == Steps::Given { case.run.step } else { (case.run.stop - case.run.start) / 500.0 };
    let config = RunConfig { coupling, step, ..case.run.clone() };
    let schedules = vec![ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE];
    let task =
        Task { config, steps, schedules, aim, spared: Vec::new(), excluded: Vec::new(), effort: Task::ASKED };
    let mut start = |config: &RunConfig| Run::new(case.system()?, config);
    choose(&task, &mut start, &|_| {}).unwrap()
}

/// Counted costs do not depend on the machine: the same task gives the same choice, and a stricter one a dearer choice.
#[test]
fn a_choice_is_repeatable_and_pays_for_a_smaller_error() {
    let truck = case("quarter-truck").unwrap();
    let aim = |error: f64| AutoConfig { error, save: Save::Calls };
    let (coarse, again) = (auto(&truck, Steps::Free, aim(0.05)), auto(&truck, Steps::Free, aim(0.05)));
    assert_eq!(coarse.chosen, again.chosen);
    assert_eq!(coarse.basis, Basis::Forecast);
    let fine = auto(&truck, Steps::Free, aim(0.005));
    assert!(fine.error.unwrap() <= 0.005 && fine.cost.unwrap() > coarse.cost.unwrap(), "{fine:?}");
    assert!(coarse.tried.iter().filter(|tried| tried.keeps).all(|tried| tried.error.unwrap() <= 0.05));
}

/// With a given step methods are tried in a fixed order and nothing is timed: every choice is the same, however busy the machine.
#[test]
fn ten_choices_at_a_given_step_are_equal() {
    for (name, basis) in [
        ("quarter-truck", Basis::Forecast),
        ("dual-mass", Basis::Forecast),
        ("van-der-pol", Basis::Pilots),
        ("nonlinear-dual-mass", Basis::Pilots),
    ] {
        let case = case(name).unwrap();
        let choose = || auto(&case, Steps::Given, AutoConfig::default());
        let first = choose();
        assert_eq!((first.chosen.step, first.basis), (case.run.step, basis), "{first:?}");
        for _ in 1..10 {
            let again = choose();
            assert_eq!((&again.chosen, again.error), (&first.chosen, first.error), "{name}");
        }
    }
}

/// Of methods of about the same cost the most accurate is taken, and where holding inputs is not enough another one.
#[test]
fn a_given_step_gets_the_most_accurate_method_of_the_cheapest() {
    let truck = case("quarter-truck").unwrap();
    let at =
        |step: f64| Case { run: RunConfig { step, ..truck.run.clone() }, ..case("quarter-truck").unwrap() };
    // Zero-order hold has 0.3 % at 2 ms, 4 % at 20 ms, and is not stable beyond 38.1 ms.
    let fine = auto(&at(2e-3), Steps::Given, AutoConfig::default());
    let kept = || fine.tried.iter().filter(|tried| tried.keeps);
    let held = kept().find(|tried| tried.method == "zoh, parallel").unwrap();
    assert!(
        kept().count() >= 4 && kept().all(|tried| tried.cost.unwrap() <= 1.15 * held.cost.unwrap()),
        "{fine:?}"
    );
    let least = kept().filter_map(|tried| tried.error).fold(f64::INFINITY, f64::min);
    assert!(
        fine.error.unwrap() <= 1.25 * least && fine.error.unwrap() < 0.2 * held.error.unwrap(),
        "{fine:?}"
    );
    let coarse = auto(&at(0.038), Steps::Given, AutoConfig::default());
    assert!(coarse.chosen.coupling != CouplingConfig::zoh(), "{coarse:?}");
    assert!(coarse.error.unwrap() <= 0.05 && coarse.warnings.is_empty(), "{coarse:?}");
}

/// What choosing takes is counted: no more than there is, or a tenth of the run, and where the whole run cannot be tried nothing is
/// promised.
#[test]
fn trials_cover_the_whole_run_or_nothing_is_promised() {
    let oscillator = case("van-der-pol").unwrap();
    let until = |stop: f64| {
        let run = RunConfig { stop, ..oscillator.run.clone() };
        auto(&Case { run, ..case("van-der-pol").unwrap() }, Steps::Given, AutoConfig::default())
    };
    let short = until(30.0);
    assert_eq!((short.basis, short.looked_until), (Basis::Pilots, 30.0));
    assert!(short.calls > 0.0 && short.calls <= Task::ASKED, "{short:?}");
    // Ten times, twice of them while all cores are busy.
    for _ in 0..7 {
        assert_eq!(until(30.0), short, "all of it is the same each time");
    }
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let load = || {
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (0..2 * cores).for_each(|_| _ = scope.spawn(load));
        let busy = [until(30.0), until(30.0)];
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(busy.iter().all(|one| *one == short));
    });
    let long = until(30_000.0);
    assert_eq!((long.basis, long.error), (Basis::Nothing, None), "{long:?}");
    assert!(long.warnings[0].contains("not judged"), "{long:?}");
    assert!(long.calls <= 0.1 * 2.0 * 30_000.0 / oscillator.run.step, "{long:?}");
}

/// Fewer communications are worth longer steps: five times zero-order hold's limit of 38.1 ms.
#[test]
fn communications_are_saved_by_long_steps() {
    let truck = case("quarter-truck").unwrap();
    let choice = auto(&truck, Steps::Free, AutoConfig { save: Save::Communications, ..Default::default() });
    assert!(choice.chosen.step > 5.0 * 0.0381, "{choice:?}");
}

/// An aim out of reach at a given step is said to be; the most exact settings are taken.
#[test]
fn what_cannot_be_reached_is_said() {
    let truck = case("quarter-truck").unwrap();
    let truck = Case { run: RunConfig { step: 0.3, ..truck.run.clone() }, ..truck };
    let choice = auto(&truck, Steps::Given, AutoConfig { error: 1e-6, save: Save::Calls });
    assert_eq!(choice.chosen.step, 0.3);
    assert!(choice.warnings.iter().any(|text| text.contains("no settings meet")), "{choice:?}");
    // One that can be reached with a shorter step: the step is named, and does what is said of it.
    let choice = auto(&truck, Steps::Given, AutoConfig { error: 2e-3, save: Save::Calls });
    let words = choice.warnings.iter().find(|text| text.contains(" s would, or step")).unwrap();
    let step: f64 = words.split(" s would").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    let shorter = Case { run: RunConfig { step, ..truck.run.clone() }, ..truck };
    let choice = auto(&shorter, Steps::Given, AutoConfig { error: 2e-3 / 0.95, save: Save::Calls });
    assert!(choice.error.unwrap() <= 2e-3 && choice.chosen.step < 0.3, "{choice:?}");
}
