//! How often verdicts on runs are right: random systems of many kinds beside runs at a tiny step.
//!
//! ```console
//! $ cargo run --release --package koppel-experiments --bin calibration -- 1 1000
//! ```
//!
//! The arguments are a seed and how many systems there are. Each runs three times, with a random step from harmless to unstable, method and schedule; `confirm =
//! "always"`. The truth is a run at a step of at most 1/19200 of the run under first-order hold. Where a run of half that many steps differs from it by more
//! than a fifth of the error in question, the truth is not known, and the run counts apart.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program of figures prints and may panic")]

use koppel::SplitMix64;
use koppel::analysis::{Certificate, RunVerdict};
use koppel::record::Trajectory;
use koppel::run::Flow;
use koppel_session::{Confirm, Outcome, RunOptions, Session};
use rayon::prelude::*;
use std::fmt::Write;
use std::path::Path;

/// Length of a run, in s.
const STOP: f64 = 10.0;
/// Steps of the run that counts as the truth, at least.
const TRUE_STEPS: f64 = 19_200.0;
/// Runs of one system.
const RUNS: usize = 3;
/// A run has diverged if it leaves so many ranges of the truth.
const DIVERGED: f64 = 10.0;

const CLASSES: [(&str, Class); 9] = [
    ("linear", linear),
    ("polynomial", polynomial),
    ("saturating", saturating),
    ("friction", friction),
    ("switching", switching),
    ("stiff", stiff),
    ("chaotic", chaotic),
    ("aliasing source", aliasing),
    ("late instability", late),
];

/// The equations of each subsystem, with input `u` and output `y`.
type Parts = Vec<String>;
/// A random system of a class, for runs of this step.
type Class = fn(&mut SplitMix64, f64) -> Parts;

/// A run beside the truth.
struct Judged {
    class: usize,
    error: f64,
    has_diverged: bool,
    is_true: bool,
    verdict: RunVerdict,
    band: Option<(f64, f64)>,
    text: String,
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().unwrap());
    let (seed, count) = (arguments.next().unwrap_or(1), arguments.next().unwrap_or(1000));
    let judged: Vec<Judged> = (0..count).into_par_iter().flat_map_iter(|index| system(seed, index)).collect();
    println!("Seed {seed}, {count} systems, {} runs.\n", judged.len());
    table(&judged);
    let wrong = judged.iter().filter(|run| run.is_bad());
    for run in wrong.take(20) {
        let (_, high) = run.band.unwrap_or_default();
        eprintln!(
            "{}: {:?}, true error {:.4}, at most {high:.4} stated\n{}",
            CLASSES[run.class].0, run.verdict, run.error, run.text
        );
    }
}

impl Judged {
    /// Trusted far above what is stated, or wrong though good.
    fn is_bad(&self) -> bool {
        let is_far =
            self.verdict == RunVerdict::Trusted && self.error > 2.0 * self.band.unwrap_or_default().1;
        let is_missed = self.has_diverged && self.verdict != RunVerdict::Wrong;
        is_missed || self.is_true && (is_far || self.verdict == RunVerdict::Wrong && self.error < 0.05)
    }
}

fn table(judged: &[Judged]) {
    println!(
        "| class | runs | truth not known | trusted | above the stated error | above twice that | above 10 % | below 1 %: trusted | median of stated and true error | below 5 %, called wrong | diverged: wrong |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for class in (0..CLASSES.len()).map(Some).chain([None]) {
        let all: Vec<&Judged> =
            judged.iter().filter(|run| class.is_none_or(|class| run.class == class)).collect();
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
        let alarms = known.iter().filter(|run| run.error < 0.05 && run.verdict == RunVerdict::Wrong).count();
        let diverged: Vec<&&Judged> = all.iter().filter(|run| run.has_diverged).collect();
        let found = diverged.iter().filter(|run| run.verdict == RunVerdict::Wrong).count();
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} of {} | {median:.2} | {alarms} | {found} of {} |",
            class.map_or("all", |class| CLASSES[class].0),
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

/// The runs of one system.
fn system(seed: u64, index: u64) -> Vec<Judged> {
    let mut random = SplitMix64(SplitMix64::first(seed.wrapping_mul(1_000_003).wrapping_add(index)));
    let class = index as usize % CLASSES.len();
    let state = random.0;
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
            judge(class, &parts, &wires, (steps, method, schedule))
        })
        .collect()
}

