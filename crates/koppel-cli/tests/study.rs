//! Studies by the real binary: interrupt and resume, parts and the whole, messages.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]

mod common;

use common::{Folder, Said, examples};
use std::process::Command;

const STUDY: &str = r#"
title = "A small study"
system = "system.toml"

[factors]
"run.coupling" = ["zoh", "foh"]
"run.step" = { from = 1e-3, to = 4e-3, steps = 4 }
"right.ck" = [1e4, 1e5]

[reference]
monolithic = true

[measures]
error = { error = "all" }
stable = { stable = "bounded", limit = 3 }
peak = { of = "abs(left.x)", take = "max" }
score = "log(error) * `run.step`"
"#;

fn folder(study: &str) -> Folder {
    let system = std::fs::read_to_string(examples().join("dual-mass.toml")).unwrap();
    let folder = Folder::with(&system);
    folder.write("study.toml", study);
    folder
}

/// Tables and the page, which must not depend on how the runs were made.
const FILES: [&str; 6] = [
    "runs.csv",
    "runs.parquet",
    "index.html",
    "analysis/error/anova.csv",
    "analysis/error/sorted.csv",
    "analysis/stable/regions.csv",
];

fn assert_same(folder: &Folder, one: &str, other: &str) {
    for file in FILES {
        let (a, b) = (folder.bytes(&format!("{one}/{file}")), folder.bytes(&format!("{other}/{file}")));
        assert!(a == b, "{file} of {one} and {other} differ");
    }
}

#[test]
fn tables_are_the_same_bytes_on_any_number_of_threads_and_from_parts() {
    let folder = folder(STUDY);
    folder.succeed(&["study", "study.toml", "--threads", "1", "--out", "one"]).says(&["16 of 16, 0 failed"]);
    folder.succeed(&["study", "study.toml", "--threads", "4", "--out", "many", "--quiet"]);
    assert_same(&folder, "one", "many");
    for part in ["1/3", "2/3", "3/3"] {
        folder.succeed(&["study", "study.toml", "--shard", part, "-q"]);
    }
    let parts = ["study-shard-1-of-3", "study-shard-2-of-3", "study-shard-3-of-3"];
    let said = folder.run(&["study", "merge", parts[0], parts[2], "-o", "some"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&["5 of 16 runs are missing: 1, 4, 7, 10, 13", "koppel study FILE --out some"]);
    folder.succeed(&["study", "merge", parts[0], parts[1], parts[2], parts[1], "-o", "whole"]);
    assert_same(&folder, "one", "whole");
    // What is missing in a merged folder is made by the study itself.
    folder.succeed(&["study", "study.toml", "--out", "some"]).says(&["made     5 runs", "11 existed before"]);
    assert_same(&folder, "one", "some");
    folder.succeed(&["study", "analyse", "one"]).says(&["best     error"]);
    assert_same(&folder, "one", "whole");
}

/// Times differ from run to run, and so does what is made of them: parts that overlap are joined all the same.
#[test]
fn what_is_made_of_times_is_not_compared() {
    let folder = folder(
        "system = \"system.toml\"\n[factors]\n\"run.step\" = [1e-3, 2e-3]\n[measures]\n\
         seconds = { figure = \"seconds\" }\ntwice = \"2 * seconds\"\nthrice = \"twice * 1.5\"\n\
         peak = { of = \"left.x\", take = \"max\" }\ndouble = \"2 * peak\"\n",
    );
    for out in ["one", "other"] {
        folder.succeed(&["study", "study.toml", "--out", out, "-q"]);
    }
    assert_ne!(folder.read("one/runs.csv"), folder.read("other/runs.csv"), "times differ");
    folder.succeed(&["study", "merge", "one", "other", "-o", "both"]).says(&["2 of 2"]);
    assert!(folder.has("one/analysis/double") && folder.has("one/analysis/peak"));
    assert!(!folder.has("one/analysis/thrice"), "times are not looked at unless asked for");
}

/// Errors against the monolithic solution fall with the step; every row is what `koppel run` gives.
#[test]
fn rows_are_those_of_single_runs() {
    let folder = folder(STUDY);
    folder.succeed(&["study", "study.toml", "-q", "--out", "all"]);
    let text = folder.read("all/runs.csv");
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 16);
    let row = rows.iter().find(|row| row[1..4] == ["foh", "0.002", "100000.0"]).unwrap();
    folder.succeed(&["run", "system.toml", "--coupling", "foh", "--step", "2e-3", "--out", "r.csv", "-q"]);
    let peak = folder.column("r.csv", "left.x").iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    assert_eq!(row[6].parse::<f64>().unwrap(), peak);
    let error = |step: &str| -> f64 {
        rows.iter().find(|row| row[1..4] == ["zoh", step, "10000.0"]).unwrap()[4].parse().unwrap()
    };
    assert!(error("0.001") < error("0.004") && error("0.001") > 0.0);
}

