//! How a coupling is written: a table with `method` and the settings of that method.

use super::auto::AutoConfig;
use super::config::CouplingConfig;
use super::content::Content;
use super::method::{method, names};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// The key that names the method.
const TAG: &str = "method";

/// The table of a method: its name, then its settings.
#[derive(Serialize)]
struct Tagged<'a, T: ?Sized> {
    method: &'static str,
    #[serde(flatten)]
    settings: &'a T,
}

/// Settings of `mixed`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MixedSettings {
    #[serde(default)]
    default: Box<CouplingConfig>,
    connections: BTreeMap<String, CouplingConfig>,
}

impl Serialize for CouplingConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let method = self.name();
        match self {
            CouplingConfig::Method(own) => {
                let settings: &dyn erased_serde::Serialize = &**own;
                Tagged { method, settings }.serialize(serializer)
            }
            CouplingConfig::Mixed { default, connections } => {
                let settings = &MixedSettings { default: default.clone(), connections: connections.clone() };
                Tagged { method, settings }.serialize(serializer)
            }
            CouplingConfig::Auto(settings) => Tagged { method, settings }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CouplingConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (name, settings) = deserializer.deserialize_any(Named)?;
        let read = match name.as_str() {
            "mixed" => MixedSettings::deserialize(settings)
                .map(|MixedSettings { default, connections }| CouplingConfig::Mixed { default, connections }),
            "auto" => AutoConfig::deserialize(settings).map(CouplingConfig::Auto),
            _ => match method(&name) {
                Some(info) => (info.read)(settings),
                None => return Err(de::Error::unknown_variant(&name, names())),
            },
        };
        read.map_err(|error| error.raise())
    }
}

/// Reads the name of the method, and all else as it stands.
struct Named;

impl<'de> Visitor<'de> for Named {
    type Value = (String, Content);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("internally tagged enum CouplingConfig")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Self::Value, A::Error> {
        let (mut name, mut settings) = (None, Vec::new());
        while let Some(key) = table.next_key::<String>()? {
            match key == TAG {
                true if name.is_some() => return Err(de::Error::duplicate_field(TAG)),
                true => name = Some(table.next_value::<Name>()?.0),
                false => settings.push((key, table.next_value()?)),
            }
        }
        let name = name.ok_or_else(|| de::Error::missing_field(TAG))?;
        Ok((name, Content::table(settings)))
    }
}

/// The name of a method.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Identifier;
        impl Visitor<'_> for Identifier {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("variant identifier")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Name, E> {
                match names().contains(&name) {
                    true => Ok(Name(name.to_owned())),
                    false => Err(E::unknown_variant(name, names())),
                }
            }
        }
        deserializer.deserialize_identifier(Identifier)
    }
}