/// A ring, and sometimes one connection across it: from, to, gain.
fn wires(count: usize, random: &mut SplitMix64) -> Vec<(usize, usize, f64)> {
    let gain =
        |random: &mut SplitMix64| between(random, 0.2, 1.2) * if random.happens(0.6) { -1.0 } else { 1.0 };
    (0..count).map(|k| (k, (k + 1) % count, gain(random))).collect()
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

fn judge(
    class: usize,
    parts: &Parts,
    wires: &[(usize, usize, f64)],
    (steps, method, schedule): (f64, &str, &str),
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
    let (rows, certificate) = run(&own, Confirm::Always)?;
    let (error, has_diverged) = match &rows {
        Ok(rows) => (error(rows, &truth), has_left(rows, &truth)),
        Err(()) => (f64::INFINITY, true),
    };
    let doubt = self::error(&rough, &truth);
    let certificate = certificate?;
    Some(Judged {
        class,
        error,
        has_diverged,
        is_true: doubt <= 0.2 * error.max(1e-3),
        verdict: certificate.verdict,
        band: certificate.overall.map(|band| (band.error, band.high)),
        text: format!("{own}# {}", certificate.reason),
    })
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

fn between(random: &mut SplitMix64, low: f64, high: f64) -> f64 {
    low + (high - low) * random.unit()
}

/// An angular frequency with 3 to 40 periods in a run.
fn frequency(random: &mut SplitMix64) -> f64 {
    let periods = 3.0 * (40.0_f64 / 3.0).powf(random.unit());
    2.0 * std::f64::consts::PI * periods / STOP
}

/// Two to five parts, each by one of these.
fn several(random: &mut SplitMix64, kinds: &[&dyn Fn(&mut SplitMix64) -> String]) -> Parts {
    let count = 2 + random.below(4);
    // The class itself is there at least once.
    (0..count)
        .map(|k| if k == 0 { kinds[0](random) } else { kinds[random.below(kinds.len())](random) })
        .collect()
}

fn oscillator(random: &mut SplitMix64) -> String {
    let (w, d) = (frequency(random), between(random, 0.03, 0.6));
    let (x, v) = (between(random, -1.0, 1.0), w * between(random, -1.0, 1.0));
    let out = if random.happens(0.5) { "x".to_owned() } else { format!("v / {w:?}") };
    format!(
        "state x = {x:?}\nstate v = {v:?}\nder(x) = v\nder(v) = {:?} * (u - x) - {:?} * v\ny = {out}\n",
        w * w,
        2.0 * d * w
    )
}

fn lag(random: &mut SplitMix64) -> String {
    let rate = frequency(random) * between(random, 0.2, 1.0);
    format!("state x = {:?}\nder(x) = {rate:?} * (u - x)\ny = x\n", between(random, -1.0, 1.0))
}

fn linear(random: &mut SplitMix64, _: f64) -> Parts {
    several(random, &[&oscillator, &lag])
}

fn polynomial(random: &mut SplitMix64, _: f64) -> Parts {
    let duffing = |random: &mut SplitMix64| {
        let (w, d, cubic) = (frequency(random), between(random, 0.05, 0.5), between(random, 0.2, 3.0));
        let x = between(random, -1.5, 1.5);
        format!(
            "state x = {x:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * (u - x - {cubic:?} * x^3) - {:?} * v\ny = x\n",
            w * w,
            2.0 * d * w
        )
    };
    let van_der_pol = |random: &mut SplitMix64| {
        let (w, mu) = (frequency(random), between(random, 0.2, 3.0));
        format!(
            "state x = 1.5\nstate v = 0\nder(x) = v\nder(v) = {:?} * (1 - x^2) * v - {:?} * (x - u)\ny = x\n",
            mu * w,
            w * w
        )
    };
    several(random, &[&duffing, &van_der_pol, &oscillator, &lag])
}

fn saturating(random: &mut SplitMix64, _: f64) -> Parts {
    let tanh = |random: &mut SplitMix64| {
        let (gain, rate) =
            (10.0_f64.powf(between(random, 0.0, 3.0)), frequency(random) * between(random, 0.1, 0.6));
        format!(
            "state x = {:?}\nder(x) = {rate:?} * (tanh({gain:?} * u) - x)\ny = x\n",
            between(random, -1.0, 1.0)
        )
    };
    let clamp = |random: &mut SplitMix64| {
        let (high, w) = (between(random, 0.05, 0.8), frequency(random));
        format!(
            "state x = {:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * (clamp(2 * u, -{high:?}, {high:?}) - x) - {:?} * v\ny = x\n",
            between(random, -1.0, 1.0),
            w * w,
            0.4 * w
        )
    };
    several(random, &[&tanh, &clamp, &oscillator, &lag])
}

fn friction(random: &mut SplitMix64, _: f64) -> Parts {
    let coulomb = |random: &mut SplitMix64| {
        let (w, force) = (frequency(random), between(random, 0.02, 0.3));
        let width = w * 10.0_f64.powf(between(random, -3.0, -1.0));
        format!(
            "state x = {:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * (u - x - {force:?} * tanh(v / {width:?})) - {:?} * v\ny = x\n",
            between(random, -1.0, 1.0),
            w * w,
            0.1 * w
        )
    };
    several(random, &[&coulomb, &oscillator, &lag])
}

fn switching(random: &mut SplitMix64, _: f64) -> Parts {
    let relay = |random: &mut SplitMix64| {
        let (rate, width) = (frequency(random) * between(random, 0.1, 0.6), between(random, 0.05, 0.4));
        format!(
            "state x = {:?}\ndiscrete r = 1\nder(x) = {rate:?} * (r + 0.5 * u - x)\nwhen x > {width:?} then r = -1 end\nwhen x < -{width:?} then r = 1 end\ny = x\n",
            between(random, -0.05, 0.05)
        )
    };
    let contact = |random: &mut SplitMix64| {
        let (w, hard, gap) = (frequency(random), between(random, 3.0, 300.0), between(random, 0.0, 0.8));
        format!(
            "state x = {:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * (u - x - {hard:?} * max(0, x - {gap:?})) - {:?} * v\ny = x\n",
            between(random, -1.0, gap),
            w * w,
            0.2 * w
        )
    };
    several(random, &[&relay, &contact, &oscillator, &lag])
}

fn stiff(random: &mut SplitMix64, _: f64) -> Parts {
    let fast = |random: &mut SplitMix64| {
        let rate = frequency(random) * 10.0_f64.powf(between(random, 1.5, 2.5));
        format!("state x = 0\nder(x) = {rate:?} * (u - x - 0.5 * x^3)\ny = x\n")
    };
    several(random, &[&fast, &oscillator, &lag])
}

fn chaotic(random: &mut SplitMix64, _: f64) -> Parts {
    let lorenz = |random: &mut SplitMix64| {
        let speed = between(random, 0.5, 3.0);
        format!(
            "state a = {:?}\nstate b = 1\nstate c = 20\nder(a) = {:?} * (b - a + 2 * u)\nder(b) = {speed:?} * (a * (28 - c) - b)\nder(c) = {speed:?} * (a * b - 2.6667 * c)\ny = a / 20\n",
            between(random, 0.5, 2.0),
            10.0 * speed
        )
    };
    let wells = |random: &mut SplitMix64| {
        let w = frequency(random);
        format!(
            "state x = {:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * (x - x^3 + 0.5 * u + 0.3 * cos({:?} * time)) - {:?} * v\ny = x\n",
            between(random, -1.0, 1.0),
            w * w,
            1.2 * w,
            0.25 * w
        )
    };
    if random.happens(0.5) {
        several(random, &[&lorenz, &lag])
    } else {
        several(random, &[&wells, &oscillator, &lag])
    }
}

/// A source in time with the steps.
fn aliasing(random: &mut SplitMix64, step: f64) -> Parts {
    let source = move |random: &mut SplitMix64| {
        let k = [0.5, 1.0, 2.0, 13.0, 21.0][random.below(5)];
        let (w, centre, rate) =
            (2.0 * std::f64::consts::PI * k / step, between(random, 0.0, 0.5), frequency(random) * 0.3);
        format!(
            "state x = 0\nder(x) = {rate:?} * ((({centre:?} + sin({w:?} * time))^2) - x + 0.5 * u)\ny = x\n"
        )
    };
    let direct = move |random: &mut SplitMix64| {
        let k = [0.5, 1.0, 2.0, 13.0, 21.0][random.below(5)];
        let rate = frequency(random);
        format!(
            "state x = 0.5\nder(x) = {rate:?} * (u - x)\ny = x + 0.3 * sin({:?} * time)\n",
            2.0 * std::f64::consts::PI * k / step
        )
    };
    several(random, &[&source, &direct, &oscillator, &lag])
}

fn late(random: &mut SplitMix64, _: f64) -> Parts {
    let part = |random: &mut SplitMix64| {
        let (w, gain, begin) =
            (frequency(random), between(random, 1.0, 6.0), between(random, 0.5, 0.9) * STOP);
        format!(
            "state x = {:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * ({gain:?} * tanh(u) / (1 + exp(-(time - {begin:?}) / 0.1)) - x) - {:?} * v\ny = x\n",
            between(random, -0.1, 0.1),
            w * w,
            0.3 * w
        )
    };
    several(random, &[&part, &oscillator, &lag])
}
