//! Black boxes that evaluate their outputs only when they leave their initialization, as FMUs of pythonfmu do.

use crate::members::Static;
use koppel::Result;
use koppel::run::{Change, Run, RunConfig};
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{
    Capabilities, Connection, Ports, Snapshot, Subsystem, SystemBuilder, Variable, VariableId, VariableKind,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// y = gain u + offset, as of the end of its initialization or its last step.
struct Late {
    ports: Ports,
    u: f64,
    y: f64,
    gain: f64,
    first_offset: f64,
    offset: f64,
    is_initializing: bool,
    starts: Arc<AtomicU64>,
    /// Outputs are rounded to whole parts of one over this.
    digits: Option<f64>,
}

impl Late {
    /// It tells its offset before it has left.
    fn new(gain: f64, offset: f64) -> Self {
        let ports = Ports {
            inputs: vec![Variable::new("u")],
            outputs: vec![Variable::new("y").fed_by(&[0])],
            parameters: vec![Variable::new("offset")],
            ..Ports::default()
        };
        let (u, y, starts) = (0.0, offset, Arc::default());
        Late { ports, u, y, gain, first_offset: offset, offset, is_initializing: false, starts, digits: None }
    }

    fn tell(&mut self) {
        self.y = self.gain * self.u + self.offset;
        if let Some(digits) = self.digits {
            self.y = (self.y * digits).round() / digits;
        }
    }
}

impl Subsystem for Late {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn capabilities(&self) -> &Capabilities {
        static FORGETFUL: LazyLock<Capabilities> = LazyLock::new(|| Capabilities {
            cannot_roll_back: Some("it cannot".into()),
            ..Capabilities::new("none")
        });
        &FORGETFUL
    }

    fn initialize(&mut self, _start: f64) -> Result<()> {
        self.starts.fetch_add(1, Ordering::Relaxed);
        (self.u, self.y, self.offset, self.is_initializing) =
            (0.0, self.first_offset, self.first_offset, true);
        Ok(())
    }

    fn leave_initialization(&mut self) -> Result<bool> {
        let has_left = std::mem::take(&mut self.is_initializing);
        if has_left {
            self.tell();
        }
        Ok(has_left)
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        self.u = inputs.map_or(self.u, |inputs| inputs[0]);
        outputs[0] = self.y;
        Ok(())
    }

    fn step(
        &mut self,
        _step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        _samples: &mut Samples,
    ) -> Result<()> {
        input.end_values(std::slice::from_mut(&mut self.u));
        self.tell();
        outputs[0] = self.y;
        Ok(())
    }

    fn get(&mut self, variable: VariableId) -> Result<f64> {
        Ok(match variable.kind {
            VariableKind::Input => self.u,
            VariableKind::Output => self.y,
            _ => self.offset,
        })
    }

    fn set(&mut self, _variable: VariableId, value: f64) -> Result<()> {
        self.offset = value;
        Ok(())
    }

    fn save(&mut self, _snapshot: &mut Snapshot) -> Result<()> {
        Err(koppel::Error::Unsupported { what: "saving".into(), reason: "it cannot".into() }.into())
    }

    fn restore(&mut self, _snapshot: &Snapshot) -> Result<()> {
        self.save(&mut Snapshot::default())
    }
}

/// Members in a row, each with the output of the one before, the first with that of the last if it is a ring; their outputs at the start.
fn start(members: Vec<Box<dyn Subsystem>>, is_ring: bool, config: &RunConfig) -> Vec<f64> {
    let n = members.len();
    let mut builder = SystemBuilder::new();
    for (i, member) in members.into_iter().enumerate() {
        builder = builder.add_boxed(&format!("m{i}"), member);
    }
    for i in 0..n {
        if i + 1 < n || is_ring {
            builder = builder.connect(Connection::new(&format!("m{i}.y"), &format!("m{}.u", (i + 1) % n)));
        }
    }
    let mut run = Run::new(builder.build().unwrap(), config).unwrap();
    let outputs = (0..n).map(|i| run.outputs(run.graph().find(&format!("m{i}")).unwrap())[0]).collect();
    // Once under way nothing is asked of them that they do not do.
    (0..3).try_for_each(|_| run.advance()).unwrap();
    outputs
}

fn assert_near(found: &[f64], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-10, "{found} instead of {expected}");
    }
}

