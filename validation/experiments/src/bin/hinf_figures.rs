//! Figures of the H∞ coupling: random dual masses, vehicle and steering, errors over frequency.
//!
//! `cargo xtask proof` runs it and keeps what it prints in `bench/hinf.md`; pictures go into the folder it is given.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program of figures prints and may panic")]

#[path = "../../../../crates/koppel/tests/common/cases/mod.rs"]
mod cases;
#[path = "../../../../crates/koppel/tests/papers/monte_carlo.rs"]
mod monte_carlo;

use crate::cases::{Case, case, random_dual_mass_case};
use koppel::coupling::{CouplingConfig, HinfConfig, Hold, PrestepConfig, StartUp, VfpsConfig};
use koppel::frequency::error_table;
use koppel::hinf::HoldOrder;
use koppel::identify::ModelConfig;
use koppel::record::Trajectory;
use koppel::run::{Flow, Parallel, Run, RunConfig};
use koppel::signal::external::ExternalConfig;
use koppel::system::System;
use koppel_io::plot::{Curve, Plot, Scale};
use monte_carlo::{seeds, unstable};
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| ".".into()));
    let count = arguments.next().map_or(10_000, |count| count.parse().unwrap());
    stability(count);
    accuracy(count.min(2000));
    steering(&folder);
    over_frequency(&folder);
}

const START: StartUp = StartUp::Constant;

fn hinf(change: impl FnOnce(&mut HinfConfig)) -> CouplingConfig {
    let mut config = HinfConfig::default();
    change(&mut config);
    CouplingConfig::from(config)
}

fn stability(count: usize) {
    let begin = Instant::now();
    let seeds = seeds(0, count);
    println!(
        "Random dual masses that become unstable, of {count}, by the spectral radius of the macro step:\n"
    );
    println!("| coupling | part | deviation | independent implementation | distance in deviations |");
    println!("| --- | --- | --- | --- | --- |");
    let off = f64::INFINITY;
    for (name, coupling, expected) in [
        ("zoh", CouplingConfig::zoh(), 0.216),
        ("foh", CouplingConfig::foh(START), 0.369),
        ("soh", CouplingConfig::soh(START), 0.666),
        ("hinf, disc 1 ms", hinf(|c| (c.disc, c.limit) = (Some(1e-3), off)), 0.167),
        ("hinf, disc 5 ms", hinf(|c| (c.disc, c.limit) = (Some(5e-3), off)), 0.185),
    ] {
        let (part, deviation) = unstable(&coupling, &seeds);
        let distance = (part - expected) / deviation;
        println!("| {name} | {part:.4} | {deviation:.4} | {expected} | {distance:+.1} |");
    }
    println!("\nTwo threads, {:.0} s.\n", begin.elapsed().as_secs_f64());
}

/// Columns by name.
struct RunRecord {
    names: Vec<String>,
    table: Trajectory,
    /// False if it ended in numbers that are none; the rows before are kept.
    is_whole: bool,
}

impl RunRecord {
    fn new(system: System, config: &RunConfig) -> RunRecord {
        let mut run = Run::new(system, config).unwrap();
        let mut table = Trajectory::default();
        let is_whole = run.run(&mut table, &mut |_| Ok(Flow::Continue)).is_ok();
        let names = run.columns().iter().map(|column| column.name.clone()).collect();
        RunRecord { names, table, is_whole }
    }

    fn column(&self, name: &str) -> Vec<f64> {
        let matches = |known: &String| known == name || *known == format!("monolith.{name}");
        self.table.column(self.names.iter().position(matches).unwrap()).collect()
    }

    /// Chen et al. 2021, (15).
    fn nrms(&self, reference: &RunRecord, name: &str) -> f64 {
        let (own, exact) = (self.column(name), reference.column(name));
        let (low, high) = exact.iter().fold((f64::MAX, f64::MIN), |(l, h), y| (l.min(*y), h.max(*y)));
        let square: f64 = own.iter().zip(&exact).map(|(a, b)| (a - b).powi(2)).sum();
        (square / exact.len() as f64).sqrt() / (high - low)
    }
}

