//! The best settings of a run, if stability, accuracy and cost all count.
//!
//! Steps, methods with their parameters, orders and groups of calls, and methods of single connections are searched: all
//! combinations if there are few, by [`breed`] if there are many. What is found is the front of those that nothing else
//! beats in every objective (Glumac & Kovacic 2018, 5, where all combinations are tried).

mod methods;
mod objective;
mod score;
mod space;
mod stages;

pub use objective::Objective;
pub use score::Score;

use super::Candidate;
use super::evolution::{Breeding, Evaluated, Problem, breed, try_all};
use super::pareto::{Point, front};
use crate::SplitMix64;
use crate::analysis::{LinearSystem, Scan, Stiffness};
use crate::coupling::{self, CouplingConfig};
use crate::error::{Error, Result};
use crate::run::RunConfig;
use methods::Method;
use objective::{choose, point};
use rayon::prelude::*;
use score::{Detail, Scorer};
use serde::Serialize;
use space::{Genome, Space, steps_between, to_three_digits};
use stages::Stages;

/// Given settings with the values of the objectives.
pub type BestSoFar<'a> = dyn Fn(&[(Candidate, Vec<f64>)]) + Sync + 'a;

/// What is searched, and how long.
#[derive(Clone, Copy)]
pub struct TuneOptions<'a> {
    /// What is to become small.
    pub objectives: &'a [Objective],
    /// Methods by name; none keeps the coupling of the run.
    pub methods: &'a [String],
    /// Smallest and largest step, in s; around the run's own if nothing is said.
    pub steps: Option<(f64, f64)>,
    /// Whether orders and groups of calls are searched.
    pub schedules: bool,
    /// Inputs that may have methods of their own, all others stay as they are; none if all have the same.
    pub connections: &'a [String],
    /// Most settings that are judged; if nothing is said, as many as take seconds.
    pub evaluations: Option<usize>,
    /// What tells all random numbers.
    pub seed: u64,
    /// Detail how many settings have been judged, and how many will be at most.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    /// Given the best so far, with the values of the objectives, every now and then.
    pub front: &'a BestSoFar<'a>,
}

impl Default for TuneOptions<'_> {
    fn default() -> Self {
        TuneOptions {
            objectives: &[Objective::Radius, Objective::Error, Objective::Cost],
            methods: &[],
            steps: None,
            schedules: true,
            connections: &[],
            evaluations: None,
            seed: 1,
            progress: &|_, _| {},
            front: &|_| {},
        }
    }
}

/// Settings and what they are worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuned {
    /// The settings.
    pub candidate: Candidate,
    /// What they are worth.
    pub score: Score,
    /// True for the settings of the run itself.
    pub is_own: bool,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Tuning {
    /// What was to become small.
    pub objectives: Vec<Objective>,
    /// The run as it stands, if it can be judged.
    pub own: Option<Tuned>,
    /// Settings that no others beat in every objective, the cheapest first.
    pub front: Vec<Tuned>,
    /// How many combinations there are.
    pub combinations: f64,
    /// How many were judged.
    pub judged: usize,
    /// True if all were.
    pub is_complete: bool,
    /// Smallest and largest step that were tried, in s.
    pub steps: (f64, f64),
}

impl Tuning {
    /// The place of the settings to take: the cheapest that keep the wanted error, or where no error is known those nearest to
    /// the best of every objective. Nothing if none keep it.
    pub fn choice(&self, wanted: f64) -> Option<usize> {
        choose(&self.front, &self.objectives, wanted)
    }
}

/// Steps per decade.
const STEPS: f64 = 40.0;
/// Parents of a generation: so many that there are several generations.
const GENERATIONS: usize = 16;
const FEWEST_PARENTS: usize = 16;
const MOST_PARENTS: usize = 80;
/// Settings that are judged if nothing is said: at least, at most, and the work between.
const FEWEST: usize = 64;
const MOST: usize = 1000;
const WORK: f64 = 1e10;
/// Macro steps of the shortest step that is tried over the time errors are predicted for.
const MOST_STEPS: f64 = 10_000.0;

/// Names of the methods that can be searched.
pub fn methods() -> Vec<&'static str> {
    coupling::methods().into_iter().map(|info| info.name).collect()
}

/// A method as it is searched first, with the run's own settings of it if it has any: to see whether it can be used at all.
pub fn method(name: &str, config: &RunConfig, system: &LinearSystem) -> Option<CouplingConfig> {
    let method = Method::named(name, &config.coupling, system.linearised().is_empty())?;
    Some(method.coupling(0))
}