/// In every order of subsystems: a chain is evaluated along the wires, whoever is numbered first.
#[test]
fn a_chain_starts_with_outputs_of_its_inputs() {
    let config = RunConfig::new(1.0, 0.1);
    let chain = || -> Vec<Box<dyn Subsystem>> {
        vec![Box::new(Late::new(2.0, 3.0)), Box::new(Late::new(-4.0, 0.0)), Box::new(Late::new(0.5, 1.0))]
    };
    assert_near(&start(chain(), false, &config), &[3.0, -12.0, -5.0]);
    let mut members = chain().into_iter();
    let mut builder = SystemBuilder::new();
    for name in ["z", "y", "x"] {
        builder = builder.add_boxed(name, members.next_back().unwrap());
    }
    let system = builder
        .connect(Connection::new("x.y", "y.u"))
        .connect(Connection::new("y.y", "z.u"))
        .build()
        .unwrap();
    let run = Run::new(system, &config).unwrap();
    let at = |name| run.outputs(run.graph().find(name).unwrap())[0];
    assert_near(&[at("x"), at("y"), at("z")], &[3.0, -12.0, -5.0]);
}

/// The feed-through pair: gains 1 and -0.9, where going around once more changes the sign of the error, and pairs whose product is
/// far above one, where going around would run away.
#[test]
fn a_loop_is_solved() {
    for (first, second) in [(1.0, -0.9), (3.0, -7.0), (-2.0, 5.0)] {
        let members: Vec<Box<dyn Subsystem>> =
            vec![Box::new(Late::new(first, 3.0)), Box::new(Late::new(second, 0.0))];
        let y = 3.0 / (1.0 - first * second);
        assert_near(&start(members, true, &RunConfig::new(1.0, 0.1)), &[y, second * y]);
    }
}

/// One that follows its inputs between two that do not; what was set at the start is not forgotten.
#[test]
fn a_mixed_loop_is_solved_with_what_was_set() {
    let members: Vec<Box<dyn Subsystem>> = vec![
        Box::new(Late::new(2.0, 1.0)),
        Box::new(Static::gain(-3.0, 0.5)),
        Box::new(Late::new(1.5, -1.0)),
    ];
    let change = Change { time: 0.0, set: [("m0.offset".to_owned(), 4.0)].into() };
    let config = RunConfig { at: vec![change], ..RunConfig::new(1.0, 0.1) };
    // y0 = 2 y2 + 4, y1 = -3 y0 + 0.5, y2 = 1.5 y1 - 1.
    let y0 = (4.0 + 2.0 * (1.5 * 0.5 - 1.0)) / 10.0;
    let y1 = -3.0 * y0 + 0.5;
    assert_near(&start(members, true, &config), &[y0, y1, 1.5 * y1 - 1.0]);
}

/// Whatever never leaves, as native models, between those that do: in a loop of two, and in a chain.
#[test]
fn native_members_pass_on_what_is_told_late() {
    let config = RunConfig::new(1.0, 0.1);
    // y0 = y1 + 3, y1 = -3 y0 + 1, in either order.
    let pair = |late_first: bool| -> Vec<Box<dyn Subsystem>> {
        let (late, native) = (Late::new(1.0, 3.0), Static::gain(-3.0, 1.0));
        if late_first {
            vec![Box::new(late), Box::new(native)]
        } else {
            vec![Box::new(native), Box::new(late)]
        }
    };
    assert_near(&start(pair(true), true, &config), &[1.0, -2.0]);
    assert_near(&start(pair(false), true, &config), &[-2.0, 1.0]);
    let chain: Vec<Box<dyn Subsystem>> = vec![
        Box::new(Static::gain(0.0, 3.0)),
        Box::new(Late::new(2.0, 0.0)),
        Box::new(Static::gain(-1.0, 0.5)),
        Box::new(Late::new(1.0, 0.0)),
    ];
    assert_near(&start(chain, false, &config), &[3.0, 6.0, -5.5, -5.5]);
}

