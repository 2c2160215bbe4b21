//! The report is opened in a real browser: its plots are drawn, zoom together and cannot be broken by names.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use koppel_io::report::{POINTS_PER_SERIES, PlotGroup, Report, Section, Series, write_report};
use serde_json::Value;

const EVIL: &str = "</script><script>document.body.dataset.error='broken'</script><!-- \"' &";
const ROWS: usize = 50_000;

#[test]
fn plots_are_drawn_and_zoom_together() {
    let dom = open(&report(), "#selftest");
    assert_eq!(attribute(&dom, "data-error"), None);
    assert_eq!(attribute(&dom, "data-plots").as_deref(), Some("3"));
    assert_eq!(dom.matches("<canvas").count(), 3);
    assert!(attribute(&dom, "data-points").unwrap().parse::<usize>().unwrap() <= POINTS_PER_SERIES);
    assert!(dom.contains(&format!("of {ROWS} points")), "the page says that points were left out");

    let selftest = attribute(&dom, "data-selftest").expect("the self-test ran to its end");
    let selftest: Value = serde_json::from_str(&unescape(&selftest)).unwrap();
    let end = (ROWS - 1) as f64 * 1e-3;
    for plot in 0..3 {
        let range = |when: &str| {
            let range = &selftest[when][plot];
            (range[0].as_f64().unwrap(), range[1].as_f64().unwrap())
        };
        assert_eq!(range("before"), (0.0, end), "plot {plot}");
        let (from, to) = range("zoomed");
        assert!(
            (from - end / 4.0).abs() < 1e-9 && (to - end / 2.0).abs() < 1e-9,
            "plot {plot}: {from} to {to}"
        );
        assert_eq!(range("reset"), (0.0, end), "plot {plot}");
        assert!(selftest["pixels"][plot].as_u64().unwrap() > 2000, "plot {plot} is painted");
    }
    assert_eq!(
        (&selftest["hidden"], &selftest["shown"]),
        (&3.into(), &3.into()),
        "the filter hides and shows"
    );
}

#[test]
fn names_cannot_break_the_page() {
    let report = report();
    let dom = open(&report, "");
    assert_eq!(attribute(&dom, "data-error"), None);
    assert_eq!(attribute(&dom, "data-plots").as_deref(), Some("3"));
    let page = page(&report);
    assert!(!page.contains(EVIL));
    assert_eq!(page.matches("</script>").count(), 3, "numbers, uPlot and the page's own script");
    assert!(dom.contains("&lt;/script&gt;"), "the name is shown as it is");
}

#[test]
fn the_page_needs_no_network() {
    let page = page(&report());
    for address in ["http:", "https:", "src=", "url(", "@import", "<link"] {
        assert!(!page.contains(address), "`{address}` in the page");
    }
    assert!(page.contains("Permission is hereby granted"), "the licence of uPlot comes along");
}

#[test]
fn many_plots_are_drawn_as_they_come_near() {
    let mut many = report();
    let groups = (0..200).map(|n| group(&format!("part {n}"), 10, &["x"])).collect();
    many.sections = vec![Section::Plots { title: "Many".into(), groups }];
    // What is near is told with a frame, and on a busy machine the browser's time may be over before the first one.
    let drawn = (0..10).map(|_| {
        let dom = open(&many, "");
        assert_eq!(attribute(&dom, "data-error"), None);
        attribute(&dom, "data-plots").unwrap().parse::<usize>().unwrap()
    });
    let drawn = drawn.into_iter().find(|drawn| *drawn > 0).unwrap_or_default();
    assert!((1..200).contains(&drawn), "{drawn} drawn");
}

#[test]
fn a_report_without_plots_has_no_script() {
    let report = Report { title: "Nothing".into(), ..Report::default() };
    assert!(!page(&report).contains("<script"));
}

fn report() -> Report {
    Report {
        title: format!("Report {EVIL}"),
        generated_by: EVIL.into(),
        summary: vec![(EVIL.into(), EVIL.into())],
        sections: vec![
            Section::Text { title: EVIL.into(), text: EVIL.into() },
            Section::Code { title: "Settings".into(), text: EVIL.into() },
            Section::Table {
                title: "Table".into(),
                header: vec![EVIL.into()],
                rows: vec![vec![EVIL.into()]],
                note: Some(EVIL.into()),
            },
            Section::Plots {
                title: "Signals".into(),
                groups: vec![
                    group("engine", ROWS, &["torque", "load"]),
                    group(EVIL, ROWS, &[EVIL]),
                    group("short", ROWS, &["speed"]),
                ],
            },
        ],
    }
}

/// Oscillations with gaps and infinities.
fn group(title: &str, rows: usize, names: &[&str]) -> PlotGroup {
    let time: Arc<[f64]> = (0..rows).map(|row| row as f64 * 1e-3).collect();
    let values = |phase: usize| {
        let value = |(row, t): (usize, &f64)| match row % 10_007 {
            3 => f64::NAN,
            4 => f64::INFINITY,
            _ => (t + phase as f64).sin(),
        };
        time.iter().enumerate().map(value).collect()
    };
    let series = names
        .iter()
        .enumerate()
        .map(|(phase, name)| Series { name: (*name).to_string(), values: values(phase) });
    PlotGroup { title: title.into(), unit: Some(EVIL.into()), time: time.clone(), series: series.collect() }
}

fn page(report: &Report) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    write_report(&path, report).unwrap();
    std::fs::read_to_string(path).unwrap()
}

/// The document after its scripts have run in a browser.
fn open(report: &Report, fragment: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    write_report(&path, report).unwrap();
    let output = Command::new(chromium())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg("--run-all-compositor-stages-before-draw")
        .args(["--virtual-time-budget=5000", "--window-size=1280,900", "--dump-dom"])
        .arg(format!("file://{}{fragment}", path.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The browser; a machine without one fails the test rather than passing it unseen.
fn chromium() -> PathBuf {
    if let Some(path) = std::env::var_os("KOPPEL_CHROMIUM") {
        return path.into();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|candidate| Path::is_file(candidate));
    found.expect("no Chromium found: `cargo xtask test` installs it, or set KOPPEL_CHROMIUM to its path")
}

/// The value of the first attribute of this name.
fn attribute(dom: &str, name: &str) -> Option<String> {
    let start = dom.find(&format!("{name}=\""))? + name.len() + 2;
    let length = dom[start..].find('"')?;
    Some(dom[start..start + length].to_string())
}

fn unescape(text: &str) -> String {
    text.replace("&quot;", "\"").replace("&amp;", "&")
}
