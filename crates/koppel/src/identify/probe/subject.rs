//! A subsystem that is moved at the start of its run, and restored: by its saved state, or by re-initialising it.

use crate::error::{Error, Result};
use crate::system::{InitialConditions, Snapshot, Subsystem, VariableId, reinitialize};

/// How a subsystem is restored.
enum Rewind {
    State(Snapshot),
    /// It is started again, and must then give these outputs.
    Anew(Vec<f64>),
}

/// Where a subsystem stands.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The start of the run.
    pub start: f64,
    /// The communication step.
    pub size: f64,
    /// Nodes per step.
    pub nodes: usize,
    /// All its inputs at the start.
    pub rest: &'a [f64],
    /// Its outputs at the start.
    pub outputs: &'a [f64],
    /// Which of the inputs are excited.
    pub inputs: Vec<usize>,
    /// What was set after it was initialised.
    pub settings: Vec<(VariableId, f64)>,
    /// True if it is a copy, which is not even initialised.
    pub is_copy: bool,
}

/// A subsystem at the start of its run.
pub struct Subject<'a> {
    pub(super) subsystem: &'a mut dyn Subsystem,
    pub(super) place: Place<'a>,
    /// Nothing until it moves.
    rewind: Option<Rewind>,
    pub(super) outputs: Vec<f64>,
    pub(super) steps: u64,
    /// Why the last experiment did not come to its end.
    pub(super) failure: Option<Box<Error>>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(subsystem: &'a mut dyn Subsystem, place: Place<'a>) -> Self {
        let outputs = vec![0.0; place.outputs.len()];
        Subject { subsystem, place, rewind: None, outputs, steps: 0, failure: None }
    }

    /// Why it cannot be excited, in words.
    pub fn lack(&self) -> Option<String> {
        self.failure.as_ref().map(ToString::to_string)
    }

    /// True if it was not moved: all that was asked was known.
    pub fn is_recalled(&self) -> bool {
        self.rewind.is_none()
    }

    /// Steps between nodes that were taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Calls of its own stepping function so far, if it counts them.
    pub fn step_calls(&self) -> Option<u64> {
        self.subsystem.capabilities().counted_steps()
    }

    /// Puts the subsystem back where it was.
    pub fn rewind(&mut self) -> Result<()> {
        match &self.rewind {
            None => Ok(()),
            Some(Rewind::State(snapshot)) => match self.subsystem.restore(snapshot) {
                Ok(()) => Ok(()),
                // One that has crashed remembers nothing, but may be there again.
                Err(error) => self.reinitialize(None).map_err(|_| error),
            },
            Some(Rewind::Anew(outputs)) => {
                let outputs = outputs.clone();
                self.reinitialize(Some(&outputs))
            }
        }
    }

    /// Starts it again with what was set before the start; `wanted` are the outputs it then should have.
    fn reinitialize(&mut self, wanted: Option<&[f64]>) -> Result<()> {
        let Place { start, settings, rest, .. } = &self.place;
        let beginning = InitialConditions { time: *start, settings, inputs: rest };
        reinitialize(&mut *self.subsystem, &beginning, &mut self.outputs)?;
        let is_same = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-9 * (a.abs() + b.abs()) || a.is_nan();
        let pairs = self.outputs.iter().zip(wanted.unwrap_or(self.place.outputs));
        match pairs.enumerate().find(|(_, (now, then))| !is_same(**then, **now)) {
            Some((k, (now, then))) if wanted.is_some() => Err(Error::NotPutBack {
                variable: self.subsystem.ports().outputs[k].name.clone(),
                found: *now,
                wanted: *then,
            }
            .into()),
            _ => Ok(()),
        }
    }

    /// Before the first experiment the place is noted, before every other one it is gone back to.
    pub(super) fn stand_at_start(&mut self) -> Result<()> {
        if self.rewind.is_some() {
            return self.rewind();
        }
        if self.place.is_copy {
            self.reinitialize(None)?;
        }
        let mut snapshot = Snapshot::default();
        self.rewind = Some(match self.subsystem.save(&mut snapshot) {
            Ok(()) => Rewind::State(snapshot),
            // Outputs may be those of other inputs: one that computes them only when initialised was given these later.
            Err(_) => {
                self.reinitialize(None)?;
                Rewind::Anew(self.outputs.clone())
            }
        });
        Ok(())
    }
}
