//! Events: into event mode, iteration to a new fixed point, back to continuous time.

use super::stepping::{Integrator, Mode};
use crate::error::{Error, Result};

impl Integrator {
    pub(super) fn enter_event_mode(&mut self) -> Result<()> {
        if self.mode == Mode::Continuous {
            self.base.called(self.base.backend.enter_event_mode())?;
            self.mode = Mode::Event;
        }
        Ok(())
    }

    /// An event inside a step, or with new inputs at its start, noted for whoever watches.
    pub(super) fn noted_event(&mut self, has_inputs: bool) -> Result<()> {
        let before = if self.is_fresh { None } else { self.base.watched()? };
        self.enter_event_mode()?;
        if has_inputs {
            self.write_inputs()?;
        }
        self.event()?;
        self.base.note_event(self.time, before)
    }

    /// When the FMU wants its next event, or a clock ticks.
    pub(super) fn next_stop(&self) -> Option<f64> {
        self.next_event.into_iter().chain(self.base.clockwork.next()).min_by(f64::total_cmp)
    }

    /// Lets clocks tick that are due, gives what has arrived, iterates until the discrete states are settled, then returns
    /// to continuous time.
    pub(super) fn event(&mut self) -> Result<()> {
        if self.is_fresh {
            self.base.clockwork.start(&self.base.binding, self.time)?;
        }
        let active = self.base.tick(self.time, 4.0 * f64::EPSILON * self.time.abs())?;
        self.base.write_clocked(&active, &self.applied)?;
        let info = self.base.iterate_event(self.time)?;
        self.set_next_event(info.next_event);
        self.base.clockwork.follow(&self.base.binding, &active, self.time)?;
        self.base.called(self.base.backend.enter_continuous_time_mode())?;
        self.mode = Mode::Continuous;
        let is_first = std::mem::take(&mut self.is_fresh);
        if is_first || info.nominals_changed {
            self.rescale()?;
        }
        if is_first || info.values_changed {
            self.take_states()?;
        }
        self.base.called(self.base.backend.get_indicators(&mut self.at.z))
    }

    pub(super) fn terminated(&self) -> Box<Error> {
        self.base.ended(self.time)
    }

    /// Reads the states from the FMU.
    fn take_states(&mut self) -> Result<()> {
        self.base.called(self.base.backend.get_states(&mut self.at.plain))?;
        for ((x, plain), scale) in self.x.iter_mut().zip(&self.at.plain).zip(&self.scales) {
            *x = plain / scale;
        }
        Ok(())
    }

    /// New units of the states: their nominal values as powers of two.
    fn rescale(&mut self) -> Result<()> {
        self.base.called(self.base.backend.get_nominals(&mut self.at.plain))?;
        for ((x, scale), nominal) in self.x.iter_mut().zip(&mut self.scales).zip(&self.at.plain) {
            let plain = *x * *scale;
            *scale = power_of_two(*nominal);
            *x = plain / *scale;
        }
        Ok(())
    }
}

/// The power of two nearest to a magnitude; 1 for what is none.
fn power_of_two(nominal: f64) -> f64 {
    let nominal = nominal.abs();
    if nominal.is_normal() && (1e-200..1e200).contains(&nominal) {
        nominal.log2().round().exp2()
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::power_of_two;

    #[test]
    fn units_of_states_are_exact() {
        assert_eq!(power_of_two(1.0), 1.0);
        assert_eq!(power_of_two(-1e5), 131_072.0);
        assert_eq!(power_of_two(0.3), 0.25);
        assert!([0.0, f64::NAN, f64::INFINITY, 1e-310].iter().all(|nominal| power_of_two(*nominal) == 1.0));
    }
}
