//! Trials of states and instances.

use super::experiment::{Body, Difference, Experiment, TRIAL, WARM_UP};
use super::findings::{Seen, failed, held};
use koppel::Result;
use koppel::system::Snapshot;

/// A sentence for two recordings that should be the same.
fn compare(difference: Option<Difference>, what: &str) -> Seen {
    match difference {
        None => held(format!("{what}: the same bits")),
        Some(d) if d.is_small() => held(format!("{what}: the same to {:.1e}", d.relative)),
        Some(d) => failed(format!("{what}: {} (by {:.1e})", d.text(), d.relative)),
    }
}

impl Experiment<'_> {
    /// Save, go on, go back, go on again.
    pub(super) fn roll_back(&self) -> Result<Seen> {
        let mut body = self.warm()?;
        body.base_mut().keep_states_in_memory();
        let mut snapshot = Snapshot::default();
        body.subsystem().save(&mut snapshot)?;
        let first = self.run(&mut body, WARM_UP, TRIAL)?;
        body.subsystem().restore(&snapshot)?;
        let second = self.run(&mut body, WARM_UP, TRIAL)?;
        let difference = self.difference(&mut body, &first, &second);
        Ok(compare(difference, &format!("{TRIAL} steps repeated from a saved state")))
    }

    /// The same through bytes, also in another instance.
    pub(super) fn serialization(&self) -> Result<Seen> {
        let mut body = self.warm()?;
        let mut snapshot = Snapshot::default();
        body.subsystem().save(&mut snapshot)?;
        let first = self.run(&mut body, WARM_UP, TRIAL)?;
        body.subsystem().restore(&snapshot)?;
        let again = self.run(&mut body, WARM_UP, TRIAL)?;
        let difference = self.difference(&mut body, &first, &again);
        if difference.as_ref().is_some_and(|difference| !difference.is_small()) {
            return Ok(compare(difference, "repeated from bytes"));
        }
        drop(body);
        let mut other = self.fresh()?;
        other.subsystem().restore(&snapshot)?;
        let elsewhere = self.run(&mut other, WARM_UP, TRIAL)?;
        let difference = self.difference(&mut other, &first, &elsewhere);
        let what = format!("repeated from {} bytes in another instance", snapshot.bytes.len());
        Ok(compare(difference, &what))
    }

    /// Start, go on, start again.
    pub(super) fn reset(&self) -> Result<Seen> {
        let mut body = self.fresh()?;
        let first = self.run(&mut body, 0, TRIAL)?;
        self.restart(&mut body)?;
        let second = self.run(&mut body, 0, TRIAL)?;
        let difference = self.difference(&mut body, &first, &second);
        Ok(compare(difference, &format!("{TRIAL} steps after a reset")))
    }

    /// Two instances in turn, with different inputs.
    pub(super) fn second_instance(&self) -> Result<Seen> {
        let mut alone = self.fresh()?;
        let first = self.run(&mut alone, 0, TRIAL)?;
        drop(alone);
        let (mut body, mut other) = (self.fresh()?, self.fresh()?);
        let mut second = Vec::new();
        for k in 0..TRIAL {
            self.advance(&mut other, self.time(k), self.step, 1, &self.inputs(k + 1))?;
            second.extend(self.run(&mut body, k, 1)?);
        }
        let difference = self.difference(&mut body, &first, &second);
        Ok(compare(difference, "beside another instance"))
    }

    /// One step, or two halves.
    pub(super) fn variable_step(&self) -> Result<Seen> {
        let inputs = self.inputs(WARM_UP);
        let (start, size) = (self.time(WARM_UP), self.step);
        let outputs = |body: &mut Body| -> Result<Vec<f64>> {
            let mut seen = Vec::new();
            self.see(body, &mut seen);
            Ok(seen)
        };
        let mut body = self.warm()?;
        let before = outputs(&mut body)?;
        self.advance(&mut body, start, size, 1, &inputs)?;
        let whole = outputs(&mut body)?;
        drop(body);
        let mut body = self.warm()?;
        self.advance(&mut body, start, 0.5 * size, 1, &inputs)?;
        self.advance(&mut body, start + 0.5 * size, 0.5 * size, 1, &inputs)?;
        let halves = outputs(&mut body)?;
        let names = self.visible(&mut body);
        let mut worst = (0.0, String::new());
        for (k, (_, name)) in names.iter().enumerate() {
            // What counts steps may differ by one.
            let is_whole = |value: f64| value.fract() == 0.0;
            if is_whole(before[k]) && is_whole(whole[k]) && is_whole(halves[k]) {
                continue;
            }
            let change = (whole[k] - before[k]).abs().max((halves[k] - before[k]).abs());
            let apart = (whole[k] - halves[k]).abs();
            let size = whole[k].abs().max(halves[k].abs());
            if apart > 1e-9 * size && apart / change > worst.0 {
                worst = (apart / change, name.clone());
            }
        }
        let figure =
            format!("one step of {size} s and two of half the size differ by {:.1e} of the change", worst.0);
        Ok(if worst.0 <= MOST_OF_CHANGE { held(figure) } else { failed(format!("`{}`: {figure}", worst.1)) })
    }
}

/// A solver's error in one step is far less than the change; a step of the wrong size is not.
const MOST_OF_CHANGE: f64 = 0.25;
