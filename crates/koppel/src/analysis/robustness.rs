//! Whether the verdict survives other values of the parameters: a structured stability radius for each of them.
//!
//!   r_p = min { |δ| : ρ(Φ(p (1 + δ))) ≥ 1 },     δ real, p one parameter, all others as they are            (1)
//!
//! and for all of them at once, each in the direction in which it makes ρ larger. Glumac & Kovacic 2018, 4.3, vary two
//! parameters of one example by hand; here every number a subsystem has is varied.

use super::intervals::last_stable;
use super::limits::reason;
use super::linear_system::LinearSystem;
use crate::error::Result;
use crate::run::{Run, RunConfig};
use serde::Serialize;

/// Factors beyond which a parameter is not varied.
const FARTHEST: f64 = 10.0;
/// Relative accuracy of (1).
const ACCURACY: f64 = 0.01;
/// How far a parameter is moved to see in which direction ρ grows.
const NUDGE: f64 = 0.01;

/// One parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParameterRange {
    /// `subsystem.parameter`.
    pub parameter: String,
    /// Its value.
    pub value: f64,
    /// True if the run stays stable when it is lower or higher by the wanted part of itself.
    pub survives: bool,
    /// Growth per macro step where it is lower by that part, and where it is higher; nothing if it cannot be.
    pub spectral_radii: [Option<f64>; 2],
    /// The values between which the run stays stable; nothing if it does beyond a tenth or ten times the value.
    pub stable_between: [Option<f64>; 2],
    /// (1): the smallest relative change that makes the run unstable.
    pub stability_radius: Option<f64>,
}

/// All parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Robustness {
    /// How far they were varied, relative to themselves.
    pub variation: f64,
    /// True if the run stays stable whichever of them is varied.
    pub survives: bool,
    /// True if it stays so when all of them are at once, in the worst directions.
    pub survives_together: bool,
    /// The smallest relative change of all of them at once that makes the run unstable; nothing if none up to 90 % does.
    pub stability_radius: Option<f64>,
    /// Those that act on stability, the most critical first.
    pub parameters: Vec<ParameterRange>,
    /// Those that could not be varied, with the reason.
    pub left_out: Vec<(String, String)>,
}

/// A parameter by its place.
#[derive(Clone, Copy)]
struct Place {
    id: usize,
    index: usize,
    value: f64,
}

/// A run with other parameters.
struct Varied<'a> {
    run: &'a mut Run,
    system: &'a LinearSystem,
    config: &'a RunConfig,
}

/// Varies every parameter of a run that is stable as it is. The run is left as it was.
pub fn robustness(
    run: &mut Run,
    system: &LinearSystem,
    config: &RunConfig,
    variation: f64,
) -> Result<Robustness> {
    let mut left_out = Vec::new();
    let mut varied = Varied { run, system, config };
    let mut found: Vec<(Place, ParameterRange, f64)> = Vec::new();
    for place in varied.places(&mut left_out)? {
        let name = varied.name(place);
        match varied.range(place, variation) {
            Ok(None) => {}
            Ok(Some(range)) => {
                let slope = varied.slope(place);
                found.push((place, range, slope));
            }
            Err(error) => left_out.push((name, reason(&error))),
        }
    }
    let signs: Vec<(Place, f64)> = found.iter().map(|(place, _, slope)| (*place, slope.signum())).collect();
    let (survives_together, stability_radius) = varied.together(&signs, variation)?;
    let mut parameters: Vec<ParameterRange> = found.into_iter().map(|(_, range, _)| range).collect();
    let radius = |range: &ParameterRange| range.stability_radius.unwrap_or(f64::INFINITY);
    let largest = |range: &ParameterRange| range.spectral_radii.iter().flatten().copied().fold(0.0, f64::max);
    crate::sort::sort_by(&mut parameters, |a, b| {
        radius(a).total_cmp(&radius(b)).then(largest(b).total_cmp(&largest(a)))
    });
    Ok(Robustness {
        variation,
        survives: parameters.iter().all(|range| range.survives),
        survives_together,
        stability_radius,
        parameters,
        left_out,
    })
}

