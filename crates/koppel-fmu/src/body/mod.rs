//! What runs inside an FMU: a model or a whole system.

mod container;
mod model;

pub(crate) use container::{Container, USED};
pub(crate) use model::ModelBody;

use crate::error::{Error, Result};
use crate::interface::{Interface, Role};
use crate::polynomial::Polynomial;
use koppel::run::RunState;
use koppel::system::Snapshot;
use serde::{Deserialize, Serialize};

/// A body's own part of the state of an instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum BodyState {
    /// Its start has not been found yet.
    Fresh,
    Model {
        snapshot: Snapshot,
        /// When its next instant is due, if an importer solves its equations.
        due: Option<f64>,
    },
    Container(RunState),
}

/// The simulation is to end.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// How much of the step is done, in s.
    pub(crate) done: f64,
    /// Who asks for it.
    pub(crate) text: String,
}

/// What an event has changed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EventEffect {
    /// Some states have new values.
    pub(crate) has_changed: bool,
    /// When the next one comes that is known before.
    pub(crate) next: Option<f64>,
}

/// How outputs and derivatives follow one input or state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Column {
    pub(crate) outputs: Vec<f64>,
    pub(crate) derivatives: Vec<f64>,
}

/// A model or a system, seen by the instance around it, which keeps inputs, phase and time.
pub(crate) trait Body: Send {
    /// Its variables.
    fn interface(&self) -> &Interface;

    /// Lets go of what runs: an FMU inside may allow one instance only.
    fn release(&mut self) {}

    /// Finds the start at this time, with parameters as they are and inputs as given.
    fn initialize(&mut self, start: f64, inputs: &[Polynomial]) -> Result<()>;

    /// Outputs follow the inputs of this instant.
    fn follow(&mut self, inputs: &[Polynomial]) -> Result<()>;

    /// Present value of an output, parameter, local or derivative.
    fn get(&mut self, role: Role) -> Result<f64>;

    /// Changes a parameter.
    fn set_parameter(&mut self, index: usize, value: f64) -> Result<()>;

    /// Changes a state.
    fn set_state(&mut self, index: usize, value: f64) -> Result<()>;

    /// Moves from `time` over `size` under these inputs, or tells how far it came and why the simulation is to end there.
    fn step(&mut self, time: f64, size: f64, inputs: &[Polynomial]) -> Result<Option<Ended>>;

    /// True if a step is to begin with outputs that follow the inputs given for it.
    fn follows_before_steps(&self) -> bool {
        true
    }

    /// Takes over the time of an importer that solves the equations.
    fn set_time(&mut self, _time: f64) {}

    /// Carries out what is due at an event while an importer solves the equations.
    fn act(&mut self) -> Result<EventEffect> {
        Ok(EventEffect::default())
    }

    /// How everything follows one input or state at this instant; `Role::Local` stands for a state.
    fn column(&mut self, known: Role) -> Result<Column>;

    /// Its state.
    fn save(&mut self) -> Result<BodyState>;

    /// Takes a state back; `start` is the time its run began.
    fn restore(&mut self, state: &BodyState, start: f64) -> Result<()>;
}

/// The state belongs to another FMU.
fn foreign_state() -> Box<Error> {
    Error::misuse("the state given is not one of this FMU")
}

/// How far a value is moved for differences of fourth order: errors of the formula and of rounding are then about as small as
/// they get together, for functions that bend on the scale of the value (at least a hundredth of its unit).
fn distance(value: f64) -> f64 {
    1e-3 * value.abs().max(1e-2)
}

/// Slopes of fourth order from central differences over one distance and over twice of it: (4 s(h) - s(2h)) / 3.
fn fourth_order(near: &[f64], far: &[f64]) -> Vec<f64> {
    near.iter().zip(far).map(|(near, far)| near + (near - far) / 3.0).collect()
}
