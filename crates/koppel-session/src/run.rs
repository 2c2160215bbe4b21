//! A prepared run: guarded against loops that are not zero-stable, watched, certified.

use std::cell::RefCell;
use std::sync::Arc;

use koppel::analysis::{Certificate, Certifier, RunVerdict};
use koppel::coupling::CouplingConfig;
use koppel::diagnostic::{Diagnostic, in_one_line};
use koppel::identify::ProbeStore;
use koppel::plan::Steps;
use koppel::record::Recorder;
use koppel::run::{Ending, Flow, Run, RunConfig, RunState};
use koppel::workbench::{Copies, Preparation};

use crate::advice::{Advice, Ahead};
use crate::build::is_open;
use crate::choose::Promise;
use crate::confirm::Confirmer;
use crate::fmu::{Purpose, Wanted};
use crate::fmus::spared;
use crate::guard::Guard;
use crate::number::significant;
use crate::probe_cache::ProbeCache;
use crate::remark::{note, warn};
use crate::{Confirm, RemarkSink, Result, Session, choose, outlook};

/// How a run is to be carried out.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions<'a> {
    /// Whether its error is estimated during the run.
    pub is_certified: bool,
    /// Whether runs at other steps confirm the error; as the system file says if nothing is said.
    pub confirm: Option<Confirm>,
    /// Whether it starts even if a loop is not zero-stable.
    pub accepts_unstable: bool,
    /// Whether to warn before a run that will go wrong, if that can be determined at little cost.
    pub looks_ahead: bool,
    /// The saved state from which it continues, if any.
    pub from: Option<&'a RunState>,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        RunOptions {
            is_certified: true,
            confirm: None,
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
    /// Makes the shadows that its certificate asks for.
    confirmer: Option<Box<Confirmer>>,
    /// What koppel warned of before it began.
    warning: Option<String>,
    /// The system at its start, if it is small and exactly linear.
    ahead: Option<Box<Ahead>>,
    /// The error that `auto` has predicted, and where it is remembered that it did not hold.
    promise: Option<(Box<Promise>, Option<Arc<ProbeCache>>)>,
}

impl Session {
    /// Chooses open settings, builds the system with one instance of each FMU, brings it to its start, and refuses a run with a
    /// loop that is not zero-stable.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, no consistent start is found, or a loop is not zero-stable.
    pub fn start(&mut self, options: RunOptions<'_>, sink: RemarkSink<'_>) -> Result<PreparedRun> {
        self.choose(&|_| {}, sink)?;
        let filters = self.choose_filters()?;
        let run = self.build_run();
        self.fmus.warnings().into_iter().for_each(|text| warn(sink, text));
        let mut run = run?;
        run.remarks().into_iter().for_each(|remark| warn(sink, remark));
        let config = &self.spec.run;
        if config.iteration.is_some() && run.loop_works().next().is_none() {
            warn(sink, "`iteration` has no effect: there is no loop of that kind (see `koppel check`)");
        }
        filters.iter().for_each(|choice| note(sink, choice.words()));
        let engine = |error| Box::new(crate::Error::Engine(error));
        if let Some(state) = options.from {
            run.restore(state).map_err(engine)?;
        }
        let guard = Guard::new(&mut run, self, options.accepts_unstable, sink).map_err(engine)?;
        // FMUs would have to be called.
        let is_known = run.network().is_linear() || self.spec.fmus().is_empty();
        let (mut warning, mut ahead) = (None, None);
        if options.looks_ahead && options.from.is_none() && !options.accepts_unstable && is_known {
            ahead = outlook::ahead(&mut run, config);
            warning = ahead.as_ref().and_then(outlook::warning);
            warning.iter().for_each(|remark| warn(sink, remark.clone()));
        }
        let mut certifier =
            options.is_certified.then(|| Box::new(Certifier::new(&mut run, &config.coupling)));
        let mut confirmer = None;
        if let Some(certifier) = certifier.as_mut().filter(|certifier| certifier.needs_shadows()) {
            let confirm = options.confirm.unwrap_or(self.spec.confirm);
            match Confirmer::new(self, confirm, &run) {
                Ok(found) => confirmer = Some(Box::new(found)),
                Err(reason) => certifier.without_shadows(reason),
            }
        }
        let warning = warning.map(|remark| remark.text);
        let ahead = ahead.filter(|ahead| ahead.system.is_exact()).map(Box::new);
        let promise = self.promise.clone().map(|promise| (promise, self.fmus.cache.clone()));
        Ok(PreparedRun { run, guard, certifier, confirmer, warning, ahead, promise })
    }

