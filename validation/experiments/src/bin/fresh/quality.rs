//! The live quality figure against the real error: a threshold fixed on one half of the problems, judged on the other.

use super::networks::random_network;
use super::problems::{Fresh, problems};
use super::{Seen, run};
use koppel::coupling::{CouplingConfig, StartUp, VfpsConfig};
use rayon::prelude::*;

/// A run is bad beyond this error, and should be flagged before it passes the other.
const BAD: f64 = 0.1;
const EARLY: f64 = 0.05;

/// One run, as far as the alarm goes.
pub(crate) struct Run {
    /// Which half of the problems it belongs to.
    pub(crate) half: usize,
    pub(crate) error: f64,
    /// The figure after every step.
    pub(crate) figures: Vec<f64>,
    /// Step at which the mean error so far passed 5 %.
    late: usize,
}

impl Run {
    pub(crate) fn is_bad(&self) -> bool {
        self.error > BAD
    }

    /// Step at which it is flagged.
    pub(crate) fn flagged(&self, threshold: f64) -> Option<usize> {
        self.figures.iter().position(|figure| *figure >= threshold)
    }

    fn most(&self) -> f64 {
        self.figures.iter().copied().fold(0.0, f64::max)
    }
}

/// All runs of one problem.
pub(crate) fn runs_of(problem: &Fresh, half: usize, doublings: u32) -> Vec<Run> {
    let foh = CouplingConfig::foh(StartUp::Constant);
    let Some(Seen { outputs: exact, .. }) = run(problem, foh, problem.smallest / 20.0, 20, &[]) else {
        return Vec::new();
    };
    let range = |signal: &Vec<f64>| {
        let ends = |(l, h): (f64, f64), v: &f64| (l.min(*v), h.max(*v));
        let (low, high) = signal.iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        (high - low).max(1e-12)
    };
    let ranges: Vec<f64> = exact.iter().map(range).collect();
    let at = |k: u32| {
        let factor = 1_usize << k;
        let vfps = CouplingConfig::from(super::vfps());
        let seen = run(problem, vfps, problem.smallest * factor as f64, 1, &["coupling.quality"])?;
        let (mut sum, mut error, mut late) = (0.0, 0.0, usize::MAX);
        let rows = seen.outputs[0].len().min(exact[0].len().div_ceil(factor));
        for row in 0..rows {
            let away = |k: usize| (seen.outputs[k][row] - exact[k][row * factor]).abs() / ranges[k];
            sum += (0..exact.len()).map(away).sum::<f64>() / exact.len() as f64;
            error = sum / (row + 1) as f64;
            if (error > EARLY || error.is_nan()) && late == usize::MAX {
                late = row;
            }
        }
        let error = if error.is_finite() && seen.is_complete { error } else { f64::INFINITY };
        Some(Run { half, error, figures: seen.figures.into_iter().next()?, late })
    };
    (0..doublings).filter_map(at).collect()
}

/// The threshold with the largest difference between the share of bad runs and the share of good runs that are flagged.
fn threshold(runs: &[&Run]) -> f64 {
    let share = |threshold: f64, bad: bool| {
        let all: Vec<_> = runs.iter().filter(|run| run.is_bad() == bad).collect();
        let flagged = all.iter().filter(|run| run.most() >= threshold).count();
        flagged as f64 / all.len().max(1) as f64
    };
    let gain = |threshold: f64| share(threshold, true) - share(threshold, false);
    let candidates = runs.iter().map(|run| run.most()).filter(|figure| *figure > 0.0);
    candidates.max_by(|a, b| gain(*a).total_cmp(&gain(*b))).unwrap_or(f64::INFINITY)
}

pub(crate) fn report() {
    let mut list = Vec::new();
    // Others than those with which the figure was made.
    let is_other = std::env::args().any(|argument| argument == "--others");
    let (variants, seeds) =
        if is_other { (&super::HELD_BACK[..], 40..80) } else { (&[1.0, 0.6, 0.75, 1.3, 1.6][..], 0..40) };
    for variant in variants.iter().copied() {
        let families = problems(variant).into_iter().enumerate();
        list.extend(families.map(|(number, problem)| (problem.doublings + 1, number % 2, problem)));
    }
    let families = list.len();
    list.extend(seeds.map(|seed| (9, (seed % 2) as usize, random_network(seed))));
    let of = |(doublings, half, problem): &(u32, usize, Fresh)| runs_of(problem, *half, *doublings);
    let by_problem: Vec<Vec<Run>> = list.par_iter().map(of).collect();
    let without_networks = by_problem[..families].iter().map(Vec::len).sum();
    let runs: Vec<Run> = by_problem.into_iter().flatten().collect();
    for (name, runs) in [("with networks", &runs[..]), ("without networks", &runs[..without_networks])] {
        for half in [0, 1] {
            let (own, others): (Vec<&Run>, Vec<&Run>) = runs.iter().partition(|run| run.half == half);
            print!("* {name}, threshold of half {} on the other: ", half + 1);
            judge(threshold(&own), &others);
        }
        print!("* {name}, default threshold on all: ");
        judge(VfpsConfig::default().modified_above, &runs.iter().collect::<Vec<_>>());
    }
}

fn judge(threshold: f64, runs: &[&Run]) {
    let (bad, good): (Vec<&&Run>, Vec<&&Run>) = runs.iter().partition(|run| run.is_bad());
    let flagged = |list: &[&&Run]| list.iter().filter(|run| run.flagged(threshold).is_some()).count();
    let early = bad.iter().filter(|run| run.flagged(threshold).is_some_and(|step| step <= run.late)).count();
    let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    println!(
        "threshold {threshold:.3}: {:.0} % of {} runs above 10 % error flagged, {:.0} % before the error passed 5 %; \
         {:.1} % of {} others flagged",
        percent(flagged(&bad), bad.len()),
        bad.len(),
        percent(early, bad.len()),
        percent(flagged(&good), good.len()),
        good.len()
    );
}
