//! Zero-stability of the loops: before the run, and where feed-through may change on its way.
//!
//! FMUs of the run are left alone: loops with FMUs are judged once, at the start, on copies in processes of their own.

use koppel::Result;
use koppel::analysis::zero_stability;
use koppel::diagnostic::{Diagnostic, in_one_line};
use koppel::run::{Reading, Run, RunConfig};
use koppel::system::{Reach, algebraic_loops};

use crate::remark::{note, warn};
use crate::{RemarkSink, Session};

/// How often loops are judged in a run.
const LOOKS: u64 = 100;

/// Judges loops now and then.
pub(crate) struct Guard {
    config: Option<Box<RunConfig>>,
    stride: u64,
    /// The step after which they are judged next.
    due: u64,
}

impl Guard {
    /// Refuses a run that is not zero-stable, unless that is accepted.
    pub(crate) fn new(
        run: &mut Run,
        session: &Session,
        is_accepted: bool,
        sink: RemarkSink<'_>,
    ) -> Result<Self> {
        let config = &session.spec.run;
        let stride = (run.steps() / LOOKS).max(1);
        let mut guard = Guard { config: None, stride, due: run.index() + stride };
        if is_accepted {
            return Ok(guard);
        }
        let is_solved = config.reading == Reading::Fresh || config.iteration.is_some();
        if is_solved && session.spec.connections().all(|connection| connection.filter.is_none()) {
            // Loops that are solved at every communication point carry nothing from one to the next.
            return Ok(guard);
        }
        let is_chosen = session.has_chosen_coupling();
        if has_fmu_in_loop(run, session) {
            // What koppel chose was judged then, a checkpoint when its run began.
            if run.index() == 0 && !is_chosen {
                judge_copies(session, sink)?;
            }
            return Ok(guard);
        }
        let found = zero_stability(run, config);
        match found.refuse_unstable(config) {
            Err(error) if is_chosen => {
                warn(sink, error.what());
                return Ok(guard);
            }
            judged => judged?,
        }
        // Loops that are solved at every communication point stay so.
        if found.loops.iter().any(|l| l.is_filtered || !is_solved) {
            guard.config = Some(Box::new(config.clone()));
        }
        Ok(guard)
    }

    /// Called after macro steps; the step after which to call again.
    #[inline]
    pub(crate) fn look(&mut self, run: &mut Run) -> Result<u64> {
        let Some(config) = &self.config else { return Ok(u64::MAX) };
        if run.index() >= self.due {
            self.due = run.index() + self.stride;
            zero_stability(run, config).refuse_unstable(config)?;
        }
        Ok(self.due)
    }
}

fn has_fmu_in_loop(run: &Run, session: &Session) -> bool {
    let (fmus, graph) = (session.spec.fmus(), run.graph());
    let is_fmu = |id: &usize| fmus.iter().any(|(name, _)| name == graph.name(*id));
    algebraic_loops(graph, Reach::ThroughFilters).iter().any(|l| l.members.iter().any(is_fmu))
}

/// Where no copies can be had, or they fail, nothing is judged, and the run begins all the same.
fn judge_copies(session: &Session, sink: RemarkSink<'_>) -> Result<()> {
    let reason = match session.copy_at_start() {
        Err(reason) => Some(reason),
        Ok(mut copy) => {
            let found = zero_stability(&mut copy, &session.spec.run);
            found.refuse_unstable(&session.spec.run)?;
            found.loops.into_iter().find_map(|l| l.problem)
        }
    };
    if let Some(reason) = reason {
        // The reason, and what the FMU says of it.
        note(sink, format!("zero-stability was not judged: {}", in_one_line(&reason, 2)));
    }
    Ok(())
}
