//! How often verdicts on runs are right: random systems of many kinds beside runs at a tiny step.
//!
//! ```console
//! $ cargo run --release --package koppel-experiments --bin calibration -- 1 1000
//! ```
//!
//! The arguments are a seed and how many systems there are; `failures` prints the runs on which verdicts fail, `forecasts` leaves out
//! what confirms runs and prints why forecasts are not trusted. Each system runs
//! once, with a random step from harmless to unstable, method and schedule; `confirm = "always"`. One system of twenty has its
//! subsystems exported as FMUs for model exchange, and one of twenty as plain FMUs for co-simulation, without states and derivatives.
//!
//! The truth is a run of the native system at a step of at most 1/19200 of the run under first-order hold. Where a run of half that
//! many steps differs from it by more than a fifth of the error in question, the truth is not known, and the run counts apart.
//!
//! A forecast `stable` or `marginal` is wrong if the run diverges; `unstable` is wrong if the run is good although disturbances grow
//! a thousandfold within it by the forecast.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program of figures prints and may panic")]

mod systems;

use koppel::SplitMix64;
use koppel::analysis::{Certificate, Forecast, ForecastOptions, Methods, RunVerdict, Verdict};
use koppel::record::Trajectory;
use koppel::run::Flow;
use koppel_fmu::export::{self, Export, Feature, FmiVersion};
use koppel_session::{Confirm, Outcome, RunOptions, Session};
use rayon::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use systems::{CLASSES, Parts, STOP, wires};

/// Steps of the run that counts as the truth, at least.
const TRUE_STEPS: f64 = 19_200.0;
/// Runs of one system. Those of one system are alike: more systems tell more.
const RUNS: usize = 1;
/// A run has diverged if it leaves so many ranges of the truth.
const DIVERGED: f64 = 10.0;
/// One system of so many is exported as FMUs of a kind.
const FMUS: u64 = 20;
/// What disturbances become by a forecast that says `unstable` for sure, and an error that contradicts it.
const GROWN: f64 = 1e3;
const GOOD: f64 = 0.05;

/// What the subsystems of a system are.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Native,
    ModelExchange,
    Plain,
}

const KINDS: [(&str, Kind); 3] =
    [("native", Kind::Native), ("model exchange", Kind::ModelExchange), ("plain co-simulation", Kind::Plain)];

/// What was forecast of a run, and what came.
#[derive(Clone, Copy)]
struct Foreseen {
    verdict: Verdict,
    is_wrong: bool,
}

/// A run beside the truth.
struct Judged {
    class: usize,
    kind: Kind,
    foreseen: Foreseen,
    error: f64,
    has_diverged: bool,
    is_true: bool,
    verdict: RunVerdict,
    band: Option<(f64, f64)>,
    text: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, usual: u64| arguments.get(k).map_or(usual, |text| text.parse().unwrap());
    let (seed, count) = (number(0, 1), number(1, 1000));
    let is = |word: &str| arguments.get(2).is_some_and(|given| given == word);
    let (shows, only_forecasts) = (is("failures"), is("forecasts"));
    let confirm = if only_forecasts { Confirm::Off } else { Confirm::Always };
    let judged: Vec<Judged> =
        (0..count).into_par_iter().flat_map_iter(|index| system(seed, index, confirm)).collect();
    println!("Seed {seed}: {count} systems, {} runs.\n", judged.len());
    if !only_forecasts {
        table(&judged);
        println!();
    }
    forecasts(&judged);
    for run in judged.iter().filter(|run| only_forecasts && run.foreseen.is_remarkable()) {
        let Foreseen { verdict, is_wrong } = run.foreseen;
        let text = if is_wrong { &run.text } else { run.text.lines().last().unwrap_or_default() };
        eprintln!(
            "{}: {verdict:?}, wrong {is_wrong}, error {:.4}, diverged {}: {text}",
            CLASSES[run.class].0, run.error, run.has_diverged
        );
    }
    for run in judged.iter().filter(|run| shows && run.is_bad()) {
        let (_, high) = run.band.unwrap_or_default();
        eprintln!(
            "{}: {:?}, true error {:.4}, at most {high:.4} stated\n{}",
            CLASSES[run.class].0, run.verdict, run.error, run.text
        );
    }
}

