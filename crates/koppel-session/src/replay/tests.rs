use super::*;
use koppel::models;
use koppel::signal::Request;
use koppel::system::{OdeModel, VariableKind};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A model that refuses to save its state, and drifts by `drift` per step.
struct Forgetful {
    inner: OdeModel,
    drift: f64,
}

impl Subsystem for Forgetful {
    fn ports(&self) -> &Ports {
        self.inner.ports()
    }
    fn initialize(&mut self, start: f64) -> koppel::Result<()> {
        self.inner.initialize(start)
    }
    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> koppel::Result<()> {
        self.inner.read(inputs, outputs)
    }
    fn get(&mut self, variable: VariableId) -> koppel::Result<f64> {
        self.inner.get(variable)
    }
    fn set(&mut self, variable: VariableId, value: f64) -> koppel::Result<()> {
        self.inner.set(variable, value)
    }
    fn capabilities(&self) -> &Capabilities {
        static FORGETFUL: LazyLock<Capabilities> = LazyLock::new(|| Capabilities {
            cannot_roll_back: Some("it forgets".into()),
            ..Capabilities::new("its own")
        });
        &FORGETFUL
    }
    fn step(
        &mut self,
        step: &Step,
        u: &Segment<'_>,
        y: &mut [f64],
        samples: &mut Samples,
    ) -> koppel::Result<()> {
        self.inner.step(step, u, y, samples)?;
        y[0] += self.drift;
        Ok(())
    }
    fn save(&mut self, _: &mut Snapshot) -> koppel::Result<()> {
        Err(koppel::Error::Unsupported { what: "saving".into(), reason: "it forgets".into() }.into())
    }
    fn restore(&mut self, _: &Snapshot) -> koppel::Result<()> {
        Err(koppel::Error::Unsupported { what: "restoring".into(), reason: "it forgets".into() }.into())
    }
}

fn make(journals: &Journals, drift: f64) -> Replayed {
    let ode = models::build("mass", &BTreeMap::new()).unwrap();
    let inner = OdeModel::new(ode, &koppel::solver::SolverConfig::default()).unwrap();
    Replayed::new(Box::new(Forgetful { inner, drift }), "body", journals.of(0, "body"))
}

/// Steps `from..to` under a force with a slope, with a parameter changed on the way; the outputs' bits.
fn drive(subsystem: &mut dyn Subsystem, from: u64, to: u64) -> Vec<u64> {
    let width = subsystem.ports().outputs.len();
    let inputs = subsystem.ports().inputs.len();
    let mut samples = Samples::new(Request::Nothing, width);
    let (mut y, mut all) = (vec![0.0; width], Vec::new());
    for index in from..to {
        if index == 3 {
            subsystem.set(VariableId { kind: VariableKind::Parameter, index: 0 }, 2.0).unwrap();
        }
        let step = Step { index, start: index as f64 * 0.1, size: 0.1 };
        let u: Vec<f64> = (0..inputs).flat_map(|_| [index as f64, 2.0]).collect();
        subsystem.step(&step, &Segment::new(&step, inputs, 2, &u), &mut y, &mut samples).unwrap();
        subsystem.read(Some(&vec![0.5; inputs]), &mut y).unwrap();
        all.extend(y.iter().map(|value| value.to_bits()));
    }
    all
}

#[test]
fn a_new_instance_comes_back_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("c");
    let mut one = make(&Journals::beside(&checkpoint), 0.0);
    one.initialize(0.0).unwrap();
    drive(&mut one, 0, 40);
    let mut snapshot = Snapshot::default();
    one.save(&mut snapshot).unwrap();
    let wanted = drive(&mut one, 40, 60);
    drop(one);
    // To another file, then from that one again.
    let second = folder.path().join("d");
    let mut two = make(&Journals::beside(&second).continuing(&checkpoint), 0.0);
    two.initialize(0.0).unwrap();
    two.restore(&snapshot).unwrap();
    let mut later = Snapshot::default();
    let mut found = drive(&mut two, 40, 50);
    two.save(&mut later).unwrap();
    drop(two);
    let mut three = make(&Journals::beside(&second).continuing(&second), 0.0);
    three.initialize(0.0).unwrap();
    three.restore(&later).unwrap();
    found.extend(drive(&mut three, 50, 60));
    assert_eq!(found, wanted);
}

