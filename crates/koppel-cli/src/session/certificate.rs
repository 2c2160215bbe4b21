//! How good the run was: looked at step by step, told at its end.

use clap::ValueEnum;
use koppel::analysis::{Certificate, Certifier, Worth};
use koppel::run::Simulation;

/// What `--require` asks of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Required {
    /// Its error is small.
    Trusted,
    /// Its error is not known to be large.
    Doubtful,
}

impl Required {
    /// Whether a certificate is good enough.
    pub(crate) fn is_met(self, worth: Worth) -> bool {
        match self {
            Required::Trusted => worth == Worth::Trusted,
            Required::Doubtful => worth >= Worth::Doubtful,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Required::Trusted => "trusted",
            Required::Doubtful => "doubtful",
        }
    }
}

/// The certifier of a run, unless it goes without.
pub(super) struct Judge(Option<Box<Certifier>>);

impl Judge {
    pub(super) fn new(
        simulation: &mut Simulation,
        second: Option<Simulation>,
        is_off: bool,
    ) -> koppel::Result<Self> {
        if is_off {
            return Ok(Judge(None));
        }
        let certifier = Certifier::new(simulation);
        let certifier = match second {
            Some(second) => certifier.with_second_run(simulation, second)?,
            None => certifier,
        };
        Ok(Judge(Some(Box::new(certifier))))
    }

    /// Called after macro steps; the step after which to call again: a certificate is about every step.
    #[inline]
    pub(super) fn look(&mut self, simulation: &mut Simulation) -> u64 {
        let Some(certifier) = &mut self.0 else { return u64::MAX };
        certifier.look(simulation);
        simulation.index() + 1
    }

    /// What has been seen. A run that failed is wrong, whatever its error was until then.
    pub(super) fn certificate(&self, simulation: &Simulation, is_whole: bool) -> Option<Certificate> {
        let told = self.0.as_ref()?.certificate(simulation);
        if is_whole {
            return Some(told);
        }
        Some(Certificate { verdict: Worth::Wrong, reason: "the run failed".into(), ..told })
    }
}
