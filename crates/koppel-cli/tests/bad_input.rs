//! Every bad input: exit code 2, one message with file, line, the offending text underlined, and the known names.

mod common;

use common::{Folder, SYSTEM, Said};

/// The system with one text replaced; and what the message must hold.
fn refused(from: &str, to: &str, expected: &[&str]) -> Said {
    assert!(SYSTEM.contains(from), "{from}");
    check(&SYSTEM.replacen(from, to, 1), expected)
}

/// The system with more text at its end.
fn refused_with(more: &str, expected: &[&str]) -> Said {
    check(&format!("{SYSTEM}{more}"), expected)
}

fn check(text: &str, expected: &[&str]) -> Said {
    let folder = Folder::with(text);
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!(said.code, Some(2), "{text}\n{}{}", said.out, said.err);
    assert_eq!(said.out, "", "nothing on standard output");
    assert_eq!(said.err.matches("error:").count(), 1, "one message:\n{}", said.err);
    said.errs_with(&["system.toml:", "^"]);
    said.errs_with(expected);
    said
}

#[test]
fn the_whole_message() {
    let said = refused("step = 1e-3", "stpe = 1e-3", &[]);
    let expected = "\
error: unknown key `stpe` in [run]
 --> system.toml:6:1
   |
 6 | stpe = 1e-3
   | ^^^^
  hint: did you mean `step`? known: `start`, `stop`, `step`, `adaptive`, `schedule`, `every`, `coupling`, `reading`, `hold`, `iteration`, `record`, `record_every`, `record_events`, `stop_when`, `isolate`, `step_timeout`, `memory_limit`, `sandbox`, `network`, `write`, `read`, `confirm`, `threads`
";
    assert_eq!(said.err, expected);
}

