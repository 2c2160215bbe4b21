//! The example files of the pre-step method load and run, and none of them grows.

use koppel::record::Trajectory;
use koppel::run::Flow;
use koppel_session::Session;
use std::path::Path;

#[test]
fn examples_of_the_pre_step_method_stay_bounded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/prestep");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 8);
    for path in files {
        let file = Session::load(&path, &[]).unwrap();
        assert!(file.spec.warnings().is_empty(), "{}: {:?}", path.display(), file.spec.warnings());
        let mut run = file.build_run().unwrap();
        let mut table = Trajectory::default();
        run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
        let half = table.rows.len() / 2;
        let names = run.columns().iter().map(|column| &column.name);
        for (column, name) in names.enumerate().filter(|(_, name)| !name.starts_with("coupling.")) {
            let peak = |from: usize, to: usize| {
                table.column(column).skip(from).take(to - from).fold(0.0_f64, |most, y| most.max(y.abs()))
            };
            let (early, late) = (peak(0, half), peak(half, table.rows.len()));
            assert!(late <= 1.5 * early, "{}: {name} grows from {early} to {late}", path.display());
        }
    }
}
