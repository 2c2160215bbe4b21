//! Whether the directional derivatives of a co-simulation FMU hold.
//!
//! Those by inputs (B, D) are compared with differences on both sides. States cannot be moved by hand, but an input that is
//! moved up and down over one trial step from a saved state moves them apart, to x⁺ and x⁻; under the same inputs then
//!
//!   f(x⁺) - f(x⁻) ≈ A (x⁺ - x⁻),     g(x⁺) - g(x⁻) ≈ C (x⁺ - x⁻)                                      (1)
//!
//! with A and C between them, and the right-hand sides by one directional derivative. So A and C are compared in the
//! directions in which inputs push the states, and believed in others; and nothing is compared where no state can be saved.

use super::CoSimulation;
use super::matrices::{Difference, NEARER, Unknowns, disagreement, distance, lasting_disagreement};
use crate::error::Result;
use koppel::identify::Window;
use koppel::linalg::Matrix;
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::system::{Snapshot, Subsystem};

/// How far an input is moved in a trial step, as a part of its size: far enough for the states to move more than round-off.
const PUSH: f64 = 1e-3;

/// Where derivatives do not hold, in words.
type Judged = std::result::Result<(), String>;

/// What was given, what was found, and the round-off in that.
struct Sides {
    declared: Matrix,
    found: Matrix,
    noise: Matrix,
}

