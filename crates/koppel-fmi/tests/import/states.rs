//! States that are saved and put back.

use super::{drive, go_on, instance, options};
use crate::common::{MASS2, MASS3, TestFmu};
use koppel::system::{Horizon, Snapshot, Subsystem};
use koppel_fmi::import::Options;

#[test]
fn what_is_saved_is_restored_bit_for_bit() {
    let keep = |text: &str| {
        text.replace("canSerializeFMUstate=\"true\"", "").replace("canSerializeFMUState=\"true\"", "")
    };
    for (fmu, survives) in [
        (TestFmu::two(MASS2), true),
        (TestFmu::three(MASS3), true),
        (TestFmu::two(&keep(MASS2)), false),
        (TestFmu::three(&keep(MASS3)), false),
    ] {
        let mut body = instance(&fmu.path(), options(&[]));
        let room = || Snapshot::new(Horizon::Anywhere);
        let (mut at_start, mut later) = (room(), room());
        body.initialize(0.0).unwrap();
        body.save(&mut at_start).unwrap();
        let first = go_on(&mut body, 0, 7, &[0.2, 1.0]).unwrap();
        body.save(&mut later).unwrap();
        let second = go_on(&mut body, 7, 5, &[0.1, -1.0]).unwrap();
        body.restore(&later).unwrap();
        assert_eq!(go_on(&mut body, 7, 5, &[0.1, -1.0]).unwrap().map(f64::to_bits), second.map(f64::to_bits));
        body.restore(&at_start).unwrap();
        assert_eq!(go_on(&mut body, 0, 7, &[0.2, 1.0]).unwrap().map(f64::to_bits), first.map(f64::to_bits));

        let mut other = instance(&fmu.path(), options(&[]));
        other.initialize(0.0).unwrap();
        let moved = other.restore(&later);
        assert_eq!(moved.is_ok(), survives, "{moved:?}");
        if survives {
            assert_eq!(go_on(&mut other, 7, 5, &[0.1, -1.0]).unwrap(), second);
        } else {
            assert!(moved.unwrap_err().to_string().contains("in another instance or process"));
            let copy = later.clone();
            body.save(&mut later).unwrap();
            assert!(body.restore(&copy).unwrap_err().to_string().contains("used for a newer state"));
            for _ in 0..200 {
                body.save(&mut Snapshot::default()).unwrap();
            }
        }
    }
}

/// A filter adds numbers to a snapshot, a log of inputs drops them: it is used again all the same, and others stay.
#[test]
fn wrapped_snapshots_keep_their_slot() {
    let fmu = TestFmu::two(&MASS2.replace("canSerializeFMUstate=\"true\"", ""));
    let mut body = instance(&fmu.path(), Options::default());
    body.initialize(0.0).unwrap();
    let mut first = Snapshot::default();
    body.save(&mut first).unwrap();
    let (mut filtered, mut logged) = (Snapshot::default(), Snapshot::default());
    for _ in 0..100 {
        body.save(&mut filtered).unwrap();
        filtered.reals.extend([0.0, 0.37]);
        body.save(&mut logged).unwrap();
        logged.reals.clear();
    }
    body.restore(&first).unwrap();
}

#[test]
fn an_fmu_without_states_says_so() {
    let fmu = TestFmu::two(&MASS2.replace("canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\"", ""));
    let mut body = instance(&fmu.path(), options(&[]));
    body.initialize(0.0).unwrap();
    let error = body.save(&mut Snapshot::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`body` cannot save its state: the FMU does not declare canGetAndSetFMUState"
    );
    assert!(error.hint().unwrap().contains("needs no roll-back"));
}

#[test]
fn a_failed_step_can_be_rolled_back() {
    for fmu in [TestFmu::two(MASS2), TestFmu::three(MASS3)] {
        let mut body = instance(&fmu.path(), options(&[("misbehave", 1.0)]));
        let at_half = drive(&mut body, 5, &[0.5]).unwrap();
        let mut snapshot = Snapshot::default();
        body.save(&mut snapshot).unwrap();
        go_on(&mut body, 5, 1, &[0.5]).unwrap_err();
        body.restore(&snapshot).unwrap();
        let mut outputs = [0.0; 3];
        body.read(None, &mut outputs).unwrap();
        assert_eq!([outputs[0], outputs[1]], at_half);
    }
}

/// Reference FMUs keep out of their states whether they have left initialization: restored before, they never move.
#[test]
fn a_state_reaches_a_new_instance_that_has_left_initialization() {
    let fmu = TestFmu::new("mass2.c", MASS2, &["-DMODE_APART"]);
    let mut body = instance(&fmu.path(), options(&[]));
    drive(&mut body, 7, &[0.2, 1.0]).unwrap();
    let mut snapshot = Snapshot::new(Horizon::Anywhere);
    body.save(&mut snapshot).unwrap();
    let expected = go_on(&mut body, 7, 5, &[0.1, -1.0]).unwrap();
    let mut other = instance(&fmu.path(), options(&[]));
    other.initialize(0.0).unwrap();
    other.restore(&snapshot).unwrap();
    assert_eq!(go_on(&mut other, 7, 5, &[0.1, -1.0]).unwrap(), expected);
}
