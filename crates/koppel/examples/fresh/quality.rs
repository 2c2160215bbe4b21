//! The live quality figure against the real error, run by run.

use super::networks::random_network;
use super::problems::{Fresh, problems};
use koppel::coupling::{CouplingConfig, StartUp, VfpsConfig};
use koppel::record::{Record, Table};
use koppel::run::{Flow, RunConfig, Simulation};

fn run(
    problem: &Fresh,
    coupling: CouplingConfig,
    step: f64,
    every: u64,
    figures: &[&str],
) -> Option<(Vec<Vec<f64>>, Vec<Vec<f64>>)> {
    let record = Record::Many(["all"].iter().chain(figures).map(|s| (*s).to_owned()).collect());
    let config = RunConfig { coupling, record, record_every: every, ..RunConfig::new(problem.stop, step) };
    let mut simulation = Simulation::new((problem.build)(), &config).ok()?;
    let graph = simulation.graph();
    let names: Vec<String> = (0..graph.outputs()).map(|o| graph.output_name(o)).collect();
    let columns = simulation.columns();
    let find = |name: &str| columns.iter().position(|c| c.name == name);
    let outputs: Vec<usize> = names.iter().map(|name| find(name)).collect::<Option<_>>()?;
    let figures: Vec<usize> = figures.iter().map(|name| find(name)).collect::<Option<_>>()?;
    let mut table = Table::default();
    let ended = simulation.run(&mut table, &mut |_| Ok(Flow::Continue)).is_ok();
    let _ = ended;
    let take = |list: &[usize]| list.iter().map(|c| table.column(*c).collect()).collect::<Vec<Vec<f64>>>();
    Some((take(&outputs), take(&figures)))
}

pub(crate) fn dump() {
    let mut all: Vec<(String, Fresh)> = Vec::new();
    for v in [1.0, 0.6, 0.75, 1.3, 1.6] {
        all.extend(problems(v).into_iter().map(|p| (format!("{} v{v}", p.name), p)));
    }
    all.extend((0..40).map(|seed| (format!("network {seed}"), random_network(seed))));
    for (name, problem) in &all {
        let foh = CouplingConfig::Foh { start: StartUp::Constant };
        let Some((exact, _)) = run(problem, foh, problem.smallest / 20.0, 20, &[]) else { continue };
        let ranges: Vec<f64> = exact
            .iter()
            .map(|e| {
                e.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b))
                    - e.iter().fold(f64::INFINITY, |a, b| a.min(*b))
            })
            .collect();
        for k in 0..problem.doublings {
            let factor = 1_usize << k;
            let step = problem.smallest * factor as f64;
            let Some((seen, figures)) = run(
                problem,
                CouplingConfig::Vfps(VfpsConfig::default()),
                step,
                1,
                &["coupling.quality", "coupling.defect", "coupling.curvature"],
            ) else {
                continue;
            };
            let rows = seen[0].len();
            let mut sum = 0.0;
            println!("# {name} | {step}");
            for i in 0..rows {
                let away: f64 = (0..seen.len())
                    .map(|o| {
                        (seen[o][i] - exact[o].get(i * factor).copied().unwrap_or(f64::NAN)).abs()
                            / ranges[o].max(1e-12)
                    })
                    .sum::<f64>()
                    / seen.len() as f64;
                sum += away;
                println!(
                    "{:.4e} {:.4e} {:.4e} {:.4e} {:.4e}",
                    away,
                    sum / (i + 1) as f64,
                    figures[0][i],
                    figures[1][i],
                    figures[2][i]
                );
            }
        }
    }
}
