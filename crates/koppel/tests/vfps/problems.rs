//! Problems with known references, and how large a step a coupling allows on them.

use crate::cases::{Case, case};
use koppel::coupling::CouplingConfig;
use koppel::record::Trajectory;
use koppel::run::{Flow, Run, RunConfig};
use koppel::signal::external::ExternalConfig;
use rayon::prelude::*;
use std::time::Instant;

/// A problem with the steps it is tried at, in ms, ascending.
pub(crate) struct Problem {
    /// For the table.
    pub(crate) name: &'static str,
    /// The system and its run.
    pub(crate) case: Case,
    /// Communication steps in ms.
    pub(crate) steps: &'static [f64],
}

fn problem(name: &'static str, of: &str, steps: &'static [f64]) -> Problem {
    Problem { name, case: case(of).expect("a case of the library"), steps }
}

/// The problems of the papers.
pub(crate) fn problems() -> Vec<Problem> {
    let mut dual_mass = problem(
        "dual mass, linear (2e5, 200)",
        "dual-mass",
        &[0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0, 40.0],
    );
    let right = &mut dual_mass.case.parts[1].parameters;
    right.insert("ck".into(), 2e5);
    right.insert("dk".into(), 200.0);
    vec![
        dual_mass,
        problem(
            "dual mass, non-linear + pulses",
            "nonlinear-dual-mass",
            &[0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        ),
        problem(
            "pendulum-oscillator",
            "pendulum-oscillator",
            &[1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 200.0],
        ),
        problem(
            "helicopter",
            "helicopter",
            &[20.0, 40.0, 60.0, 80.0, 100.0, 120.0, 150.0, 200.0, 250.0, 300.0, 400.0, 500.0],
        ),
        problem(
            "quarter truck",
            "quarter-truck",
            &[1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 100.0, 150.0, 200.0, 300.0],
        ),
        problem(
            "feed-through pair",
            "feedthrough-pair",
            &[0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 400.0, 500.0],
        ),
        problem(
            "PI-PT1 (10, 10, 1)",
            "control-loop",
            &[10.0, 20.0, 30.0, 50.0, 70.0, 100.0, 200.0, 300.0, 500.0, 1000.0],
        ),
        problem(
            "LuGre mass, stick-slip",
            "lugre-mass",
            &[1.0, 2.0, 4.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 140.0, 200.0],
        ),
        soft_lugre(),
        problem(
            "van der Pol + spring mass",
            "van-der-pol",
            &[5.0, 10.0, 20.0, 40.0, 50.0, 60.0, 80.0, 100.0, 120.0, 150.0, 200.0],
        ),
    ]
}

/// The same forces through a spring of a tenth of the stiffness, over ten times the distance.
fn soft_lugre() -> Problem {
    let mut soft = problem(
        "LuGre mass, soft spring",
        "lugre-mass",
        &[1.0, 2.0, 4.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 140.0, 200.0],
    );
    let driver = &mut soft.case.parts[0].parameters;
    driver.insert("k".into(), 2e3);
    driver.insert("d".into(), 16.0);
    for (_, signal) in &mut soft.case.externals {
        if let ExternalConfig::Sine { amplitude, .. } = signal {
            *amplitude *= 10.0;
        }
    }
    soft
}

/// Outputs of a run at its communication points, in the order of the parts; nothing if it did not come to its end.
fn outputs(run: &mut Run, names: &[String]) -> Option<Vec<Vec<f64>>> {
    let columns: Vec<usize> =
        names.iter().map(|name| run.columns().iter().position(|c| c.name == *name)).collect::<Option<_>>()?;
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue)).ok()?;
    Some(columns.iter().map(|column| table.column(*column).collect()).collect())
}

/// What a coupling did at one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Per subsystem the mean over its outputs and communication points of |y - y_ref| / (range of y_ref), then the
    /// Euclidean norm over subsystems. Infinite where the run failed, NaN where the method refuses the system.
    pub(crate) error: f64,
    /// Sub-steps of probing, all subsystems together.
    pub(crate) probing: u64,
    /// How often a step was taken again.
    pub(crate) repetitions: u64,
    /// Parts of a step that VFPS has chosen or was told.
    pub(crate) nodes: usize,
}

impl Problem {
    /// Outputs of the uncut system at the communication points.
    fn exact(&self, step: f64) -> Vec<Vec<f64>> {
        let names = self.names();
        let reference = self.case.reference().expect("the case has a reference");
        let plain = RunConfig { step: step * 1e-3, coupling: CouplingConfig::zoh(), ..self.case.run.clone() };
        let of_monolith: Vec<String> = names.iter().map(|name| format!("monolith.{name}")).collect();
        let mut monolith = Run::new(reference, &plain).expect("the reference runs");
        outputs(&mut monolith, &of_monolith).expect("the reference comes to its end")
    }

