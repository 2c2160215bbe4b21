//! Zero-stability of the loops: before the run, and where feed-through may change on its way.
//!
//! FMUs of the run are left alone: loops with FMUs are judged once, at the start, on copies in processes of their own.

use koppel::Result;
use koppel::analysis::zero_stability;
use koppel::diagnostic::{Diagnostic, in_one_line};
use koppel::run::{Reading, RunConfig, Simulation};
use koppel::system::{Reach, algebraic_loops};
use koppel_io::system_file::SystemFile;

use crate::failure::note;

/// How often loops are judged in a run.
const LOOKS: u64 = 100;

/// Judges loops now and then.
pub(super) struct Stability {
    config: Option<Box<RunConfig>>,
    stride: u64,
    /// The step after which they are judged next.
    due: u64,
}

impl Stability {
    /// Refuses a run that is not zero-stable, unless that is accepted.
    pub(super) fn new(simulation: &mut Simulation, file: &SystemFile, is_accepted: bool) -> Result<Self> {
        let config = &file.run;
        let stride = (simulation.steps() / LOOKS).max(1);
        let mut stability = Stability { config: None, stride, due: simulation.index() + stride };
        if is_accepted {
            return Ok(stability);
        }
        let is_chosen = file.has_chosen_coupling();
        if has_fmu_in_loop(simulation, file) {
            // What koppel chose was judged then, a checkpoint when its run began.
            if simulation.index() == 0 && !is_chosen {
                judge_copies(file)?;
            }
            return Ok(stability);
        }
        let found = zero_stability(simulation, config);
        match found.refuse_unstable(config) {
            Err(error) if is_chosen => {
                note("warning", error.what());
                return Ok(stability);
            }
            judged => judged?,
        }
        // Loops that are solved at every communication point stay so.
        let is_solved = config.reading == Reading::Fresh || config.iteration.is_some();
        if found.loops.iter().any(|l| l.is_filtered || !is_solved) {
            stability.config = Some(Box::new(config.clone()));
        }
        Ok(stability)
    }

    /// Called after macro steps; the step after which to call again.
    #[inline]
    pub(super) fn look(&mut self, simulation: &mut Simulation) -> Result<u64> {
        let Some(config) = &self.config else { return Ok(u64::MAX) };
        if simulation.index() >= self.due {
            self.due = simulation.index() + self.stride;
            zero_stability(simulation, config).refuse_unstable(config)?;
        }
        Ok(self.due)
    }
}

fn has_fmu_in_loop(simulation: &Simulation, file: &SystemFile) -> bool {
    let (fmus, graph) = (file.fmus(), simulation.graph());
    let is_fmu = |id: &usize| fmus.iter().any(|(name, _)| name == graph.name(*id));
    algebraic_loops(graph, Reach::ThroughFilters).iter().any(|l| l.members.iter().any(is_fmu))
}

/// Where no copies can be had, or they fail, nothing is judged, and the run begins all the same.
fn judge_copies(file: &SystemFile) -> Result<()> {
    let reason = match file.copy_at_start() {
        Err(reason) => Some(reason),
        Ok(mut copy) => {
            let found = zero_stability(&mut copy, &file.run);
            found.refuse_unstable(&file.run)?;
            found.loops.into_iter().find_map(|l| l.problem)
        }
    };
    if let Some(reason) = reason {
        // The reason, and what the FMU says of it.
        note("note", format!("zero-stability was not judged: {}", in_one_line(&reason, 2)));
    }
    Ok(())
}
