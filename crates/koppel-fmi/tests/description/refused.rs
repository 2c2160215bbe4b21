//! What is refused, and where; and what is only odd.

use super::{FMI2, FMI3, refused, warned};
use koppel_fmi::description::Description;

#[test]
fn every_error_names_place_and_rule() {
    for (text, from, to, message) in [
        (
            FMI2,
            "<CoSimulation modelId",
            "<CoSimulation & modelId",
            "modelDescription.xml:8:17: malformed XML: ",
        ),
        (FMI2, "</ModelStructure>", "</ModelStructurr>", "malformed XML"),
        (
            FMI2,
            "fmiVersion=\"2.0\"",
            "fmiVersion=\"1.0\"",
            "modelDescription.xml:3:1: <fmiModelDescription>: FMI version `1.0` is not supported",
        ),
        (FMI2, "fmiVersion=\"2.0\"", "fmiVersion=\"2.1\"", "FMI version `2.1` is not supported"),
        (FMI2, "fmiVersion=\"2.0\"", "fmiVersion=\"3.x\"", "FMI version `3.x` is not supported"),
        (FMI2, "fmiVersion=\"2.0\" ", "", "attribute `fmiVersion` is missing"),
        (FMI2, " guid=\"{two}\"", "", "attribute `guid` is missing"),
        (FMI3, " instantiationToken=\"{three}\"", "", "attribute `instantiationToken` is missing"),
        (
            FMI2,
            "modelIdentifier=\"two_cs\"",
            "",
            "modelDescription.xml:8:3: <CoSimulation>: attribute `modelIdentifier` is missing",
        ),
        (FMI2, "modelIdentifier=\"two_cs\"", "modelIdentifier=\"../../evil\"", "expected a file name"),
        (
            FMI2,
            "canInterpolateInputs=\"true\"",
            "canInterpolateInputs=\"yes\"",
            "canInterpolateInputs=\"yes\": expected true or false",
        ),
        (
            FMI2,
            "start=\"0.25\"",
            "start=\"0,25\"",
            "modelDescription.xml:52:7: <Real>: start=\"0,25\": expected a number",
        ),
        (
            FMI2,
            "<Integer declaredType=\"Count\" start=\"3\"/>",
            "<Integer declaredType=\"Count\" start=\"3.5\"/>",
            "start=\"3.5\": expected an integer",
        ),
        (
            FMI2,
            "<Integer declaredType=\"Count\" start=\"3\"/>",
            "<Integer start=\"3000000000\"/>",
            "within the range of its type",
        ),
        (
            FMI2,
            "causality=\"calculatedParameter\"",
            "causality=\"outlet\"",
            "causality=\"outlet\": expected a causality",
        ),
        (
            FMI2,
            "<Real declaredType=\"Force\" start=\"1.5\"",
            "<Real declaredType=\"Forec\" start=\"1.5\"",
            "unknown declared type `Forec`; did you mean `Force`?",
        ),
        (
            FMI2,
            "<Real declaredType=\"Force\" start=\"1.5\"",
            "<Real declaredType=\"Count\" start=\"1.5\"",
            "the declared type `Count` is a Int32 type, the variable is Float64",
        ),
        (FMI2, "name=\"body.v\"", "name=\"body.x\"", "variable `body.x` is defined twice"),
        (
            FMI2,
            "name=\"mass\" valueReference=\"5\"",
            "name=\"mass\" valueReference=\"0\"",
            "value reference 0 is shared with `force`, and both can be set",
        ),
        (
            FMI3,
            "name=\"u\" valueReference=\"1\"",
            "name=\"u\" valueReference=\"2\"",
            "<Float64 name=\"i\">: value reference 2 belongs to `u` already",
        ),
        (
            FMI2,
            "<Unknown index=\"9\"/>",
            "<Unknown index=\"99\"/>",
            "<Unknown>: index: index 99 is not within 1..14",
        ),
        (FMI2, "<Unknown index=\"9\"/>", "<Unknown index=\"0\"/>", "index: index 0 is not within 1..14"),
        (FMI2, "dependencies=\"1 2 7\"", "dependencies=\"1 2 77\"", "dependencies: index 77 is not within"),
        (
            FMI2,
            "dependencies=\"1 2 7\"",
            "dependencies=\"1 2\"",
            "there are 3 dependency kinds for 2 dependencies",
        ),
        (
            FMI3,
            "<Output valueReference=\"16\"/>",
            "<Output valueReference=\"160\"/>",
            "no variable has value reference 160",
        ),
        (FMI2, "derivative=\"3\"", "derivative=\"33\"", "derivative: index 33"),
        (
            FMI2,
            "causality=\"calculatedParameter\" variability=\"fixed\"",
            "causality=\"calculatedParameter\" variability=\"discrete\"",
            "causality `CalculatedParameter` does not go with variability `Discrete`",
        ),
        (
            FMI2,
            "causality=\"input\" variability=\"continuous\"",
            "causality=\"input\" variability=\"fixed\"",
            "causality `Input` does not go with variability `Fixed`",
        ),
        (
            FMI2,
            "name=\"on\" valueReference=\"0\" causality=\"input\" variability=\"discrete\"",
            "name=\"on\" valueReference=\"0\" causality=\"input\" variability=\"continuous\"",
            "only floating-point variables are continuous",
        ),
        (
            FMI2,
            "causality=\"local\"><Real unit=\"m\"/>",
            "causality=\"independent\"><Real unit=\"m\"/>",
            "two independent variables",
        ),
        (FMI2, "<Real start=\"2\" min=\"0\"/>", "", "element `Real, Integer, ...` is missing"),
        (FMI2, "<Unit name=\"m\">", "<Unit name=\"N\">", "unit `N` is defined twice"),
        (
            FMI2,
            "kg=\"1\" m=\"1\" s=\"-2\"",
            "kg=\"1\" m=\"1000\"",
            "m=\"1000\": expected an integer from -128 to 127",
        ),
        (FMI2, "name=\"Flag\"><Boolean", "name=\"Text\"><Boolean", "type `Text` is defined twice"),
        (FMI2, "<Item name=\"drive\"", "<Item name=\"neutral\"", "item `neutral` is defined twice"),
        (
            FMI3,
            "name=\"countdown\" valueReference=\"18\" causality=\"local\" intervalVariability=\"countdown\"",
            "name=\"countdown\" valueReference=\"18\"",
            "attribute `intervalVariability` is missing",
        ),
        (FMI3, "start=\"1 2 3 4 5 6\"", "start=\"1 2 3 4 5\"", "start has 5 values for 6 elements"),
        (FMI3, "<Dimension start=\"2\"/>", "<Dimension/>", "needs either `start` or `valueReference`"),
        (
            FMI3,
            "<Dimension start=\"2\"/>",
            "<Dimension start=\"99999999999\"/>",
            "more than 10000000 elements",
        ),
        (FMI3, "<Dimension start=\"2\"/>", "<Dimension valueReference=\"1\"/>", "the size comes from `u`"),
        (FMI3, "00fF10", "00fF1", "pairs of hexadecimal digits"),
        (
            FMI3,
            "causality=\"input\" start=\"255\"",
            "causality=\"input\" start=\"256\"",
            "start=\"256\": expected a value within the range",
        ),
        (FMI3, "declaredType=\"Mode\" ", "", "attribute `declaredType` is missing"),
        (FMI3, "clocks=\"17 18\"", "clocks=\"17 99\"", "clocks: no variable has value reference 99"),
        (
            FMI3,
            "name=\"n\" valueReference=\"19\" causality=\"structuralParameter\" variability=\"fixed\"",
            "name=\"n\" valueReference=\"19\" causality=\"structuralParameter\" variability=\"continuous\"",
            "does not go with",
        ),
    ] {
        let found = refused(text, from, to);
        assert!(found.contains(message), "`{to}`:\n  expected {message}\n  found    {found}");
        assert!(found.starts_with("modelDescription.xml:"), "{found}");
    }
    let other = Description::parse(b"<SystemStructure/>", "x.xml").unwrap_err().to_string();
    assert_eq!(other, "x.xml:1:1: <SystemStructure>: the root element must be `fmiModelDescription`");
    assert!(Description::parse(b"\xff\xfe<\0", "x.xml").unwrap_err().to_string().contains("not UTF-8"));
    let none = "<fmiModelDescription fmiVersion=\"2.0\" modelName=\"a\" guid=\"b\"/>";
    assert!(
        Description::parse(none.as_bytes(), "x").unwrap_err().to_string().contains("neither a co-simulation")
    );
}