impl Foreseen {
    fn is_remarkable(&self) -> bool {
        self.is_wrong || self.verdict == Verdict::Untrusted
    }
}

impl Judged {
    /// Trusted far above what is stated, or wrong though good.
    fn is_bad(&self) -> bool {
        let is_far =
            self.verdict == RunVerdict::Trusted && self.error > 2.0 * self.band.unwrap_or_default().1;
        let is_missed = self.has_diverged && self.verdict != RunVerdict::Wrong;
        let is_mistrusted = self.is_true && self.error < 0.01 && self.verdict != RunVerdict::Trusted;
        is_missed
            || is_mistrusted
            || self.is_true && (is_far || self.verdict == RunVerdict::Wrong && self.error < 0.05)
    }
}

/// Runs in groups: by class, by what subsystems are, all.
fn groups(judged: &[Judged]) -> Vec<(&'static str, Vec<&Judged>)> {
    let classes = CLASSES
        .iter()
        .enumerate()
        .map(|(class, (name, _))| (*name, judged.iter().filter(|run| run.class == class).collect()));
    let kinds =
        KINDS.iter().map(|(name, kind)| (*name, judged.iter().filter(|run| run.kind == *kind).collect()));
    classes.chain(kinds).chain([("all", judged.iter().collect())]).collect()
}

fn table(judged: &[Judged]) {
    println!(
        "| class | runs | truth not known | trusted | above the stated error | above twice that | above 10 % | below 1 %: trusted | median of stated and true error | below 5 %, called wrong | diverged: wrong |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, all) in groups(judged) {
        let known: Vec<&&Judged> = all.iter().filter(|run| run.is_true).collect();
        let trusted: Vec<&&&Judged> = known.iter().filter(|run| run.verdict == RunVerdict::Trusted).collect();
        let above = |factor: f64| {
            trusted.iter().filter(|run| run.error > factor * run.band.unwrap_or_default().1).count()
        };
        let good: Vec<&&&Judged> = known.iter().filter(|run| run.error < 0.01).collect();
        let good_trusted = good.iter().filter(|run| run.verdict == RunVerdict::Trusted).count();
        let mut ratios: Vec<f64> = trusted
            .iter()
            .filter(|run| run.error > 1e-3)
            .map(|run| run.band.unwrap_or_default().0 / run.error)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let median = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
        let alarms = known.iter().filter(|run| run.error < GOOD && run.verdict == RunVerdict::Wrong).count();
        let diverged: Vec<&&Judged> = all.iter().filter(|run| run.has_diverged).collect();
        let found = diverged.iter().filter(|run| run.verdict == RunVerdict::Wrong).count();
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} of {} | {median:.2} | {alarms} | {found} of {} |",
            all.len(),
            all.len() - known.len(),
            trusted.len(),
            above(1.0),
            above(2.0),
            trusted.iter().filter(|run| run.error > 0.1).count(),
            good_trusted,
            good.len(),
            diverged.len(),
        );
    }
}

fn forecasts(judged: &[Judged]) {
    println!("| class | forecasts | untrusted | stable, but diverged | unstable, but good |");
    println!("| --- | --- | --- | --- | --- |");
    for (name, all) in groups(judged) {
        let count =
            |is_one: &dyn Fn(&Foreseen) -> bool| all.iter().filter(|run| is_one(&run.foreseen)).count();
        println!(
            "| {name} | {} | {} | {} | {} |",
            all.len(),
            count(&|one| one.verdict == Verdict::Untrusted),
            count(&|one| one.is_wrong && one.verdict != Verdict::Unstable),
            count(&|one| one.is_wrong && one.verdict == Verdict::Unstable),
        );
    }
}

