//! How much memory a worker may have.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Most memory an isolated FMU may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryLimit {
    /// Three quarters of what this machine, or the container, has.
    #[default]
    Usual,
    /// So many bytes.
    Bytes(u64),
    /// As much as it can get.
    Unlimited,
}

const UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

impl FromStr for MemoryLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "none" {
            return Ok(MemoryLimit::Unlimited);
        }
        let problem = || "must be an amount such as \"2 GiB\" or \"500 MB\", or \"none\"".to_owned();
        let digits = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(problem)?;
        let bytes = number.trim().parse::<f64>().map_err(|_| problem())? * *unit as f64;
        if bytes >= 1.0 && bytes < u64::MAX as f64 {
            Ok(MemoryLimit::Bytes(bytes as u64))
        } else {
            Err(problem())
        }
    }
}

impl MemoryLimit {
    /// In bytes, if there is one.
    #[cfg(target_os = "linux")]
    pub(super) fn bytes(self) -> Option<u64> {
        match self {
            MemoryLimit::Usual => machine().map(|bytes| bytes / 4 * 3),
            MemoryLimit::Bytes(bytes) => Some(bytes),
            MemoryLimit::Unlimited => None,
        }
    }
}

/// Memory of this machine or its container, in bytes.
#[cfg(target_os = "linux")]
fn machine() -> Option<u64> {
    let all = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = all.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10;
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    Some(container.and_then(|text| text.trim().parse().ok()).map_or(total, |limit: u64| limit.min(total)))
}

/// Bytes of memory that a process, by its number or `self`, has taken of what a limit counts.
#[cfg(target_os = "linux")]
pub(super) fn taken(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// What a worker needs beside what it has when it starts, in bytes.
#[cfg(target_os = "linux")]
const SPARE: u64 = 1 << 20;

/// Forbids this process to have more. What it shares with others, and what it has only reserved, does not count.
///
/// # Errors
///
/// If it has more already: then it says so.
#[cfg(target_os = "linux")]
pub(super) fn apply(bytes: u64) -> Result<(), String> {
    if let Some(own) = taken("self").map(|own| own + SPARE).filter(|own| *own >= bytes) {
        let (bytes, own) = (amount(bytes), amount(own));
        return Err(format!("a memory_limit of {bytes} is too small: an FMU needs at least {own}"));
    }
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let highest = getrlimit(Resource::Data).maximum;
    let bytes = Some(highest.map_or(bytes, |highest| bytes.min(highest)));
    // A limit that cannot be set does not make the FMU worse than it is without isolation.
    let _ = setrlimit(Resource::Data, Rlimit { current: bytes, maximum: bytes });
    Ok(())
}

/// An amount for the reader.
pub(super) fn amount(bytes: u64) -> String {
    let (unit, size) = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        .into_iter()
        .find(|(_, size)| bytes >= *size)
        .unwrap_or(("B", 1));
    let text = format!("{:.1}", bytes as f64 / size as f64);
    format!("{} {unit}", text.trim_end_matches(".0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        let read = |text: &str| text.parse::<MemoryLimit>();
        assert_eq!(read("2 GiB"), Ok(MemoryLimit::Bytes(2 << 30)));
        assert_eq!(read("1.5GB"), Ok(MemoryLimit::Bytes(1_500_000_000)));
        assert_eq!(read("4096"), Ok(MemoryLimit::Bytes(4096)));
        assert_eq!(read("none"), Ok(MemoryLimit::Unlimited));
        for wrong in ["", "much", "2 gib", "-1 GB", "0", "1e300 GB", "NaN"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(amount(3 << 29), "1.5 GiB");
        assert_eq!(amount(200 << 20), "200 MiB");
    }
}
