//! Learned models, and models that are not trusted.

use super::*;

/// The corrector on learned models gives back what an input lacked in the last step, not what it lacked while it learned: behind a
/// ramp by hold, half of what the ramp rises in a step.
#[test]
fn corrections_do_not_add_up_while_models_are_learned() {
    let one = |value: f64| matrix(1, 1, &[value]);
    let ramp = linear(one(0.0), one(1.0), one(1.0), one(0.0), &[0.0]);
    let sink = linear(one(-1.0), one(1.0), one(1.0), one(0.0), &[0.0]);
    let system = SystemBuilder::new()
        .add("ramp", ramp)
        .add("sink", sink)
        .connect(Connection::new("ramp.y1", "sink.u1"))
        .external("ramp.u1", ExternalConfig::Constant { value: 1.0 })
        .build()
        .unwrap();
    let learning =
        LearningConfig { duration: 1.0, modified_above: 1e9, hold_above: 1e9, ..LearningConfig::default() };
    let corrector = CorrectorConfig {
        model: ModelConfig::Rls(RlsConfig::default()),
        learning: Some(learning),
        ..CorrectorConfig::default()
    };
    let record = Record::Many(vec!["sink.u1".into(), "coupling.phase".into()]);
    let coupling = CouplingConfig::from(corrector);
    let (_, table) = run(system, &RunConfig { coupling, record, ..RunConfig::new(2.0, 0.1) });
    for (k, row) in table.rows.iter().enumerate().skip(1) {
        let given = (k - 1) as f64 * 0.1 + if k > 10 { 0.05 } else { 0.0 };
        assert!((row[0] - given).abs() < 1e-6, "step {k}: {} instead of {given}", row[0]);
    }
    // The whole method, not one without step 3, which a corrector never has.
    assert_eq!(table.rows[15][1], 2.0, "{:?}", table.rows[15]);
}

/// Thresholds put the models of the helicopter, which are unstable without their constant, out of work: what is left is the
/// hold, stable at this step.
#[test]
fn models_of_bad_quality_are_put_aside() {
    let case = crate::cases::case("helicopter").unwrap();
    let largest = |learning| {
        let prestep = PrestepConfig { constant: ConstantConfig::None, learning, ..PrestepConfig::default() };
        let coupling = CouplingConfig::from(prestep);
        let config = RunConfig { coupling, stop: 60.0, step: 0.08, ..case.run.clone() };
        let (_, table) = run(case.system().unwrap(), &config);
        table.rows.iter().flatten().fold(0.0_f64, |most, y| most.max(y.abs()))
    };
    let thresholds = LearningConfig { modified_above: 0.02, hold_above: 0.05, ..LearningConfig::default() };
    assert!(largest(None) > 1e3);
    let seen = largest(Some(thresholds));
    assert!(seen < 20.0, "{seen}");
}

/// What MOESP has learned starts another run at the same step, whose models serve after the few steps they look back on; at
/// another step it is refused with a reason.
#[test]
fn moesp_starts_from_an_earlier_run() {
    let case = crate::cases::case("dual-mass").unwrap();
    let prestep = PrestepConfig {
        model: ModelConfig::Moesp(MoespConfig { order: Some(2), window: 100, rows: None }),
        learning: Some(LearningConfig { duration: 0.015, ..LearningConfig::default() }),
        ..PrestepConfig::default()
    };
    let config = |prestep: PrestepConfig, step: f64| {
        let coupling = CouplingConfig::from(prestep);
        let record = Record::One("coupling.phase".into());
        RunConfig { coupling, record, reading: Reading::Stale, ..RunConfig::new(0.03, step) }
    };
    let (first, table) = run(case.system().unwrap(), &config(prestep.clone(), 1e-4));
    let phases: Vec<f64> = table.column(0).collect();
    assert_eq!((phases[100], phases[300]), (0.0, 2.0));
    let again = PrestepConfig { learned: first.learned(), learning: None, ..prestep };
    let (_, table) = run(case.system().unwrap(), &config(again.clone(), 1e-4));
    // Four block rows for the force: three samples of the past.
    let full = table.column(0).position(|phase| phase == 2.0).unwrap();
    assert!((3..=5).contains(&full), "{full}");
    assert!(table.column(0).skip(full).all(|phase| phase == 2.0));
    let refused = Run::new(case.system().unwrap(), &config(again, 2e-4)).err().unwrap().to_string();
    assert!(refused.contains("learned by MOESP at a step of 0.0001 s, not 0.0002 s"), "{refused}");
}
