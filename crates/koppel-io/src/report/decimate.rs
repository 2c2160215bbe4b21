//! Fewer points for the page, with every peak kept.
//!
//! The rows of a plot are cut into buckets of equal length in time. Of each bucket those rows are kept where some series
//! has its smallest or its largest value, or a gap; all series keep their values at all kept rows. So every point shown was
//! recorded, at its own time, and the extremes of every series in every bucket are shown.

use super::PlotGroup;

/// Most points that a series has on the page.
pub const POINTS_PER_SERIES: usize = 4000;

/// The rows of a plot to show, in ascending order.
pub(super) fn rows_to_show(group: &PlotGroup, most: usize) -> Vec<usize> {
    let rows = group.time.len();
    if rows <= most {
        return (0..rows).collect();
    }
    let has_gap = |values: &Vec<f64>| values.iter().any(|value| !value.is_finite());
    let per_series = if group.series.iter().any(|s| has_gap(&s.values)) { 3 } else { 2 };
    let per_bucket = (per_series * group.series.len()).max(1);
    // The first and the last row are always shown.
    let mut buckets = ((most - 2) / per_bucket).max(1);
    let mut kept = extremes(group, buckets);
    // Series that move together share their extremes, which leaves room for shorter buckets.
    while kept.len() <= most / 2 && buckets < most {
        buckets *= 2;
        let more = extremes(group, buckets);
        if more.len() > most {
            break;
        }
        kept = more;
    }
    kept
}

/// First and last row, and the extremes of every series in every bucket.
fn extremes(group: &PlotGroup, buckets: usize) -> Vec<usize> {
    let mut kept = vec![0, group.time.len() - 1];
    let mut start = 0;
    for bucket in 0..buckets {
        let end = bucket_end(&group.time, bucket, buckets, start);
        for series in &group.series {
            keep_extremes(&series.values, start..end, &mut kept);
        }
        start = end;
    }
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// First row after the bucket: buckets have equal length in time, or hold equal numbers of rows if time does not ascend.
fn bucket_end(time: &[f64], bucket: usize, buckets: usize, start: usize) -> usize {
    if bucket + 1 == buckets {
        return time.len();
    }
    let (first, last) = (time[0], time[time.len() - 1]);
    let share = (bucket + 1) as f64 / buckets as f64;
    let limit = first + (last - first) * share;
    if limit.is_finite() && last > first {
        start + time[start..].partition_point(|&t| t < limit)
    } else {
        (time.len() as f64 * share) as usize
    }
}

/// Keeps the rows of the smallest and largest value, and of one gap.
fn keep_extremes(values: &[f64], rows: std::ops::Range<usize>, kept: &mut Vec<usize>) {
    let (mut low, mut high, mut gap) = (None, None, None);
    for row in rows {
        let value = values[row];
        if !value.is_finite() {
            gap.get_or_insert(row);
            continue;
        }
        if low.is_none_or(|low: usize| value < values[low]) {
            low = Some(row);
        }
        if high.is_none_or(|high: usize| value > values[high]) {
            high = Some(row);
        }
    }
    kept.extend([low, high, gap].into_iter().flatten());
}

#[cfg(test)]
mod tests {
    use super::super::Series;
    use super::*;

    fn group(rows: usize, series: Vec<Vec<f64>>) -> PlotGroup {
        PlotGroup {
            title: String::new(),
            unit: None,
            time: (0..rows).map(|row| row as f64 * 0.01).collect(),
            series: series.into_iter().map(|values| Series { name: String::new(), values }).collect(),
        }
    }

    #[test]
    fn every_peak_of_every_series_survives() {
        let rows = 100_000;
        let flat = |peak: usize, value: f64| {
            let mut values: Vec<f64> = (0..rows).map(|row| (row as f64 * 0.37).sin()).collect();
            values[peak] = value;
            values
        };
        let peaks = [(12_345, 9.0), (50_001, -7.0), (99_998, 4.0), (1, -3.0)];
        let series = peaks.iter().map(|&(row, value)| flat(row, value)).collect();
        let kept = rows_to_show(&group(rows, series), POINTS_PER_SERIES);
        assert!(kept.len() <= POINTS_PER_SERIES, "{}", kept.len());
        assert!(kept.len() >= POINTS_PER_SERIES / 2, "{}", kept.len());
        for (row, _) in peaks {
            assert!(kept.contains(&row), "row {row}");
        }
        assert_eq!((kept[0], kept[kept.len() - 1]), (0, rows - 1));
    }

    #[test]
    fn gaps_survive_and_the_limit_holds() {
        let rows = 50_000;
        let mut values: Vec<f64> = (0..rows).map(|row| row as f64).collect();
        values[33_333] = f64::NAN;
        let plot = group(rows, vec![values.clone(), values]);
        let kept = rows_to_show(&plot, 500);
        assert!(kept.contains(&33_333));
        assert!(kept.len() <= 500);
    }

    #[test]
    fn short_and_odd_times_are_no_problem() {
        assert_eq!(rows_to_show(&group(3, vec![vec![1.0; 3]]), 4), [0, 1, 2]);
        let mut standing = group(1000, vec![vec![1.0; 1000]]);
        standing.time = vec![2.0; 1000].into();
        assert!(rows_to_show(&standing, 100).len() <= 100);
        let mut lost = group(1000, vec![vec![f64::NAN; 1000]]);
        lost.time = vec![f64::NAN; 1000].into();
        assert!(rows_to_show(&lost, 100).len() <= 100);
        assert!(rows_to_show(&group(1000, vec![]), 100).len() <= 100);
    }
}