/// Searches the settings of a run on the linear models of its subsystems. With an iteration, which makes methods and
/// schedules alike, only its step is searched.
///
/// # Errors
///
/// If a method has no such name, steps are none, or nothing at all can be judged.
pub fn tune(system: &LinearSystem, config: &RunConfig, options: &TuneOptions<'_>) -> Result<Tuning> {
    let scorer = Scorer::new(system, config, options.objectives);
    let evaluations = options.evaluations.unwrap_or_else(|| affordable(&scorer));
    let space = space(&scorer, options)?;
    let is_complete = space.size() <= evaluations as f64;
    let steps = (space.steps[0], space.steps[space.steps.len() - 1]);
    let combinations = space.size();
    let problem = Settings { space: &space, scorer: &scorer, evaluations, front: options.front };
    let evaluated = match is_complete {
        true => {
            let all = space.all();
            try_all(&problem, &all, &|judged| (options.progress)(judged, all.len()))
        }
        false => {
            let population = (evaluations / GENERATIONS).clamp(FEWEST_PARENTS, MOST_PARENTS);
            let breeding = Breeding { population, evaluations, seed: options.seed };
            breed(&problem, breeding, &|judged| (options.progress)(judged, evaluations))
        }
    };
    let own = Candidate::of(config);
    let own = problem.scorer.score(&own, Detail::All).ok().map(|score| Tuned {
        candidate: own,
        score,
        is_own: true,
    });
    let front = best(&problem, &evaluated, own.as_ref());
    let objectives = options.objectives.to_vec();
    if front.is_empty() {
        return Err(refusal(&problem, &evaluated));
    }
    Ok(Tuning { objectives, own, front, combinations, judged: evaluated.len(), is_complete, steps })
}

/// How many settings are judged in seconds: by the work of an error, which is predicted over all micro steps of the run, and of a step
/// matrix.
fn affordable(scorer: &Scorer<'_>) -> usize {
    let (system, config) = (scorer.system, scorer.config);
    let horizon = scorer.reference.as_ref().map_or(0.0, |reference| reference.horizon());
    let steps = horizon / system.finest_micro_step().unwrap_or(config.step).min(config.step);
    let states = system.states() as f64;
    // Connections remember values, and all that is remembered is a state of the step matrix.
    let numbers = states + system.graph().wires().len() as f64;
    let work = steps * (30.0 + states * states) + 100.0 * numbers.powi(3);
    ((WORK / work) as usize).clamp(FEWEST, MOST)
}

/// The front of what was seen and of the run as it stands, the cheapest first.
fn best(problem: &Settings<'_>, evaluated: &Evaluated<Genome>, own: Option<&Tuned>) -> Vec<Tuned> {
    let found: Vec<&Genome> = evaluated.front().into_iter().map(|(genome, _)| genome).collect();
    let scored = found.par_iter().filter_map(|genome| {
        let candidate = problem.space.candidate(genome);
        let score = problem.scorer.score(&candidate, Detail::All).ok()?;
        Some(Tuned { is_own: own.is_some_and(|own| own.candidate == candidate), candidate, score })
    });
    let mut all: Vec<Tuned> = own.cloned().into_iter().chain(scored.collect::<Vec<_>>()).collect();
    let points: Vec<Point> = all.iter().map(|one| point(&one.score, problem.scorer.objectives)).collect();
    let mut places = front(&points).into_iter();
    let mut place = places.next();
    let mut at = 0;
    all.retain(|_| {
        let is_kept = place == Some(at);
        if is_kept {
            place = places.next();
        }
        at += 1;
        is_kept
    });
    crate::sort::sort_by(&mut all, |a, b| {
        let cost = a.score.cost.calls.total_cmp(&b.score.cost.calls);
        cost.then(a.score.spectral_radius.total_cmp(&b.score.spectral_radius))
    });
    all
}

/// Why nothing was found.
fn refusal(problem: &Settings<'_>, evaluated: &Evaluated<Genome>) -> Box<Error> {
    let judge = |genome: &Genome| problem.scorer.score(&problem.space.candidate(genome), Detail::Objectives);
    let failed = evaluated.all().take(200).map(|(genome, _)| judge(genome));
    let mut first = None;
    for result in failed {
        match result {
            Ok(_) => {
                let (from, to) = (problem.space.steps[0], problem.space.steps[problem.space.steps.len() - 1]);
                let reason = format!(
                    "none of {} settings is stable and accurate to its range at steps from {from} to {to} s",
                    evaluated.len()
                );
                return Error::Unsupported { what: "tuning".into(), reason }.into();
            }
            Err(error) => first = first.or(Some(error)),
        }
    }
    first.unwrap_or_else(|| {
        Error::Unsupported { what: "tuning".into(), reason: "nothing was evaluated".into() }.into()
    })
}

