//! Each mistake gives one clear message with its place and its rule.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod common;

use common::{archive, ssd, ssv};
use koppel_ssp::{Error, Finding, Options, Rule, Severity, Ssp, Tolerance};
use std::io::{Cursor, Write};

const SYSTEM: &str = r#"<ssd:System name="s">
<ssd:Connectors><ssd:Connector name="x" kind="input"><ssc:Real unit="m"/></ssd:Connector></ssd:Connectors>
<ssd:ParameterBindings><ssd:ParameterBinding source="p.ssv"/></ssd:ParameterBindings>
<ssd:Elements>
<ssd:Component name="tank" source="a.fmu"><ssd:Connectors>
<ssd:Connector name="level" kind="output"><ssc:Real unit="m"/></ssd:Connector>
<ssd:Connector name="full" kind="output"><ssc:Boolean/></ssd:Connector>
<ssd:Connector name="area" kind="parameter"><ssc:Real/></ssd:Connector>
</ssd:Connectors></ssd:Component>
<ssd:Component name="pump" source="a.fmu"><ssd:Connectors>
<ssd:Connector name="u" kind="input"><ssc:Real unit="m"/></ssd:Connector>
<ssd:Connector name="on" kind="input"><ssc:Boolean/></ssd:Connector>
<ssd:Connector name="ref" kind="input"><ssc:Real unit="m"/></ssd:Connector>
</ssd:Connectors></ssd:Component>
</ssd:Elements>
<ssd:Connections>
<ssd:Connection startElement="tank" startConnector="level" endElement="pump" endConnector="u"/>
<ssd:Connection startElement="tank" startConnector="full" endElement="pump" endConnector="on"/>
<ssd:Connection startConnector="x" endElement="pump" endConnector="ref"/>
</ssd:Connections>
</ssd:System>
<ssd:Enumerations><ssc:Enumeration name="E"><ssc:Item name="a" value="1"/></ssc:Enumeration></ssd:Enumerations>
<ssd:Units><ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit><ssc:Unit name="kg"><ssc:BaseUnit kg="1"/></ssc:Unit></ssd:Units>
<ssd:DefaultExperiment startTime="0" stopTime="1"/>"#;

fn findings(text: &str, set: &str, tolerance: Tolerance) -> Vec<Finding> {
    let bytes =
        archive(&[("SystemStructure.ssd", text.as_bytes()), ("p.ssv", set.as_bytes()), ("a.fmu", b"")]);
    match Ssp::from_bytes("t.ssp", bytes, &Options { tolerance, ..Options::default() }) {
        Ok(ssp) => ssp.findings().to_vec(),
        Err(Error::Invalid { findings, .. }) => findings,
        Err(other) => panic!("{other}"),
    }
}

