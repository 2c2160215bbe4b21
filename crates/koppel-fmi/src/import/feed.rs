//! What an FMU is given of its inputs: at the start of a step, along the route it takes inside.

use super::Base;
use super::access::Access;
use super::route::{Route, Taken};
use super::stairs::stair;
use crate::error::Result;
use koppel::signal::{Part, Request};

/// Inputs of a co-simulation FMU.
pub(super) struct Feed {
    /// Those that follow a polynomial inside steps.
    pub(super) smooth: Access,
    pub(super) route: Route,
    pub(super) taken: Taken,
    /// As set last.
    pub(super) applied: Vec<f64>,
    /// `applied` is what the FMU has.
    pub(super) is_known: bool,
    /// To be set next.
    pub(super) next: Vec<f64>,
    /// Values and orders for calls about some of them.
    pub(super) chosen: Vec<f64>,
    orders: Vec<i32>,
}

impl Feed {
    pub(super) fn new(smooth: Access, route: Route, width: usize) -> Feed {
        Feed {
            smooth,
            route,
            taken: Taken::default(),
            applied: vec![0.0; width],
            is_known: false,
            next: vec![0.0; width],
            chosen: Vec::with_capacity(width),
            orders: Vec::with_capacity(width),
        }
    }

    /// Sets the inputs as they are where a part begins.
    pub(super) fn set_at(&mut self, base: &mut Base, part: Part<'_>) -> Result<()> {
        part.piece.values(part.offset, &mut self.next);
        self.set(base)
    }

    /// Sets `next` as inputs, unless the FMU has them.
    #[inline]
    pub(super) fn set(&mut self, base: &mut Base) -> Result<()> {
        if self.is_known && self.next == self.applied {
            return Ok(());
        }
        let Base { inputs, binding, scratch, slots, .. } = base;
        binding.accessed(inputs.write(&binding.backend, scratch, &self.next), &slots.inputs)?;
        self.applied.copy_from_slice(&self.next);
        self.is_known = true;
        Ok(())
    }

    /// The input of one of several sub-steps over a part.
    pub(super) fn set_stair(
        &mut self,
        base: &mut Base,
        part: Part<'_>,
        (k, parts): (u32, u32),
        request: Request,
    ) -> Result<()> {
        if matches!(request, Request::Nodes(_)) {
            stair(part, k, parts, &mut self.chosen, &mut self.next);
        } else {
            part.divided(k, parts).mean(&mut self.next);
        }
        self.set(base)
    }

    /// Values and derivatives at the start of a part.
    pub(super) fn set_derivatives(&mut self, base: &mut Base, part: Part<'_>) -> Result<()> {
        self.set_at(base, part)?;
        for order in 1..part.piece.terms {
            part.derivative(order, &mut self.next);
            self.send_derivatives(base, order)?;
            if self.taken.is_refused() {
                break;
            }
        }
        self.is_known = false;
        Ok(())
    }

    /// The line with the mean and the rise of a part.
    pub(super) fn set_chord(&mut self, base: &mut Base, part: Part<'_>) -> Result<()> {
        part.chord_start(&mut self.next);
        self.set(base)?;
        part.chord_slope(&mut self.next);
        self.send_derivatives(base, 1)?;
        self.is_known = false;
        Ok(())
    }

    fn send_derivatives(&mut self, base: &Base, order: usize) -> Result<()> {
        let Some((references, places)) = self.smooth.reals() else { return Ok(()) };
        choose(&self.next, places, &mut self.chosen);
        self.orders.clear();
        self.orders.resize(references.len(), order as i32);
        let given = base.backend.set_input_derivatives(references, &self.orders, &self.chosen);
        base.called(self.taken.note(order, given))
    }
}

/// The values at some places.
pub(super) fn choose(values: &[f64], places: &[usize], chosen: &mut Vec<f64>) {
    chosen.clear();
    chosen.extend(places.iter().map(|place| values[*place]));
}
