//! `koppel run` on system structures: FMUs compiled by the tests, structures written by hand.

mod common;

use common::Folder;
use common::masses::{MASS2, MASS3, mass, masses};

/// A structure around the content of its root.
fn ssd(content: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
    xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping" version="1.0" name="two masses">
{content}
</ssd:SystemStructureDescription>
"#
    )
}

fn connectors(list: &[(&str, &str, &str)]) -> String {
    let one = |(name, kind, data): &(&str, &str, &str)| {
        format!("<ssd:Connector name=\"{name}\" kind=\"{kind}\">{data}</ssd:Connector>\n")
    };
    format!("<ssd:Connectors>\n{}</ssd:Connectors>\n", list.iter().map(one).collect::<String>())
}

const UNITS: &str = r#"<ssd:Units>
<ssc:Unit name="N"><ssc:BaseUnit kg="1" m="1" s="-2"/></ssc:Unit>
<ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit>
<ssc:Unit name="furlong"><ssc:BaseUnit m="1" factor="201.168"/></ssc:Unit>
</ssd:Units>
"#;

/// Two masses in a system of their own: forces in N, lengths in furlongs outside, a system input and a system parameter.
fn nested(folder: &Folder) {
    let real = |unit: &str| format!("<ssc:Real unit=\"{unit}\"/>");
    let (n, m, furlong) = (real("N"), real("m"), real("furlong"));
    let plain = "<ssc:Real/>";
    let content = format!(
        r#"<ssd:System name="top">
{top}<ssd:ParameterBindings>
<ssd:ParameterBinding source="values.ssv"><ssd:ParameterMapping source="values.ssm"/></ssd:ParameterBinding>
</ssd:ParameterBindings>
<ssd:Elements>
<ssd:System name="plant">
{plant}<ssd:Elements>
<ssd:Component name="left" source="left.fmu">{left}</ssd:Component>
</ssd:Elements>
<ssd:Connections>
<ssd:Connection startConnector="force" endElement="left" endConnector="F"/>
<ssd:Connection startElement="left" startConnector="x" endConnector="place"/>
<ssd:Connection startConnector="stiffness" endElement="left" endConnector="c"/>
</ssd:Connections>
</ssd:System>
<ssd:Component name="right" source="right.fmu">{right}</ssd:Component>
</ssd:Elements>
<ssd:Connections>
<ssd:Connection startElement="plant" startConnector="place" endElement="right" endConnector="F">
<ssc:LinearTransformation factor="40.2336" offset="0.5"/>
</ssd:Connection>
<ssd:Connection startElement="right" startConnector="x" endElement="plant" endConnector="force">
<ssc:LinearTransformation factor="-2"/>
</ssd:Connection>
<ssd:Connection startConnector="switch" endElement="right" endConnector="on"/>
</ssd:Connections>
</ssd:System>
{UNITS}<ssd:DefaultExperiment startTime="0.1" stopTime="0.5"/>"#,
        top = connectors(&[("switch", "input", "<ssc:Boolean/>")]),
        plant = connectors(&[
            ("force", "input", &n),
            ("place", "output", &furlong),
            ("stiffness", "parameter", plain)
        ]),
        left = connectors(&[("F", "input", &n), ("x", "output", &m), ("c", "parameter", plain)]),
        right =
            connectors(&[("F", "input", plain), ("x", "output", plain), ("on", "input", "<ssc:Boolean/>")]),
    );
    folder.write("system.ssd", &ssd(&content));
    let declarations = "xmlns:ssv=\"http://ssp-standard.org/SSP1/SystemStructureParameterValues\" xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\" xmlns:ssm=\"http://ssp-standard.org/SSP1/SystemStructureParameterMapping\" version=\"1.0\"";
    folder.write(
        "values.ssv",
        &format!(
            "<ssv:ParameterSet {declarations} name=\"p\"><ssv:Parameters>\n\
             <ssv:Parameter name=\"half\"><ssv:Real value=\"6.25\"/></ssv:Parameter>\n\
             <ssv:Parameter name=\"plant.left.m\"><ssv:Real value=\"0.3\"/></ssv:Parameter>\n\
             <ssv:Parameter name=\"right.label\"><ssv:String value=\"r\"/></ssv:Parameter>\n\
             <ssv:Parameter name=\"switch\"><ssv:Boolean value=\"true\"/></ssv:Parameter>\n\
             </ssv:Parameters></ssv:ParameterSet>"
        ),
    );
    folder.write(
        "values.ssm",
        &format!(
            "<ssm:ParameterMapping {declarations}><ssm:MappingEntry source=\"half\" target=\"plant.stiffness\">\
             <ssc:LinearTransformation factor=\"2\"/></ssm:MappingEntry></ssm:ParameterMapping>"
        ),
    );
}

