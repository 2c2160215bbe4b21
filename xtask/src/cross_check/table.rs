//! Tables of numbers: references, inputs and results; and how far two of them are apart.
//!
//! The error of a variable is the root mean square of the difference at the times of the reference, over the
//! range of the reference (or its largest value, if it is constant). References exist that hold the inputs of the end of a step: a
//! result that is theirs one step later is told as such.

/// Columns of a CSV file, the first being time.
pub(super) struct Table {
    pub(super) names: Vec<String>,
    columns: Vec<Vec<f64>>,
}

/// The variable that is worst, and its error.
#[derive(Clone, Debug)]
pub(super) struct Worst {
    pub(super) name: String,
    pub(super) error: f64,
    /// One step later all agree.
    pub(super) is_late: bool,
}

/// Round-off.
const SAME: f64 = 1e-9;

impl Table {
    /// Of a file with names in its first line; rows that are not numbers end it.
    pub(super) fn parse(text: &str) -> Option<Table> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let names = cells(lines.next()?);
        let mut columns = vec![Vec::new(); names.len()];
        for line in lines {
            let values: Option<Vec<f64>> = cells(line).iter().map(|cell| number(cell)).collect();
            let Some(values) = values.filter(|values| values.len() >= names.len()) else { break };
            for (column, value) in columns.iter_mut().zip(values) {
                column.push(value);
            }
        }
        (!columns.is_empty()).then_some(Table { names, columns })
    }

    pub(super) fn times(&self) -> &[f64] {
        &self.columns[0]
    }

    fn column(&self, name: &str) -> Option<&[f64]> {
        let at = self.names.iter().skip(1).position(|known| known == name)?;
        Some(&self.columns[at + 1])
    }

    /// How far this is from a reference; only variables both have, up to the last time both have.
    pub(super) fn worst(&self, reference: &Table, is_held: impl Fn(&str) -> bool) -> Option<Worst> {
        let mut now = self.worst_after(reference, &is_held, 0.0)?;
        let step = self.times().get(1)? - self.times().first()?;
        let later = self.worst_after(reference, &is_held, step)?;
        now.is_late = now.error > SAME && later.error <= SAME;
        Some(now)
    }

    fn worst_after(&self, reference: &Table, is_held: impl Fn(&str) -> bool, delay: f64) -> Option<Worst> {
        self.worst_by(reference, |ours, theirs, name| self.error(ours, theirs, is_held(name), delay))
    }

    /// The same where each value may stand as much as one communication step earlier or later: a jump between two
    /// communication points is no error.
    pub(super) fn worst_within_a_step(&self, reference: &Table) -> Option<Worst> {
        let step = self.times().get(1)? - self.times().first()?;
        let distance = |ours: &[f64], time: f64, value: f64| {
            let end = self.times().last().copied().unwrap_or(time);
            let (from, to) = ((time - step).max(self.times()[0]), (time + step).min(end));
            let slack = 1e-9 * end.abs();
            let first = self.times().partition_point(|t| *t < from - slack);
            let last = self.times().partition_point(|t| *t <= to + slack);
            let ends = [self.at(ours, from, false), self.at(ours, to, false)];
            let all = || ends.iter().chain(&ours[first.min(last)..last]).copied();
            let (least, most) =
                (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
            if all().any(f64::is_nan) { f64::NAN } else { (least - value).max(value - most).max(0.0) }
        };
        self.worst_by(reference, |ours, theirs, _| {
            self.error_by(theirs, 0.0, |time, value| distance(ours, time, value))
        })
    }

    fn worst_by(
        &self,
        reference: &Table,
        error: impl Fn(&[f64], (&[f64], &[f64]), &str) -> f64,
    ) -> Option<Worst> {
        let mut worst: Option<Worst> = None;
        for name in reference.names.iter().skip(1) {
            let (Some(ours), Some(theirs)) = (self.column(name), reference.column(name)) else { continue };
            let error = error(ours, (reference.times(), theirs), name);
            // What is not a number is worst.
            if worst
                .as_ref()
                .is_none_or(|worst| !worst.error.is_nan() && (error.is_nan() || error > worst.error))
            {
                worst = Some(Worst { name: name.clone(), error, is_late: false });
            }
        }
        worst
    }

    fn error(&self, ours: &[f64], theirs: (&[f64], &[f64]), is_held: bool, delay: f64) -> f64 {
        self.error_by(theirs, delay, |time, value| self.at(ours, time + delay, is_held) - value)
    }

    /// Root mean square over the range, of a distance at each point of the reference.
    fn error_by(
        &self,
        (times, theirs): (&[f64], &[f64]),
        delay: f64,
        distance: impl Fn(f64, f64) -> f64,
    ) -> f64 {
        let end = self.times().last().copied().unwrap_or(f64::NEG_INFINITY);
        let slack = 1e-9 * end.abs();
        let (mut sum, mut count) = (0.0, 0_u32);
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for (time, reference) in times.iter().zip(theirs).filter(|(time, _)| **time + delay <= end + slack) {
            sum += distance(*time, *reference).powi(2);
            count += 1;
            (least, most) = (least.min(*reference), most.max(*reference));
        }
        let size = if most - least > SAME * most.abs().max(least.abs()) {
            most - least
        } else if most.abs() > 0.0 {
            most.abs()
        } else {
            1.0
        };
        (sum / f64::from(count)).sqrt() / size
    }

    /// Between rows: along a line, or the value before.
    fn at(&self, column: &[f64], time: f64, is_held: bool) -> f64 {
        let times = self.times();
        let slack = 1e-9 * times.last().copied().unwrap_or(0.0).abs();
        let after = times.partition_point(|t| *t <= time + slack);
        let Some(before) = after.checked_sub(1) else { return column.first().copied().unwrap_or(f64::NAN) };
        if is_held || after == times.len() || (time - times[before]).abs() <= slack {
            return column[before];
        }
        let part = (time - times[before]) / (times[after] - times[before]);
        column[before] + part * (column[after] - column[before])
    }
}

