//! Whole runs: steps that nobody looks at are taken in one go, and nothing else changes.

use super::{gain, integrator, last, scalar};
use koppel::record::Trajectory;
use koppel::run::{Change, Ending, Flow, Run, RunConfig};
use koppel::system::{Connection, System, SystemBuilder};

/// Two masses of one state each that feed each other: held inputs, one wire per input.
fn pair() -> System {
    SystemBuilder::new()
        .add("a", scalar(-1.0, 1.0, 1.0, 0.0, 1.0))
        .add("b", scalar(-2.0, 0.5, 1.0, 0.0, 0.0))
        .connect(Connection::new("a.y", "b.u"))
        .connect(Connection::new("b.y", "a.u").gain(-3.0))
        .build()
        .unwrap()
}

/// Rows, when the watcher was asked, and how the run ended.
fn watched(config: &RunConfig, flow: impl Fn(u64) -> Flow + Send + Sync) -> (Trajectory, Vec<u64>, Ending) {
    let mut run = Run::new(pair(), config).unwrap();
    let (mut table, mut asked) = (Trajectory::default(), Vec::new());
    let ending = run.run(&mut table, &mut |run| {
        asked.push(run.index());
        Ok(flow(run.index()))
    });
    (table, asked, ending.unwrap())
}

#[test]
fn rows_are_the_same_however_rarely_anybody_looks() {
    for every in [1, 7, 1000, 10_000] {
        let config = RunConfig { record_every: every, ..RunConfig::new(5.0, 1e-3) };
        let (step_by_step, asked, _) = watched(&config, |_| Flow::Continue);
        assert_eq!(asked, (1..=5000).collect::<Vec<_>>());
        for steps in [0, 1, 3, 64, 1_000_000, u64::MAX] {
            let (table, asked, ending) = watched(&config, |_| Flow::ContinueFor(steps));
            assert_eq!(table, step_by_step, "{every}, {steps}");
            assert_eq!(ending, Ending::Reached);
            // After the first step, then as rarely as wanted, and at the end.
            let expected: Vec<u64> = (1..5000).step_by(steps.clamp(1, 5000) as usize).chain([5000]).collect();
            assert_eq!(asked, expected, "{every}, {steps}");
        }
    }
}

#[test]
fn a_run_ends_where_the_watcher_says() {
    let config = RunConfig { record_every: 10, ..RunConfig::new(5.0, 1e-3) };
    let flow = |index| if index < 1000 { Flow::ContinueFor(333) } else { Flow::Stop };
    let (table, asked, ending) = watched(&config, flow);
    assert_eq!(asked, [1, 334, 667, 1000]);
    assert_eq!(ending, Ending::Interrupted { time: 1.0 });
    assert_eq!(*table.times.last().unwrap(), 1.0);
}

#[test]
fn conditions_and_changes_are_seen_at_their_step() {
    let mut config = RunConfig { record_every: 1000, ..RunConfig::new(5.0, 1e-3) };
    config.stop_when = Some("b.y > 0.1".into());
    let by_step = watched(&config, |_| Flow::Continue);
    let at_once = watched(&config, |_| Flow::ContinueFor(u64::MAX));
    assert!(matches!(by_step.2, Ending::Condition { time } if time < 1.0), "{:?}", by_step.2);
    assert_eq!((by_step.0, by_step.2), (at_once.0, at_once.2));
    let change = |time: f64| Change { time, set: [("a.u".to_owned(), 1.0)].into() };
    let mut config = RunConfig { record_every: 1000, ..RunConfig::new(5.0, 1e-3) };
    config.at = vec![change(1.2345), change(4.0)];
    let run = |flow: Flow| {
        let system = SystemBuilder::new()
            .add("a", integrator(0.0))
            .add("b", gain(2.0))
            .connect(Connection::new("a.y", "b.u"))
            .build();
        let mut run = Run::new(system.unwrap(), &config).unwrap();
        let mut table = Trajectory::default();
        run.run(&mut table, &mut |_| Ok(flow)).unwrap();
        (last(&run, &table, "a.y"), table)
    };
    let (end, table) = run(Flow::ContinueFor(u64::MAX));
    // The integral of 1 from the first change on.
    assert!((end - (5.0 - 1.2345)).abs() < 1e-12, "{end}");
    assert_eq!(table, run(Flow::Continue).1);
}
