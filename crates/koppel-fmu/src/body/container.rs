//! A whole system with its coupling, driven from outside.
//!
//! Inputs that nothing is connected to are open: the importer gives them as polynomials. Steps of the importer are walked in
//! the communication steps of the system; one that ends between two of them cuts the last.

use super::{Body, BodyState, Column, Ended, distance, foreign_state, fourth_order};
use crate::error::{Error, Result};
use crate::interface::{Interface, Role, Target};
use crate::polynomial::Polynomial;
use koppel::record::Record;
use koppel::run::{Change, Parallel, Run, RunConfig, RunState};
use koppel::signal::external::External;
use koppel::system::{Horizon, InputId, OutputId, System, SystemGraph, VariableId, VariableKind};
use koppel_fmi::import::Without;
use koppel_fmi::probe::Capability;
use koppel_session::Session;
use std::collections::BTreeMap;
use std::path::Path;

/// An FMU does not know when it ends: more steps than anyone takes.
const STEPS: f64 = 1e12;

pub(crate) struct Container {
    session: Session,
    /// Its FMUs run in processes of their own, without what fails there: to find out what they keep.
    is_apart: bool,
    interface: Interface,
    /// Parameters that were set, to be given to the subsystems before they find their start.
    parameters: Vec<Option<f64>>,
    running: Option<Running>,
    /// All subsystems are linear, so that differences are exact whatever their size.
    is_linear: bool,
}

/// A run, and where it keeps what the interface names.
struct Running {
    /// When it began.
    start: f64,
    run: Run,
    inputs: Vec<InputId>,
    outputs: Vec<(usize, VariableId)>,
    /// Place of each output in the list of all outputs.
    output_places: Vec<OutputId>,
    parameters: Vec<(usize, VariableId)>,
    locals: Vec<(usize, VariableId)>,
}

impl Container {
    /// Reads the system file and names its variables; its FMUs do without what they are known to fail at.
    pub(crate) fn new(path: &Path, lacks: BTreeMap<String, Without>) -> Result<Container> {
        let mut session = Session::load(path, &[])?;
        session.fmus.lacks = lacks;
        Container::of(session)
    }

    pub(crate) fn of(session: Session) -> Result<Container> {
        Container::made(session, false)
    }

    /// The same with FMUs in processes of their own, without what fails there.
    pub(crate) fn apart(session: Session) -> Result<Container> {
        Container::made(session, true)
    }

    fn made(mut session: Session, is_apart: bool) -> Result<Container> {
        session.choose_settings(&|_| {})?;
        session.choose_filters()?;
        let mut system = build(&session, is_apart)?;
        let open = system.graph.open_inputs();
        let mut interface = Interface::of_system(&system.graph, &session.spec.run, &open)?;
        set_start_values(&mut interface, &session.spec.run, &mut system)?;
        let is_linear = system.subsystems.iter().all(|subsystem| subsystem.capabilities().is_linear);
        let parameters = vec![None; interface.parameters.len()];
        Ok(Container { session, is_apart, interface, parameters, running: None, is_linear })
    }

    fn running(&mut self) -> Result<&mut Running> {
        self.running.as_mut().ok_or_else(|| Error::misuse("the start has not been found yet"))
    }

    /// The system with the parameters and inputs as given, at its start.
    fn start(&self, start: f64, inputs: &[Polynomial]) -> Result<Running> {
        let mut system = build(&self.session, self.is_apart)?;
        system.graph.open_inputs();
        for (target, value) in self.interface.parameters.iter().zip(&self.parameters) {
            if let Some(value) = value {
                let id = system.graph.find(&target.subsystem)?;
                system.subsystems[id].set(target.variable, *value)?;
            }
        }
        for (target, input) in self.interface.inputs.iter().zip(inputs) {
            let id = input_of(&system.graph, target)?;
            if let Some(signal) = system.graph.live_mut(id) {
                *signal = External::live(input.now());
            }
        }
        let run = Run::new(system, &self.config(start))?;
        Running::new(start, run, &self.interface)
    }

