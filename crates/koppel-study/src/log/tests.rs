use super::*;
use crate::settings::PlanKind;
use koppel::diagnostic::render;

fn header() -> Header {
    Header {
        version: VERSION,
        koppel: "1".into(),
        title: "t".into(),
        factors: Vec::new(),
        plan: Plan { kind: PlanKind::MonteCarlo, runs: 100, seed: 1 },
        runs: 100,
        measures: vec![
            MeasureEntry { name: "a".into(), is_stability: false, is_repeatable: true },
            MeasureEntry { name: "b".into(), is_stability: false, is_repeatable: true },
        ],
        analysis: Analysis { measures: Vec::new(), nearly_best: 0.1, at_least: 1 },
        files: vec![("s.toml".into(), "0".into())],
    }
}

fn row(run: u64) -> Row {
    let failure = run.is_multiple_of(3).then(|| format!("tab \t and \"quotes\"\nof {run}"));
    Row {
        run,
        values: vec![0.1 * run as f64, if failure.is_some() { f64::NEG_INFINITY } else { 1e-300 }],
        failure,
        ended_by: run.is_multiple_of(2).then(|| "a \t b".into()),
    }
}

fn written(rows: impl Iterator<Item = u64>) -> (tempfile::TempDir, Vec<Row>) {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<Row> = rows.map(row).collect();
    let mut log = Log::open(folder.path(), &header()).unwrap();
    rows.iter().for_each(|row| log.push(row));
    log.sync().unwrap();
    (folder, rows)
}

#[test]
fn rows_come_back_bit_for_bit() {
    let (folder, rows) = written([7, 0, 3, 99].into_iter());
    let contents = read(folder.path()).unwrap().unwrap();
    assert_eq!((contents.rows, contents.damaged), (rows, 0));
    assert_eq!(contents.header, header());
}

/// Cut at every byte, the log keeps exactly the lines before, and goes on.
#[test]
fn a_log_cut_anywhere_keeps_its_whole_lines() {
    let (folder, rows) = written(0..4);
    let path = folder.path().join(LOG);
    let bytes = fs::read(&path).unwrap();
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').map(|at| at + 1).collect();
    for cut in 0..=bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let whole = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1);
        let mut log = Log::open(folder.path(), &header()).unwrap();
        assert_eq!(log.rows, rows[..whole], "cut at {cut}");
        log.push(&row(50));
        log.sync().unwrap();
        drop(log);
        let contents = read(folder.path()).unwrap().unwrap();
        assert_eq!(contents.rows.len(), whole + 1, "cut at {cut}");
        assert_eq!((contents.rows[whole].run, contents.damaged), (50, 0));
    }
}

#[test]
fn a_damaged_line_costs_its_run_only() {
    let (folder, rows) = written(1..4);
    let path = folder.path().join(LOG);
    let text = fs::read_to_string(&path).unwrap().replacen("\t0.2\t", "\t0.3\t", 1);
    fs::write(&path, text).unwrap();
    let contents = read(folder.path()).unwrap().unwrap();
    assert_eq!(contents.damaged, 1);
    assert_eq!(contents.rows, [rows[0].clone(), rows[2].clone()]);
}

#[test]
fn another_study_is_refused_and_another_title_is_not() {
    let (folder, rows) = written(0..5);
    let mut other = header();
    other.files[0].1 = "1".into();
    other.measures.pop();
    let error = render(&Log::open(folder.path(), &other).unwrap_err());
    assert!(error.contains("the measures, `s.toml` changed since") && error.contains("untouched"), "{error}");
    let mut renamed = header();
    renamed.title = "another".into();
    assert_eq!(Log::open(folder.path(), &renamed).unwrap().rows, rows);
    assert_eq!(read(folder.path()).unwrap().unwrap().header.title, "another");
}

#[test]
fn two_processes_do_not_write_one_log() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Log::open(folder.path(), &header()).unwrap();
    let error = Log::open(folder.path(), &header()).unwrap_err().to_string();
    assert!(error.contains("being written by another process"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::open(folder.path(), &header()).unwrap();
    log.file = OpenOptions::new().append(true).open("/dev/full").unwrap();
    log.push(&row(1));
    let error = render(&log.sync().unwrap_err());
    assert!(error.contains("is full"), "{error}");
}

#[test]
fn what_a_killed_process_was_writing_is_removed_and_nothing_else() {
    let (folder, _) = written(0..2);
    let analysis = folder.path().join("analysis/peak");
    fs::create_dir_all(&analysis).unwrap();
    let [left, kept] = [
        ["runs.parquet.tmp", "index.html.tmp", "analysis/peak/effects.svg.tmp"],
        ["runs.csv", "own.tmp", "analysis/peak/effects.svg"],
    ]
    .map(|names| names.map(|name| folder.path().join(name)));
    left.iter().chain(&kept).for_each(|path| fs::write(path, "x").unwrap());
    drop(Log::open(folder.path(), &header()).unwrap());
    assert!(left.iter().all(|path| !path.exists()) && kept.iter().all(|path| path.exists()));
}
