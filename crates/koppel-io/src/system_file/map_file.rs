//! Lookup tables as CSV.
//!
//! Two columns are points and values. With more columns the first line holds the points of the second argument, behind a corner that
//! does not count, and the first column those of the first. A line of names may come first; lines that begin with `#` are comments.

use super::mistake::{Mark, Marks, Span};

/// What a file holds.
#[derive(Debug, PartialEq)]
pub(super) struct Points {
    pub(super) x: Vec<f64>,
    pub(super) y: Option<Vec<f64>>,
    /// Row by row.
    pub(super) values: Vec<f64>,
}

/// A cell and its place.
struct Cell<'a> {
    text: &'a str,
    span: Span,
}

/// Reads the text of a file; places are bytes of it.
pub(super) fn read(text: &str) -> Result<Points, Marks> {
    let mut rows = rows(text);
    if rows.is_empty() {
        return Err(Mark::new(0..0, "there is no table in this file").into());
    }
    let columns = rows[0].len();
    let is_number = |cell: &Cell<'_>| cell.text.parse::<f64>().is_ok();
    let is_field = columns > 2;
    // The points of the second argument are no names.
    if !rows[0].iter().skip(usize::from(is_field)).any(is_number) {
        rows.remove(0);
    }
    let mut marks = Marks::default();
    for row in rows.iter().filter(|row| row.len() != columns) {
        let span = row[0].span.start..row[row.len() - 1].span.end;
        let message = format!("this line has {} cells, the first has {columns}", row.len());
        marks.add(Mark::new(span, message));
    }
    let mut number = |cell: &Cell<'_>| match cell.text.parse::<f64>() {
        Ok(number) if number.is_finite() => number,
        _ => {
            let what = if cell.text.is_empty() {
                "this cell is empty".into()
            } else {
                format!("`{}` is no number", cell.text)
            };
            marks.add(
                Mark::new(cell.span.clone(), what)
                    .hint("a table has no holes: every cell is a finite number"),
            );
            f64::NAN
        }
    };
    let y = is_field.then(|| rows.first().map_or(vec![], |row| row[1..].iter().map(&mut number).collect()));
    let body = &rows[usize::from(is_field).min(rows.len())..];
    let x = body.iter().map(|row| number(&row[0])).collect();
    let values = body.iter().flat_map(|row| &row[1..]).map(&mut number).collect();
    marks.or(Points { x, y, values })
}

fn rows(text: &str) -> Vec<Vec<Cell<'_>>> {
    let separator = if text.contains(';') { ';' } else { ',' };
    let mut rows = Vec::new();
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() && !line.starts_with('#') {
            let mut at = begin;
            let cells = line.trim_end_matches(['\n', '\r']).split(separator).map(|cell| {
                let lead = cell.len() - cell.trim_start().len();
                let (start, text) = (at + lead, cell.trim());
                at += cell.len() + 1;
                Cell { text, span: start..start + text.len() }
            });
            rows.push(cells.collect());
        }
        begin += line.len();
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_and_fields() {
        let curve = read("# torque\nspeed, torque\n0, 10\n100, 20.5\n").unwrap();
        assert_eq!(curve, Points { x: vec![0.0, 100.0], y: None, values: vec![10.0, 20.5] });
        let field = read("n\\u; 0; 1\n0; 1; 2\n10; 3; 4\n").unwrap();
        let (x, y) = (vec![0.0, 10.0], Some(vec![0.0, 1.0]));
        assert_eq!(field, Points { x, y, values: vec![1.0, 2.0, 3.0, 4.0] });
    }

    #[test]
    fn every_hole_is_shown() {
        let text = "0,1,2\n5,,4\n6,x,5,6\n";
        let marks: Vec<Mark> = read(text).unwrap_err().into_iter().collect();
        let told: Vec<(&str, &str)> =
            marks.iter().map(|mark| (&text[mark.span.clone()], mark.message.as_str())).collect();
        assert_eq!(
            told,
            [
                ("6,x,5,6", "this line has 4 cells, the first has 3"),
                ("", "this cell is empty"),
                ("x", "`x` is no number")
            ]
        );
    }
}
