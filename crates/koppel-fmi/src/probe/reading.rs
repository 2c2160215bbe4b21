//! Trial of outputs that are read after inputs were set, without a step between.
//!
//! Inputs are moved one by one: what depends on their difference would not move if all moved alike.

use super::experiment::{Body, Experiment, TRIAL, WARM_UP};
use super::findings::{Judgement, failed, held, not_tried, noted};
use koppel::Result;
use koppel::system::{Dependencies, Ports};

/// Most inputs that are moved.
const MOST: usize = 30;

/// What outputs do at one instant.
pub(super) struct Reaction {
    pub(super) ports: Ports,
    /// Outputs with inputs as they are.
    before: Vec<f64>,
    /// For each input that was moved alone, its place and which outputs changed.
    alone: Vec<(usize, Vec<bool>)>,
    /// Which outputs changed when all moved.
    together: Vec<bool>,
}

/// Outputs follow inputs without a step; afterwards everything goes on as if nothing had been.
pub(super) fn reevaluation(on: &Experiment<'_>) -> Result<Judgement> {
    if !on.moves() {
        return Ok(not_tried("it has no continuous inputs"));
    }
    let mut undisturbed = on.warm()?;
    let reference = on.run(&mut undisturbed, WARM_UP, TRIAL)?;
    drop(undisturbed);
    let mut body = on.warm()?;
    let reaction = match react(on, &mut body)? {
        Ok(reaction) => reaction,
        Err(judgement) => return Ok(judgement),
    };
    let after = on.run(&mut body, WARM_UP, TRIAL)?;
    if let Some(difference) = on.difference(&mut body, &reference, &after).filter(|d| !d.is_small()) {
        return Ok(failed(format!(
            "after inputs were set and restored, {} in later steps",
            difference.text()
        )));
    }
    let stale: Vec<usize> = reaction.stale().collect();
    Ok(match (&stale[..], &body) {
        ([], _) => held(format!(
            "{} of {} outputs follow their inputs at the same instant; later steps are unchanged",
            reaction.following(),
            reaction.before.len()
        )),
        (stale, Body::ModelExchange(_)) => noted(format!(
            "{}: the model is flat there, or does not evaluate it",
            reaction.stays(stale, OF_DECLARED)
        )),
        (stale, Body::CoSimulation(_)) => {
            noted(format!("{}: evaluated in steps only", reaction.stays(stale, OF_DECLARED)))
        }
    })
}

/// Outputs follow only inputs they declare to depend on.
pub(super) fn dependencies(on: &Experiment<'_>) -> Result<Judgement> {
    if !on.moves() {
        return Ok(not_tried("it has no continuous inputs"));
    }
    let reaction = match react(on, &mut on.warm()?)? {
        Ok(reaction) => reaction,
        Err(judgement) => return Ok(judgement),
    };
    Ok(match reaction.undeclared() {
        Some(text) => failed(text),
        None => held(format!("{} outputs follow their declared inputs", reaction.before.len())),
    })
}

/// Outputs of co-simulation by name: those that are evaluated in steps only, and those of which that cannot be determined.
pub(super) fn stale(on: &Experiment<'_>, body: &mut Body) -> Result<(Vec<String>, Vec<String>)> {
    if !on.moves() || matches!(body, Body::ModelExchange(_)) {
        return Ok(Default::default());
    }
    let Ok(reaction) = react(on, body)? else { return Ok(Default::default()) };
    let name = |k: usize| reaction.ports.outputs[k].name.clone();
    Ok((reaction.stale().map(name).collect(), reaction.silent().map(name).collect()))
}

/// Moves inputs one by one, then all; what does not come back is a finding.
pub(super) fn react(
    on: &Experiment<'_>,
    body: &mut Body,
) -> Result<std::result::Result<Reaction, Judgement>> {
    let ports = body.subsystem().ports().clone();
    let (rest, other) = (on.inputs(WARM_UP), on.inputs(WARM_UP + 1));
    let mut read = |inputs: &[f64]| -> Result<Vec<f64>> {
        let mut outputs = vec![0.0; ports.outputs.len()];
        body.subsystem().read(Some(inputs), &mut outputs)?;
        Ok(outputs)
    };
    let changes = |before: &[f64], after: &[f64]| -> Vec<bool> {
        before.iter().zip(after).map(|(a, b)| differs(*a, *b)).collect()
    };
    let before = read(&rest)?;
    let mut alone = Vec::new();
    for input in (0..rest.len()).filter(|input| on.reach[*input] != 0.0).take(MOST) {
        let mut inputs = rest.clone();
        inputs[input] = other[input];
        alone.push((input, changes(&before, &read(&inputs)?)));
    }
    let together = changes(&before, &read(&other)?);
    let back = read(&rest)?;
    if let Some(k) = changes(&before, &back).iter().position(|changed| *changed) {
        let (name, before, back) = (&ports.outputs[k].name, before[k], back[k]);
        let text = format!("`{name}` is {back} instead of {before} after its inputs were set and restored");
        return Ok(Err(failed(text)));
    }
    Ok(Ok(Reaction { ports, before, alone, together }))
}

/// Of outputs that say on which inputs they depend.
const OF_DECLARED: &str = "when inputs it depends on directly are set";

impl Reaction {
    /// `y` stays at 2 ...; several are listed without their values.
    pub(super) fn stays(&self, outputs: &[usize], when: &str) -> String {
        let name = |k: &usize| format!("`{}`", self.ports.outputs[*k].name);
        match outputs {
            [k] => format!("{} stays at {} {when}", name(k), self.before[*k]),
            several => {
                let names: Vec<String> = several.iter().map(name).collect();
                format!("each of {} stays as it is {when}", names.join(", "))
            }
        }
    }

    /// An output that follows an input it does not declare to depend on.
    fn undeclared(&self) -> Option<String> {
        for (k, output) in self.ports.outputs.iter().enumerate() {
            let mut moving = self.alone.iter().filter(|(_, changed)| changed[k]).map(|(input, _)| *input);
            if let Some(input) = moving.find(|input| !output.depends.may_include(*input)) {
                return Some(format!(
                    "`{}` changes with `{}` at the same instant, but declares no direct dependence",
                    output.name, self.ports.inputs[input].name
                ));
            }
        }
        None
    }

    /// Outputs that stay whatever input they declare to depend on is moved.
    fn stale(&self) -> impl Iterator<Item = usize> {
        (0..self.before.len()).filter(|k| {
            let Dependencies::On(list) = &self.ports.outputs[*k].depends else { return false };
            let is_fed = self.alone.iter().any(|(input, _)| list.contains(input));
            is_fed && !self.follows(*k)
        })
    }

    /// Outputs that stay whatever input is moved, and do not say on which they depend.
    pub(super) fn silent(&self) -> impl Iterator<Item = usize> {
        let is_unknown = |k: &usize| self.ports.outputs[*k].depends == Dependencies::Unknown;
        (0..self.before.len()).filter(move |k| is_unknown(k) && !self.follows(*k))
    }

    /// How many outputs follow any input.
    fn following(&self) -> usize {
        (0..self.before.len()).filter(|k| self.follows(*k)).count()
    }

    fn follows(&self, output: usize) -> bool {
        self.together[output] || self.alone.iter().any(|(_, changed)| changed[output])
    }
}

pub(super) fn differs(a: f64, b: f64) -> bool {
    (a - b).abs() > 1e-9 * a.abs().max(b.abs()).max(1e-9)
}
