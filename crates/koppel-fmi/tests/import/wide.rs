//! Integers with more digits than a floating-point number.

use super::*;
use std::sync::{Arc, Mutex};

/// 2^53 + 1.
const LARGE: i64 = 9_007_199_254_740_993;

/// `mirror` is the parameter `large`, `digits` are its last three.
fn fmu() -> TestFmu {
    let outputs = "<UInt64 name=\"mirror\" valueReference=\"13\" causality=\"output\" variability=\"discrete\"/>\n\
         <UInt64 name=\"digits\" valueReference=\"14\" causality=\"output\" variability=\"discrete\"/>\n</ModelVariables>";
    let listed = "<ModelStructure>\n<Output valueReference=\"13\" dependencies=\"\"/><Output valueReference=\"14\" dependencies=\"\"/>";
    let description = MASS3.replace("</ModelVariables>", outputs).replace("<ModelStructure>", listed);
    TestFmu::three(&description.replace(" unit=\"N\"", ""))
}

fn body(fmu: &TestFmu, name: &str) -> (CoSimulation, Arc<Mutex<Vec<String>>>) {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = heard.clone();
    let log = Arc::new(move |message: &koppel_fmi::ffi::LogMessage| {
        sink.lock().unwrap().push(message.text.clone());
    });
    let start_values = vec![("large".into(), Value::Integer(LARGE))];
    let options = Options { name: name.into(), start_values, log: Some(log), ..Options::default() };
    (instance(&fmu.path(), options), heard)
}

fn ending(system: koppel::system::System, config: &RunConfig) -> Result<Vec<f64>, String> {
    let mut run = Run::new(system, config).map_err(|error| error.to_string())?;
    let digits = run.columns().iter().position(|column| column.name == "a.digits").unwrap();
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue)).map_err(|error| error.to_string())?;
    Ok(table.column(digits).collect())
}

#[test]
fn they_are_set_exactly_and_end_no_run_that_does_not_use_them() {
    let fmu = fmu();
    let (a, heard) = body(&fmu, "a");
    let system = SystemBuilder::new().add("a", a).build().unwrap();
    let digits = ending(system, &RunConfig::new(1.0, 0.1)).unwrap();
    assert!(digits.len() == 11 && digits.iter().all(|digits| *digits == 993.0), "{digits:?}");
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].starts_with("`mirror` is 9007199254740993, more than"), "{heard:?}");
}

#[test]
fn where_they_are_used_they_are_refused() {
    let fmu = fmu();
    let config = RunConfig::new(1.0, 0.1);
    let system = SystemBuilder::new().add("a", body(&fmu, "a").0).add("b", body(&fmu, "b").0);
    let system = system.connect(Connection::new("a.mirror", "b.F")).build().unwrap();
    let refused = ending(system, &config).unwrap_err();
    assert!(
        refused.contains("`a.mirror`, about 9007199254740992") && refused.contains("connected"),
        "{refused}"
    );
    let record = koppel::record::Record::Many(vec!["a.mirror".into(), "a.digits".into()]);
    let system = SystemBuilder::new().add("a", body(&fmu, "a").0).build().unwrap();
    let refused = ending(system, &RunConfig { record, ..config }).unwrap_err();
    assert!(refused.ends_with("but the output is recorded"), "{refused}");
}
