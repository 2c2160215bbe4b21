//! A run killed by the operating system loses at most the rows after the last flush.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use koppel_io::results::{Column, Metadata, ResultWriter, read_table, recover};

const OUTPUT: &str = "KOPPEL_TEST_OUTPUT";

/// Runs in the child: writes rows for ever, and tells after each flush how many are safe.
#[test]
#[ignore = "started and killed by the tests below"]
fn child() {
    let path = PathBuf::from(std::env::var_os(OUTPUT).expect("started by the test"));
    let columns = vec![Column { name: "x".into(), ..Column::default() }];
    let metadata = Metadata { columns, ..Metadata::default() };
    let mut writer = ResultWriter::create(&path, metadata).unwrap();
    for row in 0_u64.. {
        writer.row(row as f64, &[row as f64 / 7.0]).unwrap();
        if row % 1000 == 999 {
            writer.flush().unwrap();
            writeln!(std::io::stderr(), "safe {}", row + 1).unwrap();
        }
    }
}

/// Kills the child in full flight; rows that were safe then.
fn kill_while_writing(path: &Path) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env(OUTPUT, path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut safe = 0;
    let mut read = |line: String| {
        if let Some(rows) = line.strip_prefix("safe ").and_then(|rows| rows.parse().ok()) {
            safe = rows;
        }
        safe
    };
    while read(lines.next().expect("the child writes until it is killed").unwrap()) < 50_000 {}
    child.kill().unwrap();
    for line in lines {
        read(line.unwrap());
    }
    assert!(!child.wait().unwrap().success());
    safe
}

fn survives(format: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("out.{format}"));
    let safe = kill_while_writing(&path);
    let finished = recover(&folder.path().join(format!("out.{format}.part")), None).unwrap();
    assert!(finished.rows >= safe, "{} rows kept, {safe} were flushed", finished.rows);
    let table = read_table(&path).unwrap();
    assert_eq!(table.time.len() as u64, finished.rows);
    for (row, (time, x)) in table.time.iter().zip(&table.columns[0].1).enumerate() {
        assert_eq!((*time, *x), (row as f64, row as f64 / 7.0));
    }
}

#[test]
fn csv_survives_a_kill() {
    survives("csv");
}

#[test]
#[cfg(feature = "parquet")]
fn parquet_survives_a_kill() {
    survives("parquet");
}