    /// The settings of the file, from another start on and without end.
    fn config(&self, start: f64) -> RunConfig {
        let run = &self.session.spec.run;
        let variables = &self.interface.variables;
        let is_given =
            |name: &str| variables.iter().any(|v| matches!(v.role, Role::Input(_)) && v.name == name);
        let mut at: Vec<Change> = run.at.clone();
        for change in at.iter_mut().filter(|change| change.time <= run.start) {
            // Start values of open inputs are those the importer gives.
            change.time = start;
            change.set.retain(|name, _| !is_given(name));
        }
        RunConfig {
            start,
            stop: start + STEPS * run.step,
            // Threads of a library that may be unloaded at any time would be left without code.
            threads: Parallel::Never,
            record: Record::Many(Vec::new()),
            stop_when: None,
            at,
            ..run.clone()
        }
    }
}

impl Running {
    fn new(start: f64, run: Run, interface: &Interface) -> Result<Running> {
        let graph = run.graph();
        let variables = |targets: &[Target]| -> Result<Vec<(usize, VariableId)>> {
            targets.iter().map(|target| Ok((graph.find(&target.subsystem)?, target.variable))).collect()
        };
        let outputs = variables(&interface.outputs)?;
        Ok(Running {
            start,
            inputs: interface.inputs.iter().map(|target| input_of(graph, target)).collect::<Result<_>>()?,
            output_places: outputs
                .iter()
                .map(|(id, variable)| graph.outputs_of(*id).start + variable.index)
                .collect(),
            outputs,
            parameters: variables(&interface.parameters)?,
            locals: variables(&interface.locals)?,
            run,
        })
    }

    fn give(&mut self, inputs: &[Polynomial]) {
        for (id, input) in self.inputs.iter().zip(inputs) {
            self.run.give(*id, &input.coefficients[..input.terms()]);
        }
    }
}

impl Body for Container {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn release(&mut self) {
        self.running = None;
    }

    fn initialize(&mut self, start: f64, inputs: &[Polynomial]) -> Result<()> {
        self.release();
        self.running = Some(self.start(start, inputs)?);
        Ok(())
    }

    fn follow(&mut self, inputs: &[Polynomial]) -> Result<()> {
        let running = self.running()?;
        running.give(inputs);
        Ok(running.run.follow_inputs()?)
    }

    fn get(&mut self, role: Role) -> Result<f64> {
        if let (Role::Parameter(index), None) = (role, &self.running) {
            let start = self.interface.variables.iter().find(|v| v.role == role).map_or(0.0, |v| v.start);
            return Ok(self.parameters[index].unwrap_or(start));
        }
        let running = self.running()?;
        let (id, variable) = match role {
            Role::Output(index) => running.outputs[index],
            Role::Parameter(index) => running.parameters[index],
            Role::Local(index) => running.locals[index],
            _ => return Err(Error::misuse("a system has no derivatives of its own")),
        };
        Ok(running.run.value(id, variable)?)
    }

    fn set_parameter(&mut self, index: usize, value: f64) -> Result<()> {
        self.parameters[index] = Some(value);
        // What runs has the old value; the next reading starts again.
        self.running = None;
        Ok(())
    }

    fn set_state(&mut self, _index: usize, _value: f64) -> Result<()> {
        Err(Error::misuse("the states of a system are its own"))
    }

    /// The importer's time is a sum of steps more often than not: the run goes on from its own, and stays on its grid.
    fn step(&mut self, _time: f64, size: f64, inputs: &[Polynomial]) -> Result<Option<Ended>> {
        let grid = self.session.spec.run.step;
        let running = self.running()?;
        running.give(inputs);
        let begin = running.run.time();
        let wanted = begin + size;
        let point = running.start + ((wanted - running.start) / grid).round() * grid;
        let end = if (wanted - point).abs() <= 1e-6 * grid { point } else { wanted };
        let request = match running.run.advance_to(end) {
            Ok(()) => running.run.termination().cloned(),
            Err(error) => Some(running.run.end_by(error)?),
        };
        Ok(request.map(|request| Ended { done: (request.time - begin).clamp(0.0, size), text: request.text }))
    }

    fn column(&mut self, known: Role) -> Result<Column> {
        let Role::Input(index) = known else {
            return Err(Error::misuse(
                "outputs of a system have derivatives with respect to its inputs only",
            ));
        };
        let is_linear = self.is_linear;
        let running = self.running()?;
        let input = running.inputs[index];
        let id = running.run.graph().subsystem_of_input(input);
        let place = input - running.run.graph().inputs_of(id).start;
        let now = running.run.value(id, VariableId { kind: VariableKind::Input, index: place })?;
        let mut slopes = vec![0.0; running.run.graph().outputs()];
        if is_linear {
            running.run.slopes(input, now.abs().max(1.0), &mut slopes)?;
        } else {
            let mut far = slopes.clone();
            running.run.slopes(input, distance(now), &mut slopes)?;
            running.run.slopes(input, 2.0 * distance(now), &mut far)?;
            slopes = fourth_order(&slopes, &far);
        }
        Ok(Column {
            outputs: running.output_places.iter().map(|place| slopes[*place]).collect(),
            derivatives: Vec::new(),
        })
    }