impl CoSimulation {
    /// Compares B and D with differences over the inputs; the inner result says where they part.
    pub(super) fn judge_by_inputs(&mut self, inputs: &[f64]) -> Result<Judged> {
        let Some(unknowns) = &self.linearization.unknowns else { return Ok(Err("none are listed".into())) };
        let given = match unknowns.directional(&self.stepper.base) {
            Ok(given) => given,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let (n, p, moved) = (unknowns.states(), self.ports.outputs.len(), unknowns.inputs().to_vec());
        for input in moved {
            let delta = distance(inputs[input], self.ports.inputs[input].nominal);
            let mut at = |value: f64| {
                let mut u = inputs.to_vec();
                u[input] = value;
                self.write_smooth(&u)?;
                self.observed()
            };
            let column = |list: &[f64]| Matrix::from_slice(n + p, 1, list);
            let mut over = |delta: f64| {
                let (up, down) = (inputs[input] + delta, inputs[input] - delta);
                let Difference { slope, noise } = Difference::new(&at(up)?, &at(down)?, up - down);
                Result::<_>::Ok((column(&slope), column(&noise)))
            };
            let declared = Matrix::from_fn(n + p, 1, |row, _| {
                if row < n { given.b[(row, input)] } else { given.d[(row - n, input)] }
            });
            let (slope, noise) = over(delta)?;
            if disagreement(&declared, &slope, &noise).is_none() {
                continue;
            }
            let (nearer, nearer_noise) = over(delta / NEARER)?;
            if let Some((row, _)) =
                lasting_disagreement(&declared, (&slope, &noise), (&nearer, &nearer_noise))
            {
                let (by, declared, found) =
                    (&self.ports.inputs[input].name, declared[(row, 0)], nearer[(row, 0)]);
                let of = self.row_name(row);
                return Ok(Err(format!(
                    "that of {of} by `{by}` is {declared:.5e}, but differences give {found:.5e}"
                )));
            }
        }
        self.write_smooth(inputs)?;
        Ok(Ok(()))
    }

    /// Equations (1); the outer failure says why they could not be tried, the inner one where they do not hold.
    pub(super) fn judge_by_states(
        &mut self,
        window: Window,
        inputs: &[f64],
    ) -> koppel::Result<Result<Judged, String>> {
        let mut before = Snapshot::default();
        if let Err(error) = self.save(&mut before) {
            return Ok(Err(error.to_string()));
        }
        let judged = self.try_states(&before, window, inputs);
        // What broke the FMU in a trial is worth more than that it cannot be put back.
        match (judged, self.restore(&before)) {
            (Ok(judged), restored) => restored.map(|()| Ok(judged)),
            (Err(error), Ok(())) => Ok(Err(format!("a trial step from a saved state failed ({error})"))),
            (Err(error), Err(_)) => Err(error),
        }
    }

    fn try_states(&mut self, before: &Snapshot, window: Window, inputs: &[f64]) -> koppel::Result<Judged> {
        let Some(unknowns) = &self.linearization.unknowns else { return Ok(Ok(())) };
        for input in unknowns.inputs().to_vec() {
            let delta =
                PUSH * inputs[input].abs().max(self.ports.inputs[input].nominal.map_or(1.0, f64::abs));
            let mut over = |delta: f64| self.pushed(before, window, inputs, (input, delta));
            let far = over(delta)?;
            if disagreement(&far.declared, &far.found, &far.noise).is_none() {
                continue;
            }
            let near = over(delta / NEARER)?;
            // Beyond the point where it stands, given derivatives differ, too.
            let declared = &near.declared;
            if let Some((row, _)) =
                lasting_disagreement(declared, (&far.found, &far.noise), (&near.found, &near.noise))
            {
                let of = self.row_name(row);
                let (by, declared, found) =
                    (&self.ports.inputs[input].name, declared[(row, 0)], near.found[(row, 0)]);
                return Ok(Err(format!(
                    "the change of {of} with the states that `{by}` excites is {declared:.5e}, but trial steps give {found:.5e}"
                )));
            }
        }
        Ok(Ok(()))
    }

    /// Both sides of (1), per unit of the input.
    fn pushed(
        &mut self,
        before: &Snapshot,
        window: Window,
        inputs: &[f64],
        (input, delta): (usize, f64),
    ) -> koppel::Result<Sides> {
        let mut after = |value: f64| -> koppel::Result<(Vec<f64>, Vec<f64>)> {
            let mut moved = inputs.to_vec();
            moved[input] = value;
            self.restore(before)?;
            let step = Step { index: 0, start: window.start, size: window.size };
            let width = self.ports.outputs.len();
            let (mut outputs, mut samples) = (vec![0.0; width], Samples::new(Request::Nothing, width));
            self.step(&step, &Segment::new(&step, moved.len(), 1, &moved), &mut outputs, &mut samples)?;
            self.write_smooth(inputs)?;
            Ok((self.listed_states()?, self.observed()?))
        };
        let (up, down) = (inputs[input] + delta, inputs[input] - delta);
        let ((x_up, above), (x_down, below)) = (after(up)?, after(down)?);
        after(inputs[input])?;
        let Difference { slope: along, .. } = Difference::new(&x_up, &x_down, up - down);
        let Difference { slope, noise } = Difference::new(&above, &below, up - down);
        let declared = match &self.linearization.unknowns {
            Some(unknowns) => unknowns.along(&self.stepper.base, &along)?,
            None => vec![0.0; slope.len()],
        };
        let column = |list: &[f64]| Matrix::from_slice(list.len(), 1, list);
        Ok(Sides { declared: column(&declared), found: column(&slope), noise: column(&noise) })
    }

    fn listed_states(&self) -> Result<Vec<f64>> {
        let Some(unknowns) = &self.linearization.unknowns else { return Ok(Vec::new()) };
        let mut x = vec![0.0; unknowns.states()];
        self.called(self.backend.get_reals(unknowns.state_references(), &mut x))?;
        Ok(x)
    }

    /// A row of the matrices: derivatives of the states, then outputs.
    fn row_name(&self, row: usize) -> String {
        let states = self.linearization.unknowns.as_ref().map_or(0, Unknowns::states);
        match row.checked_sub(states) {
            None => format!("derivative {} of the states", row + 1),
            Some(output) => format!("`{}`", self.ports.outputs[output].name),
        }
    }

    /// Derivatives of the states, then outputs; what is not continuous counts as zero.
    fn observed(&mut self) -> Result<Vec<f64>> {
        let Some(unknowns) = &self.linearization.unknowns else { return Ok(Vec::new()) };
        let mut values = vec![0.0; unknowns.states()];
        self.called(self.backend.get_reals(unknowns.derivatives(), &mut values))?;
        let mut outputs = vec![0.0; self.ports.outputs.len()];
        self.get_outputs(&mut outputs)?;
        let held = self.ports.outputs.iter().map(|output| output.is_held);
        values.extend(outputs.iter().zip(held).map(|(value, held)| if held { 0.0 } else { *value }));
        Ok(values)
    }
}
