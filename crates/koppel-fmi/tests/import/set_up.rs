//! The order in which an FMU is set up, and parameters that it loses.

use super::*;
use koppel_fmi::ffi::{LogMessage, Status};
use std::sync::{Arc, Mutex};

/// x(1 s) of a mass of 4 kg on a spring of 1 N/m that starts at 1 m at rest.
fn expected() -> f64 {
    0.5_f64.cos()
}

#[test]
fn parameters_are_set_after_the_experiment_is_known() {
    for flags in [&["-DFORGETS"][..], &["-DORDER"], &[]] {
        let fmu = TestFmu::new("mass2.c", MASS2, flags);
        let mut body = instance(&fmu.path(), options(&[("m", 4.0), ("F", 0.0)]));
        // A second time: what was given is given again.
        for _ in 0..2 {
            let [x, _] = drive(&mut body, 10, &[0.0]).unwrap();
            assert!((x - expected()).abs() < 1e-9, "{flags:?}: {x}");
        }
    }
}

/// The messages of an instance that is started and moved.
fn messages(flags: &[&str], given: Options) -> Vec<LogMessage> {
    let heard: Arc<Mutex<Vec<LogMessage>>> = Arc::default();
    let sink = heard.clone();
    let log = Some(Arc::new(move |message: &LogMessage| sink.lock().unwrap().push(message.clone())) as _);
    let fmu = TestFmu::new("mass2.c", MASS2, flags);
    let mut body = instance(&fmu.path(), Options { log, ..given });
    drive(&mut body, 3, &[0.0]).unwrap();
    drive(&mut body, 3, &[0.0]).unwrap();
    let heard = heard.lock().unwrap();
    heard.clone()
}

#[test]
fn parameters_that_an_fmu_loses_are_told_once() {
    let mut given = options(&[("m", 4.0), ("c", 0.1), ("misbehave", 0.0), ("x", 0.5)]);
    given.start_values.push(("label".into(), "mine".into()));
    assert_eq!(messages(&[], given.clone()), []);
    let report = messages(&["-DLOSES"], given);
    assert!(report.iter().all(|message| message.status == Status::Warning && message.instance == "body"));
    let texts: Vec<&str> = report.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("`m` was set to 4, but is 1 after"), "{texts:?}");
    assert!(texts[1].starts_with("`label` was set to \"mine\", but is \"lost\""), "{texts:?}");
}