    /// Builds the system and brings it to its start.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, or no consistent start is found.
    pub fn build_run(&self) -> Result<Run> {
        if self.spec.is_open() {
            let mut session = self.clone();
            session.choose_settings(&|_| {})?;
            return session.build_run();
        }
        if self.spec.connections().any(is_open) {
            let mut session = self.clone();
            session.choose_filters()?;
            return session.at_start();
        }
        self.at_start()
    }

    pub(crate) fn at_start(&self) -> Result<Run> {
        let wanted = self.fmus.wanted(&self.spec);
        let purpose = if self.fmus.is_trial { Purpose::Trial(&wanted) } else { Purpose::Run(&wanted) };
        self.at_start_for(purpose, &wanted)
    }

    /// The same system with each FMU in a process of its own, which is asked for no more than the run asks.
    pub(crate) fn at_start_apart(&self) -> Result<Run> {
        let wanted = self.fmus.wanted(&self.spec);
        self.at_start_for(Purpose::Trial(&wanted), &wanted)
    }

    fn at_start_for(&self, purpose: Purpose<'_>, wanted: &Wanted<'_>) -> Result<Run> {
        let system = self.fmus.build(&self.spec, purpose)?;
        let failed = RefCell::new(None);
        let apart = self.fmus.of_copies();
        let copy = || apart.build(&self.spec, Purpose::Copy(wanted));
        let copies = || copy().map_err(|error| choose::engine(error, &failed));
        let copies: &Copies<'_> = &copies;
        let preparation = Preparation {
            store: self.fmus.cache.as_deref().map(|cache| cache as &dyn ProbeStore),
            copies: (!self.spec.fmus().is_empty()).then_some(copies),
        };
        Run::prepared(system, &self.spec.run, preparation).map_err(|error| match failed.take() {
            Some(error) => error,
            None => self.spec.blame(*error),
        })
    }

    /// A copy of the system at its start, with other settings; it keeps no logs.
    pub(crate) fn copy(&self, config: &RunConfig) -> Result<Run> {
        let trial = self.trial();
        let mut copy = Session { fmus: trial.fmus.of_copies(), ..trial };
        copy.spec.run = config.clone();
        copy.spec.steps = Steps::Given;
        copy.build_run()
    }

    /// Whether a run with these settings begins, as tried on a copy; where none can be made, what is not known is not refused.
    ///
    /// # Errors
    ///
    /// In words, why it is refused.
    pub fn begins(&self, config: &RunConfig) -> std::result::Result<(), String> {
        if !spared(&self.spec).is_empty() {
            return Ok(());
        }
        self.copy(config).map(|_| ()).map_err(|error| in_one_line(&error.what(), 1))
    }

    /// A copy of this run at its start, to be simulated and dropped; `None` if a subsystem has `probe = false` or cannot be started
    /// a second time.
    #[must_use]
    pub fn copy_to_simulate(&self) -> Option<Run> {
        if spared(&self.spec).is_empty() { self.copy(&self.spec.run).ok() } else { None }
    }