#[test]
fn a_nested_structure_runs_as_its_meaning() {
    let folder = masses();
    nested(&folder);
    let said = folder.succeed(&["run", "system.ssd", "--step", "1e-2", "--out", "ssd.csv"]);
    said.says(&["two masses", "settings          from defaults"]);
    // The same written out by hand: furlongs are gone, 40.2336 / 201.168 = 0.2.
    let meaning = format!(
        "[run]\nstart = 0.1\nstop = 0.5\nstep = 1e-2\n\
         [subsystems.\"plant.left\"]\nfmu = \"left.fmu\"\nparameters = {{ m = 0.3, c = 12.5 }}\n\
         [subsystems.right]\nfmu = \"right.fmu\"\nparameters = {{ on = true, label = \"r\" }}\n\
         [[connections]]\nfrom = \"plant.left.x\"\nto = \"right.F\"\ngain = {}\noffset = 0.5\nunits = \"ignore\"\n\
         [[connections]]\nfrom = \"right.x\"\nto = \"plant.left.F\"\ngain = -2\nunits = \"ignore\"\n",
        40.2336 / 201.168
    );
    folder.write("meaning.toml", &meaning);
    folder.succeed(&["run", "meaning.toml", "--out", "toml.csv", "-q"]);
    let (header, rows) = folder.csv("ssd.csv");
    assert_eq!(header, folder.csv("toml.csv").0);
    assert_eq!(rows.len(), 41);
    for (a, b) in rows.iter().zip(folder.csv("toml.csv").1) {
        for (name, (a, b)) in header.iter().zip(a.iter().zip(&b)) {
            assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{name}: {a} {b}");
        }
    }
    assert_eq!(folder.column("ssd.csv", "right.on"), vec![1.0; 41], "the system's input has its start value");
}

