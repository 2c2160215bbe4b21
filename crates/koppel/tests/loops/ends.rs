//! Runs that a subsystem ends: inside a step that was halved, and far from zero.

use crate::cases::{Case, case};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::record::{Record, Trajectory};
use koppel::run::{
    AccelerationKind, Change, Ending, Flow, IterationConfig, IterationKind, OnNonConvergence, Run, RunConfig,
    RunState,
};
use koppel::signal::{Samples, Segment, Step};
use koppel::solver::SolverConfig;
use koppel::system::{Capabilities, Ports, Snapshot, Subsystem, System, SystemBuilder, Variable, VariableId};
use koppel::{Error, Result};

/// Ends the run when its time has come, at the end of a step or inside it.
struct Alarm {
    ports: Ports,
    capabilities: Capabilities,
    at: f64,
    now: f64,
}

impl Alarm {
    fn new(at: f64) -> Self {
        let ports = Ports { outputs: vec![Variable::new("y")], ..Ports::default() };
        let capabilities = Capabilities { may_end_run: true, ..Capabilities::new("none") };
        Alarm { ports, capabilities, at, now: 0.0 }
    }
}

impl Subsystem for Alarm {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn initialize(&mut self, start: f64) -> Result<()> {
        self.now = start;
        Ok(())
    }

    fn read(&mut self, _inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        outputs[0] = self.now;
        Ok(())
    }

    fn step(&mut self, step: &Step, _: &Segment<'_>, outputs: &mut [f64], _: &mut Samples) -> Result<()> {
        self.now = step.end().min(self.at);
        outputs[0] = self.now;
        match step.end() < self.at {
            true => Ok(()),
            false => Err(Error::Terminated { reached: Some(self.now), text: "time is up".into() }.into()),
        }
    }

    fn get(&mut self, _variable: VariableId) -> Result<f64> {
        Ok(self.now)
    }

    fn set(&mut self, _variable: VariableId, _value: f64) -> Result<()> {
        Ok(())
    }

    fn save(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        snapshot.reals.clear();
        snapshot.reals.push(self.now);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.now = snapshot.reals[0];
        Ok(())
    }
}

/// The subsystems of a case beside an alarm.
fn with_alarm(case: &Case, at: f64) -> System {
    let System { graph, subsystems } = case.system().unwrap();
    let builder = subsystems
        .into_iter()
        .enumerate()
        .fold(SystemBuilder::new(), |builder, (id, subsystem)| builder.add_boxed(graph.name(id), subsystem));
    let builder = case.connections.iter().fold(builder, |builder, wire| builder.connect(wire.clone()));
    builder.add("alarm", Alarm::new(at)).build().unwrap()
}

/// The left mass where the run ended, against the monolithic solution there: the others take the rest of the half step in which
/// the alarm went off, and no more.
#[test]
fn a_run_that_ends_in_a_half_step_ends_where_all_are() {
    let mut case = case("dual-mass").unwrap();
    case.parts.iter_mut().for_each(|part| part.solver = SolverConfig::Exact {});
    let iteration = IterationConfig {
        otherwise: OnNonConvergence::Halve,
        max_iterations: 8,
        ..IterationConfig::new(IterationKind::Step, AccelerationKind::FixedPoint)
    };
    let config = RunConfig {
        coupling: CouplingConfig::foh(StartUp::Constant),
        iteration: Some(iteration),
        record: Record::One("left.x".into()),
        ..RunConfig::new(0.048, 8e-3)
    };
    for end in [0.0261, 0.0302, 0.0075] {
        let mut run = Run::new(with_alarm(&case, end), &config).unwrap();
        let mut table = Trajectory::default();
        let ending = run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
        assert!(matches!(&ending, Ending::Terminated(request) if request.subsystem == "alarm"), "{ending:?}");
        assert!(run.halvings() > 0);
        assert!((run.time() - end).abs() < 1e-12, "{} instead of {end}", run.time());
        let mut reference = Run::new(case.reference().unwrap(), &RunConfig::new(1.0, end)).unwrap();
        reference.advance().unwrap();
        let place = reference.graph().ports(0).outputs.iter().position(|v| v.name == "left.x").unwrap();
        let (found, exact) = (table.rows.last().unwrap()[0], reference.outputs(0)[place]);
        assert_eq!(table.times.last(), Some(&run.time()));
        assert!((found - exact).abs() < 5e-3, "{found} instead of {exact} at {end} s");
    }
}

/// T + H rounds up at some points: the request then lies behind the communication point it was made for.
#[test]
fn a_run_far_from_zero_ends_when_it_is_asked_to() {
    let start = 1e6;
    for k in 900..960 {
        let end = start + f64::from(k) * 1e-3;
        let system = SystemBuilder::new().add("alarm", Alarm::new(end)).build().unwrap();
        let mut run = Run::new(system, &RunConfig { start, ..RunConfig::new(start + 2.0, 1e-3) }).unwrap();
        let ending = run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::ContinueFor(1000))).unwrap();
        assert!(matches!(ending, Ending::Terminated(_)), "{ending:?}");
        assert!((run.time() - end).abs() < 2e-3, "{} instead of {end}", run.time());
    }
}

#[test]
fn a_state_after_more_changes_than_there_are_is_refused() {
    let case = case("two-mass").unwrap();
    let change = |time: f64| Change { time, set: [("first.m".to_owned(), 1.5)].into() };
    let with =
        |at: Vec<Change>| Run::new(case.system().unwrap(), &RunConfig { at, ..case.run.clone() }).unwrap();
    let step = case.run.step;
    let mut changed = with(vec![change(step), change(2.0 * step)]);
    changed.advance_by(5).unwrap();
    let mut state = RunState::default();
    changed.save(&mut state).unwrap();
    let error = with(vec![change(step)]).restore(&state).unwrap_err().to_string();
    assert!(error.contains("another system"), "{error}");
}
