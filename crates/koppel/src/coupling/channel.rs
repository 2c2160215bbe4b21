//! Numbers of a method that can be recorded as columns: phase, quality, parameters of models.

use super::View;
use crate::identify::InterfaceModel;
use crate::record::Channel;
use crate::system::{Ports, SystemGraph, Variable};

/// Channels that every method with models has: phase, quality of all, quality of each.
pub(super) fn common(graph: &SystemGraph, has_phases: bool) -> Vec<Channel> {
    let phase = "phase of the last step: 0 learning, 1 switch, 2 full, 3 modified, 4 hold";
    let mut all = vec![
        Channel { is_recorded: has_phases, ..Channel::new("phase".into(), phase) },
        Channel::new("quality".into(), "error of the models' predictions, all together"),
    ];
    let each = (0..graph.len()).map(|id| format!("quality[{}]", graph.name(id)));
    all.extend(each.map(|name| Channel::new(name, "error of the model's prediction, relative to the range")));
    all
}

/// One of the channels of [`common`], or the number of another channel that comes after them.
pub(super) fn common_value(index: usize, phase: f64, quality: &[f64]) -> Result<f64, usize> {
    match index {
        0 => Ok(phase),
        1 => Ok(norm(quality)),
        _ => quality.get(index - 2).copied().ok_or_else(|| index - 2 - quality.len()),
    }
}

/// (2.93) of Genser 2020.
pub(super) fn norm(quality: &[f64]) -> f64 {
    quality.iter().map(|figure| figure * figure).sum::<f64>().sqrt()
}

/// Channels of learned parameters.
pub(super) fn parameters(graph: &SystemGraph, names: impl Fn(&Ports, usize) -> Vec<String>) -> Vec<Channel> {
    let of = |id: usize| {
        let names = names(graph.ports(id), id).into_iter();
        names.map(move |name| Channel::new(format!("{}.{name}", graph.name(id)), "learned parameter"))
    };
    (0..graph.len()).flat_map(of).collect()
}

/// Channels of the matrices of interface models in continuous time.
pub(super) fn matrices(graph: &SystemGraph) -> Vec<Channel> {
    parameters(graph, |ports, _| {
        let mut names = Vec::new();
        for (letter, columns) in [("S_y", &ports.outputs), ("S_u", &ports.inputs), ("S_d", &ports.inputs)] {
            let row = |y: &Variable| {
                let y = y.name.clone();
                columns.iter().map(move |column| format!("{letter}[{y}:{}]", column.name))
            };
            names.extend(ports.outputs.iter().flat_map(row));
        }
        names.extend(ports.outputs.iter().map(|y| format!("c[{}]", y.name)));
        names
    })
}

/// The value of one of [`matrices`].
pub(super) fn matrix_value(view: &View<'_>, mut index: usize) -> f64 {
    for id in 0..view.graph.len() {
        let InterfaceModel { s_y, s_u, s_d, constant } = view.models.of(id);
        for list in [s_y.as_slice(), s_u.as_slice(), s_d.as_slice(), constant] {
            match list.get(index) {
                Some(value) => return *value,
                None => index -= list.len(),
            }
        }
    }
    f64::NAN
}
