//! Filters on connections, against their step responses.

use crate::members::Static;
use koppel::run::{Run, RunConfig, RunState};
use koppel::signal::external::ExternalConfig;
use koppel::system::{Connection, FilterConfig, SystemBuilder};

const OMEGA: f64 = 7.0;

fn run(filter: FilterConfig) -> Run {
    let system = SystemBuilder::new()
        .add("source", Static::gain(1.0, 0.0))
        .add("sink", Static::gain(1.0, 0.0))
        .external("source.u", ExternalConfig::Step { time: 0.5, before: 2.0, after: 3.0 })
        .connect(Connection::new("source.y", "sink.u").filter(filter))
        .build()
        .unwrap();
    Run::new(system, &RunConfig::new(2.0, 0.05)).unwrap()
}

#[test]
fn step_responses_are_exact() {
    let pt1 = |t: f64| 1.0 - (-OMEGA * t).exp();
    let pt2 = |t: f64| {
        let a = OMEGA / 2_f64.sqrt() * t;
        1.0 - (-a).exp() * (a.cos() + a.sin())
    };
    let general = FilterConfig::General { numerator: vec![OMEGA], denominator: vec![1.0, OMEGA] };
    let cases: [(FilterConfig, &dyn Fn(f64) -> f64); 3] =
        [(FilterConfig::Pt1 { omega: OMEGA }, &pt1), (FilterConfig::pt2(OMEGA), &pt2), (general, &pt1)];
    for (filter, response) in cases {
        let mut run = run(filter);
        let id = run.graph().find("source").unwrap();
        assert_eq!(run.graph().ports(id).outputs[1].name, "y_filtered");
        while !run.is_done() {
            // At rest until the step.
            let expected = 2.0 + response((run.time() - 0.5).max(0.0));
            let found = run.outputs(id)[1];
            assert!((found - expected).abs() < 1e-12, "{}: {found} {expected}", run.time());
            run.advance().unwrap();
        }
    }
}

#[test]
fn filters_are_part_of_the_state() {
    let mut run = run(FilterConfig::pt2(OMEGA));
    (0..15).for_each(|_| run.advance().unwrap());
    let mut state = RunState::default();
    run.save(&mut state).unwrap();
    let ends = [0, 1].map(|_| {
        run.restore(&state).unwrap();
        (0..10).for_each(|_| run.advance().unwrap());
        [run.outputs(0).to_vec(), run.outputs(1).to_vec()]
    });
    assert_eq!(ends[0], ends[1]);
}
