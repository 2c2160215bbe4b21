//! What subsystems note of their events, for rows between communication points.

use super::VariableId;
use serde::{Deserialize, Serialize};

/// One event inside a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub time: f64,
    /// The values of the log's variables before it.
    pub before: Vec<f64>,
    /// Those after it.
    pub after: Vec<f64>,
}

/// Events of one subsystem since they were asked for last. Nothing is noted unless somebody watches.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    variables: Option<Vec<VariableId>>,
    list: Vec<Event>,
}

impl EventLog {
    /// From now on, the values of these variables are noted at every event.
    pub fn watch(&mut self, variables: Vec<VariableId>) {
        self.variables = Some(variables);
    }

    /// The watched variables; nothing if nobody watches.
    pub fn variables(&self) -> Option<&[VariableId]> {
        self.variables.as_deref()
    }

    /// Notes an event.
    pub fn note(&mut self, event: Event) {
        self.list.push(event);
    }

    /// Forgets events after `time`, to which the subsystem was rolled back.
    pub fn forget_after(&mut self, time: f64) {
        self.list.retain(|event| event.time <= time);
    }

    /// Takes the events up to `time`.
    pub fn take_until(&mut self, time: f64) -> impl Iterator<Item = Event> + '_ {
        self.list.extract_if(.., move |event| event.time <= time)
    }
}
