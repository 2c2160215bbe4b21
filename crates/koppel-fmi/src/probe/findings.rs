//! What a probe found, as plain data.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Something an FMU can do, or must.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Initialization and a few steps.
    Steps,
    /// A restored state leads to the same future.
    RollBack,
    /// A state survives as bytes, also in another instance.
    Serialization,
    /// Outputs follow inputs that are set without a step, and nothing else happens. The standard promises the first of
    /// model exchange only: where outputs of co-simulation stay, that is a note.
    Reevaluation,
    /// Outputs of co-simulation that do not say on which inputs they depend are as new as these. The standard does not promise it: what
    /// is not so, or cannot be determined, is a note.
    Freshness,
    /// Outputs follow only inputs they declare to depend on.
    Dependencies,
    /// They agree with differences.
    DirectionalDerivatives,
    /// They agree with directional derivatives, or with differences.
    AdjointDerivatives,
    /// Slopes of inputs act inside a step.
    InputDerivatives,
    /// The FMU asks for inputs inside a step, and they act; one that never asks gets a note.
    IntermediateUpdate,
    /// One step or two of half the size lead to the same place.
    VariableStepSize,
    /// After a reset it runs as at first.
    Reset,
    /// Instances do not disturb each other.
    SecondInstance,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Capability::Steps => "steps",
            Capability::RollBack => "roll-back",
            Capability::Serialization => "serialization",
            Capability::Reevaluation => "re-evaluation",
            Capability::Freshness => "fresh outputs",
            Capability::Dependencies => "dependencies",
            Capability::DirectionalDerivatives => "directional derivatives",
            Capability::AdjointDerivatives => "adjoint derivatives",
            Capability::InputDerivatives => "input derivatives",
            Capability::IntermediateUpdate => "intermediate update",
            Capability::VariableStepSize => "variable step size",
            Capability::Reset => "reset",
            Capability::SecondInstance => "second instance",
        })
    }
}

/// What the description says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Declared {
    /// The FMU declares it.
    Yes,
    /// It does not.
    No,
    /// Every FMU must be able to.
    Always,
}

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Declared::Yes => "yes",
            Declared::No => "no",
            Declared::Always => "required",
        })
    }
}

/// How a capability came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It does what it should.
    Held,
    /// It does not.
    Failed,
    /// It does not, and no rule asks for it; worth knowing all the same.
    Noted,
    /// There was no way or no reason to try.
    NotTried,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Held => "held",
            Outcome::Failed => "FAILED",
            Outcome::Noted => "note",
            Outcome::NotTried => "not tried",
        })
    }
}

/// One capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which.
    pub capability: Capability,
    /// What the FMU says of it.
    pub declared: Declared,
    /// How it came out.
    pub outcome: Outcome,
    /// A sentence with figures.
    pub text: String,
}

/// What an interface of an FMU was found to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// `co-simulation` or `model-exchange`.
    pub interface: String,
    /// Communication step of the trials, in s.
    pub step: f64,
    /// One per capability.
    pub findings: Vec<Finding>,
}

impl Findings {
    /// True if nothing that was tried failed.
    pub fn hold(&self) -> bool {
        self.findings.iter().all(|finding| finding.outcome != Outcome::Failed)
    }

    /// What was found about one capability.
    pub fn of(&self, capability: Capability) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.capability == capability)
    }

    /// True if it was tried and held.
    pub fn holds(&self, capability: Capability) -> bool {
        self.of(capability).is_some_and(|finding| finding.outcome == Outcome::Held)
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { capability, declared, outcome, text } in &self.findings {
            writeln!(f, "{capability} (declared: {declared}): {outcome}: {text}")?;
        }
        Ok(())
    }
}

/// An outcome with its sentence.
pub(super) type Judgement = (Outcome, String);

pub(super) fn held(text: impl Into<String>) -> Judgement {
    (Outcome::Held, text.into())
}

pub(super) fn failed(text: impl Into<String>) -> Judgement {
    (Outcome::Failed, text.into())
}

pub(super) fn noted(text: impl Into<String>) -> Judgement {
    (Outcome::Noted, text.into())
}

pub(super) fn not_tried(text: impl Into<String>) -> Judgement {
    (Outcome::NotTried, text.into())
}
