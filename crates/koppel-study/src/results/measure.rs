//! Everything about one measure: tables, pictures, and its part of the page.

use koppel_io::heat_map::HeatMap;
use koppel_io::levels::{Levels, Mark};
use koppel_io::plot::{Curve, Plot, Scale as PlotScale};
use koppel_io::report::Section;

use super::file_name;
use crate::analysis::{
    Anova, Data, FactorData, Region, Sorting, anova, histogram, interaction, regions, response, short,
    sorting,
};
use crate::log::MeasureEntry;
use crate::settings::Analysis;

/// Files by name, sections of the page, and the best run with its value.
pub(super) struct Found {
    pub(super) files: Vec<(String, String)>,
    pub(super) sections: Vec<Section>,
    pub(super) best: Option<(u64, f64)>,
}

/// Interactions that are drawn on the page, the strongest first; all are files.
const SHOWN: usize = 12;
/// Most points of the sorted curve.
const POINTS: usize = 2000;

/// Looks at one measure.
pub(super) fn analyse(data: &Data, entry: &MeasureEntry, y: &[f64], settings: &Analysis) -> Found {
    let mut found = Found { files: Vec::new(), sections: Vec::new(), best: None };
    let name = entry.name.as_str();
    let strengths = found.variance(data, name, y);
    if entry.is_stability {
        found.stability(data, name, y);
    } else {
        found.sorted(data, name, y, settings);
    }
    found.responses(data, name, y);
    found.interactions(data, name, y, strengths.as_ref());
    if !entry.is_stability {
        found.frequencies(name, y);
    }
    found
}

/// A table as CSV.
fn csv(header: &[&str], rows: &[Vec<String>]) -> String {
    let field = |text: &String| {
        if text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.clone()
        }
    };
    let line = |row: &Vec<String>| row.iter().map(field).collect::<Vec<_>>().join(",") + "\n";
    let head = header.iter().map(ToString::to_string).collect();
    std::iter::once(&head).chain(rows).map(line).collect()
}

fn number(value: f64) -> String {
    format!("{value:?}")
}

impl Found {
    fn file(&mut self, name: String, text: String) {
        self.files.push((name, text));
    }

    /// A table on the page and in a file, where numbers have all their digits.
    fn table(
        &mut self,
        file: &str,
        title: String,
        header: &[&str],
        rows: Vec<Vec<String>>,
        note: Option<String>,
    ) {
        self.file(format!("{file}.csv"), csv(header, &rows));
        let shown = |cell: &String| cell.parse::<f64>().map_or(cell.clone(), short);
        let rows = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
        let header = header.iter().map(ToString::to_string).collect();
        self.sections.push(Section::Table { title, header, rows, note });
    }

    fn pictures(&mut self, title: String, pictures: Vec<String>, note: Option<&str>) {
        if !pictures.is_empty() {
            self.sections.push(Section::Pictures { title, pictures, note: note.map(str::to_owned) });
        }
    }

