//! A run that is driven from outside: inputs given while it goes on, steps of any length, slopes of its outputs.

use super::simulation::Simulation;
use crate::error::{Error, Result};
use crate::signal::Step;
use crate::system::InputId;
use crate::tape::{StateData, Tape};

impl Simulation {
    /// Gives an open input (see [`crate::system::SystemGraph::open_inputs`]) the polynomial Σ_j c_j (t - now)^j, from now on.
    /// Outputs follow with [`Simulation::follow_inputs`].
    pub fn give(&mut self, input: InputId, coefficients: &[f64]) {
        let time = self.time();
        if let Some(signal) = self.graph.live_mut(input) {
            signal.give(time, coefficients);
        }
    }

    /// Makes outputs follow the inputs given now, if they are read fresh.
    pub fn follow_inputs(&mut self) -> Result<()> {
        let time = self.time();
        if self.consistency.is_due(self.reading) {
            self.refresh(time)?;
            self.check_finite(time)?;
        }
        Ok(())
    }

    /// Moves to `time`. A macro step that reaches beyond is cut there, as a timed change would cut it, and completed by the
    /// next call: at multiples of the communication step the numbers are those of [`Simulation::advance`].
    pub fn advance_to(&mut self, time: f64) -> Result<()> {
        let margin = 1e-9 * self.clock.size();
        self.limit_steps(((time + margin - self.clock.time(0)) / self.clock.size()).max(0.0) as u64);
        let mut moved = Ok(());
        while moved.is_ok() && !self.is_done() && self.clock.time(self.index + 1) <= time + margin {
            moved = self.advance();
        }
        self.limit_steps(u64::MAX);
        moved?;
        let start = self.time();
        if self.is_done() || time - start <= margin {
            return Ok(());
        }
        if self.is_multi_rate {
            return Err(Error::Unsupported {
                what: format!("a step that ends at {time} s").into(),
                reason: format!(
                    "subsystems have different rates, so communication points are multiples of {} s",
                    self.clock.size()
                ),
            }
            .into());
        }
        if self.is_cut(start, time) {
            self.advance_in_parts(start)?;
        } else {
            self.exchange(Step { index: self.steps_taken(), start, size: time - start }, time)?;
        }
        self.inside = Some(self.ended_before(time).unwrap_or(time));
        self.plain_until = 0;
        Ok(())
    }

    /// How all outputs, in the order in which subsystems move, follow an open input at this instant, read fresh: by central
    /// differences of this size. The run is left as it was.
    pub fn slopes(&mut self, input: InputId, size: f64, slopes: &mut [f64]) -> Result<()> {
        let mut before = StateData::default();
        self.state(&mut Tape::write(&mut before));
        let time = self.time();
        let now = self.graph.live_mut(input).map_or(0.0, |signal| signal.value(time));
        let (low, high) = (now - size, now + size);
        let done = self.outputs_with(input, high, slopes).and_then(|()| {
            let mut lower = vec![0.0; slopes.len()];
            self.outputs_with(input, low, &mut lower)?;
            slopes.iter_mut().zip(lower).for_each(|(slope, low_y)| *slope = (*slope - low_y) / (high - low));
            Ok(())
        });
        self.state(&mut Tape::read(&before));
        // Subsystems remember the inputs they were read with last.
        done.and(self.follow_inputs())?;
        self.state(&mut Tape::read(&before));
        Ok(())
    }

    fn outputs_with(&mut self, input: InputId, value: f64, outputs: &mut [f64]) -> Result<()> {
        self.give(input, &[value]);
        self.follow_inputs()?;
        outputs.copy_from_slice(&self.board.outputs);
        Ok(())
    }
}
