//! Every example of the repository, its true course, and a grid of methods and steps beside what `auto` chooses.

#![allow(dead_code, reason = "the figures and the test each use their part")]

use koppel::coupling::{
    CorrectorConfig, CouplingConfig, ErrorEquationConfig, HinfConfig, NepceConfig, PrestepConfig, VfpsConfig,
};
use koppel::plan::Candidate;
use koppel::run::{Reading, Run, RunConfig, ScheduleConfig};
use koppel_session::{Session, monolith};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The error that is wanted.
pub(crate) const WANTED: f64 = 0.05;
/// Points of the true course.
const POINTS: f64 = 20_000.0;

/// An example with its true course.
pub(crate) struct Example {
    pub(crate) name: String,
    pub(crate) file: Session,
    path: PathBuf,
    text: String,
    truth: Truth,
}

/// What a run gave.
pub(crate) struct Outcome {
    /// Root mean square of the worst output over its range; infinite if the run failed.
    pub(crate) error: f64,
    pub(crate) seconds: f64,
    /// Steps of subsystems, those before the run included.
    pub(crate) calls: f64,
}

/// Outputs of the system uncut.
struct Truth {
    names: Vec<String>,
    times: Vec<f64>,
    rows: Vec<Vec<f64>>,
    /// How far each output moves; 0 if it stands still.
    sizes: Vec<f64>,
}

/// Paths of all examples but studies, by their folder.
pub(crate) fn paths() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut all = Vec::new();
    for folder in ["", "prestep", "loops"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let name = Path::new(folder).join(path.file_stem().unwrap());
                all.push((name.display().to_string(), path));
            }
        }
    }
    all.sort();
    all
}

impl Example {
    pub(crate) fn new(name: &str, path: &Path) -> Self {
        Example::of(name, path, std::fs::read_to_string(path).unwrap())
    }

    /// One that stops earlier.
    pub(crate) fn until(name: &str, path: &Path, stop: f64) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let old = text.lines().find(|line| line.starts_with("stop = ")).unwrap();
        Example::of(name, path, text.replacen(old, &format!("stop = {stop:?}"), 1))
    }

    fn of(name: &str, path: &Path, text: String) -> Self {
        let file = Session::parse(&text, path).unwrap();
        let truth = Truth::new(&text, path);
        Example { name: name.into(), file, path: path.into(), text, truth }
    }

    /// The example with other settings of the run.
    pub(crate) fn with(&self, settings: &[(&str, &str)]) -> Session {
        let mut file = Session::parse(&self.text, &self.path).unwrap();
        for (name, value) in settings {
            file.set(&format!("run.{name}"), value, "test").unwrap();
        }
        file
    }

    /// One run from its set-up to its end.
    pub(crate) fn run(&self, config: &RunConfig) -> Outcome {
        let mut file = self.file.clone();
        file.spec.run = RunConfig { threads: koppel::run::Parallel::Never, ..config.clone() };
        let begin = Instant::now();
        let Ok(mut run) = file.build_run() else {
            return Outcome { error: f64::INFINITY, seconds: f64::INFINITY, calls: f64::INFINITY };
        };
        let order: Vec<usize> = self.truth.names.iter().map(|name| run.graph().find(name).unwrap()).collect();
        let mut rows = vec![(run.time(), row(&run, &order))];
        let mut is_whole = true;
        while !run.is_done() {
            if run.advance().is_err() {
                is_whole = false;
                break;
            }
            rows.push((run.time(), row(&run, &order)));
        }
        let seconds = begin.elapsed().as_secs_f64();
        let probing: u64 = run.probing().iter().map(|report| report.step_calls).sum();
        let calls: u64 = run.statistics().shares.iter().map(|share| share.step_calls).sum();
        let error = if is_whole { self.truth.error(&rows) } else { f64::INFINITY };
        Outcome { error, seconds, calls: (probing + calls) as f64 }
    }

    /// All of the grid that keep the error, but for those that take `dearer` times as long as the best so far: methods are tried from
    /// the longest step down, and shorter ones take longer still.
    pub(crate) fn good(
        &self,
        config: &RunConfig,
        per_doubling: u32,
        dearer: f64,
    ) -> Vec<(RunConfig, Outcome)> {
        let (all, mut good, mut least) = (self.grid(per_doubling), Vec::new(), f64::INFINITY);
        for method in all.chunk_by(|a, b| a.coupling == b.coupling && a.schedule == b.schedule) {
            for candidate in method.iter().rev() {
                let config = candidate.on(config);
                let run = self.run(&config);
                if run.error <= WANTED {
                    least = run.seconds.min(least);
                }
                if run.seconds.is_finite() && run.seconds > dearer * least {
                    break;
                }
                if run.error <= WANTED {
                    good.push((config, run));
                }
            }
        }
        good
    }

    /// Every method at steps from a sixteenth of the example's own up to a tenth of the run, `per_doubling` between one and its
    /// double; both schedules for holds.
    pub(crate) fn grid(&self, per_doubling: u32) -> Vec<Candidate> {
        let run = &self.file.spec.run;
        let longest = (run.stop - run.start) / 10.0;
        let ratio = 2.0_f64.powf(1.0 / f64::from(per_doubling));
        let steps = (0..).map(|k| run.step / 16.0 * ratio.powi(k)).take_while(|step| *step <= longest);
        let steps: Vec<f64> = steps.collect();
        let carried = PrestepConfig { error_equation: ErrorEquationConfig::Carried, ..Default::default() };
        let holds = [
            CouplingConfig::zoh(),
            CouplingConfig::foh(Default::default()),
            CouplingConfig::soh(Default::default()),
        ];
        let others = [
            CouplingConfig::from(NepceConfig {
                gain: 1.0,
                against: Default::default(),
                anti_aliasing: false,
            }),
            CouplingConfig::from(PrestepConfig::default()),
            CouplingConfig::from(carried),
            CouplingConfig::from(CorrectorConfig::default()),
            CouplingConfig::from(HinfConfig::default()),
            CouplingConfig::from(VfpsConfig::default()),
        ];
        let both = [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE];
        let holds = holds.iter().flat_map(|hold| both.iter().map(move |schedule| (hold, schedule)));
        let others = others.iter().map(|other| (other, &both[0]));
        let methods = holds.chain(others.filter(|_| run.iteration.is_none()));
        let candidate = |(coupling, schedule): (&CouplingConfig, &ScheduleConfig), step: f64| Candidate {
            step,
            coupling: coupling.clone(),
            schedule: schedule.clone(),
            every: run.every.clone(),
        };
        methods.flat_map(|method| steps.iter().map(move |step| candidate(method, *step))).collect()
    }
}