#[test]
fn oddities_are_warnings() {
    for (text, from, to, message) in [
        (
            FMI2,
            "unit=\"m\" displayUnit=\"mm\"",
            "unit=\"furlong\" displayUnit=\"mm\"",
            "<Real>: unknown unit `furlong`",
        ),
        (FMI2, "displayUnit=\"mm\"", "displayUnit=\"inch\"", "unknown display unit `inch`"),
        (FMI2, "nominal=\"0.1\"", "nominal=\"-0.1\"", "nominal value -0.1 must be larger than zero"),
        (FMI2, "start=\"1.5\" max=\"2e6\"", "start=\"3e6\" max=\"2e6\"", "start value 3000000 is outside"),
        (FMI2, "start=\"1.5\" max=\"2e6\"", "", "a start value is required"),
        (FMI2, "causality=\"parameter\" variability=\"fixed\"", "causality=\"parameter\"", "read as `Fixed`"),
        (FMI2, "<Unknown index=\"9\"/>", "", "output `count` is not listed"),
        (
            FMI2,
            "<Unknown index=\"9\"/>",
            "<Unknown index=\"9\"/><Unknown index=\"1\"/>",
            "`force` is named as an output, but is not one",
        ),
        (
            FMI2,
            "<Real/></ScalarVariable>\n    <ScalarVariable name=\"count\"",
            "<Real start=\"1\"/></ScalarVariable>\n    <ScalarVariable name=\"count\"",
            "a start value is not allowed here",
        ),
        (FMI3, "fmiVersion=\"3.0\"", "fmiVersion=\"3.1\"", "newer than 3.0"),
        (FMI3, "causality=\"independent\" ", "causality=\"local\" ", "no independent variable"),
        (
            FMI3,
            "<Float64 name=\"economy\"",
            "<Float128 name=\"x\"/><Float64 name=\"economy\"",
            "<Float128 name=\"x\">: unknown element is ignored",
        ),
        (FMI3, "canGetAndSetFMUState=\"true\" ", "", "canSerializeFMUState needs canGetAndSetFMUState"),
    ] {
        let found = warned(text, from, to);
        assert!(found.contains(message), "`{to}`:\n  expected {message}\n  found    {found}");
    }
    let latin = FMI2.replace("UTF-8", "ISO-8859-1").replace("all of FMI 2", "M\u{e4}rz");
    let bytes: Vec<u8> = latin.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let d = Description::parse(&bytes, "x").unwrap();
    assert_eq!(d.description.as_deref(), Some("März"));
    assert!(d.warnings[0].to_string().contains("Latin-1"));
}
