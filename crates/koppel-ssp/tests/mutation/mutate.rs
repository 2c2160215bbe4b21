//! Random edits, the same ones for the same number.

/// Numbers without pattern.
pub(crate) struct Random(koppel::SplitMix64);

impl Random {
    /// The sequence of one input of one target.
    pub(crate) fn new(target: usize, index: u64) -> Self {
        let mut numbers = koppel::SplitMix64(index ^ ((target as u64 + 1) << 56));
        numbers.bits();
        Random(numbers)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.0.bits() % limit.max(1) as u64) as usize
    }
}

/// No input grows beyond this.
const LONGEST: usize = 1 << 18;

/// Words that mean something to a reader of XML, of numbers or of zip archives.
const WORDS: [&[u8]; 44] = [
    b"\"",
    b"<",
    b">",
    b"/>",
    b"</",
    b"&",
    b"&amp;",
    b"&#0;",
    b"&#x110000;",
    b"<!--",
    b"-->",
    b"]]>",
    b"<![CDATA[",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"<?xml version=\"1.0\" encoding=\"UTF-16\"?>",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\0",
    b"1e999",
    b"-1",
    b"NaN",
    b"INF",
    b"18446744073709551616",
    b"4294967296",
    b"0",
    b"2147483648",
    b"1e-400",
    b"ssd:",
    b"ssc:Real",
    b"x:y=\"1\"",
    b" name=\"a\"",
    b" kind=\"inout\"",
    b" source=\"#sub\"",
    b" version=\"2.0\"",
    b"%zz",
    b" valueReference=\"0\"",
    b"<Dimension start=\"1000000\"/>",
    b" dependencies=\"1 2 3\"",
    b" declaredType=\"T\"",
    b"PK\x01\x02",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\xff\xff\xff\xff",
    b"../",
];

/// One to eight edits of a seed, few more often than many; `other` is another seed to take pieces from.
pub(crate) fn mutate(seed: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    let most = random.below(8);
    for _ in 0..=random.below(most + 1) {
        edit(&mut bytes, other, random);
        bytes.truncate(LONGEST);
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

fn edit(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(bytes.len());
    let length = random.below(64).min(bytes.len() - at);
    match random.below(12) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.below(256) as u8,
        2 => drop(bytes.drain(at..at + length)),
        3 => {
            let piece = bytes[at..at + length].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, piece);
        }
        4 => {
            let from = random.below(other.len());
            let piece = other[from..(from + random.below(256)).min(other.len())].to_vec();
            bytes.splice(at..at + length, piece);
        }
        5 if random.below(8) == 0 => bytes.truncate(at),
        5 | 6 => drop(bytes.splice(at..at, WORDS[random.below(WORDS.len())].iter().copied())),
        7 => bytes[at..at + length].reverse(),
        8 => replace_value(bytes, random),
        _ => swap_values(bytes, random),
    }
}

/// Where attribute values begin and end.
fn values(bytes: &[u8]) -> Vec<(usize, usize)> {
    let quotes: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'"').collect();
    quotes.chunks_exact(2).map(|pair| (pair[0] + 1, pair[1])).collect()
}

/// Puts a word in the place of an attribute's value.
fn replace_value(bytes: &mut Vec<u8>, random: &mut Random) {
    let values = values(bytes);
    if !values.is_empty() {
        let (from, to) = values[random.below(values.len())];
        bytes.splice(from..to, WORDS[random.below(WORDS.len())].iter().copied());
    }
}

/// Puts the value of one attribute in the place of another: still XML, but another system.
fn swap_values(bytes: &mut Vec<u8>, random: &mut Random) {
    let values = values(bytes);
    if values.len() > 1 {
        let (from, to) = values[random.below(values.len())];
        let piece = bytes[from..to].to_vec();
        let (from, to) = values[random.below(values.len())];
        bytes.splice(from..to, piece);
    }
}
