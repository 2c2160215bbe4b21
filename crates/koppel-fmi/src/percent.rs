//! Percent-encoding, as URIs and the addresses in packages have it.

/// Letters, digits and `-._~`, which need no escape anywhere.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Escapes every byte but the unreserved ones and `plain`.
pub fn encode(text: &str, plain: &[u8]) -> String {
    let escape = |byte: u8| match is_unreserved(byte) || plain.contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// Takes the escapes out; what is no escape stays.
pub fn decode(text: &str) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = (digit(bytes.get(at + 1)), digit(bytes.get(at + 2)));
        let (byte, length) = match (bytes[at], pair) {
            (b'%', (Some(high), Some(low))) => ((16 * high + low) as u8, 3),
            (byte, _) => (byte, 1),
        };
        out.push(byte);
        at += length;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_again() {
        let text = "a b/ü%100";
        assert_eq!(encode(text, b"/"), "a%20b/%C3%BC%25100");
        assert_eq!(decode(&encode(text, b"/")), text);
        assert_eq!(decode("100%zz%+f%"), "100%zz%+f%", "no escapes");
    }
}
