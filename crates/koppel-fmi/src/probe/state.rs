//! Trials of states and instances.

use super::experiment::{Body, Difference, Experiment, TRIAL, WARM_UP};
use super::findings::{Judgement, failed, held};
use koppel::Result;
use koppel::system::{Horizon, Snapshot};

/// A sentence for two recordings that should be the same.
fn compare(difference: Option<Difference>, what: &str) -> Judgement {
    match difference {
        None => held(format!("{what}: the same bits")),
        Some(d) if d.is_small() => held(format!("{what}: the same to {:.1e}", d.relative)),
        Some(d) => failed(format!("{what}: {} (by {:.1e})", d.text(), d.relative)),
    }
}

/// Save, go on, roll back, go on again.
pub(super) fn roll_back(on: &Experiment<'_>) -> Result<Judgement> {
    let mut body = on.warm()?;
    let mut snapshot = Snapshot::default();
    body.subsystem().save(&mut snapshot)?;
    let first = on.run(&mut body, WARM_UP, TRIAL)?;
    body.subsystem().restore(&snapshot)?;
    let second = on.run(&mut body, WARM_UP, TRIAL)?;
    let difference = on.difference(&mut body, &first, &second);
    Ok(compare(difference, &format!("{TRIAL} steps repeated from a saved state")))
}

/// The same through bytes, also in another instance.
pub(super) fn serialization(on: &Experiment<'_>) -> Result<Judgement> {
    let mut body = on.warm()?;
    let mut snapshot = Snapshot::new(Horizon::Anywhere);
    body.subsystem().save(&mut snapshot)?;
    let first = on.run(&mut body, WARM_UP, TRIAL)?;
    body.subsystem().restore(&snapshot)?;
    let again = on.run(&mut body, WARM_UP, TRIAL)?;
    let difference = on.difference(&mut body, &first, &again);
    if difference.as_ref().is_some_and(|difference| !difference.is_small()) {
        return Ok(compare(difference, "repeated from bytes"));
    }
    drop(body);
    let mut other = on.fresh()?;
    other.subsystem().restore(&snapshot)?;
    let elsewhere = on.run(&mut other, WARM_UP, TRIAL)?;
    let difference = on.difference(&mut other, &first, &elsewhere);
    let what = format!("repeated from {} bytes in another instance", snapshot.bytes.len());
    Ok(compare(difference, &what))
}

/// Start, go on, start again.
pub(super) fn reset(on: &Experiment<'_>) -> Result<Judgement> {
    let mut body = on.fresh()?;
    let first = on.run(&mut body, 0, TRIAL)?;
    body.base_mut().reset()?;
    on.restart(&mut body)?;
    let second = on.run(&mut body, 0, TRIAL)?;
    let difference = on.difference(&mut body, &first, &second);
    Ok(compare(difference, &format!("{TRIAL} steps after a reset")))
}

/// Two instances in turn, with different inputs.
pub(super) fn second_instance(on: &Experiment<'_>) -> Result<Judgement> {
    let mut alone = on.fresh()?;
    let first = on.run(&mut alone, 0, TRIAL)?;
    drop(alone);
    let (mut body, mut other) = (on.fresh()?, on.fresh()?);
    let mut second = Vec::new();
    for k in 0..TRIAL {
        on.advance(&mut other, on.time(k), on.step, 1, &on.inputs(k + 1))?;
        second.extend(on.run(&mut body, k, 1)?);
    }
    let difference = on.difference(&mut body, &first, &second);
    Ok(compare(difference, "beside another instance"))
}

/// One step, or two halves. They differ by the error of a solver, or of the coupling inside, which may be large but
/// vanishes with the step over the same time; steps of the wrong size are as wrong when they are small.
pub(super) fn variable_step(on: &Experiment<'_>) -> Result<Judgement> {
    let first = halved(on, 1)?;
    let mut figure = format!(
        "one step of {} s and two of half the size differ by {:.1e} of the change",
        on.step, first.apart
    );
    if first.apart <= MOST_OF_CHANGE {
        return Ok(held(figure));
    }
    for count in (1..=REFINEMENTS).map(|k| 1 << k) {
        let finer = halved(on, count)?;
        if finer.apart <= MOST_OF_CHANGE && finer.changed.contains(&first.worst) {
            figure += &format!(
                ", {count} and {} by {:.1e}: the difference vanishes with the step",
                2 * count,
                finer.apart
            );
            return Ok(held(figure));
        }
    }
    let count = 1_u32 << REFINEMENTS;
    Ok(failed(format!("`{}`: {figure}, {count} and {} by no less", first.worst, 2 * count)))
}

/// All that is seen after one step of the trial, taken in so many parts.
fn in_parts(on: &Experiment<'_>, parts: u32) -> Result<(Vec<f64>, Body)> {
    let (inputs, start) = (on.inputs(WARM_UP), on.time(WARM_UP));
    let size = on.step / f64::from(parts);
    let mut body = on.warm()?;
    for k in 0..parts {
        on.advance(&mut body, start + f64::from(k) * size, size, 1, &inputs)?;
    }
    let mut outputs = Vec::new();
    on.read_outputs(&mut body, &mut outputs);
    Ok((outputs, body))
}

/// So many parts against twice as many.
fn halved(on: &Experiment<'_>, parts: u32) -> Result<Halved> {
    let mut before = Vec::new();
    on.read_outputs(&mut on.warm()?, &mut before);
    let (whole, body) = in_parts(on, parts)?;
    drop(body);
    let (halves, mut body) = in_parts(on, 2 * parts)?;
    let names = on.visible(&mut body);
    let mut halved = Halved::default();
    for (k, (_, name)) in names.iter().enumerate() {
        // What counts steps differs by their number.
        let is_whole = |value: f64| value.fract() == 0.0;
        if is_whole(before[k]) && is_whole(whole[k]) && is_whole(halves[k]) {
            continue;
        }
        let change = (whole[k] - before[k]).abs().max((halves[k] - before[k]).abs());
        let apart = (whole[k] - halves[k]).abs();
        let size = whole[k].abs().max(halves[k].abs());
        if change > 1e-9 * size {
            halved.changed.push(name.clone());
        }
        if apart > 1e-9 * size && apart / change > halved.apart {
            (halved.apart, halved.worst) = (apart / change, name.clone());
        }
    }
    Ok(halved)
}

/// How one step and two halves differ.
#[derive(Default)]
struct Halved {
    /// By most of the change, of one variable.
    apart: f64,
    worst: String,
    /// What changes at all.
    changed: Vec<String>,
}

/// A solver's error in one step is far less than the change; a step of the wrong size is not.
const MOST_OF_CHANGE: f64 = 0.25;
/// How often the step is halved until that is so.
const REFINEMENTS: u32 = 5;
