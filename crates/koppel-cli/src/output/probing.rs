//! What exciting the subsystems before a run has shown.

use koppel::diagnostic::in_one_line;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use koppel::run::Run;
use koppel::workbench::{Pole, ProbeReport};
use serde::Serialize;

use super::{Grid, SHOWN, duration, joined, significant};

/// Most poles shown of one subsystem.
const POLES: usize = 6;

/// Of all subsystems.
#[derive(Debug, Serialize)]
pub(crate) struct Probing {
    /// Time spent on it, of all subsystems together.
    seconds: f64,
    /// Calls of stepping functions it took.
    step_calls: u64,
    /// Subsystems of which all was known.
    from_cache: usize,
    subsystems: Vec<ProbeReport>,
}

impl Probing {
    pub(crate) fn new(run: &Run) -> Self {
        let reports = run.probing();
        Probing {
            seconds: reports.iter().map(|report| report.seconds).sum(),
            step_calls: reports.iter().map(|report| report.step_calls).sum(),
            from_cache: reports.iter().filter(|report| report.from_cache).count(),
            subsystems: reports.to_vec(),
        }
    }

    /// Nothing if nothing was to be excited.
    pub(crate) fn of(run: &Run) -> Option<Self> {
        (!run.probing().is_empty()).then(|| Probing::new(run))
    }

    /// For the summary of a run that called stepping functions so often itself.
    pub(crate) fn facts(&self, calls: u64) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        let excited = self.subsystems.iter().filter(|report| report.step_calls > 0).count();
        if excited > 0 {
            facts.push((
                "probing",
                format!("{} probed before the run, in {}", subsystems(excited), time(self.seconds)),
            ));
        }
        if self.from_cache > 0 {
            facts.push(("probing", format!("models of {} from the cache", subsystems(self.from_cache))));
        }
        facts.push(("step calls", format!("{calls} of the run, {} of the probing", self.step_calls)));
        let lacking = self.subsystems.iter().filter(|r| r.reason.is_some() && !r.outputs.is_empty());
        facts.extend(lacking.map(|report| ("probing", consequence(report))));
        facts
    }

    /// Everything, for `koppel probe`.
    pub(crate) fn text(&self, title: &str, step: f64, nodes: usize, cache: Option<&Path>) -> String {
        let count = self.subsystems.len();
        let mut text = format!("{title}\n  {:17} {} s, {nodes} nodes\n", "step", significant(step, 12));
        let known = cache.map_or_else(
            || "none".to_owned(),
            |folder| format!("models of {} of {count} from `{}`", self.from_cache, folder.display()),
        );
        let _ = writeln!(text, "  {:17} {known}", "cache");
        let names = ["subsystem", "order", "error", "amplitude", "time", "step calls", "poles"];
        let mut grid = Grid::new(&names);
        for report in &self.subsystems {
            let number = |value: Option<f64>| value.map_or("-".into(), |value| significant(value, 3));
            grid.row([
                report.subsystem.clone(),
                report.order.map_or("-".into(), |order| order.to_string()),
                number(report.error),
                number(report.amplitude),
                time(report.seconds),
                if report.from_cache { "from the cache".into() } else { report.step_calls.to_string() },
                poles(&report.poles),
            ]);
        }
        let _ = write!(text, "\n{}", grid.text());
        let mut grid = Grid::new(&["port", "", "range", "unit", "by"]);
        for report in &self.subsystems {
            let ports = |kind: &'static str| {
                let list = if kind == "input" { &report.inputs } else { &report.outputs };
                list.iter().map(move |port| (kind, port))
            };
            for (kind, port) in ports("input").chain(ports("output")) {
                grid.row([
                    format!("{}.{}", report.subsystem, port.name),
                    kind.into(),
                    significant(port.range, 4),
                    port.unit.clone().unwrap_or_default(),
                    port.from.words().into(),
                ]);
            }
        }
        let _ = write!(text, "\n{}", grid.text());
        for report in self.subsystems.iter().filter(|report| report.reason.is_some()).take(SHOWN) {
            let _ = writeln!(text, "\n{}", consequence(report));
        }
        text
    }
}

/// Why there is no model, and what that means.
fn consequence(report: &ProbeReport) -> String {
    // What an FMU said about it comes below, and is told elsewhere.
    let reason = in_one_line(report.reason.as_deref().unwrap_or_default(), 1);
    let follows = match report.connections.as_slice() {
        [] => "nothing is connected to it, so this has no effect".to_owned(),
        list => {
            format!("its model is learned during the run; until then, held values at {}", joined(list, ", "))
        }
    };
    format!("`{}` has no model: {reason}; {follows}", report.subsystem)
}

fn subsystems(count: usize) -> String {
    if count == 1 { "1 subsystem".into() } else { format!("{count} subsystems") }
}

fn time(seconds: f64) -> String {
    duration(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// Time constants, frequencies and dampings.
fn poles(all: &[Pole]) -> String {
    let one = |pole: &Pole| match *pole {
        Pole { re, im } if im > 0.0 => {
            let frequency = re.hypot(im);
            format!("{} rad/s (damping {})", significant(frequency, 3), significant(-re / frequency, 2))
        }
        Pole { re, .. } if re >= 0.0 => format!("grows with {} s", significant(1.0 / re, 3)),
        Pole { re, .. } => format!("{} s", significant(-1.0 / re, 3)),
    };
    let mut shown: Vec<String> = all.iter().take(POLES).map(one).collect();
    if all.len() > POLES {
        shown.push(format!("{} more", all.len() - POLES));
    }
    shown.join(", ")
}