#[test]
fn a_missing_file() {
    let said = Folder::new().run(&["run", "nothing.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["cannot read `nothing.toml`", "hint: check the name"]);
}

#[test]
fn toml_syntax() {
    refused("stop = 0.2", "stop = = 0.2", &["system.toml:5:8", "not valid TOML"]);
    refused("stop = 0.2", "stop = 0.2\nstop = 1", &["system.toml:6:1", "not valid TOML", "duplicate key"]);
    refused("[[connections]]", "[[connections]", &["not valid TOML"]);
}

#[test]
fn unknown_keys_everywhere() {
    let twice = &["`left` is an FMU, which has no `model` here", "leave out one of them"];
    refused("model = \"linear\"", "fmu = \"left.fmu\"\nmodel = \"linear\"", twice);
    refused(
        "[subsystems.left]",
        "[subsystem.left]",
        &["unknown key `subsystem`", "did you mean `subsystems`"],
    );
    refused(
        "inputs = [\"F\"]",
        "inputs = [\"F\"]\nnputs = 1",
        &["unknown key `nputs`", "did you mean `inputs`"],
    );
    refused("gain = 100", "gian = 100", &["unknown key `gian` in [[connections]]", "did you mean `gain`"]);
    refused(
        "\"zoh\"",
        "{ method = \"foh\", strat = \"reduced\" }",
        &["unknown key `strat`", "did you mean `start`"],
    );
    refused(
        "method = \"euler\", step",
        "method = \"euler\", stp",
        &["unknown key `stp` in solver", "did you mean `step`"],
    );
    refused_with("[[at]]\ntme = 1\nset = {}\n", &["unknown key `tme`", "did you mean `time`"]);
    refused_with(
        "[[inputs]]\nto = \"left.F\"\nsignal = { kind = \"sine\", amplitude = 1, frequenzy = 2 }\n",
        &["unknown key `frequenzy` in signal", "did you mean `frequency`"],
    );
}

#[test]
fn unknown_names() {
    refused("\"zoh\"", "\"zho\"", &["unknown coupling `zho`", "did you mean `zoh`", "`soh`"]);
    refused(
        "\"mass\"",
        "\"mas\"",
        &["unknown model `mas`", "did you mean `mass`", "`spring-mass`", "`linear`"],
    );
    refused("{ m = 10.0 }", "{ mm = 10.0 }", &["unknown parameter `mm`", "did you mean `m`"]);
    refused("\"right.x\"", "\"right.y\"", &["unknown output `right.y`", "`right.x`", "`right.v`"]);
    refused("\"left.F\"", "\"left.G\"", &["unknown input `left.G`", "did you mean `left.F`"]);
    refused("\"right.x\"", "\"rigth.x\"", &["unknown subsystem `rigth`", "did you mean `right`"]);
    refused("\"euler\"", "\"eular\"", &["unknown solver `eular`", "did you mean `euler`"]);
    refused("\"parallel\"", "\"paralel\"", &["unknown schedule `paralel`", "did you mean `parallel`"]);
    refused("\"parallel\"", "[\"left\", \"rigt\"]", &["unknown subsystem `rigt`", "did you mean `right`"]);
    refused(
        "stop = 0.2",
        "stop = 0.2\nrecord = [\"lft.*\"]",
        &["unknown variable to record `lft.*`", "`left.v`"],
    );
    refused(
        "stop = 0.2",
        "stop = 0.2\nevery = { lft = 2 }",
        &["unknown subsystem `lft`", "did you mean `left`"],
    );
    refused(
        "stop = 0.2",
        "stop = 0.2\nreading = \"frsh\"",
        &["unknown value `frsh` of `reading`", "did you mean `fresh`"],
    );
    refused_with(
        "[[at]]\ntime = 1\nset = { \"right.k\" = 3 }\n",
        &["unknown parameter or input `right.k`", "`right.m`"],
    );
}

#[test]
fn wrong_types_and_missing_keys() {
    refused(
        "step = 1e-3",
        "step = \"small\"",
        &["system.toml:6:8", "`step` must be a number of seconds, \"auto\", or", "found \"small\""],
    );
    refused("step = 1e-3", "", &["[run] needs `step`"]);
    refused("model = \"mass\"", "", &["subsystem `right` needs `model`"]);
    refused("from = \"right.x\"\n", "", &["[[connections]] needs `from`"]);
    refused("{ method = \"euler\", step = 1e-5 }", "\"euler\"", &["solver `euler` needs `step`"]);
    refused("outputs = [\"x\", \"v\"]", "outputs = \"x\"", &["`outputs` must be a list, found text"]);
    refused("A = [[0, 1], [-1e5, -0.1]]", "", &["subsystem `left` needs `A`"]);
}

#[test]
fn wrong_matrix_shapes() {
    refused("B = [[0], [0.1]]", "B = [[0]]", &["matrix B is 1x1, expected 2x1", "system.toml:13:5"]);
    refused(
        "B = [[0], [0.1]]",
        "B = [[0, 1], [0.1]]",
        &["row 2 of matrix B has 1 entries, the first row has 2"],
    );
    refused("A = [[0, 1], [-1e5, -0.1]]", "A = [[0, 1]]", &["matrix A is 1x2"]);
    refused("C = [[1, 0], [0, 1]]", "C = [[1], [0]]", &["matrix C is 2x1, expected 2x2"]);
    refused("x0 = [0.1, 0]", "x0 = [0.1, 0]\nD = [[1]]", &["matrix D is 1x1, expected 2x1"]);
    refused(
        "x0 = [0.1, 0]",
        "x0 = [0.1]",
        &["x0: `1` entries are given, 2 are needed, as many as rows of A"],
    );
    refused(
        "inputs = [\"F\"]",
        "inputs = [\"F\", \"G\"]",
        &["inputs: `2` entries are given, 1 are needed, as many as columns of B"],
    );
}

#[test]
fn units() {
    let with = |unit: &str| format!("inputs = [{{ name = \"F\", unit = \"{unit}\" }}]");
    refused(
        "inputs = [\"F\"]",
        &with("Nq"),
        &["unknown name `Nq`", "system.toml:15:32", "hint: did you mean"],
    );
    refused(
        "inputs = [\"F\"]",
        &with("N"),
        &["unit `m`", "does not convert to `N`", "hint: connect another", "units = \"ignore\""],
    );
}

/// Files of other kinds, sections written the wrong way: what it is, and what to do.
#[test]
fn something_else_than_a_system() {
    let folder = Folder::with(SYSTEM);
    let report = |arguments: &[&str], parts: &[&str]| {
        let said = folder.run(arguments);
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.err);
        assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
        said.errs_with(parts);
    };
    folder.succeed(&["fmu", "export", "mass"]);
    report(
        &["tune", "mass.fmu", "--apply", "1"],
        &["no file of settings to write to", "name it in a system file"],
    );
    std::fs::copy(folder.path("mass.fmu"), folder.path("mass.zip")).unwrap();
    report(&["run", "mass.zip"], &["is a zip archive, not a system file", "`.ssp`"]);
    let run = ["run", "system.toml", "-q", "--checkpoint", "c", "--checkpoint-every", "100", "--out"];
    folder.succeed(&[&run[..], &["r.csv"]].concat());
    folder.succeed(&[&run[..], &["r.parquet"]].concat());
    report(&["run", "c"], &["`c` is a checkpoint", "koppel resume"]);
    report(&["run", "r.csv"], &["`r.csv` is a result file"]);
    report(&["run", "r.parquet"], &["`r.parquet` is a result file"]);
    folder.write("study.toml", "system = \"system.toml\"\n[factors]\n\"left.m\" = [1]\n[measures]\n");
    report(&["run", "study.toml"], &["this is a study, not a system", "study.toml:2:1", "koppel study"]);
    report(&["study", "system.toml"], &["this is a system, not a study", "koppel run", "[factors]"]);
    folder.write("empty.toml", "");
    report(&["run", "empty.toml"], &["needs `run`", "`koppel new` writes"]);
    let text = |from: &str, to: &str| folder.write("other.toml", &SYSTEM.replace(from, to));
    text("[[connections]]", "[connections]");
    report(&["run", "other.toml"], &["duplicate key", "write [[connections]], once for each"]);
    folder.write(
        "other.toml",
        "[run]\nstop = 1\nstep = 0.1\n[connections]\nfrom = \"a.x\"\n[subsystems.a]\nmodel = \"mass\"\n",
    );
    report(&["run", "other.toml"], &["must be a list, found a table", "write [[connections]]"]);
    folder.write("other.toml", "[run]\nstop = 1\nstep = 0.1\n[[subsystems]]\nmodel = \"mass\"\n");
    report(&["run", "other.toml"], &["must be a table, found a list", "write [subsystems.NAME]"]);
    let fmu = |name: &str| {
        let text = format!("[run]\nstop = 1\nstep = 0.1\n[subsystems.a]\nfmu = \"{name}\"\n");
        folder.write("other.toml", &text);
    };
    fmu("mas.fmu");
    report(&["run", "other.toml"], &["other.toml:5:7", "did you mean `mass.fmu`?"]);
    fmu("engine.fmu");
    report(&["run", "other.toml"], &["other.toml:5:7", "from the folder of the system file"]);
    let table = "[[inputs]]\nto = \"right.F_ext\"\nsignal = { kind = \"table\", file = \"s.csv\" }\n";
    folder.write("other.toml", &format!("{SYSTEM}{table}"));
    report(&["run", "other.toml"], &["cannot open `s.csv`", "did you mean `r.csv`?"]);
    fmu("no/mass.fmu");
    report(&["run", "other.toml"], &["other.toml:5:7", "there is no `no`"]);
}

#[test]
fn an_input_connected_twice() {
    let more = "[[connections]]\nfrom = \"right.v\"\nto = \"left.F\"\n";
    refused_with(
        more,
        &[
            "input `left.F` is connected by two entries",
            "from = [\"right.x\", \"right.v\"]",
            "system.toml:34:6",
        ],
    );
}

#[test]
fn numbers_that_are_not_finite() {
    refused("gain = 100", "gain = inf", &["not finite (inf)", "gain = inf"]);
    refused("m = 10.0", "m = nan", &["not finite (NaN)"]);
    refused("[-1e5, -0.1]", "[-1e999, -0.1]", &["not finite (-inf)"]);
}

#[test]
fn senseless_settings() {
    refused("step = 1e-3", "step = 0", &["run.step: `0` must be positive"]);
    refused("step = 1e-3", "step = -1e-3", &["run.step: `-1e-3` must be positive"]);
    refused("stop = 0.2", "stop = -1", &["run.stop: `-1` must come after the start at 0"]);
    refused("stop = 0.2", "stop = 0.2\nrecord_every = 0", &["must be at least 1"]);
    refused("\"parallel\"", "[\"left\"]", &["`right` is missing: every subsystem must be named once"]);
    refused(
        "\"parallel\"",
        "[[\"left\", \"right\"], [\"left\"]]",
        &["schedule entry `left` is defined twice"],
    );
    refused("\"zoh\"", "{ method = \"relaxed\", alpha = 2 }", &["relaxed.alpha: `2` must lie in [0, 1)"]);
    refused("m = 10.0", "m = -1", &["parameter `m`", "must be above zero"]);
    check("[run]\nstop = 1\nstep = 1\n[subsystems]\n", &["the system has no subsystems"]);
}

#[test]
fn stop_conditions() {
    let with = |condition: &str| format!("stop = 0.2\nstop_when = \"{condition}\"");
    refused("stop = 0.2", &with("left.x >> 1"), &["found `>`", "system.toml:6:22"]);
    refused("stop = 0.2", &with("left.x > left.q"), &["unknown variable `left.q`", "system.toml:6:23"]);
    refused("stop = 0.2", &with("left.x + 1"), &["is not a condition"]);
}

#[test]
fn tables_from_files() {
    let input = |file: &str, more: &str| {
        format!(
            "{SYSTEM}[[inputs]]\nto = \"left.F\"\nsignal = {{ kind = \"table\", file = \"{file}\"{more} }}\n"
        )
    };
    check(&input("none.csv", ""), &["cannot open `none.csv`", "system.toml:34:35"]);
    let folder = Folder::with(&input("force.csv", ", column = \"G\""));
    folder.write("force.csv", "time,F\n0,1\n1,2\n");
    folder.run(&["run", "system.toml"]).errs_with(&["unknown column `G`", "did you mean `F`"]);
    folder.write("system.toml", &input("force.csv", ", time = \"tme\""));
    folder.run(&["run", "system.toml"]).errs_with(&["unknown column `tme`"]);
    folder.write("system.toml", &input("force.csv", ", time = \"time\", column = \"F\""));
    folder.succeed(&["run", "system.toml", "-q"]);
    folder.write("system.toml", &input("force.csv", ""));
    folder.write("force.csv", "time,F\n0,1\n1,x\n");
    folder.run(&["run", "system.toml"]).errs_with(&["force.csv", "line 3", "`x` is not a number"]);
    folder.write("force.csv", "time,F\n1,1\n0.5,2\n");
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["0.5 s lies before the time above it, 1 s"]);
}