/// The runs of one system.
fn system(seed: u64, index: u64, confirm: Confirm) -> Vec<Judged> {
    let mut random = SplitMix64(SplitMix64::first(seed.wrapping_mul(1_000_003).wrapping_add(index)));
    let class = index as usize % CLASSES.len();
    let state = random.0;
    let kind = match index % FMUS {
        7 => Kind::ModelExchange,
        17 => Kind::Plain,
        _ => Kind::Native,
    };
    (0..RUNS)
        .filter_map(|_| {
            // Steps from 1/1200 to 1/15 of the run.
            let steps = (15.0 * 80.0_f64.powf(random.unit())).round();
            let method = ["zoh", "foh", "nepce"][random.below(3)];
            let schedule = ["parallel", "sequence"][random.below(2)];
            // The same system each time, but for what follows the step.
            let mut same = SplitMix64(state ^ 0x5555);
            let parts = CLASSES[class].1(&mut same, STOP / steps);
            let wires = wires(parts.len(), &mut same);
            judge((class, kind), &parts, &wires, (steps, method, schedule), confirm)
        })
        .collect()
}

fn text(parts: &Parts, wires: &[(usize, usize, f64)], settings: (f64, u64, &str, &str)) -> String {
    let (step, every, method, schedule) = settings;
    let mut text = format!(
        "[run]\nstop = {STOP:?}\nstep = {step:?}\nrecord = \"*.y\"\nrecord_every = {every}\ncoupling = \"{method}\"\nschedule = \"{schedule}\"\n"
    );
    for (k, equations) in parts.iter().enumerate() {
        write!(text, "[subsystems.s{k}]\nmodel = \"equations\"\nequations = \"\"\"\ninput u\noutput y\n{equations}\"\"\"\n").unwrap();
    }
    for (from, to, gain) in wires {
        write!(text, "[[connections]]\nfrom = \"s{from}.y\"\nto = \"s{to}.u\"\ngain = {gain:?}\n").unwrap();
    }
    text
}

/// The system with its subsystems as FMUs in this folder.
fn exported(text: &str, kind: Kind, folder: &Path) -> String {
    let session = Session::parse(text, Path::new("random.toml")).unwrap();
    let without = match kind {
        Kind::ModelExchange => vec![Feature::CoSimulation],
        _ => [Feature::OPTIONAL.as_slice(), &[Feature::ModelExchange]].concat(),
    };
    let options =
        export::Options { version: FmiVersion::Fmi2, without, library: export::library::find(None).unwrap() };
    let (begin, wires) = (text.find("[subsystems").unwrap(), text.find("[[connections]]").unwrap());
    let mut parts = String::new();
    for one in session.spec.subsystems() {
        let path: PathBuf = folder.join(format!("{}.fmu", one.name));
        Export::subsystem(&session.spec, &one.name, None).unwrap().write(&options, &path).unwrap();
        write!(parts, "[subsystems.{}]\nfmu = '{}'\n", one.name, path.display()).unwrap();
    }
    format!("{}{parts}{}", &text[..begin], &text[wires..])
}

