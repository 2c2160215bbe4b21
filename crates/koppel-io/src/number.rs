//! Numbers for readers.

use std::time::Duration;

/// `digits` significant digits, without trailing zeros.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let text = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..7).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        return trimmed(&format!("{value:.decimals$}"));
    }
    format!("{}e{exponent}", trimmed(mantissa))
}

fn trimmed(text: &str) -> String {
    if !text.contains('.') {
        return text.to_owned();
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Seconds in a unit that suits them.
#[must_use]
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s >= 172_800.0 => format!("{} days", significant(s / 86_400.0, 3)),
        s if s >= 7200.0 => format!("{} h", significant(s / 3600.0, 3)),
        s if s >= 120.0 => format!("{} min", significant(s / 60.0, 3)),
        s if s >= 1.0 => format!("{} s", significant(s, 3)),
        s if s >= 1e-3 => format!("{} ms", significant(s * 1e3, 3)),
        s if s >= 1e-6 => format!("{} µs", significant(s * 1e6, 3)),
        s => format!("{} ns", significant(s * 1e9, 3)),
    }
}

/// Bytes in a unit that suits them.
#[must_use]
pub fn bytes(count: u64) -> String {
    match count as f64 {
        b if b >= 1e9 => format!("{} GB", significant(b / 1e9, 3)),
        b if b >= 1e6 => format!("{} MB", significant(b / 1e6, 3)),
        b if b >= 1e3 => format!("{} kB", significant(b / 1e3, 3)),
        b => format!("{b} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(significant(0.1, 4), "0.1");
        assert_eq!(significant(123_456.7, 3), "123457");
        assert_eq!(significant(1.234_56e-9, 3), "1.23e-9");
        assert_eq!(significant(-2.0e8, 3), "-2e8");
        assert_eq!(significant(f64::NAN, 3), "NaN");
        assert_eq!(duration(Duration::from_micros(1500)), "1.5 ms");
        assert_eq!(bytes(12_345), "12.3 kB");
    }
}
