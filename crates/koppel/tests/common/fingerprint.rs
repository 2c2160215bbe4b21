//! Results compared with a committed table: of every run the number of rows and columns, a hash of all bits, and one number
//! that depends on every value.
//!
//! Bits are compared where a run needs nothing but +, -, ×, / and square roots, which every processor rounds alike. Other
//! runs use functions of the C library or kernels of faer, both of which choose instructions by processor: there bits are
//! compared on machines that compute a sample of such functions like the machine that wrote the table, and the number
//!
//!   s = Σ_c Σ_r w_rc x_rc / m_c / √N                                                 (1)
//!
//! | symbol | meaning                                                      |
//! | x_rc   | value in row r and column c, if it is finite                 |
//! | w_rc   | weights without pattern in [-1, 1)                           |
//! | m_c    | largest magnitude of the column, at least 1e-6 of the run's  |
//! | N      | number of values                                             |
//!
//! to within [`NEAR`] on every machine, or [`ROUGH`] where round-off grows or decides how often something is repeated. `KOPPEL_UPDATE_FINGERPRINTS=1` writes the table anew; read the difference before you
//! commit it.

use koppel::linalg::{Matrix, eigenvalues, svd};
use std::fmt::Write as _;
use std::path::Path;

/// How far (1) may be from the table on a machine that computes differently.
const NEAR: f64 = 1e-9;

/// The same for runs that make more of round-off.
const ROUGH: f64 = 1e-5;

/// A result reduced to a line.
struct Fingerprint {
    name: String,
    rows: usize,
    columns: usize,
    bits: u64,
    sum: f64,
}

/// Named results, to be compared with a file.
pub(crate) struct Fingerprints {
    list: Vec<Fingerprint>,
    /// Runs that need nothing but basic arithmetic.
    plain: &'static [&'static str],
    /// Runs that make more of round-off than others.
    rough: &'static [&'static str],
}

/// How a run is compared.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Near,
    Rough,
}

impl Fingerprints {
    /// None so far. Names that begin with one of `plain` are of runs whose bits are the same on every machine, with one of `rough`
    /// of runs that make more of round-off than others.
    pub(crate) fn new(plain: &'static [&'static str], rough: &'static [&'static str]) -> Self {
        Fingerprints { list: Vec::new(), plain, rough }
    }

    /// Adds a result; `texts` are hashed too, such as the names of columns.
    pub(crate) fn add<'a>(
        &mut self,
        name: &str,
        texts: impl IntoIterator<Item = &'a str>,
        rows: &[Vec<f64>],
    ) {
        let columns = rows.first().map_or(0, Vec::len);
        assert!(rows.iter().all(|row| row.len() == columns), "{name}: rows differ in length");
        let mut hash = Fnv::default();
        texts.into_iter().for_each(|text| hash.add(text.as_bytes()));
        rows.iter().flatten().for_each(|value| hash.add(&value.to_bits().to_le_bytes()));
        self.list.push(Fingerprint {
            name: name.into(),
            rows: rows.len(),
            columns,
            bits: hash.0,
            sum: sum(rows, columns),
        });
    }

    /// Fails with all differences at once, or writes the table if that was asked for.
    pub(crate) fn compare(&self, table: &Path) {
        let machine = machine();
        if std::env::var_os("KOPPEL_UPDATE_FINGERPRINTS").is_some() {
            return std::fs::write(table, self.text(machine)).unwrap();
        }
        let text = std::fs::read_to_string(table)
            .unwrap_or_else(|error| panic!("{}: {error}", table.display()))
            .replace('\r', "");
        let differences = self.differences(&text, machine);
        assert!(
            differences.is_empty(),
            "{}: results have changed; if that was meant, KOPPEL_UPDATE_FINGERPRINTS=1 writes the table anew\n{}",
            table.display(),
            differences.join("\n")
        );
    }

    /// The table.
    fn text(&self, machine: u64) -> String {
        let mut text = format!("machine {machine:016x}\n");
        for Fingerprint { name, rows, columns, bits, sum } in &self.list {
            let kind = match self.kind(name) {
                Kind::Plain => "plain",
                Kind::Near => "near",
                Kind::Rough => "rough",
            };
            writeln!(text, "{name:<56} {kind:<5} {rows:>5} {columns:>3} {bits:016x} {sum:+.15e}").unwrap();
        }
        text
    }

    fn kind(&self, name: &str) -> Kind {
        let is_among = |list: &[&str]| list.iter().any(|begin| name.starts_with(begin));
        if is_among(self.plain) {
            Kind::Plain
        } else if is_among(self.rough) {
            Kind::Rough
        } else {
            Kind::Near
        }
    }

    /// One line for each difference from a table.
    fn differences(&self, table: &str, machine: u64) -> Vec<String> {
        let mut lines = table.lines();
        let is_same_machine = lines.next() == Some(&format!("machine {machine:016x}"));
        let known: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
        let mut differences: Vec<String> = known
            .iter()
            .filter(|line| self.list.iter().all(|own| own.name != line[0]))
            .map(|line| format!("{}: in the table, but there is no such run", line[0]))
            .collect();
        for own in &self.list {
            let Some(line) = known.iter().find(|line| line[0] == own.name) else {
                differences.push(format!("{}: not in the table", own.name));
                continue;
            };
            let allowed = match self.kind(&own.name) {
                _ if is_same_machine => None,
                Kind::Plain => None,
                Kind::Near => Some(NEAR),
                Kind::Rough => Some(ROUGH),
            };
            differences.extend(own.difference(line, allowed));
        }
        differences
    }
}