#[test]
fn options() {
    let folder = Folder::with(SYSTEM);
    let refused = |arguments: &[&str], expected: &[&str]| {
        let said = folder.run(&[&["run", "system.toml"], arguments].concat());
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.err);
        said.errs_with(expected);
    };
    refused(&["--step", "0"], &["--step:1:", "must be positive"]);
    refused(&["--stop", "-1"], &["--stop:1:", "must come after the start"]);
    refused(&["--coupling", "zho"], &["unknown coupling `zho`", "did you mean `zoh`"]);
    refused(&["--coupling", "{ method = \"foh\""], &["--coupling:1:", "not valid TOML"]);
    refused(&["--schedule", "[\"left\"]"], &["`right` is missing"]);
    refused(&["--set", "right.mm=3"], &["unknown setting `right.mm`", "did you mean `right.m`"]);
    refused(&["--set", "lft.m=3"], &["unknown setting or subsystem `lft`", "did you mean `left`"]);
    refused(&["--set", "left=3"], &["`left` is a subsystem", "`left.solver`", "`left.F`"]);
    refused(&["--set", "left.solver.stp=3"], &["--set:1:13", "unknown key `stp` in solver"]);
    refused(&["--set", "run.evry=1"], &["--set:1:5", "   |     ^^^^\n"]);
    refused(&["--set", "run.at=1"], &["unknown key `at` in [run]", "[[at]]"]);
    refused(&["--set", "right.F=1"], &["--set:1:7", "error: `right.F` is connected"]);
    refused(&["--set", "right.m=heavy"], &["`m` must be a number"]);
    refused(&["--set", "right.m=inf"], &["not finite"]);
    refused(&["--set", "right.m"], &["NAME=VALUE"]);
    refused(&["--stop-when", "left.x >"], &["found the end"]);
    refused(&["--record", "nothing"], &["unknown variable to record `nothing`"]);
    refused(&["--out", "results.txt"], &["`results.txt` is not a known kind of result file"]);
    refused(&["--out", "no/folder/r.csv"], &["does not exist; create it first"]);
    refused(&["--report", "no/folder/r.html"], &["does not exist; create it first"]);
    refused(&["--speed", "2"], &["--realtime"]);
    refused(&["--checkpoint-every", "soon"], &["a number of steps"]);
}

