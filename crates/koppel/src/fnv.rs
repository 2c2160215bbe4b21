//! FNV-1a with 64 bits: a quick checksum, also for constants.

/// The checksum of these parts, in sequence.
pub const fn fnv(parts: &[&[u8]]) -> u64 {
    let (mut hash, mut part) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while part < parts.len() {
        let mut at = 0;
        while at < parts[part].len() {
            hash = (hash ^ parts[part][at] as u64).wrapping_mul(0x0100_0000_01b3);
            at += 1;
        }
        part += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the authors' page (Fowler, Noll, Vo).
    #[test]
    fn known_values() {
        assert_eq!(fnv(&[]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(&[b"a"]), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(&[b"foobar"]), 0x8594_4171_f739_67e8);
        assert_eq!(fnv(&[b"foo", b"", b"bar"]), fnv(&[b"foobar"]));
    }
}