    fn variance(&mut self, data: &Data, name: &str, y: &[f64]) -> Option<(Vec<usize>, Anova)> {
        let chosen: Vec<usize> = (0..data.factors.len()).filter(|k| !data.factors[*k].is_binned).collect();
        let levels: Vec<usize> = chosen.iter().map(|k| data.factors[*k].levels.len()).collect();
        let at: Vec<&[usize]> = chosen.iter().map(|k| data.factors[*k].at.as_slice()).collect();
        let result = anova(&levels, &at, y)?;
        let of = |k: &usize| data.factors[chosen[*k]].name.as_str();
        let whole: f64 = result.terms.iter().map(|term| term.mean).filter(|mean| mean.is_finite()).sum();
        let mut rows: Vec<Vec<String>> = Vec::new();
        for term in &result.terms {
            let effect = term.factors.iter().map(of).collect::<Vec<_>>().join(" x ");
            let share = 100.0 * term.mean / whole;
            let numbers = [term.mean, share, term.f, term.p].map(number);
            rows.push([vec![effect, number(term.sum), term.freedom.to_string()], numbers.to_vec()].concat());
        }
        let mean = result.residual.0 / result.residual.1 as f64;
        let blank = String::new;
        rows.push(vec![
            "residual".into(),
            number(result.residual.0),
            result.residual.1.to_string(),
            number(mean),
            blank(),
            blank(),
            blank(),
        ]);
        rows.push(vec![
            "total".into(),
            number(result.total.0),
            result.total.1.to_string(),
            blank(),
            blank(),
            blank(),
            blank(),
        ]);
        let mut note = "share: mean square in percent of the sum over all effects. p: how probable so large an F is by chance; runs without any \
            scatter have none, so that F compares with interactions of three and more factors."
            .to_owned();
        if !result.is_balanced {
            note += " Runs are missing or random: sums of squares of type II.";
        }
        let header = ["effect", "sum_sq", "df", "mean_sq", "share", "F", "p"];
        self.table("anova", format!("{name}: analysis of variance"), &header, rows, Some(note));
        let names: Vec<String> = chosen.iter().map(|k| data.factors[*k].name.clone()).collect();
        let mut values = vec![vec![f64::NAN; names.len()]; names.len()];
        for term in &result.terms {
            let (a, b) = (term.factors[0], term.factors[term.factors.len() - 1]);
            (values[a][b], values[b][a]) = (term.mean, term.mean);
        }
        let map = HeatMap {
            title: format!("{name}: mean squares"),
            x: "main effects on the diagonal, interactions beside it".into(),
            y: String::new(),
            columns: names.clone(),
            rows: names,
            values,
        };
        let picture = map.svg();
        self.file("anova.svg".into(), picture.clone());
        self.pictures(format!("{name}: effects"), vec![picture], None);
        Some((chosen, result))
    }

    fn sorted(&mut self, data: &Data, name: &str, y: &[f64], settings: &Analysis) {
        let Some(sorting) = sorting(&data.factors, y, settings.nearly_best, settings.at_least) else {
            return;
        };
        let first = sorting.order[0];
        self.best = Some((data.runs[first], y[first]));
        let mut header = vec!["rank", "run", name];
        header.extend(data.factors.iter().map(|factor| factor.name.as_str()));
        let row = |(rank, at): (usize, &usize)| {
            let mut row = vec![(rank + 1).to_string(), data.runs[*at].to_string(), number(y[*at])];
            row.extend(data.factors.iter().map(|factor| factor.labels[*at].clone()));
            row
        };
        let rows: Vec<Vec<String>> = sorting.order.iter().enumerate().map(row).collect();
        self.file("sorted.csv".into(), csv(&header, &rows));
        self.optimum(data, name, &sorting, settings);
        let step = sorting.order.len().div_ceil(POINTS).max(1);
        let points = sorting.order.iter().enumerate().step_by(step);
        let points = points.map(|(rank, at)| ((rank + 1) as f64, y[*at])).collect();
        let (low, high) = (y[first], y[sorting.order[sorting.order.len() - 1]]);
        let scale = if low > 0.0 && high / low > 100.0 { PlotScale::Logarithmic } else { PlotScale::Linear };
        let plot = Plot {
            title: format!("{name} in ascending order"),
            x: "rank".into(),
            y: name.into(),
            scale: [PlotScale::Linear, scale],
            curves: vec![Curve { name: String::new(), points }],
        };
        let picture = plot.svg();
        self.file("sorted.svg".into(), picture.clone());
        let mut pictures = vec![picture];
        for (factor, optimum) in data.factors.iter().zip(&sorting.optimum) {
            let picture = Levels {
                title: format!("{} of the nearly best runs", factor.name),
                x: factor.name.clone(),
                y: "runs".into(),
                levels: factor.shown(),
                series: vec![(String::new(), optimum.counts.iter().map(|count| *count as f64).collect())],
                mark: Mark::Bars,
            };
            let picture = picture.svg();
            self.file(format!("nearly-best-{}.svg", file_name(&factor.name)), picture.clone());
            pictures.push(picture);
        }
        self.pictures(format!("{name}: ascending order"), pictures, None);
    }

