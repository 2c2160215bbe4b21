//! A subsystem that shows its outputs inside the steps.

use std::sync::{Arc, Mutex, PoisonError};

use koppel::Result;
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::system::Subsystem;

/// Times and outputs of one subsystem.
pub(crate) type Trace = Arc<Mutex<Vec<(f64, Vec<f64>)>>>;

/// What a trace holds.
pub(crate) fn seen(trace: &Trace) -> Vec<(f64, Vec<f64>)> {
    trace.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A subsystem with a fixed-step solver of step `micro`, watched every `spacing`.
pub(crate) struct Watched {
    pub(crate) inner: Box<dyn Subsystem>,
    pub(crate) micro: f64,
    pub(crate) spacing: f64,
    pub(crate) trace: Trace,
}

impl Subsystem for Watched {
    // `step_held` by default calls `step`.
    koppel::forward_to!(inner: ports, initialize, leave_initialization, read, get, set, send, receive, events, linear);
    koppel::forward_to!(inner: linearize, linearize_into, feed_through, lack_of_model, needs_trials);
    koppel::forward_to!(inner: model_source, rates, state_rates, solver, solver_config, identity, refusal);
    koppel::forward_to!(inner: may_end_run, step_calls, can_go_back, save, restore, discard);

    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> Result<()> {
        let nodes = (step.size / self.micro).round() as u32;
        let mut fine = Samples::new(Request::Nodes(nodes), outputs.len());
        self.inner.step(step, input, outputs, &mut fine)?;
        let every = (self.spacing / self.micro).round() as usize;
        let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        for k in (1..fine.times().len()).filter(|k| k.is_multiple_of(every)) {
            trace.push((fine.times()[k], fine.at(k).to_vec()));
        }
        samples.clear();
        let stride = match samples.request() {
            Request::Nothing => return Ok(()),
            Request::SolverPoints => 1,
            Request::Nodes(wanted) => (nodes / wanted) as usize,
        };
        for k in (0..fine.times().len()).filter(|k| k.is_multiple_of(stride)) {
            samples.push(fine.times()[k]).copy_from_slice(fine.at(k));
        }
        Ok(())
    }
}
