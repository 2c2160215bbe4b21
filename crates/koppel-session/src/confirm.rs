//! Runs at other steps that confirm the error of a run.
//!
//! Whether they are made depends on how often subsystems would be stepped, never on time: the same run has the same verdict on any
//! machine under any load.

use koppel::analysis::{Points, Shadow};
use koppel::run::Run;
use koppel_io::system_file::Confirm;

use crate::Session;

/// How often subsystems may be stepped in a run and its shadows together, unless more is asked for.
const CALLS: u64 = 200_000;

/// Calls of a run and both its shadows, relative to those of the run; and with the finest one, where those leave doubt.
const BOTH: f64 = 3.24;
const ALL: f64 = 8.24;

/// Makes the shadows of a run.
pub(crate) struct Confirmer {
    session: Session,
    confirm: Confirm,
}

impl Confirmer {
    /// For the runs of a session.
    ///
    /// # Errors
    ///
    /// Why there can be no shadows of this run.
    pub(crate) fn new(session: &Session, confirm: Confirm, run: &Run) -> std::result::Result<Self, String> {
        if confirm == Confirm::Off {
            return Err("no runs at other steps are made to confirm it (confirm = \"off\")".into());
        }
        if run.step_sizes().is_some() {
            return Err("there are no runs at other steps to confirm one whose steps adapt".into());
        }
        if let Some((name, reason)) = session.fmus.refused(&session.spec).first() {
            return Err(format!("no copy of the system can be run to confirm it: `{name}`: {reason}"));
        }
        let mut copies = Session { fmus: session.fmus.of_copies(), ..session.clone() };
        let run_config = &mut copies.spec.run;
        (run_config.record_every, run_config.record_events) = (u64::MAX, false);
        let confirmer = Confirmer { session: copies, confirm };
        confirmer.check_cost(BOTH, run.steps().saturating_mul(run.graph().len() as u64))?;
        Ok(confirmer)
    }

    /// Refuses shadows of a run of so many step calls if they cost too much, relative to those.
    fn check_cost(&self, relative: f64, calls: u64) -> std::result::Result<(), String> {
        let all = relative * calls as f64;
        if self.confirm == Confirm::Auto && all > CALLS as f64 {
            return Err(format!(
                "confirming it takes {all:.2e} step calls in all, above the limit of {CALLS}; use `--confirm always` to run it anyway"
            ));
        }
        Ok(())
    }

    /// The outputs of a shadow. `go_on` is asked after each of its steps.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) fn shadow(
        &self,
        of: &Run,
        shadow: Shadow,
        go_on: &mut (dyn FnMut(&Run) -> bool + Send),
    ) -> std::result::Result<Points, String> {
        let relative = if shadow == Shadow::Finest { ALL } else { BOTH };
        self.check_cost(relative, of.statistics().shares.iter().map(|share| share.step_calls).sum())?;
        let mut session = self.session.clone();
        session.spec.run.step *= shadow.ratio();
        let step = session.spec.run.step;
        let failed = |error: &dyn std::fmt::Display| {
            let error = error.to_string();
            let first = error.lines().next().unwrap_or_default();
            format!("a run with a step of {} s fails: {first}", crate::number::significant(step, 3))
        };
        let mut run = session.at_start_apart().map_err(|error| failed(&error))?;
        let points = Points::of(&mut run, go_on).map_err(|error| failed(&error))?;
        points.ok_or_else(|| "the runs that would confirm it were interrupted".into())
    }
}
