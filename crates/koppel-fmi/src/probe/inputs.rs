//! Trials of inputs that move inside a step.
//!
//! A ramp is given over one step, and in many sub-steps with the ramp's mean. Its effect, the change of the variables
//! against a run under constant inputs with the same step sizes, must be the same both ways: what the FMU's own solver makes of the step
//! size is in both runs and drops out.

use super::experiment::{Body, Experiment, WARM_UP};
use super::findings::{Judgement, failed, held, not_tried, noted};
use koppel::Result;

/// Sub-steps that show what a ramp does.
const SUBSTEPS: u32 = 32;

/// Of the effect.
const AGREES: f64 = 0.3;

/// FMI 2.0 input derivatives.
pub(super) fn input_derivatives(on: &Experiment<'_>) -> Result<Judgement> {
    ramp(on, "given by derivatives", |body| Some(failed(refused(body)?)))
}

/// FMI 3.0 intermediate update: does the FMU ask, and does the answer act?
pub(super) fn intermediate_update(on: &Experiment<'_>) -> Result<Judgement> {
    ramp(on, "given by intermediate update", |body| match body {
        Body::CoSimulation(body) if body.asked() == 0 => {
            Some(noted("the FMU never asks for inputs inside a step"))
        }
        body => Some(failed(refused(body)?)),
    })
}

fn ramp(on: &Experiment<'_>, how: &str, complaint: impl Fn(&Body) -> Option<Judgement>) -> Result<Judgement> {
    if !on.moves() {
        return Ok(not_tried("it has no continuous inputs"));
    }
    let (ramp, body) = end_of_ramp(on, 1.0, false)?;
    if let Some(judgement) = complaint(&body) {
        return Ok(judgement);
    }
    drop(body);
    let effect: Vec<f64> = minus(&ramp, &end_of_ramp(on, 0.0, false)?.0);
    let (stepped, mut body) = end_of_ramp(on, 1.0, true)?;
    let names = on.visible(&mut body);
    drop(body);
    let (constant, _) = end_of_ramp(on, 0.0, true)?;
    let expected = minus(&stepped, &constant);
    let size = |k: usize| expected[k].abs() / stepped[k].abs().max(constant[k].abs()).max(1e-9);
    let moved: Vec<usize> = (0..expected.len()).filter(|k| size(*k) > 1e-9).collect();
    let off = |k: usize| (effect[k] / expected[k] - 1.0).abs();
    // Outputs may be evaluated with the inputs at the start of a step: one variable that follows is enough.
    let nearest = moved.iter().copied().min_by(|a, b| off(*a).total_cmp(&off(*b)));
    let largest = moved.iter().copied().max_by(|a, b| size(*a).total_cmp(&size(*b)));
    let (Some(nearest), Some(largest)) = (nearest, largest) else {
        return Ok(not_tried("a ramp of the inputs has no effect within one step"));
    };
    let text = |k: usize| {
        let share = effect[k] / expected[k];
        format!("a ramp {how} changes `{}` by {share:.3} of the change with {SUBSTEPS} sub-steps", names[k].1)
    };
    Ok(if off(nearest) <= AGREES { held(text(nearest)) } else { failed(text(largest)) })
}

/// All that is seen after a step over which the inputs rise from rest; `slope` 0 leaves them there.
fn end_of_ramp(on: &Experiment<'_>, slope: f64, in_substeps: bool) -> Result<(Vec<f64>, Body)> {
    let mut body = on.warm()?;
    let from = on.inputs(WARM_UP);
    if !in_substeps {
        let coefficients: Vec<f64> =
            from.iter().zip(&on.reach).flat_map(|(u, reach)| [*u, slope * reach / on.step]).collect();
        // A slope of zero would be a constant input, and take another way.
        let (terms, coefficients) = if slope == 0.0 { (1, from) } else { (2, coefficients) };
        on.advance(&mut body, on.time(WARM_UP), on.step, terms, &coefficients)?;
    } else {
        let h = on.step / f64::from(SUBSTEPS);
        for k in 0..SUBSTEPS {
            let part = slope * (f64::from(k) + 0.5) / f64::from(SUBSTEPS);
            let inputs: Vec<f64> = from.iter().zip(&on.reach).map(|(u, reach)| u + part * reach).collect();
            on.advance(&mut body, on.time(WARM_UP) + f64::from(k) * h, h, 1, &inputs)?;
        }
    }
    // The same inputs at the end, or whatever follows them at once would seem to have followed the ramp.
    let mut outputs = vec![0.0; body.subsystem().ports().outputs.len()];
    body.subsystem().read(Some(&on.rest), &mut outputs)?;
    let mut outputs = Vec::new();
    on.read_outputs(&mut body, &mut outputs);
    Ok((outputs, body))
}

/// What it would not take: it is driven without, which proves nothing.
fn refused(body: &Body) -> Option<String> {
    let Body::CoSimulation(body) = body else { return None };
    body.refused_inputs().map(str::to_owned)
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