#[test]
fn what_does_not_repeat_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("c");
    let journals = Journals::beside(&checkpoint);
    let mut one = make(&journals, 0.0);
    one.initialize(0.0).unwrap();
    drive(&mut one, 0, 5);
    let mut snapshot = Snapshot::default();
    one.save(&mut snapshot).unwrap();
    drop(one);
    let again = |drift: f64| {
        let mut two = make(&journals.clone().continuing(&checkpoint), drift);
        two.initialize(0.0).unwrap();
        two.restore(&snapshot).unwrap_err().to_string()
    };
    let text = again(1e-3);
    assert!(text.contains("`body` cannot be restored") && text.contains("at t = 0.1 s"), "{text}");
    // A log of another run, a short one, none at all.
    let path = journals.of(0, "body").path;
    let bytes = std::fs::read(&path).unwrap();
    let mut other = bytes.clone();
    other[17] ^= 1;
    std::fs::write(&path, other).unwrap();
    assert!(again(0.0).contains("does not hold the inputs of `body` in this run"), "{}", again(0.0));
    std::fs::write(&path, &bytes[..bytes.len() - 8]).unwrap();
    assert!(again(0.0).contains("cannot be read"), "{}", again(0.0));
    std::fs::remove_file(&path).unwrap();
    assert!(again(0.0).contains("cannot be read"), "{}", again(0.0));
}

#[test]
fn a_damaged_log_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("c");
    let journals = Journals::beside(&checkpoint);
    let mut one = make(&journals, 0.0);
    one.initialize(0.0).unwrap();
    drive(&mut one, 0, 4);
    let mut snapshot = Snapshot::default();
    one.save(&mut snapshot).unwrap();
    drop(one);
    let path = journals.of(0, "body").path;
    let bytes = std::fs::read(&path).unwrap();
    let mut refused = 0;
    for at in (24..bytes.len()).step_by(8) {
        for word in [0, 7, 1 << 40, u64::MAX] {
            let mut damaged = bytes.clone();
            damaged[at..at + 8].copy_from_slice(&u64::to_le_bytes(word));
            std::fs::write(&path, damaged).unwrap();
            let mut two = make(&journals.clone().continuing(&checkpoint), 0.0);
            two.initialize(0.0).unwrap();
            refused += usize::from(two.restore(&snapshot).is_err());
        }
    }
    let words = (bytes.len() - 24) / 8;
    assert!(refused > 2 * words, "{refused} of {} are found out", 4 * words);
}

#[test]
fn a_state_saved_without_a_log_is_taken_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("c");
    let model =
        || OdeModel::new(models::build("mass", &BTreeMap::new()).unwrap(), &Default::default()).unwrap();
    let mut alone = model();
    alone.initialize(0.0).unwrap();
    drive(&mut alone, 0, 10);
    let mut snapshot = Snapshot::default();
    alone.save(&mut snapshot).unwrap();
    let journals = Journals::beside(&checkpoint).continuing(&checkpoint);
    let mut logged = Replayed::new(Box::new(model()), "mass", journals.of(0, "mass"));
    logged.initialize(0.0).unwrap();
    logged.restore(&snapshot).unwrap();
    assert_eq!(drive(&mut logged, 10, 20), drive(&mut alone, 10, 20));
    let mut later = Snapshot::default();
    logged.save(&mut later).unwrap();
    let mut third = Replayed::new(Box::new(model()), "mass", journals.of(0, "mass"));
    third.initialize(0.0).unwrap();
    third.restore(&later).unwrap();
    assert_eq!(drive(&mut third, 20, 30), drive(&mut alone, 20, 30));
}

