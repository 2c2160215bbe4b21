//! Thousands of random edits, always the same ones: never a panic, and always an answer.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod common;

use common::{archive, fixture};
use koppel_ssp::{Options, Ssp, Tolerance};

/// How many edits of each file; `KOPPEL_MUTATIONS` asks for more.
fn rounds() -> usize {
    std::env::var("KOPPEL_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000)
}

/// xorshift64*, Vigna 2016.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % below.max(1)
    }
}

const WORDS: [&str; 24] = [
    "",
    "\"",
    "<",
    ">",
    "/>",
    "&",
    "&amp;",
    "&#0;",
    "1e999",
    "-1",
    "NaN",
    "18446744073709551616",
    "ssd:",
    "ssc:Real",
    "x:y",
    "name=\"a\"",
    "kind=\"inout\"",
    "source=\"#sub\"",
    "ü",
    "\u{0}",
    "<!--",
    "]]>",
    "version=\"2.0\"",
    "%zz",
];

/// Cuts, copies, swaps and puts in words.
fn edit(text: &str, random: &mut Random) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.next(3) {
        let at = random.next(bytes.len());
        let length = random.next(60).min(bytes.len() - at);
        match random.next(9) {
            0 => drop(bytes.drain(at..at + length)),
            1 => drop(bytes.splice(at..at, WORDS[random.next(WORDS.len())].bytes())),
            2 => {
                let piece = bytes[at..at + length].to_vec();
                let to = random.next(bytes.len());
                bytes.splice(to..to, piece);
            }
            3 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.next(256) as u8;
                }
            }
            _ => swap_values(&mut bytes, random),
        }
    }
    bytes
}

/// Puts the value of one attribute in the place of another: still XML, but another system.
fn swap_values(bytes: &mut Vec<u8>, random: &mut Random) {
    let quotes: Vec<_> = (0..bytes.len()).filter(|i| bytes[*i] == b'"').collect();
    if quotes.len() < 4 {
        return;
    }
    let pair = |n: usize| (quotes[2 * n] + 1, quotes[2 * n + 1]);
    let (from, to) = (pair(random.next(quotes.len() / 2)), pair(random.next(quotes.len() / 2)));
    if from.0 > from.1 || to.0 > to.1 {
        return;
    }
    let piece = bytes[from.0..from.1].to_vec();
    bytes.splice(to.0..to.1, piece);
}

#[test]
fn edited_structures_never_panic() {
    let mut random = Random(7);
    let mut flattened = 0;
    for name in ["vehicle/vehicle.ssd", "arrays/arrays.ssd"] {
        let text = std::fs::read_to_string(fixture(name)).unwrap();
        for _ in 0..rounds() {
            let bytes = edit(&text, &mut random);
            for tolerance in [Tolerance::Strict, Tolerance::Tolerant] {
                let read = koppel_ssp::read_structure(&bytes, "x", tolerance);
                if let Some(structure) = read.content {
                    koppel_ssp::flatten_structure(&structure, tolerance);
                    let _ = koppel_ssp::write_structure(&structure);
                    flattened += 1;
                } else {
                    assert!(!read.findings.is_empty(), "nothing read and nothing said");
                }
            }
        }
    }
    // many edits leave XML behind, or the test would not reach the later stages
    assert!(flattened > rounds(), "{flattened}");
}

#[test]
fn edited_files_of_other_formats_never_panic() {
    let mut random = Random(11);
    for name in ["vehicle.ssv", "engine.ssv", "vehicle.ssm", "signals.ssb"] {
        let text = std::fs::read_to_string(fixture("vehicle/resources").join(name)).unwrap();
        for _ in 0..rounds() / 3 {
            let bytes = edit(&text, &mut random);
            koppel_ssp::read_parameters(&bytes, "x", Tolerance::Tolerant);
            koppel_ssp::read_mapping(&bytes, "x", Tolerance::Tolerant);
            koppel_ssp::read_dictionary(&bytes, "x", Tolerance::Tolerant);
        }
    }
}

#[test]
fn edited_archives_never_panic() {
    let read = |name: &str| std::fs::read(fixture("vehicle").join(name)).unwrap();
    let names = ["vehicle.ssv", "vehicle.ssm", "engine.ssv", "signals.ssb"];
    let contents: Vec<_> =
        names.iter().map(|n| (format!("resources/{n}"), read(&format!("resources/{n}")))).collect();
    let main = read("vehicle.ssd");
    let mut files: Vec<(&str, &[u8])> = vec![("SystemStructure.ssd", &main)];
    files.extend(contents.iter().map(|(n, b)| (n.as_str(), b.as_slice())));
    let whole = archive(&files);
    let options = Options { tolerance: Tolerance::Tolerant, ..Options::default() };
    assert!(Ssp::from_bytes("x", whole.clone(), &options).is_ok());
    let mut random = Random(13);
    for _ in 0..rounds() {
        let mut bytes = whole.clone();
        for _ in 0..=random.next(6) {
            let at = random.next(bytes.len());
            match random.next(8) {
                0 => bytes.truncate(at.max(1)),
                1 => drop(bytes.drain(at..(at + 7).min(bytes.len()))),
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = random.next(256) as u8;
                    }
                }
            }
        }
        if let Ok(ssp) = Ssp::from_bytes("x", bytes, &options) {
            let _ = ssp.flatten();
        }
    }
}
