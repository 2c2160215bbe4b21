//! Before a run: every subsystem alone, excited where it stands, because the coupling asks for it.

use super::Preparation;
use super::excitation::{Excitation, Excited, Work};
use super::probe_report::ProbeReport;
use crate::error::{Error, Result};
use crate::identify::Probed;
use crate::network::{Network, Settings};
use crate::signal::Clock;
use crate::system::{Subsystem, SubsystemId};

/// How often subsystems are excited at most: with ranges and nodes that were guessed, with better ranges, with better nodes.
const ROUNDS: usize = 3;

/// Excites all subsystems of a network that stands at its start, again with other ranges if the coupling finds that better.
/// `order` is that in which copies are put into their places.
pub(crate) fn probe(
    network: &mut Network,
    clock: Clock,
    settings: Settings,
    on_threads: bool,
    by: Preparation<'_>,
    order: &[SubsystemId],
) -> Result<Vec<ProbeReport>> {
    let Some(mut needs) = network.needs.probe else { return Ok(Vec::new()) };
    let mut copies =
        by.copies.map(|make| make()).transpose()?.map(|system| system.reordered(order).subsystems);
    let spared = network.coupling.report().spared();
    let are_copies = copies.is_some();
    let (mut ranges, mut reports): (Option<Vec<f64>>, _) = (None, Vec::new());
    for _ in 0..ROUNDS {
        let (settings, spared, store) = (&settings, &spared[..], by.store);
        let how = Excitation { clock, needs, settings, spared, store, on_threads, are_copies };
        let probed = round(network, &how, ranges.as_deref(), copies.as_deref_mut(), &mut reports)?;
        let Network { coupling, graph, board, .. } = &mut *network;
        let view = board.view(graph, clock.step(0, 1));
        ranges = coupling.model_based().and_then(|coupling| coupling.probed(&view, probed, clock.steps()));
        if ranges.is_none() {
            break;
        }
        let wanted = coupling.needs();
        if wanted != network.needs {
            network.set_needs(wanted, clock.size());
            needs = wanted.probe.unwrap_or(needs);
        }
    }
    Ok(reports)
}

/// What exciting each subsystem once tells about it. All subsystems stand as before afterwards.
fn round(
    network: &mut Network,
    how: &Excitation<'_>,
    ranges: Option<&[f64]>,
    copies: Option<&mut [Box<dyn Subsystem>]>,
    reports: &mut Vec<ProbeReport>,
) -> Result<Vec<Probed>> {
    let finished = match copies {
        None => {
            let finished = how.each(network, ranges, |candidate| candidate.finish())?;
            network.start_again(how.clock.time(0), how.settings.clone())?;
            finished
        }
        Some(copies) => {
            exchange_subsystems(network, copies);
            let finished = how.each(network, ranges, |candidate| candidate.finish());
            exchange_subsystems(network, copies);
            finished?
        }
    };
    let tau = how.clock.size() / how.needs.nodes as f64;
    let mut all = Vec::with_capacity(finished.len());
    let mut new = Vec::with_capacity(finished.len());
    for (id, Excited { found, known, work }) in finished.into_iter().enumerate() {
        let failed = |source| Error::Probed { subsystem: network.graph.name(id).into(), source };
        let probed = found.map_err(failed)?;
        let report = ProbeReport::new(&network.graph, id, &probed, &known, tau);
        let Work { seconds, step_calls, from_cache } = work;
        let report = ProbeReport { seconds, step_calls, from_cache, ..report };
        new.push(report.after(reports.get(id)));
        all.push(probed);
    }
    *reports = new;
    Ok(all)
}

/// Copies take the place of the network's own subsystems, or give it back.
fn exchange_subsystems(network: &mut Network, copies: &mut [Box<dyn Subsystem>]) {
    for (slot, copy) in network.slots.iter_mut().zip(copies) {
        std::mem::swap(&mut slot.subsystem, copy);
    }
}
