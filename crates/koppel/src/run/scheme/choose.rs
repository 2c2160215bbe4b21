//! Which scheme moves a network: chosen once, when a run is set up.

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

/// The scheme for this network, which stands at its start, and why steps are not repeated, if the coupling would do so and
/// cannot. `loops` are the stages that are repeated together.
pub(in crate::run) fn choose(
    staged: Staged,
    network: &mut Network,
    iteration: Option<&IterationConfig>,
    loops: &[Range<usize>],
    time: f64,
) -> Result<(Box<dyn Scheme>, Option<String>)> {
    let is_halved = is_halved(iteration);
    let is_wanted = network.needs.repeats;
    let lack = is_wanted.then(|| repeated::lack(&staged, network, is_halved || !loops.is_empty())).flatten();
    let chosen: Box<dyn Scheme> = match iteration {
        Some(settings) if !loops.is_empty() => {
            let iterated = Iterated::new(staged, network, loops, settings, time)?;
            if is_halved { Box::new(Halved::new(iterated, network)?) } else { Box::new(iterated) }
        }
        _ if is_halved => Box::new(Halved::new(staged, network)?),
        _ if is_wanted && lack.is_none() => Box::new(Repeated::new(staged, network)),
        _ if plain::is_plain(&staged, network) => Box::new(Plain::new(staged, network)),
        _ => Box::new(staged),
    };
    Ok((chosen, lack))
}