/// What certificates say agrees with the reference that they do not need.
#[test]
fn certificates_are_measures() {
    let more = "certain = { certificate = \"error\" }\nmost = { certificate = \"most\" }\n\
                trusted = { certificate = \"trusted\" }\nwrong = { certificate = \"wrong\" }\nscore =";
    let study = STUDY.replace(
        "error = { error = \"all\" }",
        "error = { error = \"all\", take = \"rms\", combine = \"max\" }",
    );
    let folder = folder(&study.replace("score =", more));
    folder.succeed(&["study", "study.toml", "-q", "--out", "all"]);
    let text = folder.read("all/runs.csv");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let of = |name: &str| -> Vec<f64> {
        let at = rows[0].iter().position(|column| *column == name).unwrap();
        rows[1..].iter().map(|row| row[at].parse().unwrap()).collect()
    };
    let (error, certain, most) = (of("error"), of("certain"), of("most"));
    let (trusted, wrong) = (of("trusted"), of("wrong"));
    assert_eq!(error.len(), 16);
    for run in 0..16 {
        assert!(certain[run] <= most[run], "{run}");
        assert!(trusted[run] + wrong[run] <= 1.0, "{run}");
        if wrong[run] == 0.0 {
            let apart = (certain[run] / error[run] - 1.0).abs();
            assert!(apart < 0.2, "run {run}: {} by the certificate, {} in truth", certain[run], error[run]);
        }
    }
    assert!(trusted.contains(&1.0) && trusted.contains(&0.0), "{trusted:?}");
    let said = folder.run(&["study", "study.toml", "--out", "all"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    folder.write("study.toml", &study.replace("score =", &more.replace("\"most\"", "\"mots\"")));
    folder
        .run(&["study", "study.toml", "--out", "b"])
        .errs_with(&["unknown certificate `mots`", "did you mean `most`?"]);
}

/// Many short runs, killed while they are made: nothing that was finished is made again, and the tables are the same.
#[cfg(unix)]
#[test]
fn a_killed_study_goes_on() {
    let study = STUDY.replace("steps = 4 }", "steps = 1500 }");
    let folder = folder(&study);
    folder.succeed(&["study", "study.toml", "-q", "--out", "undisturbed"]);
    for signal in ["KILL", "KILL", "INT"] {
        let child = folder.spawn(&["study", "study.toml", "-q", "--out", "killed", "--threads", "2"]);
        let begin = std::time::Instant::now();
        let size = || std::fs::metadata(folder.path("killed/runs.log")).map_or(0, |log| log.len());
        let before = size();
        while size() < before + 20_000 && begin.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        common::signal(&child, signal);
        let said = Said::new(child.wait_with_output().unwrap());
        assert!(!folder.has("killed/runs.csv"), "the study was over too soon");
        if signal == "INT" {
            assert_eq!(said.code, Some(130), "{}", said.err);
            said.errs_with(&["runs remain; the same command continues"]);
        }
    }
    // Half a line, as if the machine had been switched off.
    let mut log = folder.bytes("killed/runs.log");
    let lines = log.iter().filter(|byte| **byte == b'\n').count() - 1;
    log.extend_from_slice(b"17\t0.25");
    std::fs::write(folder.path("killed/runs.log"), &log).unwrap();
    let said = folder.succeed(&["study", "study.toml", "--out", "killed"]);
    said.says(&[&format!("{lines} existed before"), &format!("made     {} runs", 6000 - lines)]);
    assert_same(&folder, "undisturbed", "killed");
}

#[test]
fn a_failing_run_is_a_row() {
    let study = STUDY.replace("\"right.ck\" = [1e4, 1e5]", "\"run.schedule\" = [\"parallel\", [\"left\"]]");
    let folder = folder(&study.replace("error = \"all\" }", "error = \"all\", failed = 7 }"));
    let said = folder.succeed(&["study", "study.toml", "--out", "out"]);
    said.says(&["16 of 16, 8 failed", "failure  run 1: "]);
    said.errs_with(&["factor `run.schedule`, value `[\"left\"]`: "]);
    let text = folder.read("out/runs.csv");
    let second = text.lines().nth(2).unwrap();
    assert!(second.starts_with("1,zoh,0.001,\"[\"\"left\"\"]\",7.0,0.0,NaN,"), "{second}");
    assert!(second.contains("schedule"), "{second}");
    assert!(folder.read("out/index.html").contains("Failed runs"));
}

/// Mistakes are shown at their place in the study file, and nothing is run.
#[test]
fn mistakes_are_told() {
    let cases = [
        (
            "run.step",
            "run.stpe",
            &["unknown key `stpe` in [run]", "did you mean `step`?", "study.toml:7:1"][..],
        ),
        ("\"right.ck\" =", "\"right.cck\" =", &["unknown setting `right.cck`", "did you mean `right.ck`?"]),
        (
            "\"right.ck\" =",
            "\"rigth.ck\" =",
            &["unknown setting or subsystem `rigth`", "did you mean `right`?"],
        ),
        ("[1e4, 1e5]", "[]", &["the range of factor `right.ck` is empty", "study.toml:8"]),
        (
            "from = 1e-3, to = 4e-3",
            "from = 4e-3, to = 1e-3",
            &["the range of factor `run.step` is empty", "0.004 does not lie below 0.001"],
        ),
        ("steps = 4", "steps = 0", &["is empty: it has no steps"]),
        (
            "monolithic = true",
            "file = \"none.csv\"",
            &["the reference cannot be used", "none.csv", "study.toml:11"],
        ),
        ("monolithic = true", "set = { \"run.step\" = -1 }", &["the reference failed", "must be positive"]),
        ("error = \"all\" }", "error = \"left.y\" }", &["unknown signal `left.y`", "did you mean `left."]),
        ("abs(left.x)", "abs(left.x", &["expected", "study.toml:16"]),
        (
            "log(error)",
            "log(eror)",
            &["unknown measure above or numeric factor `eror`", "did you mean `error`?"],
        ),
        ("[reference]\nmonolithic = true\n", "", &["measure `error` needs something to compare with"]),
        (
            "steps = 4 }",
            "steps = 4, lgo = true }",
            &["unknown key `lgo` in factor `run.step`", "did you mean `log`?"],
        ),
        (
            "\"right.ck\" = [1e4, 1e5]",
            "\"right.cck\" = [1]\n\"left.mm\" = [1]",
            &["study.toml:8:1", "unknown setting `right.cck`", "study.toml:9:1", "unknown setting `left.mm`"],
        ),
        ("system.toml\"", "sytem.toml\"", &["cannot read", "sytem.toml", "study.toml:3"]),
    ];
    for (from, to, parts) in cases {
        assert!(STUDY.contains(from), "{from}");
        let folder = folder(&STUDY.replace(from, to));
        let said = folder.run(&["study", "study.toml", "--out", "out"]);
        assert_eq!(said.code, Some(2), "{to}: {}", said.err);
        said.errs_with(parts);
        assert!(!folder.has("out/runs.log"), "{to}");
    }
}

/// Mistakes of factors, plan, measures, reference and analysis are told in one go; what depends on them is left alone.
#[test]
fn several_mistakes_of_a_study() {
    let text = "system = \"system.toml\"\naccept_unstable = 1\n[factors]\n\"right.kc\" = [1, 2]\nlag = { paths = [\"left.q\", \"left.r\"], values = [1] }\n\
        [plan]\nkind = \"sobl\"\nseed = -1\n[reference]\nset = { \"left.p\" = 1 }\n[measures]\npeak = { of = \"left.x +\", take = \"most\" }\n\
        score = \"peak * pek * lag\"\nradius = { forecast = \"radius\", take = \"max\" }\n[analysis]\nat_least = 0\n";
    let folder = folder(text);
    let said = folder.run(&["study", "study.toml"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    let heads: Vec<&str> = said.err.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    assert_eq!(
        heads,
        [
            "`accept_unstable` must be true or false, found a number",
            "unknown setting `right.kc`",
            "unknown setting `left.q`",
            "unknown setting `left.r`",
            "unknown plan `sobl`",
            "`seed` must be a whole number, found a number",
            "unknown setting `left.p`",
            "expected a number or a name, found the end (byte 8)",
            "unknown take `most`",
            "unknown measure above or numeric factor `pek`",
            "unknown forecast `radius`",
            "`take` does not go with measure `radius`",
        ]
    );
    let folder =
        crate::folder(&STUDY.replace("left.x", "left.y").replace("\"all\"", "[\"left.z\", \"right.F\"]"));
    let said = folder.run(&["study", "study.toml"]);
    said.errs_with(&["unknown signal `left.y`", "unknown signal `left.z`"]);
}

#[test]
fn a_study_that_changed_is_refused_and_keeps_its_runs() {
    let folder = folder(STUDY);
    folder.succeed(&["study", "study.toml", "-q", "--out", "out"]);
    let log = folder.bytes("out/runs.log");
    let system = folder.read("system.toml");
    folder.write("system.toml", &system.replace("m = 10.0, c = 1e6", "m = 11.0, c = 1e6"));
    let said = folder.run(&["study", "study.toml", "--out", "out"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    said.errs_with(&["`system.toml` changed since", "choose another folder with --out", "untouched"]);
    folder.write("system.toml", &system);
    folder.write("study.toml", &STUDY.replace("[1e4, 1e5]", "[1e4, 1e5, 1e6]"));
    folder
        .run(&["study", "study.toml", "--out", "out"])
        .errs_with(&["the factors, the plan", "changed since"]);
    assert!(folder.bytes("out/runs.log") == log);
    // Parts of different studies are not joined.
    folder.succeed(&["study", "study.toml", "-q", "--out", "other"]);
    let said = folder.run(&["study", "merge", "out", "other", "-o", "both"]);
    said.errs_with(&["are not parts of one study: the factors, the plan"]);
}

#[test]
fn a_study_too_large_tells_its_size() {
    let study = STUDY.replace("steps = 4 }", "steps = 1000000 }").replace("[1e4, 1e5]", "[1, 2, 3, 4, 5, 6]");
    let folder = folder(&study);
    let said = folder.run(&["study", "study.toml", "--out", "out"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    said.errs_with(&["the study is large: 12000000 runs", "--accept-large"]);
    folder.succeed(&["study", "study.toml", "--dry-run"]).says(&["12000000 runs", "run.step"]);
}

/// Where files may have no more than 8 kB, the log ends with an error, and goes on where there is more room.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_no_finished_run() {
    let folder = folder(&STUDY.replace("steps = 4 }", "steps = 100 }"));
    folder.succeed(&["study", "study.toml", "-q", "--out", "whole"]);
    let binary = env!("CARGO_BIN_EXE_koppel");
    let script = format!("trap '' XFSZ; ulimit -f 16; exec {binary} study study.toml -q --out full");
    let output = Command::new("bash").arg("-c").arg(script).current_dir(folder.path(".")).output().unwrap();
    let said = Said::new(output);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&["cannot write", "runs.log"]);
    let kept = folder.bytes("full/runs.log").iter().filter(|byte| **byte == b'\n').count() - 1;
    assert!(kept > 50, "{kept} runs");
    folder.succeed(&["study", "study.toml", "--out", "full"]).says(&[&format!("{kept} existed before")]);
    assert_same(&folder, "whole", "full");
}

#[test]
fn job_files_run_every_part() {
    let folder = folder(STUDY);
    let said =
        folder.succeed(&["study", "jobs", "study.toml", "--shards", "10", "--for", "slurm", "--cpus", "4"]);
    said.says(&["#SBATCH --array=1-10", "#SBATCH --cpus-per-task=4", "${SLURM_ARRAY_TASK_ID}/10"]);
    let said =
        folder.succeed(&["study", "jobs", "study.toml", "--shards", "3", "--for", "hq", "--out", "my runs"]);
    said.says(&["hq submit", "--array 1-3", "koppel study merge 'my runs'/shard-* -o 'my runs'/whole"]);
    // What a task does, done by a shell in place of the scheduler.
    let slurm = folder.succeed(&["study", "jobs", "study.toml", "--shards", "2", "--for", "slurm"]);
    folder.write(
        "job.sh",
        &slurm.out.replace(
            "koppel study study.toml",
            &format!("{} study study.toml", env!("CARGO_BIN_EXE_koppel")),
        ),
    );
    for task in ["1", "2"] {
        let status = Command::new("bash")
            .arg("job.sh")
            .env("SLURM_ARRAY_TASK_ID", task)
            .current_dir(folder.path("."))
            .status()
            .unwrap();
        assert!(status.success());
    }
    folder.succeed(&["study", "merge", "study/shard-1", "study/shard-2", "-o", "whole"]).says(&["16 of 16"]);
}

#[test]
fn drawn_plans_inline_systems_and_every_kind_of_path() {
    let system = std::fs::read_to_string(examples().join("dual-mass.toml")).unwrap();
    let inline = system.replace("[run]", "[system.run]").replace("[subsystems.", "[system.subsystems.");
    let inline = inline.replace("[[connections]]", "[[system.connections]]");
    let inline = inline.split_once("[system.run]").map(|(_, rest)| format!("[system.run]{rest}")).unwrap();
    for kind in ["monte-carlo", "latin-hypercube", "sobol"] {
        let study = format!(
            "[factors]\n\"left.m\" = {{ distribution = \"normal\", mean = 10, deviation = 0.5 }}\n\
             \"connections.left.F.gain\" = {{ distribution = \"uniform\", low = 0.9, high = 1.1 }}\n\
             \"run.schedule\" = {{ distribution = \"choice\", values = [\"parallel\", \"sequence\"], weights = [3, 1] }}\n\
             both = {{ paths = [\"left.solver.step\", \"right.solver.step\"], values = [1e-5, 2e-5] }}\n\
             [plan]\nkind = \"{kind}\"\nruns = 20\nseed = 3\n\
             [reference]\nset = {{ \"run.step\" = 1e-4 }}\n\
             [measures]\nfinal = {{ of = \"left.x\" }}\nerror = {{ error = [\"left.x\", \"right.F\"], take = \"max\", combine = \"max\" }}\n\
             steps = {{ figure = \"steps\" }}\n{inline}"
        );
        let folder = folder(&study);
        folder.succeed(&["study", "study.toml", "--out", "a", "-q"]);
        folder.succeed(&["study", "study.toml", "--out", "b", "-q", "--threads", "1"]);
        assert!(folder.bytes("a/runs.csv") == folder.bytes("b/runs.csv"));
        let text = folder.read("a/runs.csv");
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len(), 20);
        let number = |row: &Vec<&str>, k: usize| row[k].parse::<f64>().unwrap();
        assert!(rows.iter().all(|row| (0.9..1.1).contains(&number(row, 2)) && number(row, 7) == 200.0));
        let mean = rows.iter().map(|row| number(row, 1)).sum::<f64>() / 20.0;
        assert!((mean - 10.0).abs() < 0.4, "{kind}: {mean}");
        assert!(rows.iter().all(|row| number(row, 6) > 0.0 && number(row, 6) < 1.0), "{text}");
    }
}

#[test]
fn examples_run() {
    let folder = Folder::new();
    let file = |name: &str| examples().join("studies").join(name).display().to_string();
    let said = folder.succeed(&["study", &file("dual-mass.toml"), "--out", "holds", "--json"]);
    assert_eq!(said.json()["failed"], 0);
    assert_eq!(said.json()["made"], 180);
    let page = folder.read("holds/index.html");
    assert!(
        page.contains("<svg") && page.contains("areas of stability") && page.contains("analysis of variance")
    );
    folder.succeed(&["study", &file("rls.toml"), "--dry-run"]).says(&["17640 runs", "lambda"]);
}