fn set() -> String {
    ssv(r#"<ssv:Parameter name="tank.area"><ssv:Real value="2"/></ssv:Parameter>"#)
}

#[test]
fn the_sound_system_is_sound() {
    assert_eq!(findings(&ssd("1.0", SYSTEM), &set(), Tolerance::Strict), []);
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    /// A tolerant reader lets it pass.
    Forgiven,
    Refused,
}
use Then::{Forgiven, Refused};

#[test]
fn each_mistake_in_a_structure_has_one_message() {
    let transformed = |inner: &str| format!(r#"endConnector="u">{inner}</ssd:Connection>"#);
    let linear = transformed(r#"<ssc:LinearTransformation factor="x"/>"#);
    let mapping = transformed(
        r#"<ssc:BooleanMappingTransformation><ssc:MapEntry source="true" target="true"/></ssc:BooleanMappingTransformation>"#,
    );
    let end = r#"endConnector="u"/>"#;
    let cases: Vec<(&str, &str, Rule, &str, Then)> = vec![
        (
            r#"name="tank" source"#,
            r#"source"#,
            Rule::MissingAttribute,
            "attribute `name` is missing",
            Refused,
        ),
        (r#"name="tank" source"#, r#"name="" source"#, Rule::AttributeValue, "must not be empty", Refused),
        (
            r#"kind="input"><ssc:Boolean"#,
            r#"kind="inptu"><ssc:Boolean"#,
            Rule::AttributeValue,
            "did you mean `input`",
            Refused,
        ),
        (
            r#"kind="parameter""#,
            r#"kind="constant""#,
            Rule::NewInTwo,
            "`constant` needs version 2.0",
            Forgiven,
        ),
        ("<ssc:Real/>", "<ssc:Float64/>", Rule::NewInTwo, "`Float64` needs version 2.0", Forgiven),
        ("<ssc:Real/>", "<ssc:Reel/>", Rule::UnknownElement, "did you mean `Real`", Forgiven),
        ("<ssc:Real/>", "<ssd:Real/>", Rule::Namespace, "must be of namespace", Forgiven),
        ("<ssc:Real/>", "<ssc:Real/>words", Rule::Text, "`words` has no meaning", Forgiven),
        (
            "<ssc:Real/>",
            "<ssc:Real size=\"3\"/>",
            Rule::UnknownAttribute,
            "unknown attribute `size`",
            Forgiven,
        ),
        (
            "<ssc:Real/>",
            "<ssc:Enumeration name=\"F\"/>",
            Rule::KnownName,
            "enumeration `F` is not defined",
            Refused,
        ),
        ("<ssc:Real/>", "<ssc:Enumeration/>", Rule::MissingAttribute, "`name` is missing", Refused),
        ("<ssc:Real/>", "<ssc:Real unit=\"km\"/>", Rule::Unit, "unit `km` is not defined", Forgiven),
        (
            r#"endElement="pump" endConnector="u""#,
            r#"endElement="pmp" endConnector="u""#,
            Rule::KnownName,
            "did you mean `pump`",
            Refused,
        ),
        (
            r#"startConnector="level""#,
            r#"startConnector="lvel""#,
            Rule::KnownName,
            "did you mean `level`",
            Refused,
        ),
        (r#"endConnector="u"/>"#, r#"/>"#, Rule::MissingAttribute, "`endConnector` is missing", Refused),
        (
            r#"startElement="tank" startConnector="level""#,
            r#"startElement="pump" startConnector="ref""#,
            Rule::Kind,
            "both take a value",
            Refused,
        ),
        (
            r#"name="level" kind="output""#,
            r#"name="level" kind="calculatedParameter""#,
            Rule::Kind,
            "is a parameter",
            Forgiven,
        ),
        (
            r#"name="level" kind="output""#,
            r#"name="level" kind="inout""#,
            Rule::Kind,
            "dictionary references only",
            Forgiven,
        ),
        (
            r#"startConnector="level""#,
            r#"startConnector="full""#,
            Rule::Type,
            "the source is Boolean, the target Real",
            Forgiven,
        ),
        (
            r#"name="u" kind="input"><ssc:Real unit="m""#,
            r#"name="u" kind="input"><ssc:Real unit="kg""#,
            Rule::Unit,
            "does not convert",
            Forgiven,
        ),
        (r#"endConnector="on""#, r#"endConnector="u""#, Rule::OneSource, "another source", Refused),
        (end, &linear, Rule::AttributeValue, "must be a finite number, found `x`", Refused),
        (end, &mapping, Rule::Transformation, "does not fit type Float", Refused),
        (
            r#"name="pump" source"#,
            r#"name="tank" source"#,
            Rule::UniqueName,
            "element `tank` is defined twice",
            Refused,
        ),
        (
            r#"name="full""#,
            r#"name="level""#,
            Rule::UniqueName,
            "connector `level` is defined twice",
            Refused,
        ),
        (
            r#"<ssc:Unit name="kg">"#,
            r#"<ssc:Unit name="m">"#,
            Rule::UniqueName,
            "unit `m` is defined twice",
            Refused,
        ),
        (r#"source="p.ssv""#, r#"source="q.ssv""#, Rule::MissingFile, "did you mean `p.ssv`", Refused),
        (
            r#"name="tank" source="a.fmu""#,
            r#"name="tank" source="b.fmu""#,
            Rule::MissingFile,
            "no file `b.fmu`",
            Refused,
        ),
        (
            r#"name="tank" source="a.fmu""#,
            r#"name="tank" source="../a.fmu""#,
            Rule::Source,
            "leaves the package",
            Refused,
        ),
        (
            r#"name="tank" source="a.fmu""#,
            r#"name="tank" source="/a.fmu""#,
            Rule::Source,
            "is absolute",
            Refused,
        ),
        (
            r#"name="tank" source="a.fmu""#,
            r#"name="tank" source="http://h/a.fmu""#,
            Rule::Source,
            "is absolute",
            Refused,
        ),
        (r#"name="tank" source="a.fmu""#, r#"name="tank" source="""#, Rule::Source, "is empty", Refused),
        (
            r#"name="tank" source="a.fmu""#,
            r#"name="tank" source="a.fmu" type="x/y""#,
            Rule::MediaType,
            "`x/y` is not known",
            Forgiven,
        ),
        (
            r#"name="tank" source="a.fmu""#,
            r##"name="tank" source="#q""##,
            Rule::KnownName,
            "no system with id `q`",
            Refused,
        ),
        (
            r#"name="tank" source="a.fmu""#,
            r#"name="tank" source="a.fmu" implementation="Cosim""#,
            Rule::AttributeValue,
            "`Cosim` is not known",
            Refused,
        ),
        (
            r#"<ssd:ParameterBinding source="p.ssv"/>"#,
            r#"<ssd:ParameterBinding/>"#,
            Rule::OneContent,
            "neither a source nor content",
            Forgiven,
        ),
        (r#"stopTime="1""#, r#"stopTime="-1""#, Rule::AttributeValue, "comes before the start", Refused),
        (
            "<ssc:BaseUnit kg=\"1\"/>",
            "<ssc:BaseUnit kg=\"1\" factor=\"0\"/>",
            Rule::Unit,
            "factor not zero",
            Refused,
        ),
        (
            "<ssd:DefaultExperiment",
            "<ssd:DefaultExperiment startTime=\"0\"/><ssd:DefaultExperiment",
            Rule::ElementCount,
            "more than once",
            Refused,
        ),
        (
            "<ssd:DefaultExperiment",
            "<foreign xmlns=\"urn:f\"/><ssd:DefaultExperiment",
            Rule::UnknownElement,
            "foreign element",
            Forgiven,
        ),
    ];
    for (from, to, rule, words, then) in cases {
        assert!(SYSTEM.contains(from), "{from}");
        let text = ssd("1.0", &SYSTEM.replacen(from, to, 1));
        let strict: Vec<_> = findings(&text, &set(), Tolerance::Strict)
            .into_iter()
            .filter(|f| f.severity == Severity::Error)
            .collect();
        let hit: Vec<_> = strict.iter().filter(|f| f.rule == rule && f.message.contains(words)).collect();
        assert_eq!(hit.len(), 1, "{to}: {strict:#?}");
        // a name that is gone is missed wherever it is used
        assert!(strict.len() <= 4, "{to}: {strict:#?}");
        assert!(hit[0].line > 0 && !hit[0].element.is_empty(), "{:?}", hit[0]);
        let tolerant = findings(&text, &set(), Tolerance::Tolerant);
        let refused = tolerant.iter().any(|f| f.severity == Severity::Error);
        assert_eq!(refused, then == Refused, "{to}: {tolerant:?}");
    }
}

#[test]
fn mistakes_in_other_files() {
    let text = ssd("1.0", SYSTEM);
    let parameter = |inner: &str| ssv(&format!(r#"<ssv:Parameter name="tank.area">{inner}</ssv:Parameter>"#));
    let cases = [
        (parameter(""), Rule::MissingElement, "the value is missing"),
        (parameter("<ssv:Real/>"), Rule::MissingAttribute, "`value` is missing"),
        (parameter("<ssv:Real value=\"2,5\"/>"), Rule::AttributeValue, "must be a number, found `2,5`"),
        (parameter("<ssv:Real value=\"2\" unit=\"m2\"/>"), Rule::Unit, "unit `m2` is not defined"),
        (
            parameter("<ssv:Boolean value=\"true\"/>"),
            Rule::Type,
            "type Boolean is given to a variable of type Real",
        ),
        (parameter("<ssv:Integer value=\"99999999999\"/>"), Rule::AttributeValue, "from -2147483648"),
        (ssv("") + "x", Rule::Xml, ""),
        ("<a/>".into(), Rule::Root, "must be `ParameterSet`"),
        (String::new(), Rule::Xml, ""),
    ];
    for (set, rule, words) in cases {
        let found = findings(&text, &set, Tolerance::Strict);
        assert!(found.iter().any(|f| f.rule == rule && f.message.contains(words)), "{words}: {found:?}");
        assert!(found.iter().filter(|f| f.severity == Severity::Error).count() == 1, "{words}: {found:?}");
        assert!(found[0].file.ends_with("p.ssv"));
    }
}

#[test]
fn roots_versions_and_xml() {
    let good = ssd("1.0", SYSTEM);
    let first = |text: &str| findings(text, &set(), Tolerance::Strict).into_iter().next().unwrap();
    let version = first(&ssd("3.7", SYSTEM));
    assert_eq!(version.rule, Rule::Version);
    assert!(version.message.contains("`3.7` is not known"));
    let broken = first(&good.replace("</ssd:Elements>", "</ssd:Elments>"));
    assert_eq!((broken.rule, broken.line, broken.column), (Rule::Xml, 17, 1), "{broken}");
    let root = first("<x/>");
    assert_eq!(root.rule, Rule::Root);
    let doctype = first(&good.replacen("\n", "\n<!DOCTYPE x [<!ENTITY a \"b\">]>", 1));
    assert_eq!(doctype.rule, Rule::Xml);
    let loops = SYSTEM.replace(
        "<ssd:Connector name=\"x\" kind=\"input\">",
        "<ssd:Connector name=\"y\" kind=\"output\"/><ssd:Connector name=\"x\" kind=\"input\">",
    );
    assert_eq!(findings(&ssd("1.0", &loops), &set(), Tolerance::Strict), []);
}

#[test]
fn a_value_that_feeds_itself_is_a_loop() {
    let text = ssd(
        "1.0",
        r#"<ssd:System name="s"><ssd:Elements><ssd:System name="a"><ssd:Connectors><ssd:Connector name="i" kind="input"/>
        <ssd:Connector name="o" kind="output"/></ssd:Connectors><ssd:Connections><ssd:Connection startConnector="i" endConnector="o"/>
        </ssd:Connections></ssd:System></ssd:Elements>
        <ssd:Connections><ssd:Connection startElement="a" startConnector="o" endElement="a" endConnector="i"/></ssd:Connections></ssd:System>"#,
    );
    let found = findings(&text, &set(), Tolerance::Tolerant);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].rule, Rule::Loop);
}

#[test]
fn a_system_inside_itself_ends() {
    let text = ssd(
        "1.0",
        r##"<ssd:System name="s" id="s"><ssd:Elements><ssd:Component name="a" type="application/x-ssp-definition" source="#s"/>
        <ssd:Component name="b" type="application/x-ssp-definition" source="SystemStructure.ssd"/></ssd:Elements></ssd:System>"##,
    );
    let found = findings(&text, &set(), Tolerance::Strict);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].rule, Rule::Nesting);
}

fn refused(bytes: Vec<u8>, words: &str) {
    match Ssp::from_bytes("bad.ssp", bytes, &Options::default()) {
        Err(error) => assert!(error.to_string().contains(words), "{error}"),
        Ok(_) => panic!("expected: {words}"),
    }
}

#[test]
fn unsafe_archives_are_refused() {
    refused(b"no zip at all".to_vec(), "not a zip archive");
    refused(archive(&[("x", b"y")]), "no `SystemStructure.ssd`");
    let whole = archive(&[("SystemStructure.ssd", ssd("1.0", SYSTEM).as_bytes())]);
    refused(whole[..whole.len() / 2].to_vec(), "possibly truncated");
    refused(archive(&[("../evil", b"")]), "leaves the folder");
    refused(archive(&[("/etc/evil", b"")]), "absolute");
    refused(archive(&[("a\\b", b"")]), "backslash");
    refused(archive(&[("a/x", b""), ("a/./x", b"")]), "the same path");
    let zeros = vec![0; 80 << 20];
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("bomb", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(&zeros).unwrap();
    refused(zip.finish().unwrap().into_inner(), "zip bomb");
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.add_symlink("link", "/etc/passwd", zip::write::SimpleFileOptions::default()).unwrap();
    refused(zip.finish().unwrap().into_inner(), "symbolic link");
}

#[test]
fn the_same_name_twice_in_the_directory_is_refused() {
    let mut bytes = archive(&[("a.ssd", b"1"), ("b.ssd", b"2")]);
    let places: Vec<_> = (0..bytes.len() - 5).filter(|i| &bytes[*i..*i + 5] == b"b.ssd").collect();
    for at in places {
        bytes[at] = b'a';
    }
    refused(bytes, "occurs twice");
}

#[test]
fn a_missing_file_says_so() {
    let findings = koppel_ssp::check("nowhere.ssp".as_ref());
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].rule, Rule::File);
}
