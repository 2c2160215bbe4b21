//! Metadata beside a CSV file, as W3C "CSV on the Web" asks.
//!
//! The table description uses the standard's own words (`url`, `tableSchema`, `titles`, `datatype`), units go to
//! `schema:unitText`, and the complete [`Metadata`] stands under `notes`, where the standard allows any object.
//! Differs from the standard in: infinity is `inf` in the CSV text, not `INF`.

use std::path::Path;

use serde_json::{Value, json};

use super::files::sidecar_of;
use super::metadata::{Column, Kind, Metadata, TIME};
use crate::{Error, Result};

/// The text of the sidecar of `csv`.
pub(super) fn describe(metadata: &Metadata, csv: &Path) -> String {
    let time = Column { name: TIME.to_string(), unit: Some("s".to_string()), ..Column::default() };
    let columns: Vec<Value> = std::iter::once(&time).chain(&metadata.columns).map(column).collect();
    let description = json!({
        "@context": "http://www.w3.org/ns/csvw",
        "url": csv.file_name().map(|name| encode(&name.to_string_lossy())),
        "dc:title": metadata.system,
        "dc:created": metadata.created,
        "dialect": { "header": true, "delimiter": ",", "encoding": "utf-8" },
        "tableSchema": { "columns": columns },
        "notes": [{ "koppel": metadata }],
    });
    format!("{description:#}\n")
}

/// The koppel metadata of `csv`, if a sidecar of ours stands beside it.
pub(super) fn read(csv: &Path) -> Result<Option<Metadata>> {
    let sidecar = sidecar_of(csv);
    if !sidecar.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&sidecar).map_err(Error::io("read", &sidecar))?;
    parse(&text).map_err(|source| Box::new(Error::Metadata { path: sidecar, source }))
}

fn parse(text: &str) -> std::result::Result<Option<Metadata>, serde_json::Error> {
    let mut description: Value = serde_json::from_str(text)?;
    let note = description
        .get_mut("notes")
        .and_then(Value::as_array_mut)
        .and_then(|notes| notes.iter_mut().find_map(|note| note.get_mut("koppel")));
    note.map(|note| serde_json::from_value(note.take())).transpose()
}

fn column(column: &Column) -> Value {
    let mut entry = json!({
        "name": encode(&column.name),
        "titles": column.name,
        "datatype": match column.kind {
            Kind::Number => "number",
            Kind::Text => "string",
            Kind::Bytes => "base64Binary",
        },
    });
    if let Some(unit) = &column.unit {
        entry["schema:unitText"] = json!(unit);
    }
    if let Some(description) = &column.description {
        entry["dc:description"] = json!(description);
    }
    entry
}

/// Percent-encoding of a name: the standard wants names and addresses as URI text.
fn encode(name: &str) -> String {
    name.bytes().fold(String::new(), |mut text, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'~' => text.push(byte.into()),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_survives_the_sidecar() {
        let metadata = Metadata {
            koppel_version: "0.1.0".into(),
            system: "two masses".into(),
            settings: json!({ "step": 1e-3 }),
            columns: vec![Column {
                name: "a.x y".into(),
                unit: Some("m".into()),
                description: Some("position".into()),
                kind: Kind::Number,
            }],
            ..Metadata::default()
        };
        let text = describe(&metadata, Path::new("runs/my out.csv"));
        assert!(text.contains(r#""url": "my%20out.csv""#), "{text}");
        assert!(text.contains(r#""name": "a.x%20y""#), "{text}");
        assert_eq!(parse(&text).ok().flatten(), Some(metadata));
        assert!(matches!(parse("{}"), Ok(None)));
    }
}