    /// A copy of the system at its start for trials, with inputs held, or why there is none.
    ///
    /// # Errors
    ///
    /// In words: a subsystem is not to be tried, or cannot be started a second time.
    pub(crate) fn copy_at_start(&self) -> std::result::Result<Run, String> {
        if let Some((name, reason)) = self.fmus.refused(&self.spec).first() {
            return Err(format!("`{name}`: {reason}"));
        }
        let coupling = CouplingConfig::zoh();
        let held = RunConfig { coupling, iteration: None, adaptive: None, ..self.spec.run.clone() };
        self.copy(&held).map_err(|error| error.to_string())
    }

    /// Finds linear models of the subsystems of a run at its start that have none of their own, by exciting them; not of those with
    /// `probe = false`. What was found before is taken from the cache, if there is one.
    ///
    /// # Errors
    ///
    /// If the consistent start is not found again afterwards.
    pub fn excite_unknown(&self, run: &mut Run, progress: &(dyn Fn(&str) + Sync)) -> Result<()> {
        let store = self.fmus.cache.as_deref().map(|cache| cache as &dyn ProbeStore);
        let done = run.workbench().excite_unknown(&spared(&self.spec), store, progress);
        done.map_err(|error| self.spec.blame(*error))
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
        let PreparedRun { run, guard, certifier, .. } = self;
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

    /// The certificate of the run, which shadows may have to confirm: runs at other steps, made now. `go_on` is asked after each of their
    /// steps.
    pub fn certificate(
        &self,
        outcome: Outcome,
        go_on: &mut (dyn FnMut(&Run) -> bool + Send),
    ) -> Option<Certificate> {
        let certifier = self.certifier.as_ref()?;
        let found = certifier.certificate(&self.run, &mut |shadow| match (outcome, &self.confirmer) {
            (Outcome::Whole, Some(confirmer)) => confirmer.shadow(&self.run, shadow, go_on),
            (Outcome::Whole, None) => Err("there are no runs at other steps".into()),
            (Outcome::Interrupted, _) => Err("the run was interrupted".into()),
            (Outcome::Failed, _) => Err("the run failed".into()),
        });
        let found = self.beside_promise(found);
        Some(match (outcome, found.verdict, &self.warning) {
            (Outcome::Failed, ..) => {
                Certificate { verdict: RunVerdict::Wrong, reason: "the run failed".into(), ..found }
            }
            (_, RunVerdict::Trusted, Some(warning)) => Certificate {
                verdict: RunVerdict::Unconfirmed,
                reason: format!("{}, but koppel warned before the run: {warning}", found.reason),
                ..found
            },
            _ => found,
        })
    }

    /// Says so if the error is larger than `auto` has predicted: such a run is not trusted.
    fn beside_promise(&self, found: Certificate) -> Certificate {
        let (Some((promise, cache)), Some(band)) = (&self.promise, found.overall) else { return found };
        if band.low <= promise.error {
            return found;
        }
        cache.iter().for_each(|cache| promise.remember(cache, band.low));
        let percent = |share: f64| format!("{} %", significant(100.0 * share, 2));
        let sign = format!(
            "`auto` predicted an error of {}, but it is at least {}: choose settings yourself",
            percent(promise.error),
            percent(band.low)
        );
        let reason = format!("{}; {sign}", found.reason);
        let signs = found.signs.into_iter().chain([sign]).collect();
        Certificate { verdict: found.verdict.min(RunVerdict::Unconfirmed), reason, signs, ..found }
    }

    /// The run in three lines, with its certificate.
    #[must_use]
    pub fn advice(&self, certificate: Option<&Certificate>) -> Advice {
        Advice::of_run(&self.run, certificate, self.ahead.as_deref())
    }
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// To its end.
    Whole,
    /// It was stopped by the user.
    Interrupted,
    /// A subsystem or a loop failed.
    Failed,
}

impl<E> From<&std::result::Result<Ending, E>> for Outcome {
    fn from(ending: &std::result::Result<Ending, E>) -> Self {
        match ending {
            Ok(Ending::Interrupted { .. }) => Outcome::Interrupted,
            Ok(_) => Outcome::Whole,
            Err(_) => Outcome::Failed,
        }
    }
}
