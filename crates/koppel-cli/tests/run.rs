//! Good runs: files, summary, JSON, settings.

mod common;

use common::{Folder, SYSTEM, examples};
use koppel_io::results::read_table;

#[test]
fn every_example_runs() {
    let mut count = 0;
    for entry in std::fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            let said = Folder::new().succeed(&["run", path.to_str().unwrap(), "--json"]);
            assert_eq!(said.json()["status"], "finished", "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 10, "{count} examples");
}

#[test]
fn csv_and_parquet_hold_the_same() {
    let folder = Folder::with(SYSTEM);
    let said = folder.succeed(&["run", "system.toml", "--out", "r.csv"]);
    said.says(&[
        "Two masses",
        "200 steps of 0.001 s",
        "real-time factor",
        "left.x -> right.F",
        "wrote r.csv: 201 rows",
        "right.F_ext",
    ]);
    assert_eq!(said.err, "", "silence when piped");
    folder.succeed(&["run", "system.toml", "--out", "r.parquet", "-q"]);
    let (csv, parquet) =
        (read_table(&folder.path("r.csv")).unwrap(), read_table(&folder.path("r.parquet")).unwrap());
    assert_eq!((&csv.time, &csv.columns), (&parquet.time, &parquet.columns));
    assert_eq!(csv.time.len(), 201);
    let (header, _) = folder.csv("r.csv");
    assert_eq!(header[..3], ["time", "left.x", "left.v"]);
    let metadata = csv.metadata.unwrap();
    assert_eq!(metadata.settings["run"]["step"], 1e-3);
    assert_eq!(metadata.settings["subsystems"]["right"]["parameters"]["c"], 1e6);
    assert_eq!(metadata.system, "Two masses");
}

#[test]
fn without_out_nothing_is_written() {
    let folder = Folder::with(SYSTEM);
    folder
        .succeed(&["run", "system.toml"])
        .errs_with(&["hint: nothing was written; keep the results with --out"]);
    assert_eq!(std::fs::read_dir(folder.path(".")).unwrap().count(), 1);
}

#[test]
fn json_is_the_only_thing_on_standard_output() {
    let folder = Folder::with(SYSTEM);
    let said = folder.succeed(&["run", "system.toml", "--json", "--out", "r.csv"]);
    let document = said.json();
    assert_eq!(document["status"], "finished");
    assert_eq!(document["steps"], 200);
    assert_eq!(document["end_time"], 0.2);
    assert_eq!(document["out"]["rows"], 201);
    assert_eq!(document["settings"]["run"]["coupling"]["method"], "zoh");
    assert_eq!(document["unconnected_inputs"][0]["name"], "right.F_ext");
    assert_eq!(document["subsystems"].as_array().unwrap().len(), 2);
    assert!(document["connections"][0]["largest_error"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_dry_run_runs_nothing() {
    let folder = Folder::with(SYSTEM);
    let said =
        folder.succeed(&["run", "system.toml", "--dry-run", "--schedule", "sequence", "--out", "r.csv"]);
    said.says(&[
        "200 steps of 0.001 s",
        "zoh",
        "euler, step 0.00001",
        "exact",
        "right.F_ext",
        "rows         201",
    ]);
    said.says(&["left.x      -> right.F   100            1       0", "checked, not run"]);
    said.says(&["inputs       reading fresh, hold constant"]);
    assert!(!folder.has("r.csv") && !folder.has("r.csv.part"));
    let document = folder.succeed(&["run", "system.toml", "--dry-run", "--json"]).json();
    assert_eq!(document["steps"], 200);
    assert_eq!(document["schedule"][0].as_array().unwrap().len(), 2);
}

#[test]
fn a_report_without_results() {
    let folder = Folder::with(SYSTEM);
    let said = folder.succeed(&["run", "system.toml", "--report", "r.html"]);
    said.says(&["wrote r.html: the report"]);
    assert!(!said.err.contains("nothing was written"), "{}", said.err);
    let page = folder.read("r.html");
    for part in ["Two masses", "Where the time went", "Settings", "left", "uPlot"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn settings_are_replaced() {
    let folder = Folder::with(SYSTEM);
    let settings = |arguments: &[&str]| {
        let base = ["run", "system.toml", "--dry-run", "--json"];
        folder.succeed(&[&base[..], arguments].concat()).json()["settings"].clone()
    };
    let all = settings(&[
        "--set",
        "right.m=12",
        "--set",
        "right.x0=0.5",
        "--set",
        "left.x[1]=0.3",
        "--set",
        "left.solver=exact",
        "--set",
        "run.reading=stale",
        "--step",
        "2e-3",
        "--stop",
        "1",
        "--hold",
        "continuous",
        "--threads",
        "never",
        "--coupling",
        "{ method = \"foh\", start = \"reduced\" }",
        "--schedule",
        "[[\"right\"], [\"left\"]]",
        "--record",
        "left.*",
        "--record",
        "right.x",
        "--record-every",
        "5",
        "--stop-when",
        "left.x > 1",
    ]);
    assert_eq!(all["subsystems"]["right"]["parameters"]["m"], 12.0);
    assert_eq!(all["subsystems"]["right"]["parameters"]["x0"], 0.5);
    assert_eq!(all["subsystems"]["left"]["start"]["x[1]"], 0.3);
    assert_eq!(all["subsystems"]["left"]["solver"]["method"], "exact");
    let run = &all["run"];
    assert_eq!(run["reading"], "stale");
    assert_eq!((run["step"].as_f64(), run["stop"].as_f64()), (Some(2e-3), Some(1.0)));
    assert_eq!(run["coupling"]["start"], "reduced");
    assert_eq!(run["schedule"][1][0], "left");
    assert_eq!(run["record"][1], "right.x");
    assert_eq!((run["hold"].as_str(), run["threads"].as_str()), (Some("continuous"), Some("never")));
    assert_eq!(run["stop_when"], "left.x > 1");
}

#[test]
fn start_values_and_free_inputs_act_from_the_first_row() {
    let folder = Folder::with(SYSTEM);
    folder.succeed(&[
        "run",
        "system.toml",
        "-q",
        "--out",
        "r.csv",
        "--set",
        "left.x[1]=0.3",
        "--set",
        "right.F_ext=7",
    ]);
    assert_eq!(folder.column("r.csv", "left.x")[0], 0.3);
    assert!(folder.column("r.csv", "right.F_ext").iter().all(|force| *force == 7.0));
}

#[test]
fn changes_stop_conditions_and_rates_are_seen_in_the_results() {
    let system = SYSTEM
        .replace("stop = 0.2", "stop = 0.2\nevery = { right = 4 }\nrecord = [\"right.*\", \"left.x\"]")
        + "[[at]]\ntime = 0.1\nset = { \"right.m\" = 12, \"right.F_ext\" = 5 }\n";
    let folder = Folder::with(&system);
    folder.succeed(&["run", "system.toml", "-q", "--out", "r.csv"]);
    let (header, rows) = folder.csv("r.csv");
    assert!(header.contains(&"right.m".to_owned()) && !header.contains(&"left.v".to_owned()), "{header:?}");
    let masses = folder.column("r.csv", "right.m");
    assert_eq!((masses[99], masses[101], rows.len()), (10.0, 12.0, 201));
    let slow = folder.column("r.csv", "right.x");
    let moves = slow.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(moves <= 50, "every fourth step at most: {moves}");

    let said =
        folder.succeed(&["run", "system.toml", "--json", "--out", "s.csv", "--stop-when", "time >= 0.05"]);
    assert_eq!(said.json()["status"], "stopped");
    assert_eq!(folder.csv("s.csv").1.len(), 51);
    folder.succeed(&["run", "system.toml", "-q", "--out", "t.csv", "--record-every", "30"]);
    assert_eq!(folder.column("t.csv", "time"), [0.0, 0.03, 0.06, 0.09, 0.12, 0.15, 0.18, 0.2]);
}

#[test]
fn signals_from_outside() {
    let system = format!(
        "{SYSTEM}[[inputs]]\nto = \"right.F_ext\"\nsignal = [{{ kind = \"step\", time = 0.1, after = 3 }}, {{ kind = \"table\", file = \"f.csv\", column = \"F\" }}]\n"
    );
    let folder = Folder::with(&system);
    folder.write("f.csv", "time,F,G\n0,0,9\n0.2,2,9\n");
    folder.succeed(&["run", "system.toml", "-q", "--out", "r.csv", "--record", "right.F_ext"]);
    let force = folder.column("r.csv", "right.F_ext");
    assert!(
        (force[50] - 0.5).abs() < 1e-12 && (force[150] - 4.5).abs() < 1e-12,
        "{} {}",
        force[50],
        force[150]
    );
}

#[test]
fn another_coupling_for_one_connection() {
    let folder = Folder::with(&SYSTEM.replace("gain = 100", "gain = 100\ncoupling = \"foh\""));
    let document = folder.succeed(&["run", "system.toml", "--dry-run", "--json"]).json();
    assert_eq!(document["coupling"]["method"], "mixed");
    assert_eq!(document["coupling"]["connections"]["right.F"]["method"], "foh");
    assert_eq!(document["coupling"]["default"]["method"], "zoh");
}

/// What is left of the wall time is the engine's only if nothing moves at the same time.
#[test]
fn times_of_threads_are_told_as_such() {
    let folder = Folder::with(SYSTEM);
    let engine = |threads: &str| {
        let run = ["run", "system.toml", "--schedule", "parallel", "--threads", threads];
        let text = folder.succeed(&[&run[..], &["--report", "r.html"]].concat()).out;
        let report = folder.succeed(&[&run[..], &["--json"]].concat()).json();
        let page = folder.read("r.html");
        let words = "ran in parallel";
        assert_eq!(text.contains(words), page.contains(words), "{text}");
        (
            report["parallel_stages"].as_u64(),
            report["engine_seconds"].as_f64(),
            text.contains("(engine)"),
            text.contains(words),
        )
    };
    let (stages, seconds, row, note) = engine("never");
    assert!(stages == Some(0) && seconds > Some(0.0) && row && !note, "{seconds:?}");
    assert_eq!(engine("always"), (Some(1), None, false, true));
}

/// Only a step that is really shorter is told; large times are rounded.
#[test]
fn a_last_step_that_is_shorter_is_told() {
    let folder = Folder::with(SYSTEM);
    let report = |stop: &str| folder.succeed(&["run", "system.toml", "--dry-run", "--stop", stop]).out;
    assert!(report("0.2005").contains("201 steps of 0.001 s, the last one shortened to 0.0005 s"));
    for (stop, steps) in
        [("1e6", "1000000000 steps of 0.001 s\n"), ("1e9", "1000000000000 steps of 0.001 s\n")]
    {
        assert!(report(stop).contains(steps), "{}", report(stop));
    }
}

#[test]
fn real_time_lasts_as_long_as_it_should() {
    let folder = Folder::with(SYSTEM);
    let begin = std::time::Instant::now();
    let said = folder.succeed(&["run", "system.toml", "--realtime", "--speed", "0.5", "--json"]);
    assert!(begin.elapsed().as_secs_f64() >= 0.4, "{:?}", begin.elapsed());
    let document = said.json();
    assert_eq!(document["realtime"]["speed"], 0.5);
    let (waiting, engine) = (document["waiting_seconds"].as_f64(), document["engine_seconds"].as_f64());
    assert!(waiting > Some(0.2) && engine < waiting, "{waiting:?} {engine:?}");
}

#[test]
fn long_tables_are_cut() {
    let mut system = "[run]\nstop = 1\nstep = 0.1\ncoupling = \"zoh\"\n".to_owned();
    for i in 0..40 {
        system += &format!(
            "[subsystems.s{i}]\nmodel = \"pt1\"\n[[connections]]\nfrom = \"s{i}.y\"\nto = \"s{}.u\"\n",
            (i + 1) % 40
        );
    }
    let folder = Folder::with(&system);
    let said = folder.succeed(&["run", "system.toml"]);
    said.says(&["(engine)", "... and 16 more; --json lists all"]);
    assert!(said.out.lines().count() < 70, "{}", said.out);
    let all = folder.succeed(&["run", "system.toml", "--json"]).json();
    assert_eq!(all["subsystems"].as_array().unwrap().len(), 40);
}

#[test]
fn many_threads_give_the_same_bytes() {
    let folder = Folder::with(SYSTEM);
    folder.succeed(&["run", "system.toml", "-q", "--out", "one.csv", "--threads", "never"]);
    folder.succeed(&["run", "system.toml", "-q", "--out", "many.csv", "--threads", "always"]);
    assert_eq!(folder.bytes("one.csv"), folder.bytes("many.csv"));
}

#[test]
fn what_does_nothing_is_warned_about() {
    let system = SYSTEM.replace("\"zoh\"", "\"foh\"\nhold = \"continuous\"")
        + "[[at]]\ntime = 5\nset = { \"right.m\" = 2 }\n[[at]]\ntime = -1\nset = { \"right.m\" = 3 }\n"
        + "[[inputs]]\nto = \"right.F_ext\"\nsignal = []\n";
    let folder = Folder::with(&system);
    for more in ["--quiet", "--dry-run"] {
        folder.succeed(&["run", "system.toml", more]).errs_with(&[
            "warning: [[at]] at t = 5 s comes no earlier than the stop",
            "warning: [[at]] at t = -1 s comes before the start",
            "warning: hold = \"continuous\" does nothing",
            "warning: [[inputs]] for `right.F_ext`: `signal` is an empty list",
        ]);
    }
}

#[test]
fn a_dry_run_shows_every_setting() {
    let system = SYSTEM
        .replace("from = \"left.x\"\n", "from = [\"left.x\", \"left.v\"]\noffset = 3\n")
        .replace("inputs = [\"F\"]", "inputs = [{ name = \"F\", unit = \"mm\" }]")
        .replace("stop = 0.2", "stop = 0.2005\nstop_when = \"left.x > 9\"")
        .replace("parameters = {", "start = { x = 1 }\nparameters = {")
        + "[[inputs]]\nto = \"right.F_ext\"\nsignal = [{ kind = \"constant\", value = 1 }]\n"
        + "[[at]]\ntime = 0.1\nset = { \"right.m\" = 2 }\n";
    let folder = Folder::with(&system);
    let words = ["stop when", "left.x > 9", "right.F_ext: constant", "1 value is set at a given time"];
    for said in
        [folder.succeed(&["run", "system.toml", "--dry-run"]), folder.succeed(&["run", "system.toml"])]
    {
        said.says(&words);
        said.says(&["201 steps of 0.001 s, the last one shortened to 0.0005 s"]);
    }
    let said = folder.succeed(&["run", "system.toml", "--dry-run"]);
    said.says(&["left.x + left.v  -> right.F   100            1       3"]);
    said.says(&["right.x          -> left.F      1         1000       0"]);
}

#[test]
fn options_give_what_the_file_leaves_open() {
    let folder = Folder::with(&SYSTEM.replace("stop = 0.2\n", "").replace("step = 1e-3\n", ""));
    folder.run(&["run", "system.toml"]).errs_with(&["needs `stop`", "or give it with --stop"]);
    folder.succeed(&["run", "system.toml", "-q", "--stop", "0.1", "--set", "run.step=1e-3"]);
    let keys = [
        "left.solver.step=1e-6",
        "right.parameters.m=3",
        "right.start.x=2",
        "title=hi",
        "run.coupling.method=foh",
    ];
    let set: Vec<&str> = keys.iter().flat_map(|key| ["--set", key]).collect();
    let base = ["run", "system.toml", "--dry-run", "--json", "--stop", "1", "--step", "0.1"];
    let settings = folder.succeed(&[&base[..], &set].concat()).json()["settings"].clone();
    assert_eq!(settings["subsystems"]["left"]["solver"]["step"], 1e-6);
    assert_eq!(settings["subsystems"]["right"]["parameters"]["m"], 3.0);
    assert_eq!((&settings["title"], &settings["run"]["coupling"]["method"]), (&"hi".into(), &"foh".into()));
}
