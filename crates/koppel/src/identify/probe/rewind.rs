//! How a subsystem that was moved is put back: by its saved state, or by starting it anew.

use super::{Place, Probe};
use crate::error::{Error, Result};
use crate::system::{Beginning, Snapshot, start_anew};

/// How a subsystem is put back.
pub(super) enum Rewind {
    State(Snapshot),
    /// It is started again, and must then give these outputs.
    Anew(Vec<f64>),
}

impl Probe<'_> {
    /// Puts the subsystem back where it was.
    pub fn rewind(&mut self) -> Result<()> {
        match &self.rewind {
            None => Ok(()),
            Some(Rewind::State(snapshot)) => match self.subsystem.restore(snapshot) {
                Ok(()) => Ok(()),
                // One that has crashed remembers nothing, but may be there again.
                Err(error) => self.start_anew(None).map_err(|_| error),
            },
            Some(Rewind::Anew(outputs)) => {
                let outputs = outputs.clone();
                self.start_anew(Some(&outputs))
            }
        }
    }

    /// Starts it again with what was set before the start; `wanted` are the outputs it then should have.
    fn start_anew(&mut self, wanted: Option<&[f64]>) -> Result<()> {
        let Place { start, settings, rest, .. } = &self.place;
        let beginning = Beginning { time: *start, settings, inputs: rest };
        start_anew(&mut *self.subsystem, &beginning, &mut self.outputs)?;
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
            self.start_anew(None)?;
        }
        let mut snapshot = Snapshot::default();
        self.rewind = Some(match self.subsystem.save(&mut snapshot) {
            Ok(()) => Rewind::State(snapshot),
            // Outputs may be those of other inputs: one that computes them only when initialised was given these later.
            Err(_) => {
                self.start_anew(None)?;
                Rewind::Anew(self.outputs.clone())
            }
        });
        Ok(())
    }
}