    fn optimum(&mut self, data: &Data, name: &str, sorting: &Sorting, settings: &Analysis) {
        let row = |(factor, optimum): (&FactorData, &crate::analysis::Optimum)| {
            let mode = &factor.levels[optimum.mode];
            let best = optimum.mean.map_or_else(|| mode.label.clone(), number);
            let kind = if optimum.mean.is_some() { "mean" } else { "most frequent" };
            let share = optimum.counts[optimum.mode] as f64 / sorting.nearly_best as f64;
            vec![
                factor.name.clone(),
                best,
                kind.into(),
                mode.label.clone(),
                number(share),
                factor.labels[sorting.order[0]].clone(),
            ]
        };
        let rows = data.factors.iter().zip(&sorting.optimum).map(row).collect();
        let note = format!(
            "{} runs are nearly best: at most {} % above the best, but at least {}. This analysis ignores interactions.",
            sorting.nearly_best,
            short(100.0 * settings.nearly_best),
            settings.at_least
        );
        let header = ["factor", "optimum", "taken_as", "most_frequent", "share", "best_run"];
        self.table("optimum", format!("{name}: optimal parameters"), &header, rows, Some(note));
    }

    fn stability(&mut self, data: &Data, name: &str, y: &[f64]) {
        let regions = regions(&data.factors, y);
        let factor = |k: usize| &data.factors[k];
        let row = |r: &Region| {
            vec![
                factor(r.x).name.clone(),
                factor(r.y).name.clone(),
                r.names.clone(),
                number(r.area),
                number(r.share),
            ]
        };
        let rows: Vec<Vec<String>> = regions.iter().map(row).collect();
        if rows.is_empty() {
            return;
        }
        let note = "area: in units of both factors, or decades where they are spaced logarithmically; share: of the tested area.";
        let header = ["x", "y", "names", "area", "share"];
        self.table("regions", format!("{name}: areas of stability"), &header, rows, Some(note.into()));
        let mut cells: Vec<Vec<String>> = Vec::new();
        let mut pictures = Vec::new();
        for (at, region) in regions.iter().enumerate() {
            let (x, y) = (factor(region.x), factor(region.y));
            for (i, shares) in region.shares.iter().enumerate() {
                for (j, share) in shares.iter().enumerate() {
                    let labels = [&x.name, &x.levels[i].label, &y.name, &y.levels[j].label, &region.names];
                    let mut row: Vec<String> = labels.into_iter().cloned().collect();
                    row.push(number(*share));
                    cells.push(row);
                }
            }
            let title =
                if region.names.is_empty() { name.to_owned() } else { format!("{name}, {}", region.names) };
            let map = HeatMap {
                title,
                x: x.name.clone(),
                y: y.name.clone(),
                columns: x.shown(),
                rows: y.shown(),
                values: region.shares.clone(),
            };
            let picture = map.svg();
            self.file(format!("region-{}.svg", at + 1), picture.clone());
            pictures.push(picture);
        }
        self.file(
            "region-cells.csv".into(),
            csv(&["x", "x_level", "y", "y_level", "names", "share"], &cells),
        );
        self.pictures(
            format!("{name}: regions"),
            pictures,
            Some("Share of stable runs over all other numeric factors."),
        );
    }

