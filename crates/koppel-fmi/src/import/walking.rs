//! A step with everything that happens inside: cut where clocks tick and where the FMU wants an event, gone on with where
//! it returned early.

use super::route::Route;
use super::stepping::Stepper;
use crate::error::{Error, Result};
use crate::ffi::StepInfo;
use koppel::signal::{Part, Samples};

/// Most attempts to get on that lead nowhere.
const MAX_ATTEMPTS: usize = 100;

impl Stepper {
    /// Moves over a part of the inputs, with all events inside and at its end.
    #[cold]
    pub(super) fn walk(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        let (piece, end) = (part.piece, part.offset + part.size);
        let margin = 1e-9 * part.size;
        let mut offset = part.offset;
        piece.values(offset, &mut self.feed.next);
        if self
            .events
            .as_ref()
            .is_some_and(|events| events.has_event_mode && events.has_new_discrete(&self.feed.next))
        {
            self.event(piece.start + offset, margin)?;
        }
        let mut attempts = 0;
        while offset < end - margin {
            let stop = self.next_stop();
            let stop = stop.map(|time| (time - piece.start).max(offset)).filter(|stop| *stop < end - margin);
            let to = stop.unwrap_or(end);
            let (reached, is_event) = if to > offset + margin {
                self.check_cut(piece.start + to, stop.is_some())?;
                self.run(Part { offset, size: to - offset, ends_at_node: false, ..part }, samples)?
            } else {
                (offset, true)
            };
            attempts = if reached > offset + margin { 0 } else { attempts + 1 };
            offset = if reached >= to - margin { to } else { reached };
            if attempts > MAX_ATTEMPTS {
                let (instance, time) = (self.base.name.clone(), piece.start + offset);
                return Err(Error::Stuck { instance, time, attempts }.into());
            }
            let now = piece.start + offset;
            let is_due = self.next_stop().is_some_and(|stop| stop <= now + margin);
            if let Some(events) = &mut self.events {
                events.time = now;
                if events.has_event_mode && (is_event || is_due) {
                    piece.values(offset, &mut self.feed.next);
                    self.event(now, margin)?;
                }
            }
        }
        // The end is sampled with the inputs as they end.
        samples.forget_after(piece.start + part.offset + part.size - margin);
        Ok(())
    }

    /// A step can be cut only if the FMU takes steps of different sizes.
    fn check_cut(&self, time: f64, is_cut: bool) -> Result<()> {
        if !is_cut || self.varies_steps {
            return Ok(());
        }
        Err(Error::CannotCut { instance: self.base.name.clone(), time }.into())
    }

    /// Runs until the end of a part, or as far as the FMU goes; tells how far, and whether it wants an event.
    fn run(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<(f64, bool)> {
        let piece = part.piece;
        let time = piece.start + part.offset;
        let end = part.offset + part.size;
        let of = |info: StepInfo| match info.early_return {
            true => (info.last_successful_time - piece.start, info.event_needed),
            false => (end, info.event_needed),
        };
        if piece.terms == 1 || self.varies_steps && part.is_constant(self.feed.next.len()) {
            self.feed.set_at(&mut self.base, part)?;
            return Ok(of(self.call_step(time, part.size, None, Some(samples))?));
        }
        if self.feed.route == Route::Intermediate {
            self.feed.set_at(&mut self.base, part)?;
            self.feed.is_known = false;
            return Ok(of(self.call_step(time, part.size, Some(piece), Some(samples))?));
        }
        let parts = self.options.substeps.max(1);
        for k in 0..parts {
            let sub = part.divided(k, parts);
            // Each with its own mean: whatever is cut off by an event has had what was due to it.
            sub.mean(&mut self.feed.next);
            self.feed.set(&mut self.base)?;
            let info = self.call_step(piece.start + sub.offset, sub.size, None, Some(samples))?;
            if info.event_needed || info.early_return {
                let reached = if info.early_return { of(info).0 } else { sub.offset + sub.size };
                return Ok((reached, info.event_needed));
            }
        }
        Ok((end, false))
    }

    /// Moves over a part with samples wherever the FMU shows its outputs.
    pub(super) fn advance_sampling(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        let piece = part.piece;
        let is_plain = piece.terms == 1 || self.varies_steps && part.is_constant(self.feed.next.len());
        let parts =
            if is_plain || self.feed.route == Route::Intermediate { 1 } else { self.options.substeps.max(1) };
        for k in 0..parts {
            let sub = part.divided(k, parts);
            if is_plain || self.feed.route == Route::Intermediate {
                piece.values(sub.offset, &mut self.feed.next);
            } else {
                sub.mean(&mut self.feed.next);
            }
            self.feed.set(&mut self.base)?;
            let asked = (!is_plain && self.feed.route == Route::Intermediate).then_some(piece);
            if asked.is_some() {
                self.feed.is_known = false;
            }
            let (time, end) = (piece.start + sub.offset, piece.start + sub.offset + sub.size);
            let info = self.call_step(time, sub.size, asked, Some(samples))?;
            self.check_end(info, end, sub.size)?;
        }
        // The end belongs to the caller, who sets the inputs first where outputs follow them at once.
        samples.forget_after(piece.start + part.offset + part.size - 1e-9 * part.size);
        Ok(())
    }
}
