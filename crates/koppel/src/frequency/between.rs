//! The interface of a system of two subsystems, from its wiring and their linear models.

use super::Interface;
use crate::error::{Error, Result};
use crate::identify::GivenModel;
use crate::linalg::Matrix;
use crate::system::{InputId, StateSpace, SubsystemId, System, SystemGraph};
use std::collections::BTreeMap;

impl Interface {
    /// Of a system of two subsystems: models that were identified and are given by the subsystem's name, else their matrices, or their
    /// linearisations at the start values (of FMUs that know no derivatives, by trial steps).
    pub fn between(system: &mut System, given: &BTreeMap<String, GivenModel>) -> Result<Interface> {
        let System { graph, subsystems } = system;
        if graph.len() != 2 {
            return Err(refused(format!("it needs two subsystems, and there are {}", graph.len())));
        }
        let mut models = Vec::new();
        for (id, subsystem) in subsystems.iter_mut().enumerate() {
            let name = graph.name(id);
            let (inputs, outputs) = (graph.inputs_of(id).len(), graph.outputs_of(id).len());
            let identified =
                given.get(name).map(|model| model.matrices(name, inputs, outputs)).transpose()?;
            let model = match identified.map(|(model, _)| model).or_else(|| subsystem.linear()) {
                Some(model) => Some(model),
                None => {
                    subsystem.initialize(0.0)?;
                    let start: Vec<f64> =
                        graph.inputs_of(id).map(|i| graph.input_variable(i).start).collect();
                    subsystem.linearize(&start)?
                }
            };
            let missing = || {
                let why = subsystem.lack_of_model().unwrap_or_else(|| "has no linear model".into());
                refused(format!(
                    "`{name}` {why}; use an identified one: coupling = {{ method = \"prestep\", model = {{ file = \"models.toml\" }} }}"
                ))
            };
            models.push(model.ok_or_else(missing)?);
        }
        let [first, second] = [wired(graph, 0), wired(graph, 1)];
        if first.is_empty() || second.is_empty() {
            return Err(refused("it needs connections in both directions".into()));
        }
        let side = |id: SubsystemId, model: &StateSpace, own: &[InputId], others: &[InputId]| {
            let pick = |matrix: &Matrix| {
                let start = graph.inputs_of(id).start;
                Matrix::from_fn(matrix.rows(), own.len(), |i, j| matrix[(i, own[j] - start)])
            };
            let gains = gains(graph, id, others);
            let (c, d) = (&gains * &model.c, &gains * &pick(&model.d));
            StateSpace { a: model.a.clone(), b: pick(&model.b), c, d }
        };
        Ok(Interface::new(side(0, &models[0], &first, &second), side(1, &models[1], &second, &first)))
    }
}

/// The inputs of a subsystem that the other one feeds.
fn wired(graph: &SystemGraph, id: SubsystemId) -> Vec<InputId> {
    let feeds = |input: &InputId| graph.wires()[graph.wires_into(*input)].iter().any(|wire| wire.from != id);
    graph.inputs_of(id).filter(feeds).collect()
}

/// What becomes of a subsystem's outputs at these inputs.
fn gains(graph: &SystemGraph, from: SubsystemId, inputs: &[InputId]) -> Matrix {
    let outputs = graph.outputs_of(from);
    let mut gains = Matrix::zeros(inputs.len(), outputs.len());
    for (row, input) in inputs.iter().enumerate() {
        for wire in graph.wires()[graph.wires_into(*input)].iter().filter(|wire| wire.from == from) {
            gains[(row, wire.source - outputs.start)] += wire.gain;
        }
    }
    gains
}

fn refused(reason: String) -> Box<Error> {
    Error::Unsupported { what: "the view over frequency".into(), reason }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::case;
    use crate::coupling::{CouplingConfig, HinfConfig, Hold};

    fn of(system: &mut System) -> Interface {
        Interface::between(system, &BTreeMap::new()).unwrap()
    }

    /// Models that were identified stand for what a subsystem does not tell: here its own matrices, and half of its stiffness.
    #[test]
    fn identified_models_take_the_place_of_matrices() {
        let system = || case("quarter-truck").unwrap().system().unwrap();
        let judged = |factor: f64| {
            let System { graph, mut subsystems } = system();
            let given = subsystems.iter_mut().enumerate().map(|(id, subsystem)| {
                let StateSpace { a, b, c, d } = subsystem.linear().unwrap();
                let (c, d) = if id == 0 { (&c * factor, &d * factor) } else { (c, d) };
                let model = GivenModel::StateSpace(crate::identify::GivenStateSpace { a, b, c, d: Some(d) });
                (graph.name(id).to_owned(), model)
            });
            let interface = Interface::between(&mut system(), &given.collect()).unwrap();
            interface.judge(&CouplingConfig::zoh(), Hold::Constant, 0.002).unwrap().unwrap()
        };
        let own = of(&mut system()).judge(&CouplingConfig::zoh(), Hold::Constant, 0.002).unwrap().unwrap();
        assert_eq!(judged(1.0), own);
        assert!((judged(0.5).gain / own.gain - 0.5).abs() < 1e-9, "{} {}", judged(0.5).gain, own.gain);
    }

    /// The quarter truck (docs/problems.md): with zero-order hold and stale reading stable up to 12.55 ms. Two holds delay by a
    /// whole step; the sampled feed-through, which this view leaves out, costs part of the margin.
    #[test]
    fn the_quarter_truck_from_its_wires() {
        let interface = of(&mut case("quarter-truck").unwrap().system().unwrap());
        let zoh = |step| interface.judge(&CouplingConfig::zoh(), Hold::Constant, step).unwrap().unwrap();
        assert!(zoh(0.01).is_stable());
        assert_eq!(zoh(0.03).unstable_poles, 2);
        let hinf = CouplingConfig::from(HinfConfig::default());
        let better = interface.judge(&hinf, Hold::Constant, 0.03).unwrap().unwrap();
        assert!(better.is_stable() && better.margin > 0.05, "{better:?}");
    }

    #[test]
    fn linearised_subsystems_have_an_interface_too() {
        let interface = of(&mut case("epas").unwrap().system().unwrap());
        let verdict = interface.judge(&CouplingConfig::zoh(), Hold::Constant, 0.02).unwrap().unwrap();
        assert!(verdict.passive_to.is_some() && verdict.margin > 0.0);
    }

    #[test]
    fn other_systems_are_refused_in_words() {
        let mut system = case("helicopter").unwrap().system().unwrap();
        assert!(Interface::between(&mut system, &BTreeMap::new()).is_ok());
        let lonely = crate::system::SystemBuilder::new();
        let ode = crate::models::build("mass", &Default::default()).unwrap();
        let model = crate::system::OdeModel::new(ode, &crate::solver::SolverConfig::Exact {}).unwrap();
        let mut system = lonely.add("m", model).build().unwrap();
        let error = Interface::between(&mut system, &BTreeMap::new()).unwrap_err();
        assert!(error.to_string().contains("it needs two subsystems, and there are 1"), "{error}");
    }
}