    fn responses(&mut self, data: &Data, name: &str, y: &[f64]) {
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut pictures = Vec::new();
        for factor in data.factors.iter().filter(|factor| factor.levels.len() > 1) {
            let found = response(factor, y);
            for (level, one) in factor.levels.iter().zip(&found) {
                let mut row = vec![factor.name.clone(), level.label.clone(), one.count.to_string()];
                row.extend([one.mean, one.min, one.max].map(number));
                rows.push(row);
            }
            let series = |name: &str, take: fn(&crate::analysis::Response) -> f64| {
                (name.to_owned(), found.iter().map(take).collect::<Vec<f64>>())
            };
            let picture = Levels {
                title: format!("{name} over {}", factor.name),
                x: factor.name.clone(),
                y: name.to_owned(),
                levels: factor.shown(),
                series: vec![
                    series("mean", |r| r.mean),
                    series("smallest", |r| r.min),
                    series("largest", |r| r.max),
                ],
                mark: Mark::Lines,
            };
            let picture = picture.svg();
            self.file(format!("response-{}.svg", file_name(&factor.name)), picture.clone());
            pictures.push(picture);
        }
        self.file("responses.csv".into(), csv(&["factor", "level", "runs", "mean", "min", "max"], &rows));
        self.pictures(format!("{name}: responses"), pictures, None);
    }

    fn interactions(&mut self, data: &Data, name: &str, y: &[f64], strengths: Option<&(Vec<usize>, Anova)>) {
        let factors = &data.factors;
        let varied: Vec<usize> = (0..factors.len()).filter(|k| factors[*k].levels.len() > 1).collect();
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for (at, a) in varied.iter().enumerate() {
            for b in &varied[at + 1..] {
                let is_it = |chosen: &[usize], members: &[usize]| {
                    members.len() == 2 && [chosen[members[0]], chosen[members[1]]] == [*a, *b]
                };
                let strength = strengths
                    .and_then(|(chosen, anova)| anova.terms.iter().find(|t| is_it(chosen, &t.factors)));
                pairs.push((strength.map_or(0.0, |term| term.mean), *a, *b));
            }
        }
        koppel::sort::sort_by(&mut pairs, |one, other| {
            other.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(other.1, other.2)))
        });
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut pictures = Vec::new();
        for (_, a, b) in &pairs {
            let (one, other) = (&factors[*a], &factors[*b]);
            let found = interaction(one, other, y);
            for (i, level) in one.levels.iter().enumerate() {
                for (j, second) in other.levels.iter().enumerate() {
                    let labels = [&one.name, &level.label, &other.name, &second.label];
                    let mut row: Vec<String> = labels.into_iter().cloned().collect();
                    row.extend([found.counts[i][j].to_string(), number(found.means[i][j])]);
                    rows.push(row);
                }
            }
            let column = |j: usize| found.means.iter().map(|means| means[j]).collect();
            let series = other.shown().into_iter().enumerate().map(|(j, label)| (label, column(j)));
            let picture = Levels {
                title: format!("{name} over {} by {}", one.name, other.name),
                x: one.name.clone(),
                y: format!("mean {name}"),
                levels: one.shown(),
                series: series.collect(),
                mark: Mark::Lines,
            };
            let picture = picture.svg();
            self.file(
                format!("interaction-{}-{}.svg", file_name(&one.name), file_name(&other.name)),
                picture.clone(),
            );
            pictures.push(picture);
        }
        self.file("interactions.csv".into(), csv(&["a", "a_level", "b", "b_level", "runs", "mean"], &rows));
        let note =
            (pictures.len() > SHOWN).then_some("The strongest; all others are files beside this page.");
        pictures.truncate(SHOWN);
        self.pictures(format!("{name}: interactions"), pictures, note);
    }

    fn frequencies(&mut self, name: &str, y: &[f64]) {
        let bins = histogram(y);
        let rows: Vec<Vec<String>> =
            bins.iter().map(|bin| vec![number(bin.from), number(bin.to), bin.count.to_string()]).collect();
        self.file("histogram.csv".into(), csv(&["from", "to", "runs"], &rows));
        let picture = Levels {
            title: format!("{name}: histogram"),
            x: name.to_owned(),
            y: "runs".into(),
            levels: bins.iter().map(|bin| format!("{}..{}", short(bin.from), short(bin.to))).collect(),
            series: vec![(String::new(), bins.iter().map(|bin| bin.count as f64).collect())],
            mark: Mark::Bars,
        };
        let picture = picture.svg();
        self.file("histogram.svg".into(), picture.clone());
        self.pictures(format!("{name}: histogram"), vec![picture], None);
    }
}
