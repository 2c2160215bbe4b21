//! Text in columns.

/// Rows, or names in a line, that are shown to a reader.
pub(crate) const SHOWN: usize = 24;

/// The names in a line, cut where it gets too long.
pub(crate) fn joined(names: &[String], separator: &str) -> String {
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(separator);
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        rest => format!("{shown}{separator}... and {rest} more"),
    }
}

/// Rows of cells, set in columns of equal width; cells that are numbers are flush right.
#[derive(Debug)]
pub(crate) struct Grid {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    pub(crate) fn new(header: &[&str]) -> Self {
        Grid { header: header.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.add(cells.to_vec());
    }

    /// The same where columns are known only now.
    pub(crate) fn add(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.header.len(), "a row has one cell per column");
        self.rows.push(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Header and rows, for the report.
    pub(crate) fn into_parts(self) -> (Vec<String>, Vec<Vec<String>>) {
        (self.header, self.rows)
    }

    /// Indented by two; long tables are cut and say so.
    pub(crate) fn text(&self) -> String {
        let rest = self.rows.len().saturating_sub(SHOWN);
        let shown =
            Grid { header: self.header.clone(), rows: self.rows.iter().take(SHOWN).cloned().collect() };
        match rest {
            0 => shown.whole(),
            _ => format!("{}  ... and {rest} more; --json lists all\n", shown.whole()),
        }
    }

    /// All rows, indented by two.
    pub(crate) fn whole(&self) -> String {
        let count = |cell: &String| cell.chars().count();
        let widths: Vec<usize> = (0..self.header.len())
            .map(|c| self.rows.iter().chain([&self.header]).map(|row| count(&row[c])).max().unwrap_or(0))
            .collect();
        let right: Vec<bool> = (0..self.header.len()).map(|c| self.is_numeric(c)).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).zip(&right).map(|((cell, width), right)| {
                let space = " ".repeat(width - count(cell));
                if *right { format!("{space}{cell}") } else { format!("{cell}{space}") }
            });
            format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
        };
        std::iter::once(&self.header).chain(&self.rows).map(line).collect()
    }

    fn is_numeric(&self, column: usize) -> bool {
        let starts = |cell: &str| cell.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
        self.rows.iter().all(|row| row[column].is_empty() || starts(&row[column]))
    }
}