/// What is logged tells the same of its model as what is not.
#[test]
fn logging_hides_nothing_of_a_model() {
    let ode = models::build("mass", &BTreeMap::new()).unwrap();
    let inner = OdeModel::new(ode, &koppel::solver::SolverConfig::default()).unwrap();
    let capabilities = inner.capabilities().clone();
    let journals = Journals::beside(&std::env::temp_dir().join("koppel-never-written"));
    let mut logged = Replayed::new(Box::new(inner), "body", journals.of(0, "body"));
    assert_eq!(logged.capabilities(), &capabilities);
    let logged: &mut dyn Subsystem = &mut logged;
    let (inputs, mut rates) = (vec![2.0; logged.ports().inputs.len()], [f64::NAN; 2]);
    assert!(logged.state_rates(&inputs, &mut rates).unwrap());
    assert!(rates.iter().all(|rate| rate.is_finite()), "{rates:?}");
}

/// A log nobody asked for is in memory, then in a file without a name; a checkpoint names it.
#[test]
fn a_log_just_in_case_is_no_file_before_a_checkpoint_needs_it() {
    for steps in [40, 2000] {
        let folder = tempfile::tempdir().unwrap();
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let checkpoint = folder.path().join("c");
        let mut one = make(&Journals::in_case_of(&checkpoint), 0.0);
        one.initialize(0.0).unwrap();
        drive(&mut one, 0, steps);
        assert_eq!(files(), 0);
        let mut snapshot = Snapshot::new(Horizon::Elsewhere);
        one.save(&mut snapshot).unwrap();
        assert_eq!(files(), 1);
        let mut wanted = drive(&mut one, steps, steps + 10);
        let mut later = Snapshot::new(Horizon::Elsewhere);
        one.save(&mut later).unwrap();
        wanted.extend(drive(&mut one, steps + 10, steps + 20));
        for (snapshot, from, skipped) in [(&snapshot, steps, 0), (&later, steps + 10, wanted.len() / 2)] {
            let mut two = make(&Journals::beside(&checkpoint).continuing(&checkpoint), 0.0);
            two.initialize(0.0).unwrap();
            let kept = std::fs::read(folder.path().join("c.0-body.inputs")).unwrap();
            two.restore(snapshot).unwrap();
            assert_eq!(drive(&mut two, from, steps + 20), wanted[skipped..]);
            drop(two);
            std::fs::write(folder.path().join("c.0-body.inputs"), kept).unwrap();
        }
    }
}

/// Steps taken back are no part of a log, in memory or in its file.
#[test]
fn rolling_back_shortens_the_log() {
    for steps in [40, 2000] {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = folder.path().join("c");
        let model = || {
            let ode = models::build("mass", &BTreeMap::new()).unwrap();
            Box::new(OdeModel::new(ode, &Default::default()).unwrap())
        };
        let mut one = Replayed::new(model(), "mass", Journals::in_case_of(&checkpoint).of(0, "mass"));
        one.initialize(0.0).unwrap();
        drive(&mut one, 0, steps);
        let mut back = Snapshot::new(Horizon::Run);
        one.save(&mut back).unwrap();
        drive(&mut one, steps, 2 * steps);
        one.restore(&back).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        drive(&mut one, steps, steps + 10);
        let mut snapshot = Snapshot::new(Horizon::Elsewhere);
        one.save(&mut snapshot).unwrap();
        let wanted = drive(&mut one, steps + 10, steps + 20);
        let again = Journals::beside(&checkpoint).continuing(&checkpoint);
        let mut two = Replayed::new(model(), "mass", again.of(0, "mass"));
        two.initialize(0.0).unwrap();
        two.restore(&snapshot).unwrap();
        assert_eq!(drive(&mut two, steps + 10, steps + 20), wanted);
    }
}
