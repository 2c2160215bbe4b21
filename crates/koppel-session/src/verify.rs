//! Settings that are to be recommended are run first, on a copy of the system.

use koppel::analysis::{Certificate, RunVerdict};
use koppel::plan::{Candidate, Steps};
use koppel::record::Nothing;
use koppel::run::{Flow, Run};

use crate::{Confirm, Error, Outcome, Result, RunOptions, Session};

/// A trusted run has at most this error.
const TRUSTED: f64 = 0.05;
/// Errors that are found may be so many times those that are wanted: ranges of runs with other steps differ.
const NEAR: f64 = 1.1;

/// What a run of a copy with some settings has shown.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The certificate of that run.
    pub certificate: Certificate,
}

impl Verified {
    /// Runs a copy of the system with these settings to the end, and what confirms it. `go_on` is asked after each step.
    ///
    /// # Errors
    ///
    /// In words: a subsystem is not to be copied, or the run fails.
    pub fn of(
        session: &Session,
        candidate: &Candidate,
        go_on: &mut (dyn FnMut(&Run) -> bool + Send),
    ) -> std::result::Result<Self, String> {
        if let Some((name, reason)) = session.fmus.refused(&session.spec).first() {
            return Err(format!("no copy can be run: `{name}`: {reason}"));
        }
        run_copy(session, candidate, go_on).map_err(|error| {
            let error = error.to_string();
            format!("a copy cannot be run: {}", error.lines().next().unwrap_or_default())
        })
    }

    /// Whether the settings keep an error up to `limit`, or why not.
    ///
    /// # Errors
    ///
    /// What the run has shown instead.
    pub fn keeps(&self, limit: f64) -> std::result::Result<(), String> {
        let Certificate { verdict, reason, overall, .. } = &self.certificate;
        // A larger error than that of a trusted run is no doubt where it was asked for.
        let is_known = |high: f64| *verdict == RunVerdict::Trusted || high > TRUSTED;
        match overall {
            Some(band) if is_known(band.high) && band.error <= NEAR * limit => Ok(()),
            _ => Err(format!("a run of a copy: {reason}")),
        }
    }
}

fn run_copy(
    session: &Session,
    candidate: &Candidate,
    go_on: &mut (dyn FnMut(&Run) -> bool + Send),
) -> Result<Verified> {
    let trial = session.trial();
    let mut copy = Session { fmus: trial.fmus.of_copies(), ..trial };
    copy.spec.run = candidate.on(&session.spec.run);
    copy.spec.steps = Steps::Given;
    (copy.spec.run.record_every, copy.spec.run.record_events) = (u64::MAX, false);
    let options = RunOptions { confirm: Some(Confirm::Always), looks_ahead: false, ..RunOptions::default() };
    let mut prepared = copy.start(options, &|_, _| {})?;
    let ending =
        prepared.run(&mut Nothing, &mut |run, _| Ok(if go_on(run) { Flow::Continue } else { Flow::Stop }));
    let certificate = prepared.certificate(Outcome::from(&ending), go_on);
    if let Err(error) = ending {
        return Err(Box::new(Error::Engine(error)));
    }
    let certificate = certificate.unwrap_or_else(|| unreachable!("it was asked for"));
    Ok(Verified { certificate })
}
