//! Results survive being written, cut off, recovered and continued.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use koppel::diagnostic::render;
use koppel::system::Message;
use koppel_io::Error;
use koppel_io::results::{Column, Kind, Metadata, ResultWriter, Table, read_table, recover};

#[cfg(feature = "parquet")]
const FORMATS: [&str; 2] = ["csv", "parquet"];
#[cfg(not(feature = "parquet"))]
const FORMATS: [&str; 1] = ["csv"];

fn metadata() -> Metadata {
    let column = |name: &str, unit: Option<&str>| Column {
        name: name.into(),
        unit: unit.map(Into::into),
        ..Column::default()
    };
    let other = |name: &str, kind: Kind| Column { kind, ..column(name, None) };
    Metadata {
        koppel_version: "0.1.0".into(),
        created: "2026-01-02T03:04:05Z".into(),
        system: "two masses".into(),
        settings: serde_json::json!({ "step": 0.001, "coupling": "nepce" }),
        columns: vec![
            column("left.x", Some("m")),
            column("odd, \"name\"\nhere", None),
            other("left.state", Kind::Text),
            other("left.frame", Kind::Bytes),
        ],
        extra: serde_json::Map::from_iter([("host".to_string(), "here".into())]),
    }
}

/// Values that are hard to write exactly.
const HARD: [f64; 12] = [
    0.0,
    -0.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    5e-324,
    -2.225_073_858_507_201e-308,
    1e308,
    f64::MAX,
    0.1 + 0.2,
    1.0 / 3.0,
    123_456_789.123_456_79,
];

fn row(index: u64) -> (f64, [f64; 2]) {
    let time = index as f64 * 0.001;
    let hard = HARD[index as usize % HARD.len()];
    (time, [hard, (time * 1e3).sin() * 1e-7])
}

/// Texts and bytes that are hard to write exactly.
fn messages(index: u64) -> [Message; 2] {
    let text = ["", "plain", " blanks ", "a \"b\",\nc", "\"", "grün,", "1.5", "\n\n"][index as usize % 8];
    let bytes = (0..index % 5).map(|k| (index * 37 + k * 101) as u8).collect();
    [Message::Text(text.into()), Message::Bytes(bytes)]
}

fn push(writer: &mut ResultWriter, rows: std::ops::Range<u64>) {
    for index in rows {
        let (time, values) = row(index);
        writer.row_with(time, &values, &messages(index)).unwrap();
    }
}

fn assert_is_prefix(table: &Table, rows: usize) {
    assert_eq!((table.time.len(), table.columns.len(), table.messages.len()), (rows, 2, 2));
    for index in 0..rows {
        let (time, values) = row(index as u64);
        assert_eq!(table.time[index].to_bits(), time.to_bits());
        for (column, value) in table.columns.iter().zip(values) {
            assert_eq!(column.1[index].to_bits(), value.to_bits(), "row {index}");
        }
        for (column, message) in table.messages.iter().zip(messages(index as u64)) {
            assert_eq!(column.1[index], message, "row {index}");
        }
    }
}

fn part(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.part", path.display()))
}

fn files_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_bit_and_all_metadata_come_back() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{format}"));
        let mut writer = ResultWriter::create(&path, metadata()).unwrap();
        push(&mut writer, 0..20_000);
        assert!(!path.exists(), "the final name appears only when the result is complete");
        let finished = writer.finish().unwrap();
        assert_eq!((finished.rows, finished.dropped_bytes), (20_000, 0));
        assert_eq!(finished.bytes, fs::metadata(&path).unwrap().len());

        let table = read_table(&path).unwrap();
        assert_is_prefix(&table, 20_000);
        assert_eq!(table.metadata, Some(metadata()));
        assert_eq!(table.unit("left.x"), Some("m"));
        let expected: &[&str] = match format {
            "csv" => &["out.csv", "out.csv-metadata.json"],
            _ => &["out.parquet"],
        };
        assert_eq!(files_in(folder.path()), expected);
    }
}

#[test]
fn a_result_without_rows_or_signals_is_a_result() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{format}"));
        ResultWriter::create(&path, Metadata::default()).unwrap().finish().unwrap();
        assert!(read_table(&path).unwrap().time.is_empty());
    }
}

