//! Rows per second of each result format: `cargo run --release --package koppel-experiments --bin result_speed`.

use std::time::Instant;

use koppel_io::results::{Column, Metadata, ResultWriter, read_table};

const COLUMNS: u32 = 20;
const ROWS: u32 = 500_000;

fn main() -> koppel_io::Result<()> {
    for format in ["csv", "parquet"] {
        let path = std::env::temp_dir().join(format!("koppel-speed-{}.{format}", std::process::id()));
        let column = |index| Column { name: format!("part.signal{index}"), ..Column::default() };
        let metadata = Metadata { columns: (0..COLUMNS).map(column).collect(), ..Metadata::default() };
        let mut writer = ResultWriter::create(&path, metadata)?;
        let mut values = [0.0; COLUMNS as usize];
        let start = Instant::now();
        for row in 0..ROWS {
            let time = f64::from(row) * 1e-4;
            let (sin, cos) = time.sin_cos();
            for (index, value) in values.iter_mut().enumerate() {
                *value = sin * index as f64 + cos;
            }
            writer.row(time, &values)?;
        }
        let written = start.elapsed().as_secs_f64();
        let finished = writer.finish()?;
        let total = start.elapsed().as_secs_f64();
        let start = Instant::now();
        assert_eq!(read_table(&path)?.time.len(), ROWS as usize);
        let read = start.elapsed().as_secs_f64();
        let rate = |seconds: f64| f64::from(ROWS) / seconds / 1e3;
        eprintln!(
            "{format:8} row(): {:.0} k rows/s, with finish: {:.0} k rows/s, read: {:.0} k rows/s, {:.1} MB",
            rate(written),
            rate(total),
            rate(read),
            finished.bytes as f64 / 1e6,
        );
        for leftover in [path.clone(), format!("{}-metadata.json", path.display()).into()] {
            let _ = std::fs::remove_file(leftover);
        }
    }
    Ok(())
}
