//! Trial of outputs that do not say on which inputs they depend.
//!
//! One that follows inputs which are set without a step is fresh. One that stays may depend on states alone, which is as it should be, or
//! directly on inputs but be evaluated in steps only. Steps of size s under two different inputs tell these apart:
//!
//!   |y(s, u₂) - y(s, u₁)| → |D (u₂ - u₁)|,     s → 0                                                   (1)
//!
//! which is 0 for what depends on states alone. Where steps have one size only, or (1) does not tell, the output may be old.

use super::experiment::{Body, Experiment, WARM_UP};
use super::findings::{Judgement, held, not_tried, noted};
use super::reading::differs;
use koppel::Result;

/// Parts of the step that show where (1) goes. Dynamics faster than the last are as good as a direct dependence.
const SHORT: f64 = 1.0 / 1024.0;
const SHORTER: f64 = 1.0 / 8192.0;

/// A difference that vanishes with the step becomes less than this part of itself from one to the other.
const VANISHES: f64 = 0.5;

/// What a step of one size does under different inputs, output by output.
struct Spread {
    /// How far apart the inputs bring it; 0 for round-off.
    apart: Vec<f64>,
    /// Whether the step moves it at all.
    moves: Vec<bool>,
}

/// What is known of an output that stays when inputs are set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    OfStates,
    Old,
    Open,
}

/// Outputs without declared dependencies are as new as the inputs.
pub(super) fn freshness(on: &Experiment<'_>) -> Result<Judgement> {
    if !on.moves() {
        return Ok(not_tried("it has no continuous inputs"));
    }
    let mut body = on.warm()?;
    let Body::CoSimulation(_) = &body else { return Ok(not_tried("model exchange evaluates immediately")) };
    let Ok(reaction) = super::reading::react(on, &mut body)? else {
        return Ok(not_tried("inputs cannot be set and restored"));
    };
    drop(body);
    let silent: Vec<usize> = reaction.silent().collect();
    if silent.is_empty() {
        return Ok(held("outputs without declared dependencies follow their inputs at the same instant"));
    }
    let verdicts = verdicts(on, &silent)?;
    let all = |wanted: Verdict| -> Vec<usize> {
        silent.iter().zip(&verdicts).filter(|(_, verdict)| **verdict == wanted).map(|(k, _)| *k).collect()
    };
    let mut parts = Vec::new();
    if let old @ [_, ..] = &all(Verdict::Old)[..] {
        let words =
            "when inputs are set, and changes with them in any step, however short: evaluated in steps only";
        parts.push(reaction.stays(old, words));
    }
    if let open @ [_, ..] = &all(Verdict::Open)[..] {
        parts.push(reaction.stays(open, "when inputs are set, and declares no dependencies"));
    }
    Ok(match parts.is_empty() {
        true => held(
            "outputs without declared dependencies follow their inputs at the same instant, or depend on states alone",
        ),
        false => noted(parts.join("; ")),
    })
}

fn verdicts(on: &Experiment<'_>, outputs: &[usize]) -> Result<Vec<Verdict>> {
    let whole = spread(on, 1.0)?;
    let section = on.fmu.description().co_simulation.as_ref();
    let varies = section.is_some_and(|section| section.can_handle_variable_communication_step_size);
    let moved = outputs.iter().any(|k| whole.apart[*k] > 0.0);
    // What short steps do to an FMU is not asked here: one that refuses them tells nothing.
    let short = (varies && moved).then(|| Ok((spread(on, SHORT)?, spread(on, SHORTER)?)));
    let short: Option<(Spread, Spread)> = short.and_then(Result::ok);
    let verdict = |k: &usize| match &short {
        _ if whole.apart[*k] == 0.0 => Verdict::OfStates,
        // It may take no steps as short as this.
        Some((_, shorter)) if !shorter.moves[*k] => Verdict::Open,
        Some((short, shorter)) if shorter.apart[*k] <= VANISHES * short.apart[*k] => Verdict::OfStates,
        Some(_) => Verdict::Old,
        None => Verdict::Open,
    };
    Ok(outputs.iter().map(verdict).collect())
}

/// Both sides of (1) after a part of a step.
fn spread(on: &Experiment<'_>, part: f64) -> Result<Spread> {
    let first = on.inputs(WARM_UP);
    // Each input by another share of its reach: what depends on differences moves, too.
    let share = |k: usize| 0.5 + 0.5 * (0.618_034 * (k + 1) as f64).fract();
    let second: Vec<f64> =
        on.rest.iter().zip(&on.reach).enumerate().map(|(k, (u, reach))| u + share(k) * reach).collect();
    let after = |inputs: &[f64]| -> Result<(Vec<f64>, Vec<f64>)> {
        let mut body = on.warm()?;
        let mut before = vec![0.0; body.subsystem().ports().outputs.len()];
        body.subsystem().read(None, &mut before)?;
        let after = on.advance(&mut body, on.time(WARM_UP), part * on.step, 1, inputs)?;
        Ok((before, after))
    };
    let ((before, one), (_, other)) = (after(&first)?, after(&second)?);
    let outputs = 0..before.len();
    let gap = |k: usize| if differs(one[k], other[k]) { (one[k] - other[k]).abs() } else { 0.0 };
    let moved =
        |k: usize| one[k].to_bits() != before[k].to_bits() || other[k].to_bits() != before[k].to_bits();
    Ok(Spread { apart: outputs.clone().map(gap).collect(), moves: outputs.map(moved).collect() })
}