    fn save(&mut self) -> Result<BodyState> {
        let Some(running) = &mut self.running else { return Ok(BodyState::Fresh) };
        let mut state = RunState::new(Horizon::Anywhere);
        running.run.save(&mut state)?;
        Ok(BodyState::Container(state))
    }

    fn restore(&mut self, state: &BodyState, start: f64) -> Result<()> {
        match state {
            BodyState::Fresh => self.running = None,
            BodyState::Container(state) => {
                if self.running.as_ref().is_none_or(|running| running.start != start) {
                    let inputs: Vec<Polynomial> =
                        self.interface.inputs.iter().map(|_| Polynomial::default()).collect();
                    self.release();
                    self.running = Some(self.start(start, &inputs)?);
                }
                self.running()?.run.restore(state)?;
            }
            BodyState::Model { .. } => return Err(foreign_state()),
        }
        Ok(())
    }
}

/// Optional functions of FMUs that a system uses as an FMU.
pub(crate) const USED: [Capability; 5] = [
    Capability::RollBack,
    Capability::Serialization,
    Capability::DirectionalDerivatives,
    Capability::InputDerivatives,
    Capability::IntermediateUpdate,
];

fn build(session: &Session, is_apart: bool) -> Result<System> {
    Ok(if is_apart { session.fmus.build_apart(&session.spec, &USED)? } else { session.build()? })
}

/// The input behind a variable, in the numbers of this graph.
fn input_of(graph: &SystemGraph, target: &Target) -> Result<InputId> {
    Ok(graph.inputs_of(graph.find(&target.subsystem)?).start + target.variable.index)
}

/// Inputs start as the file says, parameters as the subsystems have them.
fn set_start_values(interface: &mut Interface, run: &RunConfig, system: &mut System) -> Result<()> {
    for variable in &mut interface.variables {
        match variable.role {
            Role::Input(_) => {
                let changes = run.at.iter().filter(|change| change.time <= run.start);
                if let Some(value) = changes.filter_map(|change| change.set.get(&variable.name)).next_back() {
                    variable.start = *value;
                }
            }
            Role::Parameter(index) => {
                let target = &interface.parameters[index];
                let id = system.graph.find(&target.subsystem)?;
                variable.start = system.graph.ports(id).parameters[target.variable.index].start;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: &str = r#"
[run]
stop = 1.0
step = 0.01
coupling = "zoh"
every = { slow = 2 }

[subsystems.fast]
model = "mass"

[subsystems.slow]
model = "mass"

[[connections]]
from = "fast.x"
to = "slow.F"
units = "ignore"
"#;

    fn container() -> Container {
        Container::of(Session::parse(SYSTEM, Path::new("system.toml")).unwrap()).unwrap()
    }

    #[test]
    fn summed_times_stay_on_the_grid() {
        let mut container = container();
        let inputs = vec![Polynomial::default(); container.interface().input_count()];
        let start = 0.3;
        container.initialize(start, &inputs).unwrap();
        let mut time = start;
        for _ in 0..20_000 {
            container.step(time, 0.02, &inputs).unwrap();
            time += 0.02;
        }
        assert!((time - (start + 20_000.0 * 0.02)).abs() > 1e-9 * 0.01, "sums drift");
        assert_eq!(container.running().unwrap().run.time(), start + 40_000.0 * 0.01);
    }

    #[test]
    fn a_parameter_set_late_is_the_one_that_counts() {
        let mut container = container();
        let inputs = vec![Polynomial::default(); container.interface().input_count()];
        container.initialize(0.0, &inputs).unwrap();
        container.set_parameter(0, 5.0).unwrap();
        assert_eq!(container.get(Role::Parameter(0)).unwrap(), 5.0);
        container.initialize(0.0, &inputs).unwrap();
        assert_eq!(container.get(Role::Parameter(0)).unwrap(), 5.0);
    }
}
