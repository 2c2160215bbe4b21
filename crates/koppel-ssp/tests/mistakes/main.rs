//! Each mistake gives one clear message with its place and its rule.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod files;

use common::{archive, ssd, ssv};
use koppel_ssp::{Error, Finding, Options, Rule, Severity, Ssp, Tolerance};

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
