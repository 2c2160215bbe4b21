//! SHA-256 (FIPS 180-4): what tells one file from another.

/// Of some bytes, as hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let mut state = START;
    let mut blocks = bytes.chunks_exact(64);
    blocks.by_ref().for_each(|block| mix(&mut state, block));
    let rest = blocks.remainder();
    let mut end = [0_u8; 128];
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()] = 0x80;
    let size = if rest.len() < 56 { 64 } else { 128 };
    end[size - 8..size].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    end[..size].chunks_exact(64).for_each(|block| mix(&mut state, block));
    state.iter().map(|word| format!("{word:08x}")).collect()
}

/// Fractions of the square roots of the first eight primes.
const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Fractions of the cube roots of the first 64 primes.
const ROUNDS: [u32; 64] = cube_roots();

const fn cube_roots() -> [u32; 64] {
    let mut words = [0; 64];
    let (mut count, mut candidate) = (0, 2_u128);
    while count < 64 {
        let mut divisor = 2;
        while divisor * divisor <= candidate && !candidate.is_multiple_of(divisor) {
            divisor += 1;
        }
        if divisor * divisor > candidate {
            // The largest r with r³ ≤ candidate · 2⁹⁶: 32 bits of fraction.
            let wanted = candidate << 96;
            let (mut root, mut bit) = (0_u128, 1_u128 << 36);
            while bit > 0 {
                let next = root | bit;
                if next * next <= wanted / next {
                    root = next;
                }
                bit >>= 1;
            }
            words[count] = root as u32;
            count += 1;
        }
        candidate += 1;
    }
    words
}

fn mix(state: &mut [u32; 8], block: &[u8]) {
    let mut w = [0_u32; 64];
    for (word, bytes) in w.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for t in 16..64 {
        let (a, b) = (w[t - 15], w[t - 2]);
        let small = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let large = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        w[t] = w[t - 16].wrapping_add(small).wrapping_add(w[t - 7]).wrapping_add(large);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in w.iter().zip(ROUNDS) {
        let sum = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h.wrapping_add(sum).wrapping_add(choice).wrapping_add(constant).wrapping_add(*word);
        let sum = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let second = sum.wrapping_add(majority);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    for (sum, value) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *sum = sum.wrapping_add(value);
    }
}

#[cfg(test)]
mod tests {
    use super::sha256;

    /// Examples of FIPS 180-4 and of NIST's test vectors.
    #[test]
    fn known_messages_have_known_digests() {
        let of = |text: &str| sha256(text.as_bytes());
        assert_eq!(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(of(two_blocks), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        let million = "a".repeat(1_000_000);
        assert_eq!(of(&million), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
}
