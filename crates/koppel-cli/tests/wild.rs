//! What other people's FMUs and files look like: units, discrete reals, tables, archives, structures of other tools.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::Folder;
use common::masses::{MASS2, compile, mass, pack};

/// A signal through a gain of one into the force on a mass; more settings of the mass and its input can be given.
fn pushed(output: &str, more: &str) -> String {
    format!(
        r#"
[run]
stop = 1
step = 0.1
coupling = "zoh"

[subsystems.source]
model = "linear"
D = [[1]]
inputs = ["u"]
outputs = [{output}]

[subsystems.body]
fmu = "body.fmu"
{more}

[[connections]]
from = "source.y"
to = "body.F"

[[inputs]]
to = "source.u"
signal = {{ kind = "constant", value = 2000.0 }}
"#
    )
}

/// The mass with another unit of its force, and no definitions of units.
fn with_unit(unit: &str) -> String {
    let (begin, rest) = MASS2.split_once("  <UnitDefinitions>").unwrap();
    let (_, end) = rest.split_once("</UnitDefinitions>").unwrap();
    format!("{begin}{end}").replace("unit=\"N\"", &format!("unit=\"{unit}\""))
}

/// Last value of a column.
fn last(folder: &Folder, column: &str) -> f64 {
    *folder.column("out.csv", column).last().unwrap()
}

/// Units that FMUs name without a definition.
#[test]
fn units_that_fmus_write_are_converted() {
    const TURN: f64 = std::f64::consts::PI / 30.0;
    let folder = Folder::new();
    folder.write("system.toml", TWO);
    for (sent, wanted, factor, offset) in [
        ("Nm", "kN.m", 1e-3, 0.0),
        ("N*m", "mNm", 1e3, 0.0),
        ("rpm", "1/min", 1.0, 0.0),
        ("RPM", "rad/s", TURN, 0.0),
        ("[mm]", "[m]", 1e-3, 0.0),
        ("%", "-", 0.01, 0.0),
        ("deg C", "K", 1.0, 273.15),
    ] {
        mass(&folder.path("a.fmu"), &with_unit("N").replace("unit=\"m\"", &format!("unit=\"{sent}\"")));
        mass(&folder.path("b.fmu"), &with_unit(wanted));
        let said = folder.succeed(&["run", "system.toml", "--out", "out.csv"]);
        let (x, force) = (folder.column("out.csv", "a.x"), folder.column("out.csv", "b.F"));
        // Held since the communication point before.
        for (x, force) in x.iter().zip(&force[1..]) {
            let exact = factor * x + offset;
            assert!((force - exact).abs() < 1e-9 * exact.abs(), "{sent} to {wanted}: {force} {exact}");
        }
        assert!(!said.err.contains("unit"), "{sent} to {wanted}: {}", said.err);
    }
}

/// One mass pushes another.
const TWO: &str = r#"
[run]
stop = 1
step = 0.1
coupling = "zoh"

[subsystems.a]
fmu = "a.fmu"

[subsystems.b]
fmu = "b.fmu"

[[connections]]
from = "a.x"
to = "b.F"
"#;

#[test]
fn units_nobody_knows_are_told_once() {
    let folder = Folder::new();
    let two = r#"
[subsystems.second]
fmu = "body.fmu"

[[connections]]
from = "source.y"
to = "second.F"
"#;
    folder.write("system.toml", &pushed("{ name = \"y\", unit = \"N.m\" }", two));
    mass(&folder.path("body.fmu"), &with_unit("flurbs"));
    let said = folder.succeed(&["run", "system.toml", "--out", "out.csv"]);
    said.errs_with(&[
        "warning: connection `source.y` -> `",
        "`flurbs`",
        "1 other connection",
        "`gain`",
        "units = \"ignore\"",
    ]);
    assert_eq!(said.err.matches("flurbs").count(), 3, "{}", said.err);
    assert_eq!(last(&folder, "body.F"), 2000.0);
    let checked = folder.succeed(&["check", "system.toml"]);
    checked.errs_with(&["`flurbs`"]);
    let system = folder.read("system.toml");
    for settled in ["gain = 0.5", "units = \"ignore\""] {
        folder.write(
            "system.toml",
            &system.replace("from = \"source.y\"", &format!("{settled}\nfrom = \"source.y\"")),
        );
        let said = folder.succeed(&["run", "system.toml"]);
        assert!(!said.err.contains("flurbs"), "{}", said.err);
    }
}

