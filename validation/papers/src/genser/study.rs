//! A design of experiments of the thesis as a study of `koppel-study`.

use std::fs;
use std::sync::Arc;

use koppel_io::Error as Io;
use koppel_io::results::write_whole;
use koppel_study::analysis::{Anova, Data, Sorting, anova, sorting};
use koppel_study::design::Design;
use koppel_study::{Control, Error as StudyError, Options, Prepared, Shard, load, run};

use crate::context::Context;
use crate::numerical_prestep;
use crate::{Error, Result};

/// A study file, and how `--quick` makes it smaller.
pub(super) struct Plan {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    /// Fewer values of these factors.
    pub(super) quick: &'static [(&'static str, &'static str)],
}

/// What came of it.
pub(super) struct Studied {
    pub(super) data: Data,
    /// The error of each run.
    pub(super) y: Vec<f64>,
    pub(super) anova: Anova,
    pub(super) sorting: Sorting,
    /// Runs.
    pub(super) runs: u64,
}

impl Plan {
    /// The study file with fewer values, if it is to be quick.
    pub(super) fn file(&self, is_quick: bool) -> String {
        let line = |line: &str| {
            let fewer = self.quick.iter().find(|(name, _)| line.starts_with(&format!("{name} = ")));
            match fewer.filter(|_| is_quick).zip(line.split_once("values = ")) {
                Some(((_, values), (before, after))) => {
                    let rest = after.split_once(']').map_or("", |(_, rest)| rest);
                    format!("{before}values = {values}{rest}\n")
                }
                None => format!("{line}\n"),
            }
        };
        self.text.lines().map(line).collect()
    }

    /// Makes the runs that are not on the disk yet.
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Studied> {
        let name = if context.is_quick { format!("{}-quick", self.name) } else { self.name.into() };
        let folder = context.folder.join("studies");
        fs::create_dir_all(&folder).map_err(Io::io("create", &folder))?;
        let file = folder.join(format!("{name}.toml"));
        write_whole(&file, &self.file(context.is_quick))?;
        numerical_prestep::add();
        let study = Arc::new(load(&file)?);
        let design = Design::new(&study.factors, &study.plan).ok_or(StudyError::Countless)?;
        let runs = design.runs();
        let prepared = Prepared::new(study.clone(), design)?;
        let options = Options { threads: context.threads, shard: Shard::WHOLE, is_large_accepted: true };
        let mut stopped = false;
        let (header, rows, progress) = run(&prepared, &folder.join(&name), options, &mut |progress| {
            let part = (progress.before + progress.finished) as f64 / progress.runs.max(1) as f64;
            stopped |= context.tell(part).is_err();
            if stopped { Control::Stop } else { Control::Continue }
        })?;
        if progress.before + progress.finished < progress.runs {
            return Err(Error::Stopped);
        }
        let data = Data::new(&header, &rows)?;
        let y = data.measure("error").map(|(_, values)| values.clone()).unwrap_or_default();
        let levels: Vec<usize> = data.factors.iter().map(|factor| factor.levels.len()).collect();
        let at: Vec<&[usize]> = data.factors.iter().map(|factor| factor.at.as_slice()).collect();
        let found = anova(&levels, &at, &y).zip(sorting(&data.factors, &y, 0.1, study.analysis.at_least));
        let Some((anova, sorting)) = found else { return Err(StudyError::NoStudy { folder }.into()) };
        Ok(Studied { data, y, anova, sorting, runs })
    }
}

impl Studied {
    /// The same runs with other errors; nothing if they cannot be analysed.
    pub(super) fn with_errors(&self, y: Vec<f64>) -> Option<Studied> {
        let factors = &self.data.factors;
        let levels: Vec<usize> = factors.iter().map(|factor| factor.levels.len()).collect();
        let at: Vec<&[usize]> = factors.iter().map(|factor| factor.at.as_slice()).collect();
        let (anova, sorting) = anova(&levels, &at, &y).zip(sorting(factors, &y, 0.1, 1))?;
        Some(Studied { data: self.data.clone(), y, anova, sorting, runs: self.runs })
    }

    /// The factor of this name.
    pub(super) fn factor(&self, name: &str) -> usize {
        self.data.factors.iter().position(|factor| factor.name == name).unwrap_or(0)
    }

    /// Sum of squares of an effect, and its share of all in percent.
    pub(super) fn effect(&self, names: &[&str]) -> (f64, f64) {
        let mut wanted: Vec<usize> = names.iter().map(|name| self.factor(name)).collect();
        wanted.sort_unstable();
        let sum: f64 = self.anova.terms.iter().map(|term| term.sum).sum();
        let term = self.anova.terms.iter().find(|term| term.factors == wanted);
        term.map_or((f64::NAN, f64::NAN), |term| (term.sum, 100.0 * term.sum / sum))
    }

    /// Effects by their sums of squares, the largest first: names and shares in percent.
    pub(super) fn ranking(&self) -> Vec<(String, f64)> {
        let sum: f64 = self.anova.terms.iter().map(|term| term.sum).sum();
        let mut all: Vec<(String, f64)> =
            self.anova.terms.iter().map(|term| (self.words(&term.factors), 100.0 * term.sum / sum)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// Names of the factors of an effect.
    pub(super) fn words(&self, factors: &[usize]) -> String {
        factors.iter().map(|k| self.data.factors[*k].name.as_str()).collect::<Vec<_>>().join(" – ")
    }

    /// Mean of the error at each level of a factor.
    pub(super) fn means(&self, name: &str) -> Vec<f64> {
        let factor = &self.data.factors[self.factor(name)];
        koppel_study::analysis::response(factor, &self.y).iter().map(|response| response.mean).collect()
    }

    /// Mean value of a number over the nearly best runs.
    pub(super) fn optimum(&self, name: &str) -> f64 {
        self.sorting.optimum[self.factor(name)].mean.unwrap_or(f64::NAN)
    }

    /// Most frequent value over the nearly best runs.
    pub(super) fn mode(&self, name: &str) -> String {
        let k = self.factor(name);
        self.data.factors[k].levels[self.sorting.optimum[k].mode].label.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_studies_differ_in_the_values_of_their_factors_only() {
        let plan = Plan {
            name: "p",
            text: "[factors]\na = { path = \"run.step\", values = [1, 2, 3] }\nab = { values = [\"x\"], labels = [\"l\"] }\n",
            quick: &[("a", "[1]"), ("ab", "[\"y\"]")],
        };
        assert_eq!(plan.file(false), plan.text);
        let quick = "[factors]\na = { path = \"run.step\", values = [1] }\nab = { values = [\"y\"], labels = [\"l\"] }\n";
        assert_eq!(plan.file(true), quick);
    }
}
