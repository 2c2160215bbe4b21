use super::*;
use koppel::coupling::{NepceConfig, PrestepConfig, RelaxedConfig};

const SYSTEM: &str = r##"# Two masses, by hand
title = "a # that is no comment" # but this is one
[run] # the run
stop = 5.0
step = 1e-2   # long enough
coupling = "zoh"  # to begin with

# the left one
[subsystems.left]
model = "mass"
[subsystems.right]
model = "spring-mass"
[[connections]] # motion
from = "left.x"
to = "right.x"
[[connections]]
from = "left.v"
to = "right.v"
coupling = "foh" # because it is smooth
[[connections]]
from = "right.F"
to = "left.F"
# the end
"##;

fn relaxed(alpha: f64) -> CouplingConfig {
    CouplingConfig::from(RelaxedConfig { alpha })
}

fn mixed(default: CouplingConfig, own: &[(&str, CouplingConfig)]) -> CouplingConfig {
    let connections = own.iter().map(|(to, method)| ((*to).to_owned(), method.clone())).collect();
    CouplingConfig::Mixed { default: Box::new(default), connections }
}

fn chosen(step: f64, schedule: ScheduleConfig, coupling: CouplingConfig) -> Candidate {
    Candidate { step, schedule, coupling, every: BTreeMap::new() }
}

/// Writes it, and checks that it means what was chosen and that no comment is gone.
fn applied(text: &str, chosen: &Candidate) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.toml");
    std::fs::write(&path, text).unwrap();
    let file = super::super::load(&path).unwrap_or_else(|error| panic!("{error}"));
    apply(&file, &path, chosen).unwrap_or_else(|error| panic!("{error}"));
    let new = std::fs::read_to_string(&path).unwrap();
    let read = super::super::load(&path).unwrap();
    assert!(is_meant(&read, chosen), "{new}");
    let kept = comments(&new);
    comments(text).iter().for_each(|comment| assert!(kept.contains(comment), "{comment}\n{new}"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    new
}

#[test]
fn only_what_changes_is_touched() {
    let text = applied(
        SYSTEM,
        &chosen(
            0.025,
            ScheduleConfig::PARALLEL,
            mixed(CouplingConfig::zoh(), &[("right.v", CouplingConfig::foh(Default::default()))]),
        ),
    );
    assert_eq!(text, SYSTEM.replace("step = 1e-2 ", "step = 0.025 "));
}

#[test]
fn everything_can_change_and_comments_stay_where_they_are() {
    let order = ScheduleConfig::Groups(vec![vec!["right".into()], vec!["left".into()]]);
    let coupling = mixed(relaxed(0.6), &[("left.F", CouplingConfig::from(PrestepConfig::default()))]);
    let text = applied(SYSTEM, &chosen(2e-5, order, coupling));
    let expected = SYSTEM
        .replace("1e-2 ", "2e-5 ")
        .replace("\"zoh\"  #", "{ method = \"relaxed\", alpha = 0.6 }  #")
        .replace("# to begin with\n", "# to begin with\nschedule = [[\"right\"], [\"left\"]]\n")
        .replace("\"foh\" #", "{ method = \"relaxed\", alpha = 0.6 } #")
        .replace("to = \"left.F\"\n", "to = \"left.F\"\ncoupling = \"prestep\"\n");
    assert_eq!(text, expected);
}

/// Tables of their own, dotted keys, inline tables, lists of inline tables.
#[test]
fn other_layouts_are_written_too() {
    let rest = SYSTEM.split_once("# the left one").unwrap().1;
    let heads = [
        "[run]\nstop = 5.0\nstep = 1e-2\n[run.coupling] # here\n# inside\nmethod = \"nepce\"\ngain = 0.5 # half\n# the left one",
        "[run]\nstop = 5.0\nstep = 1e-2\ncoupling.method = \"nepce\" # dotted\ncoupling.gain = 0.5\n# the left one",
        "run = { stop = 5.0, step = 1e-2, coupling = { method = \"nepce\", gain = 0.5 } } # all\n# the left one",
        "run.stop = 5.0\nrun.step = 1e-2 # dots\n# the left one",
        "[run]\nstop = 5.0\nstep = 1e-2\nschedule = [\n  # first\n  \"left\",\n  \"right\", # last\n]\n# the left one",
    ];
    let nepce = |gain: f64| {
        CouplingConfig::from(NepceConfig { gain, against: Default::default(), anti_aliasing: false })
    };
    for head in heads {
        for coupling in
            [nepce(0.5), nepce(1.0), relaxed(0.3), mixed(nepce(0.25), &[("right.x", relaxed(0.9))])]
        {
            for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
                applied(&format!("{head}{rest}"), &chosen(0.5, schedule, coupling.clone()));
            }
        }
    }
    let (front, back) = SYSTEM.split_once("[[connections]]").unwrap();
    assert!(back.contains("coupling"));
    let list = "connections = [\n  { from = \"left.x\", to = \"right.x\" }, # motion\n  { from = \"left.v\", to = \"right.v\", coupling = \"foh\" },\n  { from = \"right.F\", to = \"left.F\" }, # force\n]\n";
    let text = applied(
        &format!("{list}{front}"),
        &chosen(0.5, ScheduleConfig::PARALLEL, mixed(nepce(0.25), &[("right.x", relaxed(0.9))])),
    );
    assert!(
        text.contains("to = \"right.x\", coupling = { method = \"relaxed\", alpha = 0.9 } }, # motion"),
        "{text}"
    );
}

#[test]
fn windows_lines_and_a_missing_last_line_end_stay() {
    let windows = SYSTEM.replace('\n', "\r\n");
    let choice = chosen(0.5, ScheduleConfig::PARALLEL, relaxed(0.3));
    let text = applied(&windows, &choice);
    let written = applied(SYSTEM, &choice);
    assert_eq!(text.replace("\r\n", "\n"), written);
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text:?}");
    assert!(!applied(SYSTEM.trim_end(), &choice).ends_with('\n'));
}

#[test]
fn a_file_that_was_changed_meanwhile_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.toml");
    std::fs::write(&path, SYSTEM).unwrap();
    let file = super::super::load(&path).unwrap();
    let other = SYSTEM.replace("5.0", "6.0");
    std::fs::write(&path, &other).unwrap();
    let error = apply(&file, &path, &chosen(0.5, ScheduleConfig::PARALLEL, relaxed(0.3))).unwrap_err();
    assert!(error.to_string().contains("changed since it was read"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
}

#[test]
fn comments_are_found_outside_of_quotes_only() {
    let text = "a = \"# no\" # one\nb = '''\n# no\n''' # two\nc = \"\\\" # no\" #three\nd = \"\"\"\\\"\"\" # no\n\"\"\"# four";
    assert_eq!(comments(text), ["# one", "# two", "#three", "# four"]);
}