fn space(scorer: &Scorer<'_>, options: &TuneOptions<'_>) -> Result<Space> {
    let (system, config) = (scorer.system, scorer.config);
    let is_iterated = config.iteration.is_some();
    let is_linear = system.linearised().is_empty();
    let method = |name: &String| {
        Method::named(name, &config.coupling, is_linear).ok_or_else(|| {
            let known = self::methods().into_iter().map(String::from).collect();
            Box::new(Error::Unknown { kind: "method", name: name.clone(), known })
        })
    };
    let methods: Vec<Method> = options.methods.iter().map(method).collect::<Result<_>>()?;
    let stages = Stages::new(system.graph());
    let kept = stages.of(&config.schedule, system.graph()).unwrap_or_default();
    let keeps_stages = !options.schedules || is_iterated;
    let (from, to) = range(scorer, options.steps)?;
    Ok(Space {
        config: config.clone(),
        steps: steps_between(from, to, STEPS),
        kept_stages: keeps_stages.then_some(kept),
        stages,
        methods: if is_iterated { Vec::new() } else { methods },
        rest: rest(system, config, options.connections)?,
        connections: options.connections.to_vec(),
    })
}

/// What connections have that are not searched, if there are any.
fn rest(system: &LinearSystem, config: &RunConfig, connections: &[String]) -> Result<Option<CouplingConfig>> {
    let graph = system.graph();
    let mut is_searched = vec![connections.is_empty(); graph.inputs()];
    for name in connections {
        for input in graph.find_inputs(name)? {
            is_searched[input] = true;
        }
    }
    let is_left = |input: usize| !is_searched[input] && !graph.is_free(input);
    if !(0..graph.inputs()).any(is_left) {
        return Ok(None);
    }
    let mut rest = config.coupling.clone();
    if let CouplingConfig::Mixed { connections, .. } = &mut rest {
        connections
            .retain(|name, _| graph.find_inputs(name).is_ok_and(|inputs| inputs.into_iter().any(is_left)));
    }
    Ok(Some(rest))
}

/// Steps that are tried: those asked for, or around the run's own as far as time constants reach and errors can be predicted.
fn range(scorer: &Scorer<'_>, asked: Option<(f64, f64)>) -> Result<(f64, f64)> {
    let step = scorer.config.step;
    if let Some((from, to)) = asked {
        let is_range = from > 0.0 && to >= from && to.is_finite();
        return if is_range { Ok((from, to)) } else { Err(no_range(from, to)) };
    }
    let stiffness = Stiffness::of(scorer.system).ok().flatten();
    let scan = Scan::of(step, stiffness.as_ref());
    let shortest = scorer.reference.as_ref().map_or(0.0, |reference| reference.horizon() / MOST_STEPS);
    let longest = scorer.reference.as_ref().map_or(f64::INFINITY, |reference| reference.longest_step());
    let from = to_three_digits(scan.from.max(shortest)).min(step);
    Ok((from, to_three_digits(scan.to.min(longest)).max(from)))
}

fn no_range(from: f64, to: f64) -> Box<Error> {
    let problem = "must be two steps above zero, the smaller one first".into();
    Error::Setting { what: "steps".into(), value: format!("{from}:{to}"), problem }.into()
}

/// The settings of a run as something to be searched.
struct Settings<'a> {
    space: &'a Space,
    scorer: &'a Scorer<'a>,
    evaluations: usize,
    front: &'a BestSoFar<'a>,
}

impl Problem for Settings<'_> {
    type Genome = Genome;

    /// An even look at everything, if that leaves half of the evaluations for a closer one.
    fn first(&self) -> Vec<Genome> {
        self.space.coarse(self.evaluations / 2).unwrap_or_else(|| self.space.simple())
    }

    fn draw(&self, random: &mut SplitMix64) -> Genome {
        self.space.draw(random)
    }

    fn child(&self, parents: [&Genome; 2], random: &mut SplitMix64) -> Genome {
        self.space.child(parents, random)
    }

    fn judge(&self, genome: &Genome) -> Point {
        match self.scorer.score(&self.space.candidate(genome), Detail::Objectives) {
            Ok(score) => point(&score, self.scorer.objectives),
            Err(_) => Point::broken(f64::INFINITY),
        }
    }

    fn look(&self, evaluated: &Evaluated<Genome>) {
        let good = evaluated.front().into_iter().filter(|(_, point)| !point.objectives.is_empty());
        let best = good.map(|(genome, point)| (self.space.candidate(genome), point.objectives.clone()));
        (self.front)(&best.collect::<Vec<_>>());
    }
}
