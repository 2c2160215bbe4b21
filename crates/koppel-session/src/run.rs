//! A run that is ready: guarded, watched, certified.

use koppel::analysis::{Certificate, Certifier, Worth};
use koppel::record::Recorder;
use koppel::run::{Ending, Flow, Run, RunState};

use crate::guard::Guard;
use crate::remark::{note, warn};
use crate::{Result, Session, Tell, outlook};

/// How a run is to be carried out.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Its error is estimated while it goes on.
    pub is_certified: bool,
    /// The certificate comes from a second run at half the step.
    pub has_second_run: bool,
    /// It begins even if a loop is not zero-stable.
    pub accepts_unstable: bool,
    /// A warning is given before a run that will go wrong, where that costs little.
    pub looks_ahead: bool,
    /// Where it goes on, if it was under way.
    pub from: Option<&'a RunState>,
}

impl Default for Start<'_> {
    fn default() -> Self {
        Start {
            is_certified: true,
            has_second_run: false,
            accepts_unstable: false,
            looks_ahead: true,
            from: None,
        }
    }
}

/// A run at its start.
pub struct PreparedRun {
    /// The system.
    pub run: Run,
    guard: Guard,
    certifier: Option<Box<Certifier>>,
}

impl Session {
    /// Builds the system, each FMU once, brings it to its start, and refuses a run with a loop that is not zero-stable.
    /// What is open is chosen first.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, no consistent start is found, or a loop is not zero-stable.
    pub fn start(&mut self, start: Start<'_>, tell: Tell<'_>) -> Result<PreparedRun> {
        self.choose(&|_| {}, tell)?;
        let filters = self.choose_filters()?;
        let run = self.build_run();
        self.warnings_of_fmus().into_iter().for_each(|text| warn(tell, text));
        let mut run = run?;
        run.remarks().into_iter().for_each(|remark| warn(tell, remark));
        let config = &self.spec.run;
        if config.iteration.is_some() && run.loop_works().next().is_none() {
            warn(tell, "`iteration` does nothing: there is no loop of that kind (see `koppel check`)");
        }
        filters.iter().for_each(|choice| note(tell, choice.words()));
        let second = if start.has_second_run { Some(self.second()?) } else { None };
        let engine = |error| Box::new(crate::Error::Engine(error));
        if let Some(state) = start.from {
            run.restore(state).map_err(engine)?;
        }
        let guard = Guard::new(&mut run, self, start.accepts_unstable, tell).map_err(engine)?;
        // FMUs would have to be called.
        let is_known = run.network().is_linear() || self.spec.fmus().is_empty();
        if start.looks_ahead && start.from.is_none() && !start.accepts_unstable && is_known {
            outlook::warn(&mut run, config, tell);
        }
        let mut certifier = start.is_certified.then(|| Certifier::new(&mut run));
        if let Some(second) = second {
            let with = |alone: Certifier| alone.with_second_run(&run, second);
            certifier = certifier.map(with).transpose().map_err(engine)?;
        }
        Ok(PreparedRun { run, guard, certifier: certifier.map(Box::new) })
    }

    /// The same run at half the step.
    fn second(&self) -> Result<Run> {
        // Its FMUs say what those of the run say.
        let mut half = Session { journals: None, log: None, ..self.clone() };
        half.spec.run.step /= 2.0;
        half.build_run()
    }
}

impl PreparedRun {
    /// Runs to the end. `watch` is called between macro steps with the step after which another look is due in any case.
    ///
    /// # Errors
    ///
    /// If a subsystem fails, a value is not finite, a loop is no longer zero-stable, or a row is not taken.
    pub fn run(
        &mut self,
        recorder: &mut dyn Recorder,
        watch: &mut (dyn FnMut(&mut Run, u64) -> koppel::Result<Flow> + Send),
    ) -> koppel::Result<Ending> {
        let PreparedRun { run, guard, certifier } = self;
        let surroundings = koppel_fmi::Surroundings::now();
        let ending = run.run(recorder, &mut |run| {
            let mut next = u64::MAX;
            if let Some(certifier) = certifier {
                certifier.look(run);
                // A certificate is about every step.
                next = run.index() + 1;
            }
            // Between the parts of a step that is cut there is nothing else to do.
            if run.is_inside_step() {
                return Ok(Flow::Continue);
            }
            let next = guard.look(run)?.min(next);
            watch(run, next)
        });
        // Files are written next.
        surroundings.restore();
        ending
    }

    /// How good the run was. A run that failed is wrong, whatever its error was until then.
    #[must_use]
    pub fn certificate(&self, is_whole: bool) -> Option<Certificate> {
        let found = self.certifier.as_ref()?.certificate(&self.run);
        if is_whole {
            return Some(found);
        }
        Some(Certificate { verdict: Worth::Wrong, reason: "the run failed".into(), ..found })
    }
}