#[test]
fn the_definition_of_an_fmu_comes_first_and_is_told_if_it_is_odd() {
    let defined = |name: &str, factor: &str| {
        let unit =
            format!("<Unit name=\"{name}\"><BaseUnit kg=\"1\" m=\"1\" s=\"-2\" factor=\"{factor}\"/></Unit>");
        MASS2
            .replace("<UnitDefinitions>", &format!("<UnitDefinitions>{unit}"))
            .replace("unit=\"N\"", &format!("unit=\"{name}\""))
    };
    let folder = Folder::new();
    folder.write("system.toml", &pushed("{ name = \"y\", unit = \"N\" }", ""));
    mass(&folder.path("body.fmu"), &defined("tons", "9806.65"));
    let said = folder.succeed(&["run", "system.toml", "--out", "out.csv"]);
    assert!((last(&folder, "body.F") - 2000.0 / 9806.65).abs() < 1e-12);
    assert!(!said.err.contains("tons"), "{}", said.err);
    mass(&folder.path("body.fmu"), &defined("kN", "100"));
    let said = folder.succeed(&["run", "system.toml", "--out", "out.csv"]);
    assert_eq!(last(&folder, "body.F"), 20.0);
    said.errs_with(&["defines unit `kN` as 100 kg.m.s-2", "elsewhere is 1000 kg.m.s-2"]);
}

/// Real inputs that are declared discrete are held; a key lets the coupling predict them.
#[test]
fn discrete_reals_are_named_and_can_be_predicted() {
    let folder = Folder::new();
    let discrete = MASS2.replace(
        "name=\"F\" valueReference=\"0\" causality=\"input\" variability=\"continuous\"",
        "name=\"F\" valueReference=\"0\" causality=\"input\" variability=\"discrete\"",
    );
    assert_ne!(discrete, MASS2);
    mass(&folder.path("discrete.fmu"), &discrete);
    mass(&folder.path("continuous.fmu"), MASS2);
    let system = |fmu: &str, more: &str| {
        pushed("\"y\"", more).replace("body.fmu", fmu).replace("\"zoh\"", "\"foh\"").replace(
            "kind = \"constant\", value = 2000.0",
            "kind = \"sine\", amplitude = 1.0, frequency = 1.0",
        )
    };
    let run = |fmu: &str, more: &str| {
        folder.write("system.toml", &system(fmu, more));
        let said = folder.succeed(&["run", "system.toml", "--out", "out.csv"]);
        (folder.read("out.csv"), said.err)
    };
    let (held, warned) = run("discrete.fmu", "");
    assert!(warned.contains("declare them discrete: `body.F`"), "{warned}");
    assert!(warned.contains("continuous = [\"F\"] below [subsystems.body]"), "{warned}");
    assert_eq!(warned.matches("discrete").count(), 1, "{warned}");
    let (predicted, quiet) = run("discrete.fmu", "continuous = [\"F\"]");
    let (declared, _) = run("continuous.fmu", "");
    assert_eq!(predicted, declared);
    assert_ne!(held, declared);
    assert!(!quiet.contains("discrete"), "{quiet}");
    folder.write("system.toml", &system("discrete.fmu", "continuous = [\"G\"]"));
    folder.run(&["run", "system.toml"]).errs_with(&["no variable `G`", "`F`"]);
    let said = folder.run(&["run", "system.toml", "--set", "body.continuous=[\"F\"]", "--coupling", "zoh"]);
    assert!(!said.err.contains("discrete"), "a held coupling predicts nothing: {}", said.err);
}

#[test]
fn a_run_without_steps_is_refused() {
    let folder = Folder::new();
    folder.write("system.toml", &pushed("\"y\"", ""));
    mass(&folder.path("body.fmu"), MASS2);
    let said = folder.run(&["run", "system.toml", "--step", "1e10"]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    said.errs_with(&["run.step", "no step", "1 s"]);
    folder.succeed(&["run", "system.toml", "--step", "5"]);
}

#[test]
fn a_boolean_is_no_number() {
    let folder = Folder::new();
    mass(&folder.path("body.fmu"), MASS2);
    for (name, kind) in [("m", "Float64"), ("misbehave", "Int32")] {
        folder.write("system.toml", &pushed("\"y\"", &format!("parameters = {{ {name} = true }}")));
        let said = folder.run(&["run", "system.toml"]);
        assert_eq!(said.code, Some(2));
        said.errs_with(&[&format!("`{name}` is a {kind}, true is not one")]);
    }
    folder.write("system.toml", &pushed("\"y\"", "parameters = { on = true }"));
    folder.succeed(&["run", "system.toml", "--out", "out.csv"]);
    assert_eq!(last(&folder, "body.on"), 1.0);
}

#[test]
fn a_number_that_an_fmu_loses_is_not_blamed_on_the_coupling() {
    let folder = Folder::new();
    mass(&folder.path("body.fmu"), MASS2);
    folder.write("system.toml", &pushed("\"y\"", "parameters = { misbehave = 5 }"));
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&[
        "`body`",
        "`x` became NaN",
        "from finite inputs (largest: `F` = 2000)",
        "`body` itself computed it",
    ]);
    assert!(!said.err.contains("coupling"), "{}", said.err);
}

