//! NSGA-II: generations bred from the best fronts.
//!
//! ```text
//! parents: P that were seen     the first generation is drawn
//! children: P, each from two parents; a parent is the better one of two that are drawn:
//!           of an earlier front, or with more room in the same one
//! next parents: of parents and children the earliest fronts; of the front that does not fit the ones with most room
//! ```
//!
//! Deb, Pratap, Agarwal & Meyarivan 2002, III; differs in: children that were seen before are bred again a few times, and
//! nothing is judged twice.

use super::super::pareto::{Point, ranks, room};
use super::{Evaluated, Problem, TOGETHER};
use crate::SplitMix64;

/// How long is bred, and from how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breeding {
    /// Parents of a generation.
    pub population: usize,
    /// Most that are judged.
    pub evaluations: usize,
    /// What tells all random numbers.
    pub seed: u64,
}

/// How often a child that was seen before is bred again.
const TRIES: usize = 8;
/// Generations in a row without anything new, after which there is nothing left to find.
const BARREN: usize = 3;

/// Breeds until so many have been judged, or nothing new comes any more; `progress` is given the number of those judged so far.
pub fn breed<P: Problem>(
    problem: &P,
    breeding: Breeding,
    progress: &(dyn Fn(usize) + Sync),
) -> Evaluated<P::Genome> {
    let Breeding { evaluations, .. } = breeding;
    let population = breeding.population.clamp(4, evaluations.max(4));
    let mut random = SplitMix64(breeding.seed);
    let mut evaluated = Evaluated::new();
    let mut parents = problem.first();
    parents.truncate(evaluations);
    while parents.len() < population.min(evaluations) {
        parents.push(problem.draw(&mut random));
    }
    for some in parents.chunks(TOGETHER) {
        evaluated.judge(problem, some, progress);
        problem.look(&evaluated);
    }
    parents = survivors(&evaluated, parents, population);
    let mut barren = 0;
    while evaluated.len() < evaluations && barren < BARREN {
        let mut children = children(problem, &evaluated, &parents, population, &mut random);
        children.truncate(evaluations - evaluated.len());
        let before = evaluated.len();
        evaluated.judge(problem, &children, progress);
        problem.look(&evaluated);
        barren = if evaluated.len() == before { barren + 1 } else { 0 };
        parents.extend(children);
        parents = survivors(&evaluated, parents, population);
    }
    evaluated
}

/// How a parent stands among the others.
#[derive(Clone, Copy)]
struct Standing {
    rank: usize,
    room: f64,
}

impl Standing {
    fn is_better(self, other: Standing) -> bool {
        (self.rank, -self.room) < (other.rank, -other.room)
    }
}

fn standings(points: &[Point]) -> Vec<Standing> {
    let ranks = ranks(points);
    let mut all: Vec<Standing> = ranks.iter().map(|rank| Standing { rank: *rank, room: 0.0 }).collect();
    for rank in 0..=ranks.iter().copied().max().unwrap_or(0) {
        let members: Vec<usize> = (0..points.len()).filter(|at| ranks[*at] == rank).collect();
        for (at, room) in members.iter().zip(room(points, &members)) {
            all[*at].room = room;
        }
    }
    all
}

fn points<G: Clone + Ord + Send + Sync>(evaluated: &Evaluated<G>, genomes: &[G]) -> Vec<Point> {
    genomes.iter().map(|genome| evaluated.all[genome].clone()).collect()
}

fn children<P: Problem>(
    problem: &P,
    evaluated: &Evaluated<P::Genome>,
    parents: &[P::Genome],
    count: usize,
    random: &mut SplitMix64,
) -> Vec<P::Genome> {
    let standings = standings(&points(evaluated, parents));
    let mut children: Vec<P::Genome> = Vec::with_capacity(count);
    for _ in 0..count {
        for _ in 0..TRIES {
            let mut pick = || {
                let (a, b) = (random.below(parents.len()), random.below(parents.len()));
                if standings[b].is_better(standings[a]) { b } else { a }
            };
            let pair = [pick(), pick()].map(|at| &parents[at]);
            let child = problem.child(pair, random);
            if !evaluated.all.contains_key(&child) && !children.contains(&child) {
                children.push(child);
                break;
            }
        }
    }
    children
}

/// The best of them, at most `count`.
fn survivors<G: Clone + Ord + Send + Sync>(
    evaluated: &Evaluated<G>,
    mut genomes: Vec<G>,
    count: usize,
) -> Vec<G> {
    genomes.sort_unstable();
    genomes.dedup();
    let standings = standings(&points(evaluated, &genomes));
    let mut order: Vec<usize> = (0..genomes.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (standings[*a], standings[*b]);
        a.rank.cmp(&b.rank).then(b.room.total_cmp(&a.room))
    });
    order.into_iter().take(count).map(|at| genomes[at].clone()).collect()
}
