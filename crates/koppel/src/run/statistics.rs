//! What a run did: steps, where the time went, and how far inputs were from what they should have been.

use super::adaptive::StepSizes;
use super::run::Run;
use crate::coupling::Review;
use crate::iteration::LoopWork;
use crate::network::Slot;
use crate::signal::Request;
use serde::{Deserialize, Serialize};

/// Largest coupling error of one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Defect {
    /// `a.x -> b.u`.
    pub connection: String,
    /// Unit of the input, if it has one.
    pub unit: Option<String>,
    /// Largest |L y - u| at the end of a step.
    pub largest: f64,
    /// When that was.
    pub time: f64,
    /// Range of the arriving values so far: the measure for `largest`.
    pub range: f64,
}

/// A subsystem's part of the work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Name of the subsystem.
    pub subsystem: String,
    /// Its solver.
    pub solver: String,
    /// Seconds of all steps, estimated from the first and a sample of the others.
    pub seconds: f64,
    /// Mean seconds per step after the first, measured on a sample of the steps.
    pub seconds_per_step: f64,
    /// Steps it took, estimated from the macro steps.
    pub steps: u64,
    /// Calls of its stepping function in the run; of a native model its steps between nodes, estimated in the same way.
    pub step_calls: u64,
}

/// Numbers of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Macro steps done.
    pub steps: u64,
    /// Their lengths, if they adapt.
    pub sizes: Option<StepSizes>,
    /// Per subsystem.
    pub shares: Vec<Share>,
    /// Per connected input.
    pub defects: Vec<Defect>,
    /// Stages that run on several threads.
    pub parallel_stages: usize,
    /// What the run has shown of the models of its coupling, if it has any.
    pub review: Option<Review>,
    /// Per iterated loop.
    pub loops: Vec<LoopWork>,
    /// Steps that were cut in half because a loop did not converge.
    pub halvings: u64,
    /// How often a step was repeated because the coupling saw that its inputs had been wrong.
    #[serde(default)]
    pub repetitions: u64,
}

impl Statistics {
    /// Numbers of a run so far.
    pub fn of(run: &Run) -> Self {
        let network = run.network();
        let (graph, staged) = (&network.graph, run.scheme.staged());
        let nodes = nodes(network.needs.request(), network.needs.pieces);
        let share = |slot: &Slot| {
            let steps = run.steps_taken().div_ceil(u64::from(slot.every));
            let (seconds, seconds_per_step) = (slot.seconds(steps), slot.seconds_per_step());
            let (subsystem, solver) =
                (graph.name(slot.id).into(), slot.subsystem.capabilities().solver.clone().into_owned());
            let step_calls = slot.step_calls().unwrap_or((steps + run.repetitions()) * nodes);
            Share { subsystem, solver, seconds, seconds_per_step, steps, step_calls }
        };
        let defect = |input: usize| {
            let unit = graph.input_variable(input).unit.clone();
            let (largest, time, range) = staged.defects.of(input);
            Defect { connection: graph.connection_name(input), unit, largest, time, range }
        };
        Statistics {
            steps: run.steps_taken(),
            sizes: run.step_sizes(),
            shares: network.slots.iter().map(share).collect(),
            defects: (0..graph.inputs()).filter(|i| !graph.is_free(*i)).map(defect).collect(),
            parallel_stages: staged.stages.iter().filter(|stage| stage.is_parallel).count(),
            review: network.coupling.report().review(&network.view(run.clock.step(run.index, 1))),
            loops: run.loop_works().cloned().collect(),
            halvings: run.halvings(),
            repetitions: run.repetitions(),
        }
    }
}

/// Parts in which native models walk a step, external signals aside.
fn nodes(samples: Request, pieces: usize) -> u64 {
    let sampled = if let Request::Nodes(nodes) = samples { u64::from(nodes) } else { 1 };
    sampled.max(pieces as u64).max(1)
}

#[cfg(test)]
mod tests {
    use crate::record::Trajectory;
    use crate::run::{Flow, Run, RunConfig, Statistics};
    use crate::signal::{Samples, Segment, Step};
    use crate::system::{Capabilities, Ports, Snapshot, Subsystem, SystemBuilder, VariableId};
    use std::time::{Duration, Instant};

    /// Takes a millisecond for each call of its stepping function: one in early steps, five in later ones.
    struct Slow {
        ports: Ports,
        capabilities: Capabilities,
    }

    impl Subsystem for Slow {
        fn ports(&self) -> &Ports {
            &self.ports
        }

        fn capabilities(&self) -> &Capabilities {
            &self.capabilities
        }

        fn initialize(&mut self, _start: f64) -> crate::Result<()> {
            Ok(())
        }

        fn read(&mut self, _inputs: Option<&[f64]>, _outputs: &mut [f64]) -> crate::Result<()> {
            Ok(())
        }

        fn step(
            &mut self,
            step: &Step,
            _input: &Segment<'_>,
            _outputs: &mut [f64],
            _samples: &mut Samples,
        ) -> crate::Result<()> {
            for _ in 0..if step.index < 20 { 1 } else { 5 } {
                self.capabilities.step_calls += 1;
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(1) {}
            }
            Ok(())
        }

        fn get(&mut self, _variable: VariableId) -> crate::Result<f64> {
            Ok(0.0)
        }

        fn set(&mut self, _variable: VariableId, _value: f64) -> crate::Result<()> {
            Ok(())
        }

        fn save(&mut self, _snapshot: &mut Snapshot) -> crate::Result<()> {
            Ok(())
        }

        fn restore(&mut self, _snapshot: &Snapshot) -> crate::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn sub_steps_of_steps_that_are_not_timed_count() {
        let capabilities = Capabilities { counts_step_calls: true, ..Capabilities::new("none") };
        let slow = Slow { ports: Ports::default(), capabilities };
        let system = SystemBuilder::new().add("slow", slow).build().unwrap();
        let mut run = Run::new(system, &RunConfig::new(6.0, 0.1)).unwrap();
        run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap();
        let share = &Statistics::of(&run).shares[0];
        assert_eq!((share.steps, share.step_calls), (60, 220));
        assert!(share.seconds > 0.2, "{} s of at least 0.22 s", share.seconds);
    }
}
