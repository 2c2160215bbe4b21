//! Mistakes in the files of a package, and in the package itself.

use super::{SYSTEM, findings, set};
use crate::common::{archive, ssd, ssv};
use koppel_ssp::{Options, Rule, Severity, Ssp, Tolerance};
use std::io::{Cursor, Write};

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
    refused(archive(&[("a\\..\\..\\b", b"")]), "leaves the folder");
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
    refused(bytes, "`a.ssd` occurs twice");
}

#[test]
fn a_missing_file_says_so() {
    let findings = koppel_ssp::check("nowhere.ssp".as_ref());
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].rule, Rule::File);
}
