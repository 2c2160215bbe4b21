//! Random dual masses (Chen et al. 2021, 4.1): how many a coupling makes unstable.
//!
//! One macro step of the real engine is a linear map of its state: unit vectors are set, one step taken, the columns read.
//! Eigenvalues of exactly one belong to parameters that are part of the state and to the position that the first mass
//! integrates of the second (its drift mode); they do not count.

use crate::cases::random_dual_mass;
use crate::cases::{Case, random_dual_mass_case};
use koppel::coupling::CouplingConfig;
use koppel::linalg::{Complex, Matrix, eigenvalues};
use koppel::run::{Parallel, Run, RunConfig, RunState};

/// The first `count` seeds from `first` whose uncut systems the solver of 1 ms can follow.
pub(crate) fn seeds(first: u64, count: usize) -> Vec<u64> {
    (first..).filter(|seed| random_dual_mass(*seed).is_solvable(1e-3).unwrap()).take(count).collect()
}

/// Drives macro steps of one coupling; knows which numbers of a state matter once it has seen one system.
pub(crate) struct StepMatrix {
    coupling: CouplingConfig,
    /// Places in the state on which the next step depends.
    active: Option<Vec<usize>>,
    state: RunState,
}

impl StepMatrix {
    pub(crate) fn new(coupling: CouplingConfig) -> Self {
        StepMatrix { coupling, active: None, state: RunState::default() }
    }

    /// Spectral radius of the macro step of a system, without the drift mode. All systems differ in parameters only.
    pub(crate) fn radius(&mut self, mut case: Case) -> f64 {
        case.externals.clear();
        let config =
            RunConfig { coupling: self.coupling.clone(), threads: Parallel::Never, ..case.run.clone() };
        let mut run = Run::new(case.system().unwrap(), &config).unwrap();
        // At rest, with a past as long as any method looks back.
        (0..6).for_each(|_| run.advance().unwrap());
        let mut rest = RunState::default();
        run.save(&mut rest).unwrap();
        let active = match self.active.take() {
            Some(active) => active,
            None => self.find_active(&mut run, &mut rest),
        };
        let columns: Vec<_> = active.iter().map(|place| self.column(&mut run, &mut rest, *place)).collect();
        let matrix = Matrix::from_fn(active.len(), active.len(), |i, j| columns[j][active[i]]);
        self.active = Some(active);
        let counts = |z: &Complex| (*z - Complex::ONE).abs() > 1e-6;
        eigenvalues(&matrix).unwrap().iter().filter(|z| counts(z)).map(|z| z.abs()).fold(0.0, f64::max)
    }

    /// What becomes of one number of the state.
    fn column(&mut self, run: &mut Run, rest: &mut RunState, place: usize) -> Vec<f64> {
        *rest.reals_mut().nth(place).unwrap() = 1.0;
        run.restore(rest).unwrap();
        *rest.reals_mut().nth(place).unwrap() = 0.0;
        run.advance().unwrap();
        run.save(&mut self.state).unwrap();
        self.state.reals_mut().map(|number| *number).collect()
    }

    /// Signals are zero at rest; times, sizes and most parameters are not. Of those that are zero, the ones that act on
    /// others and are acted on: what only ends, and what only stays as it is, changes no eigenvalue but zeros and ones.
    fn find_active(&mut self, run: &mut Run, rest: &mut RunState) -> Vec<usize> {
        let zeros: Vec<_> = rest
            .reals_mut()
            .enumerate()
            .filter(|(_, number)| **number == 0.0)
            .map(|(place, _)| place)
            .collect();
        let columns: Vec<_> = zeros.iter().map(|place| self.column(run, rest, *place)).collect();
        let acts = |on: usize, from: usize| on != from && columns[from][zeros[on]] != 0.0;
        let mut kept: Vec<usize> = (0..zeros.len()).collect();
        loop {
            let is_bound = |k: &usize| kept.iter().any(|j| acts(*j, *k)) && kept.iter().any(|j| acts(*k, *j));
            let bound: Vec<usize> = kept.iter().copied().filter(is_bound).collect();
            if bound.len() == kept.len() {
                return kept.into_iter().map(|k| zeros[k]).collect();
            }
            for k in kept.iter().filter(|k| !bound.contains(k)) {
                let own = columns[*k][zeros[*k]];
                assert!(own == 0.0 || own == 1.0, "a mode on its own has the eigenvalue {own}");
            }
            kept = bound;
        }
    }
}

/// Part of the seeds' systems that a coupling makes unstable, and its binomial deviation.
pub(crate) fn unstable(coupling: &CouplingConfig, seeds: &[u64]) -> (f64, f64) {
    let count = |seeds: &[u64]| {
        let mut step = StepMatrix::new(coupling.clone());
        seeds.iter().filter(|seed| step.radius(random_dual_mass_case(**seed)) >= 1.0).count()
    };
    let (one, other) = seeds.split_at(seeds.len() / 2);
    let sum = std::thread::scope(|scope| {
        let handle = scope.spawn(|| count(one));
        count(other) + handle.join().unwrap()
    });
    let part = sum as f64 / seeds.len() as f64;
    (part, (part * (1.0 - part) / seeds.len() as f64).sqrt())
}
