//! Which scheme advances a network: chosen once, when a run is set up.

use super::halved::{Halved, is_halved};
use super::iterated::Iterated;
use super::plain::{self, Plain};
use super::repeated::{self, Repeated};
use super::scheme::Scheme;
use super::staged::Staged;
use crate::error::Result;
use crate::iteration::IterationConfig;
use crate::network::Network;
use std::ops::Range;

/// The scheme for this network, which is at its start, and the reason if the coupling asks for repeated steps that are not possible.
/// `loops` are the stages that are iterated together.
pub(in crate::run) fn choose(
    staged: Staged,
    network: &mut Network,
    iteration: Option<&IterationConfig>,
    loops: &[Range<usize>],
    time: f64,
) -> Result<(Box<dyn Scheme>, Option<String>)> {
    let is_halved = is_halved(iteration);
    let is_wanted = network.needs.repeats;
    let obstacle =
        is_wanted.then(|| repeated::obstacle(&staged, network, is_halved || !loops.is_empty())).flatten();
    let chosen: Box<dyn Scheme> = match iteration {
        Some(settings) if !loops.is_empty() => {
            let iterated = Iterated::new(staged, network, loops, settings, time)?;
            if is_halved { Box::new(Halved::new(iterated, network)?) } else { Box::new(iterated) }
        }
        _ if is_halved => Box::new(Halved::new(staged, network)?),
        _ if is_wanted && obstacle.is_none() => Box::new(Repeated::new(staged, network)),
        _ if plain::is_plain(&staged, network) => Box::new(Plain::new(staged, network)),
        _ => Box::new(staged),
    };
    Ok((chosen, obstacle))
}
