//! The best of many, if more than one number counts: all of them tried, or bred.
//!
//! What is searched is a [`Problem`]: it draws, breeds and judges. Whatever is judged is judged once and kept: the front is
//! that of everything ever seen, not of the last generation.

mod nsga2;

pub use nsga2::{Breeding, breed};

use super::pareto::{Point, front};
use crate::SplitMix64;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// How many are judged before the next look.
const TOGETHER: usize = 64;

/// Something to be searched.
pub trait Problem: Sync {
    /// What is chosen. Two that are equal are the same choice; the lesser one is kept if two are equally good.
    type Genome: Clone + Ord + Send + Sync;

    /// Those to begin with; the rest of the first generation is drawn.
    fn first(&self) -> Vec<Self::Genome>;

    /// Any one.
    fn draw(&self, random: &mut SplitMix64) -> Self::Genome;

    /// One that takes after both.
    fn child(&self, parents: [&Self::Genome; 2], random: &mut SplitMix64) -> Self::Genome;

    /// How good it is.
    fn judge(&self, genome: &Self::Genome) -> Point;

    /// Told what was judged so far, every now and then.
    fn look(&self, _evaluated: &Evaluated<Self::Genome>) {}
}

/// Everything that was judged.
#[derive(Clone, Debug)]
pub struct Evaluated<G> {
    all: BTreeMap<G, Point>,
}

impl<G: Clone + Ord + Send + Sync> Evaluated<G> {
    fn new() -> Self {
        Evaluated { all: BTreeMap::new() }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True if nothing was judged.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them with what is known of them.
    pub fn all(&self) -> impl Iterator<Item = (&G, &Point)> {
        self.all.iter()
    }

    /// The best of all, in the order of the first objective.
    pub fn front(&self) -> Vec<(&G, &Point)> {
        let (genomes, points): (Vec<&G>, Vec<Point>) = self.all.iter().map(|(g, p)| (g, p.clone())).unzip();
        let mut best: Vec<(&G, &Point)> =
            front(&points).into_iter().map(|at| (genomes[at], &self.all[genomes[at]])).collect();
        // Those that break a rule have none.
        let first = |point: &Point| point.objectives.first().copied().unwrap_or(f64::INFINITY);
        crate::sort::sort_by(&mut best, |a, b| first(a.1).total_cmp(&first(b.1)));
        best
    }

    /// Judges what is new, in parallel.
    fn judge<P: Problem<Genome = G>>(
        &mut self,
        problem: &P,
        genomes: &[G],
        progress: &(dyn Fn(usize) + Sync),
    ) {
        let mut new: Vec<&G> = genomes.iter().filter(|genome| !self.all.contains_key(genome)).collect();
        new.sort_unstable();
        new.dedup();
        let before = self.all.len();
        let count = std::sync::atomic::AtomicUsize::new(before);
        let judged: Vec<(G, Point)> = new
            .par_iter()
            .map(|genome| {
                let point = problem.judge(genome);
                progress(count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1);
                ((*genome).clone(), point)
            })
            .collect();
        self.all.extend(judged);
    }
}

/// Judges all of these; `progress` is given the number of those judged so far.
pub fn try_all<P: Problem>(
    problem: &P,
    genomes: &[P::Genome],
    progress: &(dyn Fn(usize) + Sync),
) -> Evaluated<P::Genome> {
    let mut evaluated = Evaluated::new();
    for some in genomes.chunks(TOGETHER) {
        evaluated.judge(problem, some, progress);
        problem.look(&evaluated);
    }
    evaluated
}
