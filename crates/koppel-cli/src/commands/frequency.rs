//! `koppel check --frequency`.

use std::path::Path;

use koppel::coupling::{CouplingConfig, methods};
use koppel::frequency::{Interface, Taker, Verdict};
use koppel_io::plot::{Curve, Plot, Scale};
use koppel_session::Session;
use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::output::{Grid, significant, write_text};

/// What the frequencies say of a system of two subsystems, under its own coupling and the usual ones.
pub(super) struct Frequency {
    step: f64,
    verdicts: Vec<(String, Verdict)>,
}

impl Frequency {
    pub(super) fn new(session: &Session) -> Result<Self> {
        let refused = |error: Box<koppel::Error>| Failure::of(&*error);
        let run = &session.spec.run;
        let own = run.coupling.parts();
        let given = own
            .iter()
            .filter_map(|part| part.models())
            .map(|own| own.models)
            .find(|models| !models.is_empty());
        let given = given.cloned().unwrap_or_default();
        let interface = Interface::between(&mut session.build()?, &given).map_err(refused)?;
        let usual = methods().into_iter().filter_map(|info| (info.candidates)().into_iter().next());
        let mut all: Vec<(String, CouplingConfig)> = usual.map(|one| (one.name().into(), one)).collect();
        if all.iter().all(|(_, coupling)| *coupling != run.coupling) {
            all.insert(0, (format!("{} as in the file", run.coupling.name()), run.coupling.clone()));
        }
        let mut verdicts = Vec::new();
        for (name, coupling) in all {
            if let Some(verdict) = interface.judge(&coupling, run.hold, run.step).map_err(refused)? {
                verdicts.push((name, verdict));
            }
        }
        Ok(Frequency { step: run.step, verdicts })
    }

    pub(super) fn text(&self) -> String {
        let number = |value: f64| if value.is_finite() { significant(value, 3) } else { "always".into() };
        let mut grid = Grid::new(&[
            "coupling",
            "loop",
            "margin",
            "at f H",
            "loop gain",
            "small gain",
            "passive to f H, first",
            "second",
        ]);
        for (name, verdict) in &self.verdicts {
            let [first, second] =
                verdict.passive_to.map_or(["-".into(), "-".into()], |ends| ends.map(number));
            grid.row([
                name.clone(),
                if verdict.is_stable() { "stable".into() } else { "unstable".into() },
                number(verdict.margin),
                number(verdict.margin_at),
                number(verdict.gain),
                if verdict.gain < 1.0 { "yes".into() } else { "no".into() },
                first,
                second,
            ]);
        }
        let force = match self.verdicts.first().and_then(|(_, verdict)| verdict.force) {
            Some(Taker::AsItIs) => {
                "The present causality has the lower loop gain where the exchange causes errors.\n"
            }
            Some(Taker::TheOther) => {
                "The other causality, with the force received by the other side, would have the lower loop gain where the exchange causes errors.\n"
            }
            None => "",
        };
        let several = self.verdicts.iter().any(|(_, verdict)| verdict.passive_to.is_none());
        let several = if several { "Passivity is judged for one signal each way only.\n" } else { "" };
        format!(
            "Over frequency, step {} s, without aliasing from above half the sampling frequency:\n{}{several}{force}",
            significant(self.step, 6),
            grid.whole()
        )
    }

    pub(super) fn document(&self) -> Value {
        let verdict = |(name, verdict): &(String, Verdict)| {
            json!({
                "coupling": name,
                "stable": verdict.is_stable(),
                "unstable_poles": verdict.unstable_poles,
                "margin": verdict.margin,
                "margin_at": verdict.margin_at,
                "loop_gain": verdict.gain,
                "small_gain": verdict.gain < 1.0,
                "passive_to": verdict.passive_to.map(|ends| ends.map(|end| end.is_finite().then_some(end))),
                "other_causality_is_better": verdict.force.map(|force| force == Taker::TheOther),
            })
        };
        self.verdicts.iter().map(verdict).collect()
    }

    /// The Nyquist curves, near the critical point.
    pub(super) fn plot(&self, path: &Path) -> Result<()> {
        let near = |x: f64, y: f64| x.abs() < 4.0 && y.abs() < 4.0;
        let point = |(_, z): &(f64, koppel::linalg::Complex)| {
            if near(z.re, z.im) { (z.re, z.im) } else { (f64::NAN, f64::NAN) }
        };
        let mut curves: Vec<Curve> = self
            .verdicts
            .iter()
            .map(|(name, verdict)| Curve {
                name: name.clone(),
                points: verdict.curve.iter().map(point).collect(),
            })
            .collect();
        curves.push(Curve {
            name: "-1".into(),
            points: vec![(-1.1, 0.0), (-0.9, 0.0), (-1.0, 0.0), (-1.0, 0.1), (-1.0, -0.1)],
        });
        let plot = Plot {
            title: format!("Loop transfer, step {} s", significant(self.step, 6)),
            x: "real part".into(),
            y: "imaginary part".into(),
            scale: [Scale::Linear; 2],
            curves,
        };
        write_text(path, &plot.svg())
    }
}