#[test]
fn a_part_cut_anywhere_gives_a_prefix() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{format}"));
        let mut writer = ResultWriter::create(&path, metadata()).unwrap();
        let header = fs::metadata(part(&path)).unwrap().len() as usize;
        for batch in 0..3 {
            push(&mut writer, batch * 6..(batch + 1) * 6);
            writer.flush().unwrap();
        }
        drop(writer);
        let whole = fs::read(part(&path)).unwrap();
        let sidecar = PathBuf::from(format!("{}-metadata.json", part(&path).display()));
        let description = fs::read(&sidecar).ok();
        let mut most = 0;
        for length in 0..=whole.len() {
            fs::write(part(&path), &whole[..length]).unwrap();
            description.iter().for_each(|text| fs::write(&sidecar, text).unwrap());
            match recover(&part(&path), None) {
                Ok(finished) => {
                    assert!(finished.rows >= most, "more bytes, fewer rows");
                    most = finished.rows;
                    assert_is_prefix(&read_table(&path).unwrap(), most as usize);
                    assert!(finished.dropped_bytes < 2000, "only an unfinished end is dropped");
                    assert!(!part(&path).exists());
                    fs::remove_file(&path).unwrap();
                }
                Err(error) => {
                    assert!(length < header, "{length}: {error}");
                    assert!(error.to_string().contains("out."), "{error}");
                }
            }
        }
        assert_eq!(most, 18, "{format}");
    }
}

#[test]
fn a_killed_run_keeps_its_metadata_and_counts_what_is_lost() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{format}"));
        let mut writer = ResultWriter::create(&path, metadata()).unwrap();
        push(&mut writer, 0..10);
        drop(writer);
        let mut bytes = fs::read(part(&path)).unwrap();
        bytes.extend_from_slice(b"\xff\xff\xff");
        fs::write(part(&path), &bytes).unwrap();
        let finished = recover(&part(&path), None).unwrap();
        assert_eq!((finished.rows, finished.dropped_bytes), (10, 3), "{format}");
        assert_eq!(read_table(&path).unwrap().metadata, Some(metadata()));
    }
}

#[test]
#[cfg(feature = "parquet")]
fn recover_converts_when_asked() {
    for (from, to) in [("csv", "parquet"), ("parquet", "csv")] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{from}"));
        let out = folder.path().join(format!("other.{to}"));
        let mut writer = ResultWriter::create(&path, metadata()).unwrap();
        push(&mut writer, 0..30);
        drop(writer);
        assert_eq!(recover(&part(&path), Some(&out)).unwrap().rows, 30);
        let table = read_table(&out).unwrap();
        assert_is_prefix(&table, 30);
        assert_eq!(table.metadata, Some(metadata()));
        assert!(!part(&path).exists());
    }
}

/// Texts are known by their quotes, bytes are left as Base64.
#[test]
fn a_part_without_its_metadata_keeps_its_texts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    fs::write(part(&path), "time,a,b,c\n0,1,\"x\ny\",\"AP8=\"\n1,2,\"\",\"\"\n2,3,\"cut").unwrap();
    let finished = recover(&part(&path), None).unwrap();
    assert_eq!((finished.rows, finished.part_kept), (2, false));
    let table = read_table(&path).unwrap();
    assert_eq!(table.columns, [("a".to_string(), vec![1.0, 2.0])]);
    let texts = |texts: [&str; 2]| texts.map(|text| Message::Text(text.into())).to_vec();
    assert_eq!(
        table.messages,
        [("b".to_string(), texts(["x\ny", ""])), ("c".to_string(), texts(["AP8=", ""]))]
    );
}

#[test]
#[cfg(feature = "parquet")]
fn damage_to_a_block_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.parquet");
    let mut writer = ResultWriter::create(&path, metadata()).unwrap();
    for block in 0..3 {
        push(&mut writer, block * 10..(block + 1) * 10);
        writer.flush().unwrap();
    }
    drop(writer);
    let mut bytes = fs::read(part(&path)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(part(&path), &bytes).unwrap();
    let finished = recover(&part(&path), None).unwrap();
    assert!(finished.rows < 30 && finished.part_kept, "{finished:?}");
    assert_is_prefix(&read_table(&path).unwrap(), finished.rows as usize);
}

