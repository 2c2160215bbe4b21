//! Trials of derivatives at one instant.
//!
//!   ∂y/∂u ≈ (y(u + δ) - y(u - δ)) / (2δ),     δ = 10⁻⁴ of the input's or state's size          (1)
//!
//! A derivative agrees with (1) to a thousandth of itself, or to what round-off leaves of the difference. At a kink the differences to
//! either side are two; what lies between them agrees.

use super::experiment::{Body, Experiment, WARM_UP};
use super::findings::{Judgement, failed, held, not_tried};
use crate::description::{ValueType, Variability};
use koppel::Result;

/// Most variables on either side.
const MOST: usize = 30;

/// Of itself.
const AGREES: f64 = 1e-3;

/// Variables of a Jacobian: places in the description.
struct Knowns {
    inputs: Vec<usize>,
    /// Places among the states, for model exchange.
    states: Vec<(usize, usize)>,
    unknowns: Vec<usize>,
}

/// One column by differences: the change of all unknowns, and the round-off in it.
struct Column {
    slope: Vec<f64>,
    /// To either side.
    sides: [Vec<f64>; 2],
    noise: Vec<f64>,
}

/// Directional derivatives against differences.
pub(super) fn directional(on: &Experiment<'_>) -> Result<Judgement> {
    against_differences(on, |body, references, j, column| {
        let mut seed = vec![0.0; references.0.len()];
        seed[j] = 1.0;
        Ok(body.base().directional(&references.1, &references.0, &seed, column)?)
    })
}

/// Adjoint derivatives, row by row, against differences.
pub(super) fn adjoint(on: &Experiment<'_>) -> Result<Judgement> {
    against_differences(on, |body, references, j, column| {
        let mut row = vec![0.0; references.0.len()];
        for (i, entry) in column.iter_mut().enumerate() {
            let mut seed = vec![0.0; references.1.len()];
            seed[i] = 1.0;
            body.base().adjoint(&references.1, &references.0, &seed, &mut row)?;
            *entry = row[j];
        }
        Ok(())
    })
}

fn against_differences(
    on: &Experiment<'_>,
    mut derivative: impl FnMut(&Body, &(Vec<u32>, Vec<u32>), usize, &mut [f64]) -> Result<()>,
) -> Result<Judgement> {
    let mut body = on.warm()?;
    let knowns = knowns(on, &body);
    if knowns.unknowns.is_empty() || knowns.inputs.is_empty() && knowns.states.is_empty() {
        return Ok(not_tried(
            "it has no continuous inputs or states, or no continuous outputs or derivatives",
        ));
    }
    let variables = &on.fmu.description().variables;
    let reference = |place: &usize| variables[*place].value_reference;
    let known: Vec<usize> = {
        let inputs = knowns.inputs.iter().map(|input| body.base().input_variable(*input));
        inputs.chain(knowns.states.iter().map(|(variable, _)| *variable)).collect()
    };
    let references: (Vec<u32>, Vec<u32>) =
        (known.iter().map(reference).collect(), knowns.unknowns.iter().map(reference).collect());
    let (stale, silent) = super::reading::stale(on, &mut body)?;
    let mut given = vec![0.0; knowns.unknowns.len()];
    let (mut compared, mut worst) = (0, 0.0_f64);
    for (j, place) in known.iter().enumerate() {
        let mut outputs = vec![0.0; body.subsystem().ports().outputs.len()];
        body.subsystem().read(Some(&on.inputs(WARM_UP)), &mut outputs)?;
        derivative(&body, &references, j, &mut given)?;
        let column = column(on, &mut body, &knowns, j)?;
        for (i, unknown) in knowns.unknowns.iter().enumerate() {
            if stale.contains(&variables[*unknown].name) {
                continue;
            }
            let (given, found, noise) = (given[i], column.slope[i], column.noise[i]);
            let [above, below] = [column.sides[0][i], column.sides[1][i]];
            let size = given.abs().max(found.abs());
            let apart = match given.max(above.min(below)).min(above.max(below)) {
                nearest if nearest == given => 0.0,
                _ => (given - found).abs(),
            };
            if apart.is_nan() || apart > AGREES * size + noise {
                // It may be evaluated in steps only: that it stays proves nothing.
                if silent.contains(&variables[*unknown].name) {
                    continue;
                }
                let (of, by) = (&variables[*unknown].name, &variables[*place].name);
                let (given, found) = (short(given), short(found));
                return Ok(failed(format!("d `{of}` / d `{by}` is {given}, but differences give {found}")));
            }
            compared += 1;
            worst = worst.max(if size > 0.0 && apart > noise { apart / size } else { 0.0 });
        }
    }
    if compared == 0 {
        return Ok(not_tried("outputs are evaluated in steps only: there is nothing to compare with"));
    }
    Ok(held(format!("{compared} entries agree with differences to {worst:.1e}")))
}

