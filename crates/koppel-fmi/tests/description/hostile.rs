//! Files made to do harm, and files changed at random.

use super::{FMI2, FMI3, PYTHONFMU2, PYTHONFMU3, TERMINALS, parse};
use koppel_fmi::description::Description;

#[test]
fn hostile_files_are_refused_quickly() {
    let begin = std::time::Instant::now();
    let refused = |text: String| Description::parse(text.as_bytes(), "x").unwrap_err().to_string();
    let depth = 1_000_000;
    assert!(refused(format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth))).contains("root element"));
    assert!(refused("<a>".repeat(depth)).contains("malformed"));
    let attributes: String = (0..200_000).map(|i| format!("a{i}='' ")).collect();
    assert!(refused(format!("<a {attributes}/>")).contains("more than 500 attributes"));
    let laughs = "<!DOCTYPE a [<!ENTITY b \"c\"><!ENTITY d \"&b;&b;\">]><a>&d;</a>";
    assert!(refused(laughs.into()).contains("malformed XML"));
    assert!(refused("<a/>".repeat(1_000_000)).contains("malformed"));
    assert!(refused(format!("<a>{}</a>", "<b/>".repeat(8_000_001))).contains("malformed"));
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}

/// Random numbers, the same in every run.
struct Random(koppel::SplitMix64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        (self.0.bits() % limit.max(1) as u64) as usize
    }
}

/// One random edit: a byte, a removed or doubled stretch, a nasty token; mostly a changed attribute value, which gets past
/// the XML parser to the rules.
fn edit(bytes: &mut Vec<u8>, random: &mut Random) {
    const TOKENS: [&str; 14] = [
        "\"\"",
        "\"-1\"",
        "\"0\"",
        "\"4294967295\"",
        "\"99999999999999999999\"",
        "\"NaN\"",
        "\"INF\"",
        "\"1e999\"",
        "<",
        ">",
        "&amp;",
        "</",
        "\u{0}",
        "\u{fffd}",
    ];
    let at = random.below(bytes.len());
    let length = random.below(40).min(bytes.len() - at);
    match random.below(10) {
        0 => bytes[at] = random.0.bits() as u8,
        1 => drop(bytes.drain(at..at + length)),
        2 => {
            let copy = bytes[at..at + length].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, copy);
        }
        3 => drop(bytes.splice(at..at + length.min(3), TOKENS[random.below(TOKENS.len())].bytes())),
        _ => {
            let quotes: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i] == b'"').collect();
            if quotes.len() > 1 {
                let k = random.below(quotes.len() - 1);
                let token = TOKENS[random.below(8)].trim_matches('"').bytes();
                bytes.splice(quotes[k] + 1..quotes[k + 1], token);
            }
        }
    }
    if bytes.is_empty() {
        bytes.push(b'<');
    }
}

#[test]
fn mutated_descriptions_never_panic() {
    let edits: u64 = std::env::var("KOPPEL_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(5000);
    let good = parse(FMI3);
    let mut accepted = 0;
    for seed in 0..edits {
        let mut random = Random(koppel::SplitMix64(seed));
        let fixture = [FMI2, FMI3, PYTHONFMU2, PYTHONFMU3, TERMINALS][random.below(5)];
        let mut bytes = fixture.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            edit(&mut bytes, &mut random);
        }
        accepted += u64::from(Description::parse(&bytes, "m.xml").is_ok());
        let _ = good.clone().add_terminals(&bytes, "t.xml");
        let _ = good.clone().add_sources(&bytes, "b.xml");
    }
    assert!(accepted > edits / 20, "edits must leave some descriptions readable: {accepted}");
}