/// A power cut may leave blocks of the disk that were never written, which read as zero: no row is made of them, wherever they lie.
#[test]
fn zeroed_blocks_of_the_disk_are_noticed() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{format}"));
        let mut writer = ResultWriter::create(&path, metadata()).unwrap();
        let header = fs::metadata(part(&path)).unwrap().len() as usize;
        for block in 0..40 {
            push(&mut writer, block * 10..(block + 1) * 10);
            writer.flush().unwrap();
        }
        drop(writer);
        let whole = fs::read(part(&path)).unwrap();
        let sidecar = PathBuf::from(format!("{}-metadata.json", part(&path).display()));
        let description = fs::read(&sidecar).ok();
        for from in (header..whole.len()).step_by(512) {
            let mut bytes = whole.clone();
            let to = (from + 512).min(bytes.len());
            bytes[from..to].fill(0);
            fs::write(part(&path), &bytes).unwrap();
            description.iter().for_each(|text| fs::write(&sidecar, text).unwrap());
            let finished = recover(&part(&path), None).unwrap();
            assert!(finished.rows < 400, "{format} from {from}");
            assert!(finished.part_kept || to == whole.len(), "{format} from {from}: {finished:?}");
            assert_is_prefix(&read_table(&path).unwrap(), finished.rows as usize);
            fs::remove_file(&path).unwrap();
        }
    }
}

/// Of a process that was killed while it completed a file.
#[test]
fn stale_temporary_files_are_replaced() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{format}"));
        let temporary = folder.path().join(format!("out.{format}.tmp"));
        fs::write(&temporary, "half a file").unwrap();
        let mut writer = ResultWriter::create(&path, metadata()).unwrap();
        push(&mut writer, 0..3);
        writer.finish().unwrap();
        fs::write(&temporary, "half a file").unwrap();
        koppel_io::results::write_cells(&path, &[("run".into(), koppel_io::results::Cells::Whole(vec![1]))])
            .unwrap();
        assert!(!temporary.exists(), "{format}");
    }
}

#[test]
fn damage_in_the_middle_keeps_the_part() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    fs::write(part(&path), "time,a\n0,1\n1,x\n2,3\n").unwrap();
    let finished = recover(&part(&path), None).unwrap();
    assert_eq!((finished.rows, finished.dropped_bytes), (1, 8));
    assert!(part(&path).exists());
}

#[test]
fn only_part_files_are_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let error = recover(&at("a.csv", "time,x\n"), None).unwrap_err();
    assert!(error.to_string().contains("does not end in `.part`"), "{error}");
    let error = recover(&at("b.csv.part", "speed,x\n"), None).unwrap_err();
    assert!(error.to_string().contains("neither CSV"), "{error}");
    let error = recover(&at("c.csv.part", "ti"), None).unwrap_err();
    assert!(matches!(*error, Error::NothingToRecover { .. }), "{error}");
    let error = recover(&at("a.csv.part", "time,x\n1,2\n"), None).unwrap_err();
    assert!(matches!(*error, Error::OutputExists { .. }), "{error}");
}

#[test]
fn the_part_of_an_earlier_run_is_kept() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{format}"));
        for rows in [3, 5] {
            let mut writer = ResultWriter::create(&path, metadata()).unwrap();
            push(&mut writer, 0..rows);
        }
        let writer = ResultWriter::create(&path, metadata()).unwrap();
        assert!(writer.notes()[0].contains(".part.2"), "{:?}", writer.notes());
        writer.finish().unwrap();
        for (number, rows) in [(1, 3), (2, 5)] {
            let old = folder.path().join(format!("out.{format}.part.{number}"));
            let out = folder.path().join(format!("old.{format}"));
            assert_eq!(recover(&old, Some(&out)).unwrap().rows, rows);
            assert_eq!(read_table(&out).unwrap().metadata, Some(metadata()));
        }
    }
}

#[test]
fn two_runs_cannot_write_one_file() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{format}"));
        let mut writer = ResultWriter::create(&path, metadata()).unwrap();
        push(&mut writer, 0..3);
        for error in [
            ResultWriter::create(&path, metadata()).unwrap_err(),
            ResultWriter::resume(&path, metadata(), 0).unwrap_err(),
            recover(&part(&path), None).unwrap_err(),
        ] {
            assert!(matches!(*error, Error::InUse { .. }), "{error}");
        }
        assert_eq!(writer.finish().unwrap().rows, 3);
    }
}