/// What is compared: scalar continuous inputs (and states) on outputs and derivatives.
fn knowns(on: &Experiment<'_>, body: &Body) -> Knowns {
    let description = on.fmu.description();
    let is_real = |place: usize| {
        let variable = &description.variables[place];
        variable.value_type == ValueType::Float64
            && variable.variability == Variability::Continuous
            && !variable.is_array()
    };
    let inputs = (0..on.rest.len())
        .filter(|input| on.reach[*input] != 0.0 && is_real(body.base().input_variable(*input)));
    let derivatives = &description.structure.continuous_state_derivatives;
    let outputs = description.structure.outputs.iter().chain(derivatives).map(|unknown| unknown.variable);
    let mut unknowns: Vec<usize> = outputs.filter(|place| is_real(*place)).take(MOST).collect();
    unknowns.dedup();
    let mut states = Vec::new();
    // Places among the states are those of the derivatives, if none is an array.
    if matches!(body, Body::ModelExchange(_)) && derivatives.iter().all(|d| is_real(d.variable)) {
        let of = |(k, d): (usize, &crate::description::Unknown)| {
            Some((description.variables[d.variable].derivative?, k))
        };
        states = derivatives.iter().enumerate().filter_map(of).take(MOST).collect();
    }
    Knowns { inputs: inputs.take(MOST).collect(), states, unknowns }
}

/// Equation (1) for known number `j`.
fn column(on: &Experiment<'_>, body: &mut Body, knowns: &Knowns, j: usize) -> Result<Column> {
    let middle = on.inputs(WARM_UP);
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    let mut delta = 0.0;
    for (side, values) in [1.0, -1.0, 0.0].iter().zip(&mut all) {
        let mut outputs = vec![0.0; body.subsystem().ports().outputs.len()];
        let mut inputs = middle.clone();
        if let Some(input) = knowns.inputs.get(j) {
            delta = 1e-4 * on.reach[*input].max(1e-3 * on.rest[*input].abs());
            inputs[*input] += side * delta;
        }
        body.subsystem().read(Some(&inputs), &mut outputs)?;
        if let (Body::ModelExchange(body), Some(k)) = (&*body, j.checked_sub(knowns.inputs.len())) {
            let mut states = body.plain_states();
            let place = knowns.states[k].1;
            delta = 1e-4 * states[place].abs().max(1e-3);
            states[place] += side * delta;
            body.try_states(&states)?;
        }
        for unknown in &knowns.unknowns {
            values.push(body.base().value_of(*unknown)?);
        }
        if let Body::ModelExchange(body) = &*body {
            body.try_states(&body.plain_states())?;
        }
    }
    let [above, below, here] = all;
    let slopes =
        |of: &[f64], sign: f64| of.iter().zip(&here).map(|(y, y0)| sign * (y - y0) / delta).collect();
    let sides = [slopes(&above, 1.0), slopes(&below, -1.0)];
    let slope = above.iter().zip(&below).map(|(a, b)| (a - b) / (2.0 * delta)).collect();
    let noise = above.iter().zip(&below).map(|(a, b)| 100.0 * f64::EPSILON * a.abs().max(b.abs()) / delta);
    let noise: Vec<f64> = noise.collect();
    Ok(Column { slope, sides, noise })
}

/// To six digits: differences have no more.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
