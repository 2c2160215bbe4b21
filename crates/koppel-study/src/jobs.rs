//! Job files for clusters: every task of an array runs one part of the study, one more joins them.

use std::path::Path;

/// Who starts the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Slurm, by `sbatch`.
    Slurm,
    /// HyperQueue, by `hq submit`.
    HyperQueue,
}

/// A script that submits `shards` parts of the study in `file`, each with `cpus` processors, and then joins them in `out`.
#[must_use]
pub fn job_file(file: &Path, out: &Path, shards: u64, cpus: usize, scheduler: Scheduler) -> String {
    let (file, folder) = (quoted(file), quoted(out));
    let part = |task: &str| {
        format!(
            "koppel study {file} --shard \"{task}/{shards}\" --threads {cpus} --out {folder}/shard-\"{task}\" --quiet"
        )
    };
    let merge = format!("koppel study merge {folder}/shard-* -o {folder}/whole");
    let about =
        format!("# {shards} parts of the study {file}; submit an interrupted part again to continue it.\n");
    match scheduler {
        Scheduler::Slurm => format!(
            "#!/bin/bash\n#SBATCH --job-name=koppel-study\n#SBATCH --array=1-{shards}\n#SBATCH --cpus-per-task={cpus}\n\
             #SBATCH --output=koppel-study-%A-%a.out\n#SBATCH --requeue\n{about}\
             # Submit: job=$(sbatch --parsable THIS_FILE)\n\
             # Join:   sbatch --dependency=afterany:$job --wrap '{merge}'\nset -euo pipefail\n{}\n",
            part("${SLURM_ARRAY_TASK_ID}")
        ),
        Scheduler::HyperQueue => format!(
            "#!/bin/bash\n{about}# Run this file where `hq` can reach its server.\nset -euo pipefail\n\
             hq submit --wait --name koppel-study --array 1-{shards} --cpus {cpus} --crash-limit 5 -- \\\n  \
             bash -c '{}'\n{merge}\n",
            part("${HQ_TASK_ID}").replace('\'', "'\\''")
        ),
    }
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
