//! What a run left behind, and what to do next.

use super::super::{bytes, counted, quoted, significant};
use super::{File, Summary, Written};

impl Summary {
    /// Every file that was written.
    pub(super) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        if let Some(File { path, sidecar, rows, bytes: size }) = &self.out {
            files.push(format!("{path}: {}, {}", counted(*rows, "row"), bytes(*size)));
            files.extend(sidecar.iter().map(|path| format!("{path}: its units and settings")));
        }
        files.extend(self.report.iter().map(|path| format!("{path}: the report")));
        files.extend(
            self.saved_models
                .iter()
                .map(|path| format!("{path}: the models, for model = {{ file = \"...\" }}")),
        );
        if let Some(Written { path, time }) = &self.checkpoint {
            let use_of_it = match self.status {
                "finished" => "; needed only to continue with --stop",
                _ => "",
            };
            let time = significant(*time, 12);
            files.push(format!("{}: the checkpoint at t = {time} s{use_of_it}", path.display()));
        }
        let logs = self.input_logs.iter();
        files.extend(
            logs.map(|path| {
                format!("{path}: inputs of an FMU that cannot save its state, for the checkpoint")
            }),
        );
        files
    }

    /// What the user may want to do next.
    pub(crate) fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        if self.files().is_empty() && self.error.is_none() && self.report_error.is_none() {
            hints.push(
                "nothing was written; keep the results with --out FILE.csv or --out FILE.parquet".to_owned(),
            );
        }
        if let (Some(file), true) = (&self.out, self.status == "failed") {
            hints.push(format!(
                "the {} rows up to t = {} s are kept in {}",
                file.rows,
                significant(self.end_time, 12),
                file.path
            ));
        }
        if let (Some(file), Some(_)) = (&self.out, &self.report_error) {
            hints.push(format!("there is no report, but all {} rows are in {}", file.rows, file.path));
        }
        if let (Some(Written { path, .. }), "interrupted") = (&self.checkpoint, self.status) {
            hints.push(format!("continue with `koppel resume {}`", quoted(path)));
        }
        if let (Some(Written { path, time }), "failed") = (&self.checkpoint, self.status) {
            let time = significant(*time, 12);
            hints.push(format!(
                "`koppel resume {}` continues from the checkpoint at t = {time} s",
                quoted(path)
            ));
        } else if self.is_crash {
            hints.push("with --checkpoint-every, a run can continue from its last checkpoint".to_owned());
        }
        hints
    }
}