/// A system whose mass follows tables in a file.
fn driven(file: &str, columns: &[(&str, &str)], more: &str) -> String {
    let inputs: Vec<String> = columns
        .iter()
        .map(|(to, column)| {
            format!("[[inputs]]\nto = \"body.{to}\"\nsignal = {{ kind = \"table\", file = \"{file}\", column = '{column}'{more} }}\n")
        })
        .collect();
    format!(
        "[run]\nstop = 1\nstep = 0.1\ncoupling = \"zoh\"\n[subsystems.body]\nfmu = \"body.fmu\"\n{}",
        inputs.join("\n")
    )
}

#[test]
fn separators_quotes_and_words_of_other_tools_are_read() {
    let folder = Folder::new();
    mass(&folder.path("body.fmu"), MASS2);
    let files = [
        "time,push\n0,1.5\n1,1.5\n",
        "\"time\",\"push\"\n0,1.5\n1,1.5\n",
        "\u{feff}time;push;\n0;1,5;\n1;1,5;\n",
        "\"time\";\"push\"\n0;1.5\n1;1.5\n",
        "time\tpush\n0\t1.5\n1\t1.5\n",
        "time,\"a,b;c\",push\n0,0,1.5\n1,0,1.5\n",
    ];
    folder.write("system.toml", &driven("table.csv", &[("F", "push")], ""));
    for file in files {
        folder.write("table.csv", file);
        folder.succeed(&["run", "system.toml", "--out", "out.csv"]);
        assert_eq!(last(&folder, "body.F"), 1.5, "{file}");
    }
    folder.write("table.csv", "time,push\n0,false\n0.45,true\n1,TRUE\n");
    folder.write("system.toml", &driven("table.csv", &[("on", "push")], ""));
    folder.succeed(&["run", "system.toml", "--out", "out.csv"]);
    assert_eq!(folder.column("out.csv", "body.on")[..7], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
}

/// Where a mass of 1 on a spring of 1 is after 1 s: the midpoint rule in small steps.
fn position_under(force: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 20_000;
    let size = 1.0 / f64::from(STEPS);
    let (mut x, mut v) = (1.0, 0.0);
    for k in 0..STEPS {
        let force = force((f64::from(k) + 0.5) * size);
        let (middle, speed) = (x + 0.5 * size * v, v + 0.5 * size * (force - x));
        (x, v) = (x + size * speed, v + size * (force - middle));
    }
    x
}

/// The value on the left counts before, the one on the right from then on: a jump in the middle of a step acts where it is.
#[test]
fn two_rows_at_one_time_are_a_jump() {
    let folder = Folder::new();
    mass(&folder.path("body.fmu"), MASS2);
    let run = |table: &str| {
        folder.write("table.csv", table);
        folder.write("system.toml", &driven("table.csv", &[("F", "u")], ""));
        folder.succeed(&["run", "system.toml", "--out", "out.csv"]);
        (folder.column("out.csv", "body.F"), last(&folder, "body.x"))
    };
    let (force, position) = run("time,u\n0,0\n0.5,1\n0.5,3\n1,2\n");
    assert!(
        (force[4] - 0.8).abs() < 1e-12 && force[5] == 3.0 && (force[10] - 2.0).abs() < 1e-12,
        "{force:?}"
    );
    let exact = position_under(|t| if t < 0.5 { 2.0 * t } else { 4.0 - 2.0 * t });
    assert!((position - exact).abs() < 1e-4, "{position} {exact}");
    let (_, position) = run("time,u\n0,0\n0.55,0\n0.55,1\n0.55,4\n1,4\n");
    let exact = position_under(|t| if t < 0.55 { 0.0 } else { 4.0 });
    assert!((position - exact).abs() < 1e-4, "{position} {exact}");
    folder.write("table.csv", "time,u\n0,0\n0.5,1\n0.4,3\n");
    folder.run(&["run", "system.toml"]).errs_with(&["table.csv`, line 4", "0.4 s lies before"]);
}

/// Tunable parameters and discrete inputs keep the value of a row until the next, from the next communication point on.
#[test]
fn tables_drive_parameters_and_discrete_inputs() {
    let folder = Folder::new();
    mass(&folder.path("body.fmu"), MASS2);
    folder.write("table.csv", "time,c,on\n0,1,0\n0.25,7,1\n0.5,7,0\n0.5,3,1\n1,3,0\n");
    folder.write("system.toml", &driven("table.csv", &[("c", "c"), ("on", "on")], ""));
    let run = ["run", "system.toml", "--out", "out.csv", "--record", "body.c", "--record", "body.*"];
    folder.succeed(&run);
    let stiffness = folder.column("out.csv", "body.c");
    assert_eq!(stiffness, [1.0, 1.0, 1.0, 1.0, 7.0, 7.0, 3.0, 3.0, 3.0, 3.0, 3.0]);
    let on = folder.column("out.csv", "body.on");
    assert_eq!(on[..10], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    // The same by changes.
    let driven_position = folder.column("out.csv", "body.x");
    let changes = driven("table.csv", &[("on", "on")], "")
        + "[[at]]\ntime = 0.3\nset = { \"body.c\" = 7 }\n[[at]]\ntime = 0.5\nset = { \"body.c\" = 3 }\n";
    folder.write("system.toml", &changes);
    folder.succeed(&run);
    assert_eq!(folder.column("out.csv", "body.x"), driven_position);
    folder.write("system.toml", &driven("table.csv", &[("m", "c")], ""));
    folder.run(&["run", "system.toml"]).errs_with(&["`body.m`", "cannot change during the run", "tunable"]);
}

/// An FMU with steps of one size takes a table whose rows lie between its steps.
#[test]
fn rows_between_steps_of_one_size_wait_for_the_next() {
    let folder = Folder::new();
    let fixed = MASS2
        .replace(
            "canHandleVariableCommunicationStepSize=\"true\"",
            "canHandleVariableCommunicationStepSize=\"false\"",
        )
        .replace("canInterpolateInputs=\"true\"", "canInterpolateInputs=\"false\"");
    mass(&folder.path("body.fmu"), &fixed);
    folder.write("table.csv", "time,u,on\n0,0,0\n0.33,1,1\n1,2,0\n");
    folder.write("system.toml", &driven("table.csv", &[("on", "on")], ""));
    folder.succeed(&["run", "system.toml", "--out", "out.csv"]);
    folder.write("system.toml", &driven("table.csv", &[("F", "u")], ""));
    folder.succeed(&["run", "system.toml", "--out", "out.csv"]);
}

#[test]
fn a_table_that_ends_before_the_run_is_told() {
    let folder = Folder::new();
    mass(&folder.path("body.fmu"), MASS2);
    folder.write("system.toml", &driven("table.csv", &[("F", "u")], ""));
    folder.write("table.csv", "time,u\n0,0\n0.5,1\n");
    let said = folder.succeed(&["run", "system.toml"]);
    said.errs_with(&["`body.F`", "`table.csv` ends at t = 0.5 s", "stop at 1 s"]);
    assert_eq!(said.err.matches("table.csv").count(), 1, "{}", said.err);
    folder.write("table.csv", "time,u\n0,0\n1,1\n");
    let said = folder.succeed(&["run", "system.toml"]);
    assert!(!said.err.contains("table"), "{}", said.err);
}

#[test]
fn structures_of_other_tools_are_called_by_name() {
    let folder = Folder::new();
    let osp = "<?xml version=\"1.0\"?>\n<!-- a > b -->\n<OspSystemStructure xmlns=\"x\" version=\"0.1\"><Simulators/></OspSystemStructure>";
    folder.write("OspSystemStructure.xml", osp);
    let said = folder.run(&["run", "OspSystemStructure.xml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["is an OSP system structure, which koppel does not read yet", "[[connections]]"]);
    folder.write("system.xml", "<ssd:SystemStructureDescription xmlns:ssd=\"x\"/>");
    folder.run(&["check", "system.xml"]).errs_with(&["is a system structure", "`.ssd`"]);
    folder.write("osp.ssd", osp);
    folder.run(&["run", "osp.ssd"]).errs_with(&["is an OSP system structure"]);
    folder.write("nothing.ssd", "\n");
    folder.run(&["run", "nothing.ssd"]).errs_with(&["`nothing.ssd` is empty"]);
    let names = "xmlns:ssd=\"http://ssp-standard.org/SSP1/SystemStructureDescription\" xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\"";
    let ssd = |inside: &str| {
        format!(
            "<ssd:SystemStructureDescription {names} name=\"e\" version=\"1.0\"><ssd:System name=\"r\">{inside}</ssd:System></ssd:SystemStructureDescription>"
        )
    };
    folder.write("bare.ssd", &ssd(""));
    folder
        .run(&["run", "bare.ssd", "--step", "0.1", "--stop", "1"])
        .errs_with(&["`bare.ssd` has no components", "FMU"]);
    folder.write("hull.ssd", &ssd("<ssd:Elements><ssd:Component name=\"c\"/></ssd:Elements>"));
    folder.run(&["run", "hull.ssd"]).errs_with(&["Component c", "no source", "an interface without a model"]);
    folder.write("other.xml", "<a/>");
    folder.run(&["run", "other.xml"]).errs_with(&["is an XML file"]);
}

#[test]
fn archives_of_other_tools_are_read() {
    let folder = Folder::new();
    let library = compile("mass2.c", &[]);
    let entries: [(&str, &[u8]); 2] =
        [("./modelDescription.xml", MASS2.as_bytes()), ("binaries\\linux64\\mass.so", &library)];
    pack(&folder.path("body.fmu"), &entries);
    folder.write("system.toml", &pushed("\"y\"", ""));
    folder.succeed(&["run", "system.toml"]);
}

/// The same in a system structure, where connectors say nothing of units.
#[test]
fn units_nobody_knows_are_told_in_structures_too() {
    let folder = Folder::new();
    mass(&folder.path("body.fmu"), &with_unit("flurbs"));
    let component = |name: &str| {
        format!(
            "<ssd:Component name=\"{name}\" source=\"body.fmu\"><ssd:Connectors><ssd:Connector name=\"F\" kind=\"input\"><ssc:Real/></ssd:Connector><ssd:Connector name=\"x\" kind=\"output\"><ssc:Real/></ssd:Connector></ssd:Connectors></ssd:Component>"
        )
    };
    let ssd = |attributes: &str| {
        format!(
            "<ssd:SystemStructureDescription xmlns:ssd=\"http://ssp-standard.org/SSP1/SystemStructureDescription\" xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\" name=\"e\" version=\"1.0\"><ssd:System name=\"r\"><ssd:Elements>{}{}</ssd:Elements><ssd:Connections><ssd:Connection startElement=\"a\" startConnector=\"x\" endElement=\"b\" endConnector=\"F\"{attributes}/></ssd:Connections></ssd:System></ssd:SystemStructureDescription>",
            component("a"),
            component("b")
        )
    };
    let run = ["run", "two.ssd", "--step", "0.1", "--stop", "1", "--coupling", "zoh"];
    folder.write("two.ssd", &ssd(""));
    let said = folder.succeed(&run);
    said.errs_with(&[
        "warning: ",
        "a.x -> b.F",
        "unit `flurbs` is not known",
        "values in `m` pass unchanged to `flurbs`",
    ]);
    folder.write("two.ssd", &ssd(" suppressUnitConversion=\"true\""));
    assert!(!folder.succeed(&run).err.contains("flurbs"));
}

/// A run that an FMU has ended is not continued from a checkpoint as if nothing had happened.
#[test]
fn a_run_that_an_fmu_has_ended_is_not_continued() {
    let folder = Folder::new();
    mass(&folder.path("body.fmu"), MASS2);
    for (how, end) in [(7, 0.6), (8, 0.55)] {
        folder.write(
            "system.toml",
            &format!(
                "[run]\nstop = 1\nstep = 0.1\nrecord_every = 4\n\n[subsystems.body]\nfmu = \"body.fmu\"\nparameters = {{ misbehave = {how} }}\n"
            ),
        );
        let run = ["run", "system.toml", "--out", "out.csv", "--checkpoint-every", "1", "--json"];
        let said = folder.succeed(&run);
        let summary: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!((&summary["ended_by"], &summary["exit_code"]), (&"body".into(), &0.into()));
        let last = *folder.column("out.csv", "time").last().unwrap();
        assert!((last - end).abs() < 1e-9, "{last}");
        let text = format!("`body` asked to end this run at t = {end} s");
        folder.run(&["resume", "out.csv.checkpoint"]).errs_with(&["nothing to continue", &text]);
        folder.run(&["resume", "out.csv.checkpoint", "--stop", "2"]).errs_with(&[&text]);
        std::fs::remove_file(folder.path("out.csv.checkpoint")).unwrap();
    }
}