impl Fingerprint {
    /// What differs from a line of the table; without `allowed` all bits must be the same.
    fn difference(&self, line: &[&str], allowed: Option<f64>) -> Option<String> {
        let shape = [self.rows.to_string(), self.columns.to_string()];
        if line[2..4] != shape {
            let [rows, columns] = shape;
            return Some(format!("{}: {rows} x {columns} values, not {} x {}", self.name, line[2], line[3]));
        }
        let away = (self.sum - line[5].parse::<f64>().unwrap()).abs();
        let has_same_bits = line[4] == format!("{:016x}", self.bits);
        if has_same_bits || allowed.is_some_and(|allowed| away <= allowed) {
            return None;
        }
        Some(format!("{}: other bits, sums {away:.1e} apart", self.name))
    }
}

/// (1)
fn sum(rows: &[Vec<f64>], columns: usize) -> f64 {
    let finite = |value: &f64| if value.is_finite() { *value } else { 0.0 };
    let largest = |column: usize| rows.iter().map(|row| finite(&row[column]).abs()).fold(0.0, f64::max);
    let magnitudes: Vec<f64> = (0..columns).map(largest).collect();
    let floor = 1e-6 * magnitudes.iter().fold(f64::MIN_POSITIVE, |most, one| most.max(*one));
    let mut random = 1_u64;
    let mut weight = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let values = rows.iter().flat_map(|row| row.iter().zip(&magnitudes));
    let sum: f64 = values.map(|(value, most)| weight() * finite(value) / most.max(floor)).sum();
    sum / ((rows.len() * columns).max(1) as f64).sqrt()
}

/// A hash of what this machine makes of functions whose last bits are its own choice.
fn machine() -> u64 {
    let mut hash = Fnv::default();
    for k in 0..400 {
        let x = 0.017 * f64::from(std::hint::black_box(k)) + 1e-3;
        for y in [x.sin(), x.cos(), x.tan(), x.atan(), x.tanh(), x.exp(), x.ln(), x.log2(), x.powf(0.37)] {
            hash.add(&y.to_bits().to_le_bytes());
        }
    }
    for size in 2..=24_usize {
        let cell = |i: usize, j: usize| ((7 * i + 3 * j + i * j) % 11) as f64 / 7.0 - 0.6;
        let matrix = Matrix::from_fn(size, size, cell);
        let values = eigenvalues(&matrix).unwrap();
        values.iter().for_each(|value| hash.add(format!("{value:?}").as_bytes()));
        hash.add(format!("{:?}", svd(&matrix).unwrap()).as_bytes());
    }
    #[cfg(target_arch = "x86_64")]
    for has in [
        is_x86_feature_detected!("avx"),
        is_x86_feature_detected!("avx2"),
        is_x86_feature_detected!("fma"),
        is_x86_feature_detected!("avx512f"),
        is_x86_feature_detected!("avx512vl"),
    ] {
        hash.add(&[u8::from(has)]);
    }
    hash.0
}

/// FNV-1a with 64 bits.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

mod tests {
    use super::*;

    fn table(rows: &[Vec<f64>]) -> Fingerprints {
        let mut all = Fingerprints::new(&["plain/"], &["rough/"]);
        all.add("plain/a", ["x"], rows);
        all.add("rough/a", ["x"], rows);
        all.add("b", ["x"], rows);
        all
    }

    /// The last bit counts in plain runs and on the same machine, a larger change everywhere.
    #[test]
    fn changes_are_noticed() {
        let rows = |last: f64| vec![vec![0.0, 1.0, 2.0], vec![0.1, -1.0, last]];
        let committed = table(&rows(3.0)).text(1);
        assert_eq!(table(&rows(3.0)).differences(&committed, 1), Vec::<String>::new());
        assert_eq!(table(&rows(3.0)).differences(&committed, 2), Vec::<String>::new());
        let next = table(&rows(3.0_f64.next_up()));
        assert_eq!(next.differences(&committed, 1).len(), 3);
        assert_eq!(next.differences(&committed, 2).len(), 1);
        assert_eq!(table(&rows(3.0 + 1e-6)).differences(&committed, 2).len(), 2);
        assert_eq!(table(&rows(3.0 + 1e-3)).differences(&committed, 2).len(), 3);
        assert_eq!(table(&[vec![0.0, 1.0, 2.0]]).differences(&committed, 2).len(), 3);
        let mut fewer = table(&rows(3.0));
        fewer.list.pop();
        assert_eq!(fewer.differences(&committed, 1), ["b: in the table, but there is no such run"]);
    }
}
