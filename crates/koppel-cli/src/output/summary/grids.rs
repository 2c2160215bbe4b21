//! The tables of a summary.

use super::super::unconnected::defaults_grid;
use super::super::{Grid, SHOWN, duration, significant};
use super::{CouplingError, Summary, Work, certificate, models, seconds};

/// A table of a summary.
pub(in crate::output) struct Titled {
    pub(in crate::output) title: &'static str,
    pub(in crate::output) grid: Grid,
    pub(in crate::output) note: Option<&'static str>,
}

impl Summary {
    /// All tables that have rows.
    pub(in crate::output) fn tables(&self) -> Vec<Titled> {
        let all = [
            ("Where the time went", self.work(), self.work_note()),
            ("Coupling errors", self.errors(), None),
            ("Estimated errors of outputs", certificate::errors(self.certificate.as_ref()), None),
            ("Models", models::qualities(self.models.as_ref()), None),
            ("Iterated loops", self.iterations(), None),
            ("Unconnected inputs", defaults_grid(&self.unconnected_inputs), None),
        ];
        let all = all.into_iter().filter(|(_, grid, _)| !grid.is_empty());
        all.map(|(title, grid, note)| Titled { title, grid, note }).collect()
    }

    /// Where the time went.
    fn work(&self) -> Grid {
        let mut grid = Grid::new(&["where the time went", "solver", "time", "share", "per step"]);
        let share = |s: f64| percent(s / self.wall_seconds.max(1e-9), 1e-6);
        let waiting = self.realtime.iter().map(|_| ("(waiting)", self.waiting_seconds));
        let engine = self.engine_seconds.map(|time| ("(engine)", time));
        let own = engine.into_iter().chain([("(recording)", self.recording_seconds)]);
        for (name, time) in own.chain(waiting) {
            let each = duration(seconds(time / self.steps.max(1) as f64));
            grid.row([name.into(), String::new(), duration(seconds(time)), share(time), each]);
        }
        let mut parts: Vec<&Work> = self.subsystems.iter().collect();
        if parts.len() > SHOWN {
            koppel::sort::sort_by(&mut parts, |a, b| b.seconds.total_cmp(&a.seconds));
        }
        for work in parts {
            let each = duration(seconds(work.seconds / work.steps.max(1) as f64));
            grid.row([
                work.name.clone(),
                work.solver.clone(),
                duration(seconds(work.seconds)),
                share(work.seconds),
                each,
            ]);
        }
        grid
    }

    /// What is to be known of these times.
    fn work_note(&self) -> Option<&'static str> {
        let note = "subsystems ran in parallel: their times may add up to more than the wall time, and the engine's own time is unknown";
        self.engine_seconds.is_none().then_some(note)
    }

    /// Largest coupling errors.
    fn errors(&self) -> Grid {
        let mut grid = Grid::new(&["connection", "largest coupling error", "of its range", "at t/s"]);
        let mut errors: Vec<&CouplingError> = self.connections.iter().collect();
        if errors.len() > SHOWN {
            koppel::sort::sort_by(&mut errors, |a, b| {
                b.relative.unwrap_or(0.0).total_cmp(&a.relative.unwrap_or(0.0))
            });
        }
        for error in errors {
            let unit = error.unit.as_deref().filter(|unit| *unit != "1").unwrap_or("");
            let relative = error.relative.map_or(String::new(), |r| percent(r, 1e-14));
            let largest = format!("{} {unit}", significant(error.largest_error, 4)).trim_end().to_owned();
            grid.row([error.connection.clone(), largest, relative, significant(error.time, 6)]);
        }
        grid
    }

    /// Iterated loops.
    fn iterations(&self) -> Grid {
        let mut grid =
            Grid::new(&["iterated loop", "evaluations per step", "most", "worst residual", "not converged"]);
        for l in &self.loops {
            let missed = match l.first_unconverged {
                None => "0".to_owned(),
                Some(time) => format!("{}, first at t = {} s", l.unconverged, significant(time, 6)),
            };
            let residual = significant(l.worst_residual, 3);
            grid.row([l.path.clone(), significant(l.mean(), 3), l.most.to_string(), residual, missed]);
        }
        grid
    }
}

/// A share in percent; below `least` it is nothing.
fn percent(share: f64, least: f64) -> String {
    if share < least { "0 %".into() } else { format!("{} %", significant(100.0 * share, 2)) }
}