fn number(cell: &str) -> Option<f64> {
    match cell {
        "true" | "True" => Some(1.0),
        "false" | "False" => Some(0.0),
        cell => cell.parse().ok(),
    }
}

/// Cells of a line, without quotes.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            letter => cells.last_mut().into_iter().for_each(|cell| cell.push(letter)),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        Table::parse(text).expect("a table")
    }

    #[test]
    fn errors_are_over_the_range_of_the_reference() {
        let ours = table("time,a,b\n0,0,5\n1,1,5\n2,2,5\n");
        let reference = table("\"time\", \"a\",\"b\"\n0,0,5\n0.5,0.5,5\n2,4,5\n3,9,9\n");
        let worst = ours.worst(&reference, |_| false).expect("both have them");
        assert_eq!(worst.name, "a");
        assert!((worst.error - (4.0_f64 / 3.0).sqrt() / 4.0).abs() < 1e-12, "{}", worst.error);
    }

    #[test]
    fn what_is_held_keeps_its_value_between_rows() {
        let ours = table("time,n\n0,0\n1,1\n");
        let reference = table("time,n\n0,0\n0.5,0\n1,1\n");
        assert_eq!(ours.worst(&reference, |_| true).expect("both have it").error, 0.0);
        assert!(ours.worst(&reference, |_| false).expect("both have it").error > 0.2);
    }

    #[test]
    fn a_result_one_step_later_is_told_as_such() {
        let ours = table("time,n\n0,7\n1,0\n2,3\n3,1\n");
        let reference = table("time,n\n0,0\n1,3\n2,1\n");
        let worst = ours.worst(&reference, |_| true).expect("both have it");
        assert!(worst.is_late && worst.error > 0.5, "{worst:?}");
    }

    #[test]
    fn a_jump_between_two_points_is_no_error_within_a_step() {
        let ours = table("time,n\n0,0\n1,0\n2,5\n3,5\n4,5\n");
        let reference = table("time,n\n0,0\n1.1,0\n1.1,5\n4,5\n");
        assert!(ours.worst(&reference, |_| false).expect("both have it").error > 0.1);
        assert_eq!(ours.worst_within_a_step(&reference).expect("both have it").error, 0.0);
        let late = table("time,n\n0,0\n3.9,0\n4,5\n");
        assert!(ours.worst_within_a_step(&late).expect("both have it").error > 0.5);
    }

    #[test]
    fn what_is_not_a_number_is_worst() {
        let ours = table("time,a,b,c\n0,0,NaN,0\n1,1,NaN,9\n");
        let reference = table("time,a,b,c\n0,0,5,1\n1,1,5,2\n");
        assert_eq!(ours.worst(&reference, |_| false).expect("both have them").name, "b");
    }
}
