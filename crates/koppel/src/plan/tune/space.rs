//! What can be chosen about a run, as numbers that can be drawn and bred.

use super::methods::Method;
use super::stages::Stages;
use crate::SplitMix64;
use crate::coupling::CouplingConfig;
use crate::plan::Candidate;
use crate::run::RunConfig;
use std::collections::BTreeMap;

/// A method and one of its levels.
type Gene = (usize, usize);

/// One choice. Simple ones are less than others: fewer methods, then fewer stages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Genome {
    /// Different methods, less one.
    mixture: usize,
    depth: u16,
    pub(super) step: usize,
    pub(super) stages: Vec<u16>,
    /// Method and its level, for each connection or for all at once.
    pub(super) methods: Vec<Gene>,
}

/// All choices.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// Settings of which all else is taken.
    pub(super) config: RunConfig,
    /// In s, growing.
    pub(super) steps: Vec<f64>,
    pub(super) stages: Stages,
    /// Stages that are kept.
    pub(super) kept_stages: Option<Vec<u16>>,
    /// None if the coupling is kept.
    pub(super) methods: Vec<Method>,
    /// Inputs that may have methods of their own; none if all have the same.
    pub(super) connections: Vec<String>,
    /// What all other inputs have, if there are any.
    pub(super) rest: Option<CouplingConfig>,
}

/// How often something is changed beyond what parents give.
const CHANGED: f64 = 0.3;
/// How often all connections get the same method at once.
const UNITED: f64 = 0.1;

impl Space {
    /// The genome with what makes no difference taken out.
    pub(super) fn genome(&self, step: usize, stages: &[u16], mut methods: Vec<Gene>) -> Genome {
        let first = methods.first().copied();
        if let Some((first, _)) = first.filter(|(first, _)| !self.methods[*first].may_mix()) {
            let level = methods[0].1;
            methods.fill((first, level));
        }
        for gene in methods.iter_mut().filter(|gene| !self.methods[gene.0].may_mix()) {
            *gene = first.unwrap_or(*gene);
        }
        let mut kinds = methods.clone();
        kinds.sort_unstable();
        kinds.dedup();
        let stages = self.kept_stages.clone().unwrap_or_else(|| self.stages.earliest(stages));
        let depth = stages.iter().copied().max().unwrap_or(0);
        Genome { mixture: kinds.len().saturating_sub(1), depth, step, stages, methods }
    }

    /// The settings it stands for.
    pub(super) fn candidate(&self, genome: &Genome) -> Candidate {
        let schedule = match self.kept_stages {
            Some(_) => self.config.schedule.clone(),
            None => self.stages.schedule(&genome.stages),
        };
        Candidate {
            step: self.steps[genome.step],
            coupling: self.coupling(&genome.methods),
            schedule,
            ..Candidate::of(&self.config)
        }
    }

    /// Where no connection is left over, what most of them have is the default.
    fn coupling(&self, genes: &[Gene]) -> CouplingConfig {
        let of = |gene: &Gene| self.methods[gene.0].coupling(gene.1);
        let count = |gene: &Gene| genes.iter().filter(|other| *other == gene).count();
        let Some(most) = genes.iter().rev().max_by_key(|gene| count(gene)) else {
            return self.config.coupling.clone();
        };
        let (default, mut connections) = match &self.rest {
            Some(CouplingConfig::Mixed { default, connections }) => {
                ((**default).clone(), connections.clone())
            }
            Some(other) => (other.clone(), BTreeMap::new()),
            None => (of(most), BTreeMap::new()),
        };
        let all = self.connections.iter().zip(genes).map(|(input, gene)| (input.clone(), of(gene)));
        connections.extend(all.filter(|(_, own)| *own != default));
        match connections.is_empty() {
            true => default,
            false => CouplingConfig::Mixed { default: Box::new(default), connections },
        }
    }

    /// Genes of methods: one for each connection, or one for all, or none.
    fn places(&self) -> usize {
        if self.methods.is_empty() { 0 } else { self.connections.len().max(1) }
    }

    /// All methods with all their levels.
    fn variants(&self) -> Vec<Gene> {
        let levels = |method: usize| (0..self.methods[method].levels()).map(move |level| (method, level));
        (0..self.methods.len()).flat_map(levels).collect()
    }

    /// How many there are; schedules of many subsystems are counted as if all differed.
    pub(super) fn size(&self) -> f64 {
        let schedules = match (&self.kept_stages, self.stages.all()) {
            (Some(_), _) => 1.0,
            (None, Some(all)) => all.len() as f64,
            (None, None) => (1..=self.stages.len()).map(|k| k as f64).product(),
        };
        self.steps.len() as f64 * schedules * self.count(&self.variants())
    }

    /// Those that share a run with others, and those that have it to themselves.
    fn sorted(&self, variants: &[Gene]) -> (Vec<Gene>, Vec<Gene>) {
        variants.iter().partition(|(method, _)| self.methods[*method].may_mix())
    }

