//! The HTML of the page.

use std::fmt::Write;

use serde_json::{Value, json};

use super::decimate::{POINTS_PER_SERIES, rows_to_show};
use super::html::{base64, escape, script_json};
use super::{PlotGroup, Report, Section};

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
const UPLOT_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const UPLOT_SCRIPT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const UPLOT_LICENSE: &str = include_str!("../../assets/uplot/LICENSE");

/// Nothing may be loaded, whatever the page holds.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The complete page.
pub(super) fn render(report: &Report) -> String {
    let mut page = String::new();
    let title = escape(&report.title);
    push(
        &mut page,
        format_args!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>{UPLOT_STYLE}\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n<p class=\"by\">{}</p>\n</header>\n<main>\n",
            escape(&report.generated_by),
        ),
    );
    write_contents(&mut page, &report.sections);
    write_summary(&mut page, &report.summary);
    let mut plots = Vec::new();
    for (index, section) in report.sections.iter().enumerate() {
        push(&mut page, format_args!("<section id=\"s{index}\">\n<h2>{}</h2>\n", escape(heading(section))));
        write_section(&mut page, section, &mut plots);
        page.push_str("</section>\n");
    }
    page.push_str("</main>\n");
    if !plots.is_empty() {
        write_scripts(&mut page, plots);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn heading(section: &Section) -> &str {
    match section {
        Section::Table { title, .. }
        | Section::Text { title, .. }
        | Section::Code { title, .. }
        | Section::Links { title, .. }
        | Section::Pictures { title, .. }
        | Section::Plots { title, .. } => title,
    }
}

fn write_section(page: &mut String, section: &Section, plots: &mut Vec<Value>) {
    match section {
        Section::Table { header, rows, note, .. } => write_table(page, header, rows, note.as_deref()),
        Section::Text { text, .. } => {
            for paragraph in text.split("\n\n").filter(|text| !text.trim().is_empty()) {
                push(page, format_args!("<p>{}</p>\n", escape(paragraph.trim())));
            }
        }
        Section::Code { text, .. } => push(page, format_args!("<pre><code>{}</code></pre>\n", escape(text))),
        Section::Links { links, .. } => {
            for (name, place) in links {
                push(page, format_args!("<p><a href=\"{}\">{}</a></p>\n", escape(place), escape(name)));
            }
        }
        Section::Pictures { pictures, note, .. } => write_pictures(page, pictures, note.as_deref()),
        Section::Plots { groups, .. } => write_plots(page, groups, plots),
    }
}

fn write_pictures(page: &mut String, pictures: &[String], note: Option<&str>) {
    page.push_str("<div class=\"pictures\">\n");
    for picture in pictures {
        push(page, format_args!("<figure>{}</figure>\n", picture.trim_end()));
    }
    page.push_str("</div>\n");
    if let Some(note) = note {
        push(page, format_args!("<p class=\"note\">{}</p>\n", escape(note)));
    }
}

fn write_contents(page: &mut String, sections: &[Section]) {
    if sections.len() < 2 {
        return;
    }
    page.push_str("<nav aria-label=\"Contents\">\n");
    for (index, section) in sections.iter().enumerate() {
        push(page, format_args!("<a href=\"#s{index}\">{}</a>\n", escape(heading(section))));
    }
    page.push_str("</nav>\n");
}

fn write_summary(page: &mut String, summary: &[(String, String)]) {
    if summary.is_empty() {
        return;
    }
    page.push_str("<dl class=\"summary\">\n");
    for (name, value) in summary {
        push(page, format_args!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value)));
    }
    page.push_str("</dl>\n");
}