impl Varied<'_> {
    /// All parameters that have a value other than zero and can be set.
    fn places(&mut self, left_out: &mut Vec<(String, String)>) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        for id in 0..self.system.graph.len() {
            for index in 0..self.system.graph.ports(id).parameters.len() {
                let variable = &self.system.graph.ports(id).parameters[index];
                let name = format!("{}.{}", self.system.graph.name(id), variable.name);
                if variable.is_fixed {
                    left_out.push((name, "cannot change during the run".into()));
                    continue;
                }
                let value = self.run.workbench().parameter(id, index)?;
                if value != 0.0 && value.is_finite() {
                    places.push(Place { id, index, value });
                }
            }
        }
        Ok(places)
    }

    fn name(&self, place: Place) -> String {
        let graph = &self.system.graph;
        format!("{}.{}", graph.name(place.id), graph.ports(place.id).parameters[place.index].name)
    }

    /// The system with these parameters multiplied by factors; nothing if that changes no matrix.
    fn system(&mut self, factors: &[(Place, f64)]) -> Result<Option<LinearSystem>> {
        let mut system = LinearSystem { own_rates: Default::default(), ..self.system.clone() };
        let mut is_other = false;
        for id in 0..system.parts.len() {
            let own = factors.iter().filter(|(place, _)| place.id == id);
            let values: Vec<(usize, f64)> = own.map(|(place, f)| (place.index, place.value * f)).collect();
            if values.is_empty() {
                continue;
            }
            let part = self.run.workbench().linear_part_under(id, &values)?;
            is_other |= part.matrices != system.parts[id].matrices;
            system.parts[id] = part;
        }
        Ok(is_other.then_some(system))
    }

    /// Growth with one factor; nothing if it changes nothing.
    fn radius(&mut self, place: Place, factor: f64) -> Result<Option<(f64, bool)>> {
        let Some(system) = self.system(&[(place, factor)])? else { return Ok(None) };
        let growth = system.growth(self.config)?;
        Ok(Some((growth.radius, growth.is_bounded)))
    }

    fn range(&mut self, place: Place, variation: f64) -> Result<Option<ParameterRange>> {
        // A start value or the like changes nothing.
        if self.system(&[(place, 1.0 + variation)])?.is_none() {
            return Ok(None);
        }
        let mut spectral_radii = [None; 2];
        let mut survives = true;
        for (slot, factor) in spectral_radii.iter_mut().zip([1.0 - variation, 1.0 + variation]) {
            // A value that is refused is no value the parameter could have.
            if let Ok(Some((radius, is_bounded))) = self.radius(place, factor) {
                *slot = Some(radius);
                survives &= is_bounded;
            }
        }
        let ends = [self.end(place, 1.0 / FARTHEST), self.end(place, FARTHEST)];
        let nearest = ends.iter().flatten().map(|factor| (factor - 1.0).abs()).fold(f64::INFINITY, f64::min);
        Ok(Some(ParameterRange {
            parameter: self.name(place),
            value: place.value,
            survives,
            spectral_radii,
            stable_between: ends.map(|end| end.map(|factor| factor * place.value)),
            stability_radius: nearest.is_finite().then_some(nearest),
        }))
    }

    /// The factor, on the way to the farthest, at which the run becomes unstable.
    fn end(&mut self, place: Place, farthest: f64) -> Option<f64> {
        let mut stable = 1.0_f64;
        // ρ need not be monotone: in strides, then between the last two.
        for stride in 1..=STRIDES {
            let factor = farthest.powf(f64::from(stride) / f64::from(STRIDES));
            let is_bounded = self.radius(place, factor).ok()??.1;
            if is_bounded {
                stable = factor;
                continue;
            }
            let is_stable = |factor: f64| matches!(self.radius(place, factor), Ok(Some((_, true))));
            return Some(last_stable(stable, factor, ACCURACY, is_stable));
        }
        None
    }

    /// In which direction ρ grows.
    fn slope(&mut self, place: Place) -> f64 {
        let radius =
            |found: Result<Option<(f64, bool)>>| found.ok().flatten().map_or(0.0, |(radius, _)| radius);
        radius(self.radius(place, 1.0 + NUDGE)) - radius(self.radius(place, 1.0 - NUDGE))
    }

    /// Whether the run stays stable with all parameters moved, and how far they can be.
    fn together(&mut self, signs: &[(Place, f64)], variation: f64) -> Result<(bool, Option<f64>)> {
        let mut is_stable = |change: f64| -> bool {
            let factors: Vec<(Place, f64)> =
                signs.iter().map(|(p, sign)| (*p, 1.0 + sign * change)).collect();
            match self.system(&factors) {
                Ok(Some(system)) => system.growth(self.config).is_ok_and(|growth| growth.is_bounded),
                // Nothing changes, or a value is refused.
                Ok(None) | Err(_) => true,
            }
        };
        let survives = is_stable(variation);
        let mut stable = 0.0;
        for stride in 1..=STRIDES {
            let mut unstable = 0.9 * f64::from(stride) / f64::from(STRIDES);
            if is_stable(unstable) {
                stable = unstable;
                continue;
            }
            while unstable - stable > ACCURACY * unstable {
                let middle = 0.5 * (stable + unstable);
                if is_stable(middle) { stable = middle } else { unstable = middle }
            }
            return Ok((survives, Some(stable)));
        }
        Ok((survives, None))
    }
}

/// Strides on the way to the farthest value.
const STRIDES: u32 = 6;