#[test]
fn json_tells_the_place() {
    let folder = Folder::with(&SYSTEM.replace("step = 1e-3", "step = 0"));
    let said = folder.run(&["run", "system.toml", "--json"]);
    assert_eq!(said.code, Some(2));
    let document = said.json();
    assert_eq!(document["status"], "invalid");
    assert_eq!(document["error"]["place"]["line"], 6);
    assert_eq!(document["error"]["place"]["file"], "system.toml");
}

/// Mistakes of different kinds are told in one go, each at its place.
#[test]
fn several_mistakes_at_once() {
    let text = SYSTEM
        .replacen("step = 1e-3", "stpe = 1e-3", 1)
        .replacen("coupling = \"zoh\"", "coupling = { method = \"relaxed\", alpha = \"half\" }", 1)
        .replacen("B = [[0], [0.1]]", "B = 1", 1)
        .replacen("\"mass\"", "\"mas\"", 1)
        .replacen("gain = 100", "gian = 100", 1);
    let folder = Folder::with(&text);
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    let heads: Vec<&str> = said.err.lines().filter(|line| line.starts_with("error:")).collect();
    let arrows: Vec<&str> = said.err.lines().filter(|line| line.starts_with(" --> ")).collect();
    assert_eq!(
        heads,
        [
            "error: unknown key `stpe` in [run]",
            "error: `alpha`: found the text \"half\", expected a number",
            "error: `B` must be a matrix: a list of rows, such as [[1, 0], [0, 1]], found a number",
            "error: unknown model `mas`",
            "error: unknown key `gian` in [[connections]]",
        ]
    );
    let places = ["6:1", "8:42", "13:5", "21:9", "27:1"].map(|place| format!(" --> system.toml:{place}"));
    assert_eq!(arrows, places);
    said.errs_with(&[
        "hint: did you mean `step`?",
        "hint: did you mean `mass`?",
        "hint: did you mean `gain`?",
    ]);
    let document = folder.run(&["run", "system.toml", "--json"]).json();
    let mistakes = document["error"]["mistakes"].as_array().unwrap();
    let lines: Vec<u64> = mistakes.iter().map(|mistake| mistake["place"]["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [6, 8, 13, 21, 27]);
    assert_eq!(document["error"]["message"], "unknown key `stpe` in [run]");
    assert_eq!(mistakes[3]["known"][0], "mass", "{}", mistakes[3]);
}

/// The messages of a refused command, without their places and hints.
fn heads(said: &Said) -> Vec<&str> {
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    said.err.lines().filter_map(|line| line.strip_prefix("error: ")).collect()
}

/// Each mistake inside one table is told; what may follow from another one is not.
#[test]
fn several_mistakes_in_one_table() {
    let coupling = "coupling = { method = \"prestep\", error_steps = \"few\", modle = 1, model = { identify = \"rls\", N = 0.5, forgettin = 1 } }";
    let text = SYSTEM
        .replacen("coupling = \"zoh\"", coupling, 1)
        .replacen("step = 1e-5 }", "step = \"small\", setp = 1 }", 1)
        .replacen("parameters = { m = 10.0 }", "parameters = { m = \"10\", mm = 1, cc = 2 }", 1)
        .replacen("gain = 100", "gain = \"100\"\nofset = true\nunits = \"none\"", 1);
    let folder = Folder::with(&text);
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!(
        heads(&said),
        [
            "`error_steps`: found the text \"few\", expected a whole number from 1 to 4294967295",
            "unknown key `modle` in coupling",
            "`N`: found the number `0.5`, expected a whole number",
            "unknown key `forgettin` in coupling",
            "`step`: found the text \"small\", expected a number",
            "unknown key `setp` in solver",
            "`m` must be a number, found text",
            "unknown parameter `mm`",
            "unknown parameter `cc`",
            "`gain` must be a number, found text",
            "unknown key `ofset` in [[connections]]",
            "unknown rule `none`",
        ]
    );
}

/// What the engine finds wrong with the run, the wiring and changes is told in one go.
#[test]
fn several_mistakes_of_the_run_and_the_wiring() {
    let text = SYSTEM
        .replacen(
            "stop = 0.2",
            "stop = 0.2\nrecord_every = 0\nstop_when = \"left.y > 1\"\nevery = { lfet = 2 }",
            1,
        )
        .replacen("from = \"right.x\"", "from = \"right.y\"", 1)
        + "[[at]]\ntime = 0.1\nset = { \"left.k\" = 1, \"rihgt.m\" = 2 }\n";
    let folder = Folder::with(&text);
    let said = folder.run(&["run", "system.toml"]);
    let lines: Vec<&str> =
        said.err.lines().filter_map(|line| line.strip_prefix(" --> system.toml:")).collect();
    assert_eq!(lines.len(), heads(&said).len(), "{}", said.err);
    assert_eq!(
        heads(&said),
        [
            "run.record_every: `0` must be at least 1",
            "unknown variable `left.y`",
            "unknown subsystem `lfet`",
            "unknown output `right.y`",
            "unknown parameter or input `left.k`",
            "unknown subsystem `rihgt`",
        ]
    );
}

/// Of what is connected to an FMU that is missing nothing can be said, but of everything else.
#[test]
fn a_missing_fmu_hides_no_mistakes_of_the_wiring() {
    let more =
        "[subsystems.third]\nfmu = \"third.fmu\"\n[[connections]]\nfrom = \"right.x\"\nto = \"third.u\"\n";
    let text = format!("{}{more}", SYSTEM.replacen("from = \"left.x\"", "from = \"left.y\"", 1));
    let folder = Folder::with(&text);
    let said = folder.run(&["run", "system.toml"]);
    let heads = heads(&said);
    assert_eq!((heads.len(), heads[0]), (2, "unknown output `left.y`"), "{}", said.err);
    assert!(heads[1].contains("third.fmu"), "{}", said.err);
}

#[test]
fn several_mistakes_of_options() {
    let folder = Folder::with(SYSTEM);
    let options = ["--set", "left.y=1", "--set", "rihgt.m=2", "--set", "right.m=3", "--set", "right.c=[1"];
    let said = folder.run(&[&["run", "system.toml"], &options[..]].concat());
    let heads = heads(&said);
    assert_eq!(
        heads[..2],
        ["unknown setting `left.y`", "unknown setting or subsystem `rihgt`"],
        "{}",
        said.err
    );
    assert_eq!(heads.len(), 3, "{}", said.err);
}

/// Those of options and of the file in one go; but what an unreadable option would have given is not missed in the file.
#[test]
fn mistakes_of_options_and_of_the_file() {
    let folder = Folder::with(&SYSTEM.replacen("to = \"right.F\"", "too = \"right.F\"", 1));
    let said = folder.run(&["run", "system.toml", "--set", "rihgt.m=2", "--step", "fast"]);
    let expected = ["unknown setting or subsystem `rihgt`", "`step` must be a number", "unknown key `too`"];
    for (head, expected) in heads(&said).iter().zip(expected) {
        assert!(head.contains(expected), "{}", said.err);
    }
    assert_eq!(heads(&said).len(), 3, "{}", said.err);
    let folder = Folder::with(&SYSTEM.replacen("step = 1e-3", "", 1));
    let said = folder.run(&["run", "system.toml", "--step", "[1"]);
    assert_eq!(heads(&said).len(), 1, "{}", said.err);
}

#[test]
fn a_value_that_becomes_infinite() {
    let system = SYSTEM.replace("[-1e5, -0.1]", "[1e9, 1e5]").replace("stop = 0.2", "stop = 20");
    let folder = Folder::with(&system);
    let said = folder.run(&["run", "system.toml", "--out", "r.csv"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    said.errs_with(&[
        "subsystem `left`, variable `",
        "at t = ",
        "hint: the coupling or the subsystem's own solver is unstable",
    ]);
    said.errs_with(&["are kept in r.csv"]);
    let (_, rows) = folder.csv("r.csv");
    assert!(rows.len() > 1 && rows.iter().flatten().all(|value| value.is_finite()), "{} rows", rows.len());
    assert!(!folder.has("r.csv.part"));
}

#[test]
fn no_file_is_written_twice() {
    let folder = Folder::with(&format!(
        "{SYSTEM}[[inputs]]\nto = \"right.F_ext\"\nsignal = [{{ kind = \"table\", file = \"f.csv\" }}]\n"
    ));
    folder.write("f.csv", "time,F\n0,0\n1,1\n");
    let refused = |arguments: &str, expected: &str| {
        for dry in ["", "--dry-run"] {
            let words = format!("run system.toml {dry} {arguments}");
            let said = folder.run(&words.split_whitespace().collect::<Vec<_>>());
            assert_eq!(said.code, Some(2), "{words}: {}", said.err);
            said.errs_with(&[expected, "hint: "]);
        }
    };
    refused("--out f.csv", "a file that the system reads and the results are the same file");
    refused("--report ./system.toml", "the system file and the report are the same file");
    refused("--checkpoint system.toml", "the system file and the checkpoint are the same file");
    refused("--out r.csv --report r.csv-metadata.json", "the metadata of the results and the report");
    refused("--out r.csv --checkpoint r.csv.part", "the part file of the results and the checkpoint");
    refused("--report a.html --checkpoint a.html", "the report and the checkpoint are the same file");
    for option in ["--out no/r.csv", "--report no/r.html", "--checkpoint no/c"] {
        refused(option, "the folder `no` does not exist");
    }
    for option in ["--report .", "--checkpoint ."] {
        refused(option, "this is a folder");
    }
    let left = std::fs::read_dir(folder.path(".")).unwrap().count();
    assert_eq!(left, 2, "nothing was written");
}

#[test]
fn messages_have_no_words_of_rust() {
    let run = |setting: &str, expected: &[&str]| {
        let said = refused("stop = 0.2", &format!("stop = 0.2\n{setting}"), expected);
        for word in ["variant", "enum", "a a ", "u32", "f64", "sequence,"] {
            assert!(!said.err.contains(word), "{word}: {}", said.err);
        }
    };
    run("hold = 1", &["`hold` must be \"constant\" or \"continuous\", found a number", "system.toml:6:8"]);
    run("threads = 4", &["`threads` must be \"auto\" or \"never\" or \"always\"", "system.toml:6:11"]);
    run("start = 2020-01-01", &["`start`: found a date, expected a number", "system.toml:6:9"]);
    run("every = 5000000000", &["`every` must be a table such as { road = 4 }"]);
    run("every = { left = 5000000000 }", &["from 1 to 4294967295", "system.toml:6:18"]);
    run("at = 1", &["unknown key `at` in [run]"]);
    let coupling = |to: &str, expected: &[&str]| refused("coupling = \"zoh\"", to, expected);
    coupling("coupling = { method = 3 }", &["`method` must be \"zoh\" or ", "system.toml:8:23"]);
    let mixed = |entry: &str| {
        format!("coupling = {{ method = \"mixed\", connections = {{ \"left.F\" = {entry} }} }}")
    };
    coupling(&mixed("3"), &["`left.F` must be a name or a table with `method`"]);
    coupling(&mixed("{ method = \"mixed\", connections = {} }"), &["`left.F` cannot itself be mixed"]);
    refused_with("[[at]]\ntime = 0.1\nset = { right.m = 1 }\n", &["hint: write set = { \"right.m\" = ... }"]);
    refused_with(
        "[[inputs]]\nto = \"left.x\"\nsignal = { kind = \"constant\", value = 1 }\n",
        &["`left.x` is an output, where an input is needed", "system.toml:33:6"],
    );
}

#[test]
fn names_that_cannot_be_seen() {
    refused("[subsystems.right]", "[subsystems.\"\"]", &["the name of a subsystem is empty"]);
    refused(
        "[subsystems.right]",
        "[subsystems.\"a\\tb\"]",
        &["the name of a subsystem has control characters"],
    );
    refused("inputs = [\"F\"]", "inputs = [\"\"]", &["the name of a port is empty", "system.toml:15:11"]);
    refused("\"parallel\"", "[[\"left\", \"right\"], []]", &["a group of the schedule is empty"]);
}

#[test]
fn long_lines_numbers_and_times_are_short() {
    let long = format!("title = \"{}\" x", "a".repeat(1000));
    let said = check(&long, &["…aaa"]);
    assert!(said.err.lines().all(|line| line.chars().count() < 160), "{}", said.err);
    refused("step = 1e-3", "step = 1e-300", &["run.step: `1e-300` is too small"]);
    let said = refused("stop = 0.2", "\"s\\u001b\" = 0.2", &["unknown key `s\\u{1b}`"]);
    assert!(!said.err.contains('\u{1b}'), "{}", said.err);
}

#[test]
fn tables_tell_their_line() {
    let input =
        "[[inputs]]\nto = \"right.F_ext\"\nsignal = { kind = \"table\", file = \"f.csv\", column = \"F\" }\n";
    let folder = Folder::with(&format!("{SYSTEM}{input}"));
    let names: Vec<String> = (0..40).map(|i| format!("c{i}")).collect();
    for (table, expected) in [
        ("0,1\n1,2\n".to_owned(), "`f.csv` has no header line"),
        ("time,F\n\n0,1\n-1,2\n".to_owned(), "`f.csv`, line 4: the time -1 s lies before"),
        ("time,F\n0,1\n1,nan\n".to_owned(), "`f.csv`, line 3: NaN is not finite"),
        (format!("time,{}\n", names.join(",")), "`c38`, `c39`"),
    ] {
        folder.write("f.csv", &table);
        let said = folder.run(&["run", "system.toml"]);
        assert_eq!(said.code, Some(2));
        said.errs_with(&[expected, "system.toml:34:"]);
    }
    folder.write("f.csv", "time , F \n0,1\n1,2\n");
    folder.succeed(&["run", "system.toml", "-q"]);
}