/// A chain is left in the order of evaluation, so nobody is started twice, whoever is numbered first.
#[test]
fn chains_are_started_once() {
    let config = RunConfig::new(1.0, 0.1);
    for is_reversed in [false, true] {
        let mut members: Vec<Late> = (0..10).map(|_| Late::new(2.0, 0.0)).collect();
        let starts: Vec<_> = members.iter().map(|member| member.starts.clone()).collect();
        let mut builder = SystemBuilder::new();
        let mut names: Vec<String> = (0..10).map(|i| format!("m{i}")).collect();
        if is_reversed {
            members.reverse();
            names.reverse();
        }
        for (name, member) in names.iter().zip(members) {
            builder = builder.add(name, member);
        }
        for i in 1..10 {
            builder = builder.connect(Connection::new(&format!("m{}.y", i - 1), &format!("m{i}.u")));
        }
        // The first one tells something else when it leaves: its unconnected input is one.
        let change = Change { time: 0.0, set: [("m0.u".to_owned(), 1.0)].into() };
        let config = RunConfig { at: vec![change], ..config.clone() };
        let run = Run::new(builder.build().unwrap(), &config).unwrap();
        let last = run.outputs(run.graph().find("m9").unwrap())[0];
        assert_eq!(last, 1024.0);
        assert!(starts.iter().all(|starts| starts.load(Ordering::Relaxed) == 1), "{starts:?}");
    }
}

/// Who is connected to nothing is left alone while a loop is solved.
#[test]
fn bystanders_are_started_once() {
    let bystander = Late::new(2.0, 3.0);
    let starts = bystander.starts.clone();
    let system = SystemBuilder::new()
        .add("a", Late::new(1.0, 3.0))
        .add("b", Late::new(-0.9, 0.0))
        .add("c", bystander)
        .connect(Connection::new("a.y", "b.u"))
        .connect(Connection::new("b.y", "a.u"))
        .build()
        .unwrap();
    let run = Run::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
    let at = |name| run.outputs(run.graph().find(name).unwrap())[0];
    assert_near(&[at("a"), at("b"), at("c")], &[3.0 / 1.9, -2.7 / 1.9, 3.0]);
    assert_eq!(starts.load(Ordering::Relaxed), 1);
}

/// Nobody is started twice whose inputs were right the first time.
#[test]
fn right_inputs_are_given_once() {
    let late = Late::new(2.0, 3.0);
    let starts = late.starts.clone();
    let members: Vec<Box<dyn Subsystem>> = vec![Box::new(Static::gain(0.0, 1.0)), Box::new(late)];
    assert_near(&start(members, false, &RunConfig::new(1.0, 0.1)), &[1.0, 5.0]);
    assert_eq!(starts.load(Ordering::Relaxed), 1);
}

/// Nobody solves a loop of such members between steps, so one without a solution is no reason not to run.
#[test]
fn a_loop_without_solution_starts_with_what_was_told_first() {
    let members: Vec<Box<dyn Subsystem>> = vec![Box::new(Late::new(1.0, 3.0)), Box::new(Late::new(1.0, 0.0))];
    let found = start(members, true, &RunConfig::new(1.0, 0.1));
    assert!(found.iter().all(|y| y.is_finite() && y.abs() < 10.0), "{found:?}");
}

/// Outputs in single precision, as some tools have them: solved as well as they tell.
#[test]
fn outputs_of_few_digits_are_solved_for() {
    let rounded = |gain, offset| Late { digits: Some(1e6), ..Late::new(gain, offset) };
    let members: Vec<Box<dyn Subsystem>> = vec![Box::new(rounded(1.0, 3.0)), Box::new(rounded(-0.9, 0.0))];
    let found = start(members, true, &RunConfig::new(1.0, 0.1));
    for (found, expected) in found.iter().zip([3.0 / 1.9, -2.7 / 1.9]) {
        assert!((found - expected).abs() < 1e-5, "{found} instead of {expected}");
    }
}
