//! Values as XML schema has them.

/// A number that reads back as the same bits.
pub fn number(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".into(),
        f64::INFINITY => "INF".into(),
        f64::NEG_INFINITY => "-INF".into(),
        value => format!("{value:?}"),
    }
}

/// A number: `INF` and `NaN` are written so and not otherwise.
pub fn read_number(text: &str) -> Option<f64> {
    match text.trim() {
        "INF" | "+INF" => Some(f64::INFINITY),
        "-INF" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        other if other.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) => other.parse().ok(),
        _ => None,
    }
}

/// A Boolean.
pub fn boolean(text: &str) -> Option<bool> {
    match text.trim() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// The bytes that pairs of hexadecimal digits stand for.
pub fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
        _ => None,
    };
    text.trim().as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for value in [1e-7, -0.0, f64::MAX, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(read_number(&number(value)).map(f64::to_bits), Some(value.to_bits()));
        }
        assert_eq!(number(1e-7), "1e-7");
        assert!(read_number(&number(f64::NAN)).is_some_and(f64::is_nan));
        assert_eq!([read_number("inf"), read_number("nan"), read_number("1,5")], [None; 3]);
    }

    #[test]
    fn bytes_are_pairs_of_digits_without_signs() {
        assert_eq!(hexadecimal(" 00fF "), Some(vec![0, 255]));
        assert_eq!([hexadecimal("+f"), hexadecimal("0"), hexadecimal("0g")], [None, None, None]);
    }
}