    fn names(&self) -> Vec<String> {
        let system = self.case.system().expect("the case builds");
        (0..system.graph.outputs()).map(|o| system.graph.output_name(o)).collect()
    }

    /// What a coupling does at a step of so many ms.
    fn outcome(&self, coupling: &CouplingConfig, step: f64, exact: &[Vec<f64>]) -> Outcome {
        let config = RunConfig { step: step * 1e-3, coupling: coupling.clone(), ..self.case.run.clone() };
        let system = self.case.system().expect("the case builds");
        let per_part: Vec<usize> = system.subsystems.iter().map(|s| s.ports().outputs.len()).collect();
        let Ok(mut run) = Run::new(system, &config) else {
            return Outcome { error: f64::NAN, probing: 0, repetitions: 0, nodes: 0 };
        };
        let seen = outputs(&mut run, &self.names());
        let probing = run.statistics().review.and_then(|review| review.probing).unwrap_or(0);
        let (repetitions, nodes) = (run.repetitions(), run.probing_nodes());
        let Some(seen) = seen else { return Outcome { error: f64::INFINITY, probing, repetitions, nodes } };
        let error = |k: usize| {
            let (low, high) =
                exact[k].iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
            let sum: f64 = seen[k].iter().zip(&exact[k]).skip(1).map(|(a, b)| (a - b).abs()).sum();
            let mean = sum / (exact[k].len() - 1) as f64;
            if high > low { mean / (high - low) } else { mean }
        };
        let mut first = 0;
        let mut squares = 0.0;
        for count in per_part {
            let mean = (first..first + count).map(error).sum::<f64>() / count.max(1) as f64;
            squares += mean * mean;
            first += count;
        }
        let norm = squares.sqrt();
        Outcome { error: if norm.is_finite() { norm } else { f64::INFINITY }, probing, repetitions, nodes }
    }

    /// Error of a coupling at a step of so many ms.
    pub(crate) fn error(&self, coupling: &CouplingConfig, step: f64) -> f64 {
        self.outcome(coupling, step, &self.exact(step)).error
    }

    /// What all couplings do at all steps: step by step. A coupling whose error has passed 5 % is left alone at larger ones,
    /// where its runs may take long, unless `all` are wanted.
    pub(crate) fn outcomes(&self, couplings: &[CouplingConfig], all: bool) -> Vec<Vec<Outcome>> {
        let exact: Vec<Vec<Vec<f64>>> = self.steps.par_iter().map(|step| self.exact(*step)).collect();
        let of = |coupling: &CouplingConfig| {
            let mut last = Outcome { error: 0.0, probing: 0, repetitions: 0, nodes: 0 };
            let mut seen = Vec::new();
            for (step, exact) in self.steps.iter().zip(&exact) {
                if all || last.error <= 0.05 {
                    last = self.outcome(coupling, *step, exact);
                }
                seen.push(last);
            }
            seen
        };
        let by_coupling: Vec<Vec<Outcome>> = couplings.par_iter().map(of).collect();
        let at = |step: usize| by_coupling.iter().map(|seen| seen[step]).collect();
        (0..self.steps.len()).map(at).collect()
    }

    /// The largest step, in ms, with an error of at most 5 % there and at all smaller ones; 0 if there is none.
    pub(crate) fn largest_step(&self, coupling: &CouplingConfig) -> f64 {
        let good = self.steps.iter().take_while(|step| self.error(coupling, **step) <= 0.05);
        good.last().copied().unwrap_or(0.0)
    }

    /// Time of the start, and of one macro step all subsystems included: the least of many.
    pub(crate) fn cost(&self, coupling: &CouplingConfig) -> String {
        let config = RunConfig { coupling: coupling.clone(), stop: 1e9, ..self.case.run.clone() };
        let start = || {
            let begin = Instant::now();
            let run = Run::new(self.case.system().expect("the case builds"), &config);
            (begin.elapsed(), run.expect("the case starts"))
        };
        let setup = (0..5).map(|_| start().0).min().unwrap_or_default();
        let mut run = start().1;
        let least = (0..200).filter_map(|_| {
            let begin = Instant::now();
            (0..10).try_for_each(|_| run.advance()).ok()?;
            Some(begin.elapsed() / 10)
        });
        let step = least.min().unwrap_or_default();
        format!("start {:.1} ms, step {:.1} us", setup.as_secs_f64() * 1e3, step.as_secs_f64() * 1e6)
    }
}
