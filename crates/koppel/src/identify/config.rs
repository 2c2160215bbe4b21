//! Where interface models come from, as plain data.

use super::RlsConfig;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Where interface models come from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ModelConfig {
    /// The matrices of linear subsystems; others are refused.
    #[default]
    Exact,
    /// Derivatives of the equations where they stand, taken anew every step.
    Derivatives,
    /// The same, taken anew only every so many steps.
    DerivativesEvery(u32),
    /// Recursive least squares on what is seen during the run.
    Rls(RlsConfig),
}

impl ModelConfig {
    /// Steps between two fresh models; 0 means that they stay.
    pub fn every(self) -> u32 {
        match self {
            ModelConfig::Exact | ModelConfig::Rls(_) => 0,
            ModelConfig::Derivatives => 1,
            ModelConfig::DerivativesEvery(steps) => steps,
        }
    }
}

/// A table in place of a name: `{ derivatives = 5 }` or `{ identify = "rls", N = 1, M = 1, forgetting = 0.996 }`.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    derivatives: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identify: Option<Identify>,
    #[serde(rename = "N", default, skip_serializing_if = "Option::is_none")]
    outputs: Option<usize>,
    #[serde(rename = "M", default, skip_serializing_if = "Option::is_none")]
    inputs: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forgetting: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    covariance: Option<f64>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Identify {
    Rls,
}

impl Serialize for ModelConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = Table {
            derivatives: None,
            identify: None,
            outputs: None,
            inputs: None,
            forgetting: None,
            covariance: None,
        };
        match *self {
            ModelConfig::Exact => return serializer.serialize_str("exact"),
            ModelConfig::Derivatives => return serializer.serialize_str("derivatives"),
            ModelConfig::DerivativesEvery(steps) => table.derivatives = Some(steps),
            ModelConfig::Rls(config) => {
                table.identify = Some(Identify::Rls);
                table.outputs = Some(config.outputs);
                table.inputs = Some(config.inputs);
                table.forgetting = Some(config.forgetting);
                table.covariance = Some(config.covariance);
            }
        }
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ModelConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = ModelConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"exact\", \"derivatives\" or a table such as { identify = \"rls\" }")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<ModelConfig, E> {
        match name {
            "exact" => Ok(ModelConfig::Exact),
            "derivatives" => Ok(ModelConfig::Derivatives),
            _ => Err(E::unknown_variant(name, &["exact", "derivatives"])),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ModelConfig, A::Error> {
        let table = Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
        let default = RlsConfig::default();
        match (table.derivatives, table.identify) {
            (Some(steps), None) => Ok(ModelConfig::DerivativesEvery(steps)),
            (None, Some(Identify::Rls)) => Ok(ModelConfig::Rls(RlsConfig {
                outputs: table.outputs.unwrap_or(default.outputs),
                inputs: table.inputs.unwrap_or(default.inputs),
                forgetting: table.forgetting.unwrap_or(default.forgetting),
                covariance: table.covariance.unwrap_or(default.covariance),
            })),
            _ => Err(de::Error::custom("wanted either `derivatives` or `identify`")),
        }
    }
}