impl Truth {
    fn new(text: &str, path: &Path) -> Self {
        // Filters belong to the coupling.
        let file = Session::parse(&text.replace("filter = \"auto\"", ""), path).unwrap();
        let graph = file.build().unwrap().graph;
        let names: Vec<String> = (0..graph.len()).map(|id| graph.name(id).to_owned()).collect();
        let fine = (file.spec.run.stop - file.spec.run.start) / POINTS;
        // Whole micro steps of a shared solver, so that only the coupling makes a difference.
        let micro = file.spec.to_json()["subsystems"][&names[0]]["solver"]["step"].as_f64();
        let fine = micro.map_or(fine, |micro| micro * (fine / micro).ceil());
        let mut file = file;
        file.spec.run.step = fine;
        if let Ok(mut run) = monolith(&file, None, &[]) {
            return Truth::of(names, &mut run, &[0]);
        }
        // A non-linear algebraic loop: solved at every point of a very fine run. With Euler's method and inputs held over its own
        // steps that is the system uncut.
        let foh = CouplingConfig::foh(Default::default());
        file.spec.run.coupling = if micro.is_some() { CouplingConfig::zoh() } else { foh };
        (file.spec.run.reading, file.spec.run.iteration) = (Reading::Fresh, None);
        let everything = koppel::record::Record::One("all".into());
        let mut run =
            Run::new(file.build().unwrap(), &RunConfig { record: everything, ..file.spec.run }).unwrap();
        let order: Vec<usize> = names.iter().map(|name| run.graph().find(name).unwrap()).collect();
        Truth::of(names, &mut run, &order)
    }

    fn of(names: Vec<String>, run: &mut Run, order: &[usize]) -> Self {
        let (times, rows) = (vec![run.time()], vec![row(run, order)]);
        let mut truth = Truth { names, times, rows, sizes: Vec::new() };
        while !run.is_done() {
            run.advance().unwrap();
            truth.times.push(run.time());
            truth.rows.push(row(run, order));
        }
        let size = |k: usize| {
            let low = truth.rows.iter().map(|row| row[k]).fold(f64::INFINITY, f64::min);
            let high = truth.rows.iter().map(|row| row[k]).fold(f64::NEG_INFINITY, f64::max);
            if high - low > 1e-9 * low.abs().max(high.abs()) { high - low } else { 0.0 }
        };
        truth.sizes = (0..truth.rows[0].len()).map(size).collect();
        truth
    }

    fn error(&self, rows: &[(f64, Vec<f64>)]) -> f64 {
        let mut worst = 0.0_f64;
        for (k, size) in self.sizes.iter().enumerate().filter(|(_, size)| **size > 0.0) {
            let squares: f64 = rows[1..].iter().map(|(time, row)| (row[k] - self.at(*time, k)).powi(2)).sum();
            let error = (squares / (rows.len() - 1) as f64).sqrt() / size;
            worst = worst.max(if error.is_nan() { f64::INFINITY } else { error });
        }
        worst
    }

    fn at(&self, time: f64, k: usize) -> f64 {
        let next = self.times.partition_point(|t| *t < time).clamp(1, self.times.len() - 1);
        let (a, b) = (self.times[next - 1], self.times[next]);
        let part = ((time - a) / (b - a)).clamp(0.0, 1.0);
        self.rows[next - 1][k] + part * (self.rows[next][k] - self.rows[next - 1][k])
    }
}

fn row(run: &Run, order: &[usize]) -> Vec<f64> {
    order.iter().flat_map(|id| run.outputs(*id)).copied().collect()
}