fn judge(
    (class, kind): (usize, Kind),
    parts: &Parts,
    wires: &[(usize, usize, f64)],
    (steps, method, schedule): (f64, &str, &str),
    confirm: Confirm,
) -> Option<Judged> {
    let step = STOP / steps;
    let own = text(parts, wires, (step, 1, method, schedule));
    let fine = |share: f64| {
        let more = (share * TRUE_STEPS / steps).ceil();
        let text = text(parts, wires, (step / more, more as u64, "foh", "parallel"));
        run(&text, Confirm::Off).map(|(rows, _)| rows)
    };
    // Systems that explode by themselves, or end with a message, are none.
    let truth = fine(1.0)?.ok()?;
    let is_bounded = truth.rows.iter().flatten().all(|y| y.abs() < 1e4);
    let moves = (0..truth.width()).all(|k| range(&truth, k) > 1e-3);
    if !is_bounded || !moves {
        return None;
    }
    let rough = fine(0.5)?.ok()?;
    let folder = tempfile::tempdir().unwrap();
    let real = if kind == Kind::Native { own.clone() } else { exported(&own, kind, folder.path()) };
    let forecast = foresee(&real)?;
    let (rows, certificate) = run(&real, confirm)?;
    let (error, has_diverged) = match &rows {
        Ok(rows) => (error(rows, &truth), has_left(rows, &truth)),
        Err(()) => (f64::INFINITY, true),
    };
    let doubt = self::error(&rough, &truth);
    let grown = forecast.spectral_radius.unwrap_or(f64::INFINITY).powf(steps) > GROWN;
    let is_wrong = match forecast.verdict {
        Verdict::Untrusted => false,
        Verdict::Unstable => grown && error < GOOD,
        Verdict::Stable | Verdict::Marginal => has_diverged,
    };
    let reason = certificate.as_ref().map_or("", |certificate| certificate.reason.as_str());
    Some(Judged {
        class,
        kind,
        foreseen: Foreseen { verdict: forecast.verdict, is_wrong },
        error,
        has_diverged,
        is_true: doubt <= 0.2 * error.max(1e-3),
        verdict: certificate.as_ref().map_or(RunVerdict::Unconfirmed, |certificate| certificate.verdict),
        band: certificate.as_ref().and_then(|one| one.overall).map(|band| (band.error, band.high)),
        text: format!("{own}# {reason}\n# {:?}: {:?}", forecast.verdict, forecast.reason),
    })
}

/// The forecast of the run; nothing if it cannot begin.
fn foresee(text: &str) -> Option<Forecast> {
    let session = Session::parse(text, Path::new("random.toml")).unwrap();
    let mut run = session.build_run().ok()?;
    session.excite_unknown(&mut run, &|_| {}).ok()?;
    let options = ForecastOptions {
        methods: Some(Methods::Own),
        blame: Some(false),
        copy: Some(&|| session.copy_to_simulate()),
        ..ForecastOptions::default()
    };
    Some(Forecast::of(&mut run, &session.spec.run, &options))
}

/// The rows of a run, if it came to its end, and its certificate.
fn run(text: &str, confirm: Confirm) -> Option<(Result<Trajectory, ()>, Option<Certificate>)> {
    let mut session = Session::parse(text, Path::new("random.toml")).unwrap();
    let options = RunOptions {
        is_certified: confirm == Confirm::Always,
        confirm: Some(confirm),
        looks_ahead: confirm == Confirm::Always,
        ..RunOptions::default()
    };
    // Loops that are not zero-stable are refused.
    let mut prepared = session.start(options, &|_, _| {}).ok()?;
    let mut rows = Trajectory::default();
    let ending = prepared.run(&mut rows, &mut |_, next| {
        Ok(if next == u64::MAX { Flow::ContinueFor(64) } else { Flow::Continue })
    });
    let certificate = prepared.certificate(Outcome::from(&ending), &mut |_| true);
    Some((ending.map(|_| rows).map_err(|_| ()), certificate))
}

fn range(rows: &Trajectory, column: usize) -> f64 {
    let (low, high) = rows.column(column).fold((f64::MAX, f64::MIN), |(l, h), y| (l.min(y), h.max(y)));
    high - low
}

/// Root mean square over the range of the truth, of the worst output.
fn error(rows: &Trajectory, truth: &Trajectory) -> f64 {
    let one = |column: usize| {
        let squares: f64 =
            rows.column(column).zip(truth.column(column)).skip(1).map(|(a, b)| (a - b).powi(2)).sum();
        (squares / (rows.rows.len() - 1) as f64).sqrt() / range(truth, column)
    };
    (0..truth.width())
        .map(one)
        .fold(0.0, |worst, error| if error.is_nan() { f64::INFINITY } else { worst.max(error) })
}

/// True if an output leaves ten ranges of the truth.
fn has_left(rows: &Trajectory, truth: &Trajectory) -> bool {
    (0..truth.width()).any(|column| {
        let centre = truth.column(column).sum::<f64>() / truth.rows.len() as f64;
        rows.column(column).any(|y| y.is_nan() || (y - centre).abs() > DIVERGED * range(truth, column))
    })
}