/// Chen et al. 2021, Tables 3 and 4.
fn accuracy(count: usize) {
    println!(
        "Systems of {count} whose NRMS error of force or velocity exceeds η (scaled to 2000), and those whose"
    );
    println!("velocity is larger in the fourth second than in the second (unstable by the trace):\n");
    println!("| pulse | coupling | η = 0.2 | 0.4 | 0.6 | 0.8 | unstable |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (name, row) in [
        ("zoh", "1062 | 538 | 458 | 427 | 407"),
        ("foh", "1368 | 902 | 786 | 749 | 669"),
        ("soh", "1641 | 1400 | 1342 | 1325 | 1138"),
        ("hinf", "967 | 446 | 378 | 359 | 323"),
    ] {
        println!("| paper | {name} | {row} |");
    }
    let seeds = seeds(0, count);
    for width in [1e-3, 1e-2, 5e-2, 0.1] {
        for (name, coupling) in [
            ("zoh", CouplingConfig::zoh()),
            ("foh", CouplingConfig::foh(START)),
            ("soh", CouplingConfig::soh(START)),
            ("hinf, limiter", hinf(|_| {})),
            ("hinf, no limiter", hinf(|c| c.limit = f64::INFINITY)),
        ] {
            let (one, other) = seeds.split_at(seeds.len() / 2);
            let counts = std::thread::scope(|scope| {
                let handle = scope.spawn(|| inaccurate(one, &coupling, width));
                let other = inaccurate(other, &coupling, width);
                let one = handle.join().unwrap();
                std::array::from_fn::<usize, 5, _>(|k| one[k] + other[k])
            });
            let cells = counts.map(|n| format!("{:.0}", n as f64 * 2000.0 / count as f64)).join(" | ");
            println!("| {:.0} ms | {name} | {cells} |", width * 1e3);
        }
    }
    println!();
}

fn inaccurate(seeds: &[u64], coupling: &CouplingConfig, width: f64) -> [usize; 5] {
    let mut counts = [0; 5];
    for seed in seeds {
        let mut case = random_dual_mass_case(*seed);
        if let ExternalConfig::Pulses { width: length, amplitude, .. } = &mut case.externals[0].1 {
            // The same momentum, 0.1 N.s, whatever the width.
            (*length, *amplitude) = (width, 0.1 / width);
        }
        let config = RunConfig { coupling: coupling.clone(), threads: Parallel::Never, ..case.run.clone() };
        let plain = RunConfig { coupling: CouplingConfig::zoh(), ..config.clone() };
        let exact = RunRecord::new(case.reference().unwrap(), &plain);
        let run = RunRecord::new(case.system().unwrap(), &config);
        if !run.is_whole {
            counts.iter_mut().for_each(|n| *n += 1);
            continue;
        }
        let worst = run.nrms(&exact, "first.F").max(run.nrms(&exact, "second.v"));
        for (n, limit) in counts.iter_mut().zip([0.2, 0.4, 0.6, 0.8]) {
            *n += usize::from(worst > limit || worst.is_nan());
        }
        let velocity = run.column("second.v");
        let largest = |from: usize, to: usize| velocity[from..to].iter().map(|v| v.abs()).fold(0.0, f64::max);
        counts[4] += usize::from(largest(60, 80) > largest(22, 42));
    }
    counts
}

/// Chen et al. 2021, 4.2: Fig. 12 and Table 6.
fn steering(folder: &Path) {
    println!(
        "Vehicle and steering: NRMS error in %, and seconds on one processor, the fastest of five runs:\n"
    );
    println!(
        "| torque to | step | coupling | steering angle | rack speed | yaw rate | lateral velocity | s |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, hz) in [("epas", 1), ("epas-fast", 3)] {
        for step in [1e-3, 0.02] {
            let mut case = case(name).unwrap();
            case.run = RunConfig { step, threads: Parallel::Never, ..case.run };
            let place = format!("{hz} Hz | {:.0} ms", step * 1e3);
            let curves = steered(&case, &place);
            let plot = Plot {
                title: format!("Rack speed, torque from 0 to {hz} Hz"),
                x: "time, s".into(),
                y: "m/s".into(),
                scale: [Scale::Linear; 2],
                curves,
            };
            if step == 0.02 {
                std::fs::write(folder.join(format!("{name}.svg")), plot.svg()).unwrap();
            }
        }
    }
    println!();
}

