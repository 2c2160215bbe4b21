//! Learning from the step that has ended.

use super::PrestepDiscrete;
use crate::coupling::View;
use crate::error::Result;

impl PrestepDiscrete {
    /// The inputs at the end of the step that has ended.
    pub(super) fn look_back(&mut self, view: &View<'_>) {
        let just_before = view.step.start - if view.is_fresh { 0.0 } else { 1e-9 * view.step.size };
        self.add_external(view, just_before);
        for (given, (applied, external)) in self.given.iter_mut().zip(view.applied.iter().zip(&self.external))
        {
            *given = applied + external;
        }
    }

    /// Learns, judges the models by what they had predicted, and takes the new ones.
    pub(super) fn learn(&mut self, view: &View<'_>) -> Result<()> {
        self.quality.note(view.outputs);
        for (id, identifier) in self.identifiers.iter_mut().enumerate() {
            let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            let (u, outputs) = (&self.given[u], &view.outputs[y.clone()]);
            // Nothing is learned from a jump.
            if !view.has_jumped[id] && (self.size / identifier.step() - 1.0).abs() < 1e-6 {
                let errors = &mut self.errors[y.clone()];
                identifier.observe(outputs, u, errors);
                self.figures[id] = if self.is_under_way {
                    self.quality.figure(y.start, errors)
                } else if self.settings.learned.contains_key(view.graph.name(id)) {
                    // A model of an earlier run is trusted until it is seen to fail.
                    0.0
                } else {
                    f64::NAN
                };
            } else {
                identifier.pass_over(outputs, u);
            }
            let step = identifier.step();
            if view.step.size > step * (1.0 + 1e-6) && view.step.size <= self.step * (1.0 + 1e-6) {
                identifier.rescale(view.step.size)?;
            }
            if !identifier.is_ready() {
                self.figures[id] = f64::NAN;
            }
            identifier.model(&mut self.models[id]);
        }
        Ok(())
    }
}