    /// How many choices of methods there are.
    fn count(&self, variants: &[Gene]) -> f64 {
        let (mixed, alone) = self.sorted(variants);
        match self.places() {
            0 => 1.0,
            places => (mixed.len() as f64).powi(places as i32) + alone.len() as f64,
        }
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Genome> {
        self.combined(&(0..self.steps.len()).collect::<Vec<_>>(), &self.variants())
    }

    /// One step of four and a few levels of each method, if these are no more than so many.
    pub(super) fn coarse(&self, most: usize) -> Option<Vec<Genome>> {
        let steps: Vec<usize> = (0..self.steps.len()).step_by(4).collect();
        let levels = |method: usize| {
            self.methods[method].coarse_levels().into_iter().map(move |level| (method, level))
        };
        let variants: Vec<Gene> = (0..self.methods.len()).flat_map(levels).collect();
        let schedules = if self.kept_stages.is_some() { 1 } else { self.stages.all()?.len() };
        let count = steps.len() as f64 * schedules as f64 * self.count(&variants);
        (count <= most as f64).then(|| self.combined(&steps, &variants))
    }

    fn combined(&self, steps: &[usize], variants: &[Gene]) -> Vec<Genome> {
        let schedules = match &self.kept_stages {
            Some(kept) => vec![kept.clone()],
            None => self.stages.all().unwrap_or_default(),
        };
        let (mixed, alone) = self.sorted(variants);
        let mut choices: Vec<Vec<Gene>> = vec![Vec::new()];
        for _ in 0..self.places() {
            let longer =
                |choice: Vec<Gene>| mixed.iter().map(move |gene| [choice.clone(), vec![*gene]].concat());
            choices = choices.into_iter().flat_map(longer).collect();
        }
        if self.places() > 0 {
            choices.extend(alone.iter().map(|gene| vec![*gene; self.places()]));
        }
        let mut all = Vec::new();
        for step in steps {
            for stages in &schedules {
                all.extend(choices.iter().map(|methods| self.genome(*step, stages, methods.clone())));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Every method by itself, all in parallel and in sequence, at a few steps.
    pub(super) fn simple(&self) -> Vec<Genome> {
        let last = self.steps.len() - 1;
        let near = self.steps.partition_point(|step| *step < self.config.step).min(last);
        let mut steps = vec![near, last / 2, 3 * last / 4, last];
        steps.dedup();
        let methods: Vec<Option<usize>> = match self.methods.len() {
            0 => vec![None],
            count => (0..count).map(Some).collect(),
        };
        let mut all = Vec::new();
        for step in steps {
            for method in &methods {
                for stages in [vec![0; self.stages.len()], self.stages.in_sequence()] {
                    let level = method.map_or(0, |method| self.methods[method].levels() / 2);
                    let genes = method.map_or(Vec::new(), |method| vec![(method, level); self.places()]);
                    all.push(self.genome(step, &stages, genes));
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    fn any_method(&self, random: &mut SplitMix64) -> Gene {
        let method = random.below(self.methods.len());
        (method, random.below(self.methods[method].levels()))
    }

    /// Any one; every second one has one method for all connections.
    pub(super) fn draw(&self, random: &mut SplitMix64) -> Genome {
        let step = random.below(self.steps.len());
        let stages: Vec<u16> =
            (0..self.stages.len()).map(|_| random.below(self.stages.len()) as u16).collect();
        let mut methods: Vec<Gene> = (0..self.places()).map(|_| self.any_method(random)).collect();
        if random.happens(0.5) {
            let first = methods.first().copied().unwrap_or_default();
            methods.fill(first);
        }
        self.genome(step, &stages, methods)
    }

    /// One that takes after both, and is changed a little.
    pub(super) fn child(&self, [a, b]: [&Genome; 2], random: &mut SplitMix64) -> Genome {
        let (low, high) = (a.step.min(b.step), a.step.max(b.step));
        let mut step = low + random.below(high - low + 1);
        let mut stages: Vec<u16> = if random.happens(0.5) { a.stages.clone() } else { b.stages.clone() };
        let both = a.methods.iter().zip(&b.methods);
        let mut methods: Vec<Gene> = both.map(|(a, b)| if random.happens(0.5) { *a } else { *b }).collect();
        if random.happens(CHANGED) {
            step = step.saturating_add_signed(random.nudge()).min(self.steps.len() - 1);
        }
        if random.happens(CHANGED) && !stages.is_empty() {
            let (who, where_to) = (random.below(stages.len()), random.below(stages.len()));
            stages[who] = where_to as u16;
        }
        if random.happens(UNITED) && !methods.is_empty() {
            let one = methods[random.below(methods.len())];
            methods.fill(one);
        }
        let often = 1.0 / methods.len().max(2) as f64;
        for gene in &mut methods {
            if !random.happens(often) {
                continue;
            }
            *gene = match random.happens(0.5) {
                true => self.any_method(random),
                false => {
                    let most = self.methods[gene.0].levels() - 1;
                    (gene.0, gene.1.saturating_add_signed(random.nudge()).min(most))
                }
            };
        }
        self.genome(step, &stages, methods)
    }
}

/// From one step to another, both of them among so many per decade, each with three digits.
pub(super) fn steps_between(from: f64, to: f64, per_decade: f64) -> Vec<f64> {
    // In fours, so that every fourth one is as even.
    let count = 4 * ((to / from).log10() * per_decade / 4.0).round().max(1.0) as i32;
    let inner = (1..count).map(|k| to_three_digits(from * (to / from).powf(f64::from(k) / f64::from(count))));
    let mut steps: Vec<f64> = std::iter::once(from).chain(inner).chain([to]).collect();
    steps.retain(|step| (from..=to).contains(step));
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    steps
}

/// As it is written in a file.
pub(super) fn to_three_digits(step: f64) -> f64 {
    format!("{step:.2e}").parse().unwrap_or(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_short_numbers_between_their_ends() {
        let steps = steps_between(0.0123, 1.0, 8.0);
        assert_eq!((steps[0], steps[steps.len() - 1]), (0.0123, 1.0));
        assert!(
            steps.windows(2).all(|pair| pair[1] / pair[0] > 1.28 && pair[1] / pair[0] < 1.34),
            "{steps:?}"
        );
        assert!(steps.iter().all(|step| step.to_string().len() <= 6), "{steps:?}");
        assert_eq!(steps_between(0.5, 0.5, 10.0), [0.5]);
    }
}