/// One row per coupling; the curves of some.
fn steered(case: &Case, place: &str) -> Vec<Curve> {
    let (exact, seconds) = timed(|| case.reference().unwrap(), &case.run);
    println!("| {place} | monolithic | 0 | 0 | 0 | 0 | {seconds:.3} |");
    let mut curves = vec![curve("monolithic", &exact)];
    let prestep = PrestepConfig { model: ModelConfig::Derivatives, ..PrestepConfig::default() };
    for (name, coupling, is_drawn) in [
        ("zoh", CouplingConfig::zoh(), false),
        ("foh", CouplingConfig::foh(START), false),
        ("soh", CouplingConfig::soh(START), true),
        ("hinf", hinf(|_| {}), true),
        ("hinf, weight of order 3", hinf(|c| c.weight_order = 3), false),
        ("prestep", CouplingConfig::from(prestep), false),
        ("vfps", CouplingConfig::from(VfpsConfig::default()), false),
    ] {
        let config = RunConfig { coupling, ..case.run.clone() };
        let (run, seconds) = timed(|| case.system().unwrap(), &config);
        if is_drawn {
            curves.push(curve(name, &run));
        }
        if !run.is_whole {
            let last = run.table.times.last().copied().unwrap_or(0.0);
            println!("| {place} | {name} | diverges, infinite after {last:.2} s | | | | |");
            continue;
        }
        let signals = ["steering.delta_s", "steering.v", "vehicle.yaw_rate", "vehicle.v_y"];
        let cells = signals.map(|signal| format!("{:.3}", 100.0 * run.nrms(&exact, signal))).join(" | ");
        println!("| {place} | {name} | {cells} | {seconds:.3} |");
    }
    curves
}

fn timed(system: impl Fn() -> System, config: &RunConfig) -> (RunRecord, f64) {
    let once = || {
        let system = system();
        let begin = processor_seconds();
        (RunRecord::new(system, config), processor_seconds() - begin)
    };
    let (run, first) = once();
    (run, (0..4).map(|_| once().1).fold(first, f64::min))
}

/// Time that this thread has had a processor: what passes on a quiet machine, whatever else this one does.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux machine");
    text.split(' ').next().unwrap().parse::<f64>().unwrap() * 1e-9
}

fn curve(name: &str, run: &RunRecord) -> Curve {
    let points = run.table.times.iter().copied().zip(run.column("steering.v"));
    Curve { name: name.into(), points: points.filter(|(_, v)| v.abs() < 0.1).collect() }
}

/// Chen et al. 2021, Fig. 4 and Fig. 15.
fn over_frequency(folder: &Path) {
    let methods = [
        ("zoh", CouplingConfig::zoh()),
        ("foh", CouplingConfig::foh(START)),
        ("soh", CouplingConfig::soh(START)),
        ("hinf, order 1", hinf(|_| {})),
        ("hinf, order 2", hinf(|c| c.weight_order = 2)),
        ("hinf, order 3", hinf(|c| c.weight_order = 3)),
    ];
    draw_errors(&methods, "Coupling error", &folder.join("coupling-error.svg"));
    let held = [
        ("held by zoh", hinf(|c| c.hold = HoldOrder::Zoh)),
        ("held by foh", hinf(|c| c.hold = HoldOrder::Foh)),
        ("held by soh", hinf(|c| c.hold = HoldOrder::Soh)),
    ];
    let title = "Coupling error of hinf, by how values are held";
    draw_errors(&held, title, &folder.join("coupling-error-holds.svg"));
}

fn draw_errors(methods: &[(&str, CouplingConfig)], title: &str, path: &Path) {
    let frequencies: Vec<f64> = (0..=300).map(|k| 1e-3 * 1000_f64.powf(f64::from(k) / 300.0)).collect();
    let configs: Vec<CouplingConfig> = methods.iter().map(|(_, coupling)| coupling.clone()).collect();
    let table = error_table(&configs, Hold::Constant, &frequencies).unwrap();
    let curves = methods.iter().zip(table).map(|((name, _), row)| Curve {
        name: (*name).into(),
        points: frequencies.iter().copied().zip(row.unwrap()).collect(),
    });
    let plot = Plot {
        title: title.into(),
        x: "frequency times step".into(),
        y: "|u - y| / |y|".into(),
        scale: [Scale::Logarithmic; 2],
        curves: curves.collect(),
    };
    std::fs::write(path, plot.svg()).unwrap();
}
