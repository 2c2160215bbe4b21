//! Pictures of a study as SVG: levels on the horizontal axis, and heat maps.

mod heat_map;
mod levels;

pub use heat_map::HeatMap;
pub use levels::{Levels, Mark};

/// Longest label that is written out.
const LONGEST: usize = 18;

/// Text as it may stand in SVG, cut where it is long.
fn label(text: &str) -> String {
    let short: String = match text.chars().count() {
        count if count > LONGEST => text.chars().take(LONGEST - 1).chain(['…']).collect(),
        _ => text.to_owned(),
    };
    escaped(&short)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const HEAD: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 420\" font-family=\"sans-serif\" \
    font-size=\"12\">\n<rect width=\"760\" height=\"420\" fill=\"white\"/>\n";
