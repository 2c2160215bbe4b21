//! How instances are made and driven.

use super::Value;
use crate::description::{Description, Kind};
use crate::ffi::LogSink;
use koppel::solver::SolverConfig;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Who solves the equations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Solving {
    /// The FMU itself: co-simulation.
    #[default]
    Own,
    /// A solver of koppel's, this one or the one the FMU suggests: model exchange.
    Koppel(#[serde(with = "as_text")] Option<SolverConfig>),
}

impl Solving {
    /// The interface that it takes.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Solving::Own => Kind::CoSimulation,
            Solving::Koppel(_) => Kind::ModelExchange,
        }
    }
}

/// A solver as text: its own form is made for files, and formats without names cannot read it.
mod as_text {
    use super::SolverConfig;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(solver: &Option<SolverConfig>, to: S) -> Result<S::Ok, S::Error> {
        let text = solver.as_ref().map(serde_json::to_string).transpose();
        text.map_err(serde::ser::Error::custom)?.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SolverConfig>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(serde::de::Error::custom)
    }
}

/// What an instance does without although the FMU declares it, each with the reason: the end of a sentence that begins with the
/// name of the FMU. It then behaves as an FMU that does not declare it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Without {
    /// Getting and setting its state, and with it serialization.
    pub states: Option<String>,
    /// States as bytes.
    pub serialization: Option<String>,
    /// Directional derivatives.
    pub derivatives: Option<String>,
    /// Inputs that move inside a step, by derivatives or intermediate update.
    pub input_derivatives: Option<String>,
    /// Outputs that follow inputs which are set between two steps.
    pub reevaluation: Option<String>,
}

impl Without {
    /// The description of an FMU that does not declare what is done without; `None` if nothing is.
    pub(super) fn hidden(&self, description: &Description) -> Option<Description> {
        let Without { states, serialization, derivatives, input_derivatives, reevaluation: _ } = self;
        if [states, serialization, derivatives, input_derivatives].iter().all(|lack| lack.is_none()) {
            return None;
        }
        let mut hidden = description.clone();
        if let (Some(section), Some(_)) = (&mut hidden.co_simulation, input_derivatives) {
            section.can_interpolate_inputs = false;
            section.provides_intermediate_update = false;
        }
        let co_simulation = hidden.co_simulation.iter_mut().map(|section| &mut section.interface);
        let model_exchange = hidden.model_exchange.iter_mut().map(|section| &mut section.interface);
        for interface in co_simulation.chain(model_exchange) {
            interface.can_get_and_set_fmu_state &= states.is_none();
            interface.can_serialize_fmu_state &= states.is_none() && serialization.is_none();
            interface.provides_directional_derivatives &= derivatives.is_none();
        }
        Some(hidden)
    }
}

/// How an instance is made and driven.
#[derive(Clone, Serialize, Deserialize)]
pub struct Options {
    /// Its name.
    pub name: String,
    /// Parameters and other start values, by variable name.
    pub start_values: Vec<(String, Value)>,
    /// Who solves its equations, for [`instantiate_any`].
    pub solving: Solving,
    /// Parts a sloped piece of input is walked in, where sub-steps are needed; and parts of a step in which outputs inside it
    /// are seen, where the FMU does not show them.
    pub substeps: u32,
    /// Highest order of input derivatives an FMI 2.0 FMU is given; the standard does not let it say what it takes.
    pub input_order: usize,
    /// The communication step it is going to be driven with, if known: what trials before the first step use.
    pub step: Option<f64>,
    /// Relative tolerance of its solver; `None`: its own choice.
    pub tolerance: Option<f64>,
    /// End of the simulation, if it is to know it.
    pub stop: Option<f64>,
    /// Ask the FMU for its debug messages.
    pub debug_logging: bool,
    /// Whether it may be excited before a run; `None`: unless it declares that there can be one instance only.
    pub probe: Option<bool>,
    /// What it does without although it declares it.
    pub without: Without,
    /// True if it serves a run that makes no trials: nobody needs its linear model, and it is not asked for one.
    pub spared: bool,
    /// Real inputs and outputs declared discrete that are driven as if they were continuous, by variable name.
    pub continuous: Vec<String>,
    /// Longest time for one call. A supervisor ends a process in which one takes longer; without one nothing happens.
    pub call_limit: Option<Duration>,
    /// Receives its messages.
    #[serde(skip)]
    pub log: Option<LogSink>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            name: "fmu".into(),
            start_values: Vec::new(),
            solving: Solving::Own,
            substeps: 4,
            input_order: 1,
            step: None,
            tolerance: None,
            stop: None,
            debug_logging: false,
            probe: None,
            without: Without::default(),
            spared: false,
            continuous: Vec::new(),
            call_limit: None,
            log: None,
        }
    }
}
