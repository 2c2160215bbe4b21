//! What a method can tell of itself and of its models.

use super::{Review, View};
use crate::identify::{GivenModel, Learned};
use crate::record::Channel;
use crate::system::SystemGraph;
use std::collections::BTreeMap;

/// What the engine and reports ask a method; one without models has nothing to tell.
pub trait Report {
    /// Subsystems that are not to be excited, by name.
    fn spared(&self) -> Vec<String> {
        Vec::new()
    }

    /// The model of a subsystem that came with the settings.
    fn given(&self, _subsystem: &str) -> Option<&GivenModel> {
        None
    }

    /// What the user should know before the run: subsystems of which it has no model, and what follows from that.
    fn remarks(&self, _graph: &SystemGraph) -> Vec<String> {
        Vec::new()
    }

    /// How well the model of each subsystem has predicted the last step: mean error relative to the range of its outputs
    /// so far. Empty if the method has no models, NaN before the first step.
    fn quality(&self) -> &[f64] {
        &[]
    }

    /// Numbers besides variables that can be recorded.
    fn channels(&self, _graph: &SystemGraph) -> Vec<Channel> {
        Vec::new()
    }

    /// Present value of one of them.
    fn channel(&self, _view: &View<'_>, _index: usize) -> f64 {
        f64::NAN
    }

    /// What the run has shown of the models so far; nothing if the method has none.
    fn review(&self, _view: &View<'_>) -> Option<Review> {
        None
    }

    /// What has been learned of the subsystems, by name; nothing if the method learns nothing.
    fn learned(&self, _view: &View<'_>) -> BTreeMap<String, Learned> {
        BTreeMap::new()
    }
}

/// Of a method without models.
pub(super) struct Silent;

impl Report for Silent {}
