//! A token that is the same for the same content: FNV-1a with 128 bits, written as a GUID.

/// Of several parts, whose borders count.
pub(super) fn of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for part in parts {
        let length = (part.len() as u64).to_le_bytes();
        for byte in length.iter().chain(part) {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }
    let digits = format!("{hash:032x}");
    let groups = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    format!("{{{}}}", groups.join("-"))
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn content_and_borders_count() {
        let token = |parts: &[&str]| of(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(token(&["ab", "c"]), token(&["ab", "c"]));
        assert_ne!(token(&["ab", "c"]), token(&["a", "bc"]));
        assert_eq!(token(&["x"]).len(), 38);
    }
}