#[test]
fn settings_come_from_options_then_the_file_beside() {
    let folder = masses();
    nested(&folder);
    let said = folder.run(&["run", "system.ssd"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["no communication step", "--step", "system.koppel.toml", "system.ssd:5"]);
    folder.write(
        "system.koppel.toml",
        "[run]\nstep = 2e-2\ncoupling = \"foh\"\nrecord = [\"right.*\", \"plant.left.c\"]\n[subsystems.\"plant.left\"]\nsubsteps = 2\n\
         [[inputs]]\nto = \"switch\"\nsignal = { kind = \"constant\", value = 0 }\n",
    );
    let said = folder.succeed(&["run", "system.ssd", "--dry-run", "--json"]);
    let plan = said.json();
    assert_eq!((plan["step"].as_f64(), plan["stop"].as_f64()), (Some(0.02), Some(0.5)));
    assert_eq!(plan["settings"]["subsystems"]["plant.left"]["substeps"], 2);
    assert_eq!(plan["settings"]["run"]["coupling"]["method"], "foh");
    folder.succeed(&[
        "run",
        "system.ssd",
        "--step",
        "0.1",
        "--set",
        "plant.left.c=7",
        "--out",
        "r.csv",
        "--report",
        "r.html",
    ]);
    assert_eq!(folder.column("r.csv", "time").len(), 5);
    assert_eq!(folder.column("r.csv", "plant.left.c"), [7.0; 5]);
    assert_eq!(folder.column("r.csv", "right.on"), [0.0; 5], "a signal for the system's input arrives");
    folder.write("system.koppel.toml", "[run]\nstep = 0.02\nstop = 0.3\n");
    let both = "0.3 s, from `system.koppel.toml`; the structure's default experiment has 0.5 s";
    folder.succeed(&["run", "system.ssd"]).says(&[both]);
    let said = folder.succeed(&["run", "system.ssd", "--stop", "0.4"]);
    assert!(!said.out.contains("default experiment"), "{}", said.out);
    folder.write("system.koppel.toml", "[run]\nstep = 0.02\n[subsystems.lfet]\nsubsteps = 2\n");
    let said = folder.run(&["run", "system.ssd"]);
    said.errs_with(&["system.koppel.toml:3:13", "unknown component of the structure `lfet`", "plant.left"]);
}

#[test]
fn an_fmu_may_propose_the_step() {
    let folder = masses();
    let propose = |text: &str, step: &str| {
        text.replace("<ModelVariables>", &format!("<DefaultExperiment stepSize=\"{step}\"/><ModelVariables>"))
    };
    mass(&folder.path("right.fmu"), &propose(MASS3, "0.05"));
    mass(&folder.path("left.fmu"), &propose(MASS2, "0.1"));
    nested(&folder);
    let said = folder.succeed(&["run", "system.ssd", "--out", "r.csv"]);
    said.says(&["0.05 s, the smallest that an FMU proposes (`right`)"]);
    assert_eq!(folder.column("r.csv", "time").len(), 9);
}

#[test]
fn booleans_and_whole_numbers_pass_tables() {
    let folder = Folder::new();
    // A mass that tells whether it is on, and one that counts its steps.
    let teller = MASS2.replace(
        "name=\"on\" valueReference=\"0\" causality=\"input\" variability=\"discrete\"><Boolean start=\"false\"/>",
        "name=\"on\" valueReference=\"0\" causality=\"output\" variability=\"discrete\" initial=\"exact\"><Boolean start=\"false\"/>",
    );
    mass(&folder.path("teller.fmu"), &teller);
    mass(&folder.path("taker.fmu"), MASS3);
    let content = |entries: &str| {
        format!(
            r#"<ssd:System name="top">
<ssd:Elements>
<ssd:Component name="teller" source="teller.fmu">{}</ssd:Component>
<ssd:Component name="taker" source="taker.fmu">{}</ssd:Component>
</ssd:Elements>
<ssd:Connections>
<ssd:Connection startElement="teller" startConnector="on" endElement="taker" endConnector="on">
<ssc:BooleanMappingTransformation><ssc:MapEntry source="false" target="true"/><ssc:MapEntry source="true" target="false"/></ssc:BooleanMappingTransformation>
</ssd:Connection>
<ssd:Connection startElement="teller" startConnector="steps" endElement="taker" endConnector="small">
<ssc:IntegerMappingTransformation>{entries}</ssc:IntegerMappingTransformation>
</ssd:Connection>
</ssd:Connections>
</ssd:System>
<ssd:DefaultExperiment stopTime="0.05"/>"#,
            connectors(&[("on", "output", "<ssc:Boolean/>"), ("steps", "output", "<ssc:Integer/>")]),
            connectors(&[("on", "input", "<ssc:Boolean/>"), ("small", "input", "<ssc:Integer/>")]),
        )
    };
    let entry = |(from, to): &(i32, i32)| format!("<ssc:MapEntry source=\"{from}\" target=\"{to}\"/>");
    let entries = |list: &[(i32, i32)]| list.iter().map(entry).collect::<String>();
    folder
        .write("system.ssd", &ssd(&content(&entries(&[(0, 7), (1, -3), (2, 0), (3, 100), (4, 5), (5, 6)]))));
    // Held, whatever the coupling of the others.
    folder.succeed(&["run", "system.ssd", "--step", "0.01", "--coupling", "soh", "--out", "r.csv"]);
    assert_eq!(folder.column("r.csv", "taker.on"), [1.0; 6]);
    assert_eq!(folder.column("r.csv", "teller.steps"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    // What an input was given last: one step behind in a parallel schedule.
    assert_eq!(folder.column("r.csv", "taker.small"), [7.0, 7.0, -3.0, 0.0, 100.0, 5.0]);
    folder.write("system.ssd", &ssd(&content(&entries(&[(0, 7), (1, -3)]))));
    let said = folder.run(&["run", "system.ssd", "--step", "0.01", "--out", "r.csv"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["`teller.steps -> taker.small`", "no entry for 2", "t = 0.02 s"]);
}

/// A structure of one mass with one fault.
fn broken(connector: &str, source: &str, more: &str) -> String {
    let connections = match more {
        "" => String::new(),
        more => format!("<ssd:Connections>\n{more}\n</ssd:Connections>\n"),
    };
    ssd(&format!(
        r#"<ssd:System name="top">
<ssd:Elements>
<ssd:Component name="left" {source}>
<ssd:Connectors>
{connector}
<ssd:Connector name="x" kind="output"><ssc:Real unit="m"/></ssd:Connector>
</ssd:Connectors>
</ssd:Component>
</ssd:Elements>
{connections}</ssd:System>
{UNITS}<ssd:DefaultExperiment stopTime="0.1"/>"#
    ))
}

#[test]
fn mistakes_name_file_element_and_line() {
    let folder = masses();
    let good = "<ssd:Connector name=\"F\" kind=\"input\"><ssc:Real unit=\"N\"/></ssd:Connector>";
    let fmu = "source=\"left.fmu\"";
    let loops = "<ssd:Connection startElement=\"left\" startConnector=\"x\" endElement=\"left\" endConnector=\"F\" suppressUnitConversion=\"true\"/>";
    let with = |connector: &str, source: &str, more: &str| broken(connector, source, more);
    folder.write("system.ssd", &with(good, fmu, loops));
    folder.succeed(&["run", "system.ssd", "--step", "0.01", "-q"]);
    let cases = [
        (
            with(good, "source=\"lfet.fmu\"", loops),
            "system.ssd:7:1",
            "there is no file `lfet.fmu`; did you mean `left.fmu`?",
        ),
        (
            with(&good.replace("\"F\"", "\"G\""), fmu, &loops.replace("\"F\"", "\"G\"")),
            "system.ssd:9:1",
            "no variable `G`",
        ),
        (
            with(&good.replace("input", "parameter"), fmu, ""),
            "system.ssd:9:1",
            "is `parameter` here but input in the FMU",
        ),
        (
            with(&good.replace("<ssc:Real unit=\"N\"/>", "<ssc:String/>"), fmu, ""),
            "system.ssd:9:1",
            "is String here but Float64 in the FMU",
        ),
        (
            with(&good.replace("unit=\"N\"", "unit=\"furlong\""), fmu, ""),
            "system.ssd:9:1",
            "is in `furlong` here but in `N` in the FMU",
        ),
        (
            with(good, fmu, &loops.replace(" suppressUnitConversion=\"true\"", "")),
            "system.ssd:15:1",
            "does not convert",
        ),
        // The structure says nothing of the unit, the FMU does.
        (
            with(
                &good.replace(" unit=\"N\"", ""),
                fmu,
                &loops.replace(" suppressUnitConversion=\"true\"", ""),
            ),
            "system.ssd:15:1",
            "`m` (m) does not convert to `N` (kg.m.s-2)",
        ),
        (
            with(good, "type=\"application/x-matlab\" source=\"left.fmu\"", loops),
            "system.ssd:7:1",
            "application/x-matlab",
        ),
        (
            with(good, "source=\"left.fmu\" implementation=\"ModelExchange\"", loops),
            "system.ssd:7:1",
            "model exchange",
        ),
        (with(good, "", loops), "system.ssd:7:1", "has no source"),
        (with(good, "source=\"broken.fmu\"", loops), "system.ssd:7:1", "not a zip archive"),
    ];
    folder.write("broken.fmu", "no zip");
    for (text, place, words) in cases {
        folder.write("system.ssd", &text);
        let said = folder.run(&["run", "system.ssd", "--step", "0.01"]);
        assert_eq!(said.code, Some(2), "{words}\n{}", said.err);
        said.errs_with(&[place, words, "left", "rule: "]);
        assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
        let check = folder.run(&["ssp", "check", "system.ssd"]);
        let forgives = ["is `parameter` here", "is in `furlong`", "does not convert", "application/x-matlab"];
        let forgives = forgives.iter().any(|part| words.contains(part));
        assert_eq!(check.err.contains("--tolerant"), forgives, "{words}\n{}", check.err);
        // A component without a source is allowed, but cannot be run.
        assert_eq!(check.code, Some(if words == "has no source" { 0 } else { 2 }), "{words}");
        check.says(&[place, words, "rule: "]);
    }
}

#[test]
fn a_tolerant_reader_lists_what_it_forgave() {
    let folder = masses();
    let connector = "<ssd:Connector name=\"F\" kind=\"parameter\"><ssc:Real unit=\"N\"/></ssd:Connector>";
    folder.write("system.ssd", &broken(connector, "source=\"left.fmu\" colour=\"red\"", ""));
    assert_eq!(folder.run(&["run", "system.ssd", "--step", "0.01"]).code, Some(2));
    let said = folder.succeed(&["run", "system.ssd", "--step", "0.01", "--tolerant"]);
    said.errs_with(&[
        "forgiven: system.ssd:7",
        "unknown attribute `colour`",
        "is `parameter` here but input in the FMU",
    ]);
    let said = folder.succeed(&["check", "system.ssd", "--set", "run.step=0.01", "--tolerant"]);
    said.errs_with(&["forgiven: system.ssd:7"]);
    let said = folder.succeed(&["ssp", "check", "system.ssd", "--tolerant"]);
    said.says(&["forgiven: system.ssd:7", "except for tolerated violations (2)"]);
    let said = folder.run(&["ssp", "check", "system.ssd"]);
    said.errs_with(&["1 finding is an error", "`--tolerant` accepts it"]);
    // Without its FMU a system cannot be run: nobody forgives that.
    folder.write("system.ssd", &broken(connector, "source=\"lost.fmu\"", ""));
    for arguments in [&["ssp", "check"][..], &["run", "--step", "0.01"]] {
        let said = folder.run(&[arguments, &["system.ssd", "--tolerant"]].concat());
        assert_eq!(said.code, Some(2), "{}", said.out);
        assert!((said.out + &said.err).contains("there is no file `lost.fmu`"));
        assert!(!said.err.contains("--tolerant"), "{}", said.err);
    }
    folder.write("system.toml", common::SYSTEM);
    folder.run(&["run", "system.toml", "--tolerant"]).errs_with(&["--tolerant is for system structures"]);
}

#[test]
fn units_that_only_fmus_know_are_converted() {
    let folder = Folder::new();
    let define =
        |name: &str, base: &str| format!("<Unit name=\"{name}\"><BaseUnit {base}/></Unit></UnitDefinitions>");
    let rate = |name: &str, base: &str| {
        let text = MASS2.replace("</UnitDefinitions>", &define(name, base));
        text.replace("<Real unit=\"N\" start=\"0\"/>", &format!("<Real unit=\"{name}\" start=\"0\"/>"))
            .replace("<Real unit=\"m\" start=\"1\"/>", &format!("<Real unit=\"{name}\" start=\"1\"/>"))
    };
    mass(&folder.path("rad.fmu"), &rate("rad/s", "s=\"-1\" rad=\"1\""));
    // Turns per minute, as many tools mean by 1/min.
    mass(&folder.path("rpm.fmu"), &rate("1/min", "s=\"-1\" rad=\"1\" factor=\"0.10471975511965977\""));
    let system = |from: &str, to: &str| {
        format!(
            "[run]\nstop = 0.1\nstep = 0.01\n[subsystems.a]\nfmu = \"{from}\"\n[subsystems.b]\nfmu = \"{to}\"\n[[connections]]\nfrom = \"a.x\"\nto = \"b.F\"\n"
        )
    };
    folder.write("system.toml", &system("rad.fmu", "rpm.fmu"));
    let said = folder.succeed(&["run", "system.toml", "--dry-run", "--json"]);
    let factor = said.json()["connections"][0]["unit_factors"][0].as_f64().unwrap();
    assert!((factor - 30.0 / std::f64::consts::PI).abs() < 1e-12, "{factor}");
    mass(&folder.path("force.fmu"), MASS2);
    folder.write("system.toml", &system("rpm.fmu", "force.fmu"));
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["`a.x` -> `b.F`", "`1/min` (s-1.rad)", "`N` (kg.m.s-2)", "system.toml:"]);
}
