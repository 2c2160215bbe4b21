//! Text and numbers as they may stand in a page.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::fmt::Write;

/// Text with everything escaped that means something in HTML, inside elements and inside quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(letter),
        }
    }
    out
}

/// JSON that may stand inside a `<script>` element: no `<`, hence no end tag and no comment.
pub(super) fn script_json(value: &serde_json::Value) -> String {
    let mut out = String::new();
    for letter in value.to_string().chars() {
        match letter {
            // These can only occur inside strings, where the escape means the same.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out
}

/// Numbers as base64 of little-endian `f64`: exact, and smaller than their digits.
pub(super) fn base64(numbers: impl Iterator<Item = f64>) -> String {
    let bytes: Vec<u8> = numbers.flat_map(f64::to_le_bytes).collect();
    BASE64_STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_escapes_from_text_or_script() {
        assert_eq!(escape("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
        let json = script_json(&serde_json::json!("</script><!--\u{2028}"));
        assert_eq!(json, r#""\u003c/script\u003e\u003c!--\u2028""#);
        assert_eq!(serde_json::from_str::<String>(&json).ok().as_deref(), Some("</script><!--\u{2028}"));
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        assert_eq!(base64([1.0].into_iter()), "AAAAAAAA8D8=");
        assert_eq!(base64([-2.5, 0.1].into_iter()), "AAAAAAAABMCamZmZmZm5Pw==");
        assert_eq!(base64([0.0; 3].into_iter()), "A".repeat(32));
    }
}