fn write_table(page: &mut String, header: &[String], rows: &[Vec<String>], note: Option<&str>) {
    page.push_str("<div class=\"wide\"><table>\n<thead><tr>");
    for (index, name) in header.iter().enumerate() {
        let class = if is_numeric(rows, index) { " class=\"number\"" } else { "" };
        push(page, format_args!("<th{class} scope=\"col\">{}</th>", escape(name)));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        page.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let class = if is_numeric(rows, index) { " class=\"number\"" } else { "" };
            push(page, format_args!("<td{class}>{}</td>", escape(cell)));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
    if let Some(note) = note {
        push(page, format_args!("<p class=\"note\">{}</p>\n", escape(note)));
    }
}

/// A column of numbers, perhaps with units behind them.
fn is_numeric(rows: &[Vec<String>], index: usize) -> bool {
    let starts_with_number =
        |cell: &String| cell.split_whitespace().next().is_some_and(|word| word.parse::<f64>().is_ok());
    let mut cells = rows.iter().filter_map(|row| row.get(index)).filter(|cell| !cell.is_empty()).peekable();
    cells.peek().is_some() && cells.all(starts_with_number)
}

/// The places of the plots; what is drawn there is added to `plots`.
fn write_plots(page: &mut String, groups: &[PlotGroup], plots: &mut Vec<Value>) {
    let series: usize = groups.iter().map(|group| group.series.len()).sum();
    push(
        page,
        format_args!(
            "<div class=\"tools\"><input type=\"search\" class=\"filter\" placeholder=\"Filter {} plots, {series} signals…\" \
         aria-label=\"Filter plots by signal, subsystem or unit\"><button type=\"button\" class=\"reset\">Reset zoom</button>\
         <span class=\"hint\">Drag to zoom, double-click to reset; click a name in the legend to hide it.</span></div>\n\
         <div class=\"plots\">\n",
            groups.len(),
        ),
    );
    let mut reduced = false;
    for group in groups {
        let rows = rows_to_show(group, POINTS_PER_SERIES);
        let remark = if rows.len() < group.time.len() {
            reduced = true;
            format!("<span class=\"reduced\">{} of {} points</span>", rows.len(), group.time.len())
        } else {
            String::new()
        };
        let unit = group.unit.as_deref().filter(|unit| !unit.is_empty());
        let unit = unit.map(|unit| format!(" <span class=\"unit\">[{}]</span>", escape(unit)));
        push(
            page,
            format_args!(
                "<figure data-plot=\"{}\"><figcaption>{}{}{remark}</figcaption><div class=\"canvas\"></div></figure>\n",
                plots.len(),
                escape(&group.title),
                unit.unwrap_or_default(),
            ),
        );
        plots.push(plot(group, &rows));
    }
    page.push_str("</div>\n<p class=\"note nothing\" hidden>No plot matches.</p>\n");
    if reduced {
        push(
            page,
            format_args!(
                "<p class=\"note\">Long signals are reduced to at most {POINTS_PER_SERIES} recorded points: the smallest and the \
             largest value of every short interval are always shown. The result file holds every point.</p>\n",
            ),
        );
    }
}

/// One plot as the script reads it.
fn plot(group: &PlotGroup, rows: &[usize]) -> Value {
    let encode = |values: &[f64]| {
        assert_eq!(values.len(), group.time.len(), "a series has one value per time");
        base64(rows.iter().map(|&row| values[row]))
    };
    let series: Vec<Value> = group
        .series
        .iter()
        .map(|series| json!({ "name": series.name, "values": encode(&series.values) }))
        .collect();
    json!({
        "title": group.title,
        "unit": group.unit,
        "time": encode(&group.time),
        "series": series,
    })
}

/// The numbers, uPlot and the script of the page.
fn write_scripts(page: &mut String, plots: Vec<Value>) {
    // The banner of uPlot names its address; the page names no address at all, so the licence stands here instead.
    let uplot = UPLOT_SCRIPT.split_once("*/").map_or(UPLOT_SCRIPT, |(_, script)| script);
    push(
        page,
        format_args!(
            "<script type=\"application/json\" id=\"plots\">{}</script>\n\
         <script>/*! uPlot 1.6.32\n{UPLOT_LICENSE}*/{uplot}</script>\n<script>{SCRIPT}</script>\n",
            script_json(&Value::Array(plots)),
        ),
    );
}

fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = page.write_fmt(text);
}