#[test]
fn a_continued_run_equals_an_uninterrupted_one() {
    for format in FORMATS {
        for stop in [Stop::Killed, Stop::Finished, Stop::FinishedThenKilled] {
            for kept in [0, 1, 700, 1000] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join(format!("out.{format}"));
                let whole = folder.path().join(format!("whole.{format}"));
                let mut writer = ResultWriter::create(&whole, metadata()).unwrap();
                push(&mut writer, 0..3000);
                writer.finish().unwrap();

                let mut writer = ResultWriter::create(&path, metadata()).unwrap();
                push(&mut writer, 0..600);
                writer.flush().unwrap();
                push(&mut writer, 600..1000);
                match stop {
                    Stop::Killed => drop(writer),
                    Stop::Finished => drop(writer.finish().unwrap()),
                    Stop::FinishedThenKilled => {
                        writer.finish().unwrap();
                        let mut writer = ResultWriter::resume(&path, metadata(), 1000).unwrap();
                        push(&mut writer, 1000..1500);
                    }
                }
                let mut writer = ResultWriter::resume(&path, metadata(), kept).unwrap();
                assert_eq!(writer.rows(), kept);
                assert_eq!(writer.last_time(), kept.checked_sub(1).map(|last| row(last).0));
                push(&mut writer, kept..3000);
                assert_eq!(writer.finish().unwrap().rows, 3000);

                assert_is_prefix(&read_table(&path).unwrap(), 3000);
                assert_eq!(read_table(&path).unwrap().metadata, Some(metadata()));
                if format == "csv" {
                    assert_eq!(fs::read(&path).unwrap(), fs::read(&whole).unwrap());
                }
                assert!(
                    !files_in(folder.path()).iter().any(|name| name.contains("part") || name.contains("tmp"))
                );
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Stop {
    Killed,
    Finished,
    FinishedThenKilled,
}

#[test]
fn a_run_is_continued_only_from_its_own_file() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{format}"));
        let error = ResultWriter::resume(&path, metadata(), 1).unwrap_err();
        assert!(matches!(*error, Error::NothingToResume { .. }), "{error}");

        let mut writer = ResultWriter::create(&path, metadata()).unwrap();
        push(&mut writer, 0..5);
        drop(writer);
        let error = ResultWriter::resume(&path, metadata(), 6).unwrap_err();
        assert!(error.to_string().contains("holds 5 rows, the checkpoint needs 6"), "{error}");
        let mut other = metadata();
        other.columns[0].name = "right.x".into();
        let error = ResultWriter::resume(&path, other, 5).unwrap_err();
        assert!(matches!(*error, Error::ResumeColumns { .. }), "{error}");
        assert_eq!(ResultWriter::resume(&path, metadata(), 5).unwrap().rows(), 5);
    }
}

#[test]
fn an_existing_result_stays_until_the_new_one_is_complete() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{format}"));
        let mut writer = ResultWriter::create(&path, metadata()).unwrap();
        push(&mut writer, 0..4);
        writer.finish().unwrap();
        let mut writer = ResultWriter::create(&path, metadata()).unwrap();
        push(&mut writer, 0..2);
        writer.flush().unwrap();
        assert_is_prefix(&read_table(&path).unwrap(), 4);
        writer.finish().unwrap();
        assert_is_prefix(&read_table(&path).unwrap(), 2);
    }
}

#[test]
fn bad_outputs_are_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let error = |path: &Path| render(&*ResultWriter::create(path, metadata()).unwrap_err());
    let text = error(&folder.path().join("out.xls"));
    assert!(text.contains("`.csv` or `.parquet`"), "{text}");
    let text = error(&folder.path().join("missing/out.csv"));
    assert!(text.contains("does not exist; create it first"), "{text}");
    fs::write(folder.path().join("file"), "").unwrap();
    let text = error(&folder.path().join("file/out.csv"));
    assert!(text.contains("is a file, not a folder"), "{text}");
    let mut twice = metadata();
    twice.columns[1].name = "left.x".into();
    let text = render(&*ResultWriter::create(&folder.path().join("out.csv"), twice).unwrap_err());
    assert!(text.contains("column `left.x`"), "{text}");
}

#[test]
#[cfg(not(feature = "parquet"))]
fn parquet_is_refused_without_the_feature() {
    let text = render(&*ResultWriter::create("out.parquet".as_ref(), metadata()).unwrap_err());
    assert!(text.contains("built without Parquet"), "{text}");
}

#[test]
fn foreign_csv_is_read_and_its_mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.csv");
    let read = |text: &str| {
        fs::write(&path, text).unwrap();
        read_table(&path).map_err(|error| render(&*error))
    };
    let table = read("\u{feff}t, u\r\n0, 1.5\r\n1, -2e3\r\n").unwrap();
    assert_eq!(table.time, [0.0, 1.0]);
    assert_eq!(table.columns[0].1, [1.5, -2e3]);
    assert_eq!(table.metadata, None);

    let text = read("t,u\n0,1\n1,abc\n").unwrap_err();
    assert!(text.contains("in.csv`, line 3, column `u`: `abc` is not a number"), "{text}");
    let text = read("t,u\n0,1\n1\n").unwrap_err();
    assert!(text.contains("line 3: 1 fields, but the header names 2"), "{text}");
    assert!(read("").unwrap_err().contains("has no header line"));
}
