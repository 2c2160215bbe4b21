//! The directory of a zip, entry by entry: the zip crate keeps one entry for each name.

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};

/// What every entry of the directory begins with.
const SIGNATURE: &[u8; 4] = b"PK\x01\x02";

/// Bytes of an entry before its name, and where the lengths of its name, extra field and comment stand.
const HEADER: usize = 46;
const LENGTHS: [usize; 3] = [28, 30, 32];

/// The first name that occurs twice in the directory at `start`.
pub(super) fn repeated<R: Read + Seek>(mut reader: R, start: u64) -> Option<String> {
    reader.seek(SeekFrom::Start(start)).ok()?;
    let mut reader = std::io::BufReader::new(reader);
    let mut names = HashSet::new();
    loop {
        let mut header = [0; HEADER];
        reader.read_exact(&mut header).ok()?;
        if !header.starts_with(SIGNATURE) {
            return None;
        }
        let [name, extra, comment] =
            LENGTHS.map(|at| usize::from(u16::from_le_bytes([header[at], header[at + 1]])));
        let mut rest = vec![0; name + extra + comment];
        reader.read_exact(&mut rest).ok()?;
        rest.truncate(name);
        let name = String::from_utf8_lossy(&rest).into_owned();
        if !names.insert(name.clone()) {
            return Some(name);
        }
    }
}
