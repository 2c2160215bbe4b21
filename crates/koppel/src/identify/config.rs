//! Where interface models come from, as plain data.

use super::{IdentifyConfig, MoespConfig, RlsConfig};
use crate::error::bad;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Where interface models come from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ModelConfig {
    /// The matrices of linear subsystems; others are refused.
    #[default]
    Exact,
    /// Derivatives of the equations where they stand, updated every step.
    Derivatives,
    /// The same, updated only every so many steps; 0 means never.
    DerivativesEvery(u32),
    /// The same, updated only of subsystems whose model has predicted the last step with a larger error than this, as a
    /// part of the range of the outputs ([`crate::coupling::Coupling::quality`]).
    DerivativesAbove(f64),
    /// Recursive least squares on what is seen during the run.
    Rls(RlsConfig),
    /// MOESP on what is seen during the run.
    Moesp(MoespConfig),
    /// Given with the settings of the method, as from a file.
    Given,
}

impl ModelConfig {
    /// Steps between two fresh models; 0 means that they stay.
    pub fn every(self) -> u32 {
        match self {
            ModelConfig::Derivatives => 1,
            ModelConfig::DerivativesEvery(steps) => steps,
            _ => 0,
        }
    }

    /// Error of a prediction above which a model is updated, if that decides.
    pub fn above(self) -> Option<f64> {
        match self {
            ModelConfig::DerivativesAbove(error) => Some(error),
            _ => None,
        }
    }

    /// Refuses settings that make no sense.
    pub(crate) fn check(self) -> crate::error::Result<()> {
        match self.above() {
            Some(above) if !(above > 0.0 && above.is_finite()) => {
                let problem = "must be positive: an error as a fraction of the range, such as 0.001";
                Err(bad("model.above", above, problem))
            }
            _ => Ok(()),
        }
    }

    /// How models are learned, if they are.
    pub fn identify(self) -> Option<IdentifyConfig> {
        match self {
            ModelConfig::Rls(config) => Some(IdentifyConfig::Rls(config)),
            ModelConfig::Moesp(config) => Some(IdentifyConfig::Moesp(config)),
            _ => None,
        }
    }

    /// Refuses models that a method learns while the run goes on, for a forecast.
    ///
    /// # Errors
    ///
    /// Why there is no forecast.
    pub fn refuse_learning(self, method: &str) -> Result<(), String> {
        match self.identify() {
            None => Ok(()),
            Some(_) => Err(format!(
                "`{method}` learns its models during the run; with model = \"exact\" or \"derivatives\" it can be forecast"
            )),
        }
    }

    /// A few words for a summary.
    pub fn name(self) -> &'static str {
        match self {
            ModelConfig::Exact => "exact",
            ModelConfig::Derivatives
            | ModelConfig::DerivativesEvery(_)
            | ModelConfig::DerivativesAbove(_) => "derivatives",

            ModelConfig::Rls(_) => "rls",
            ModelConfig::Moesp(_) => "moesp",
            ModelConfig::Given => "given",
        }
    }
}

/// The error above which derivatives are updated, unless it is said.
const DEFAULT_ABOVE: f64 = 1e-3;

/// A table in place of a name: `{ derivatives = 5 }`, `{ derivatives = "auto", above = 0.001 }`, `{ identify = "rls", N = 1, M = 1, forgetting = 0.996 }` or
/// `{ identify = "moesp", order = 2, window = 500 }`.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    derivatives: Option<When>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    above: Option<f64>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<usize>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Identify {
    Rls,
    Moesp,
}

/// When derivatives are updated.
#[derive(Clone, Copy)]
enum When {
    Every(u32),
    Auto,
}

impl Serialize for When {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            When::Every(steps) => serializer.serialize_u32(steps),
            When::Auto => serializer.serialize_str("auto"),
        }
    }
}

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StepsOrAuto;
        impl Visitor<'_> for StepsOrAuto {
            type Value = When;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of steps or \"auto\"")
            }

            fn visit_u64<E: de::Error>(self, steps: u64) -> Result<When, E> {
                u32::try_from(steps).map(When::Every).map_err(|_| E::custom("`derivatives` is too large"))
            }

            fn visit_i64<E: de::Error>(self, steps: i64) -> Result<When, E> {
                match u64::try_from(steps) {
                    Ok(steps) => self.visit_u64(steps),
                    Err(_) => Err(E::invalid_value(de::Unexpected::Signed(steps), &self)),
                }
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<When, E> {
                if word == "auto" { Ok(When::Auto) } else { Err(E::unknown_variant(word, &["auto"])) }
            }
        }
        deserializer.deserialize_any(StepsOrAuto)
    }
}

impl Serialize for ModelConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = Table::default();
        match *self {
            ModelConfig::Exact => return serializer.serialize_str("exact"),
            ModelConfig::Derivatives => return serializer.serialize_str("derivatives"),
            ModelConfig::Given => return serializer.serialize_str("given"),
            ModelConfig::DerivativesEvery(steps) => table.derivatives = Some(When::Every(steps)),
            ModelConfig::DerivativesAbove(error) => {
                table.derivatives = Some(When::Auto);
                table.above = Some(error);
            }
            ModelConfig::Rls(config) => {
                table.identify = Some(Identify::Rls);
                table.outputs = Some(config.outputs);
                table.inputs = Some(config.inputs);
                table.forgetting = Some(config.forgetting);
                table.covariance = Some(config.covariance);
            }
            ModelConfig::Moesp(config) => {
                table.identify = Some(Identify::Moesp);
                table.order = config.order;
                table.window = Some(config.window);
                table.rows = config.rows;
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

/// What can be asked for, for messages.
const KNOWN: &[&str] = &[
    "exact",
    "derivatives",
    "{ derivatives = \"auto\" }",
    "{ identify = \"rls\" }",
    "{ identify = \"moesp\" }",
    "{ file = \"models.toml\" }",
];

struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = ModelConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"exact\", \"derivatives\" or a table such as { identify = \"rls\" } or { derivatives = \"auto\" }")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<ModelConfig, E> {
        match name {
            "exact" => Ok(ModelConfig::Exact),
            "derivatives" => Ok(ModelConfig::Derivatives),
            "given" => Ok(ModelConfig::Given),
            _ => Err(E::unknown_variant(name, KNOWN)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ModelConfig, A::Error> {
        let table = Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
        let is_rls =
            table.outputs.or(table.inputs).is_some() || table.forgetting.or(table.covariance).is_some();
        let is_moesp = table.order.or(table.window).or(table.rows).is_some();
        match (table.derivatives, table.identify) {
            (Some(_), None) if is_rls || is_moesp => {
                Err(de::Error::custom("`derivatives` stands alone: models are either derived or identified"))
            }
            (Some(When::Auto), None) => {
                Ok(ModelConfig::DerivativesAbove(table.above.unwrap_or(DEFAULT_ABOVE)))
            }
            _ if table.above.is_some() => Err(de::Error::custom("`above` goes with derivatives = \"auto\"")),
            (Some(When::Every(steps)), None) => Ok(ModelConfig::DerivativesEvery(steps)),
            (None, Some(Identify::Rls)) if is_moesp => {
                Err(de::Error::custom("`order`, `window` and `rows` go with identify = \"moesp\""))
            }
            (None, Some(Identify::Moesp)) if is_rls => {
                Err(de::Error::custom("`N`, `M`, `forgetting` and `covariance` go with identify = \"rls\""))
            }
            (None, Some(Identify::Rls)) => {
                let default = RlsConfig::default();
                Ok(ModelConfig::Rls(RlsConfig {
                    outputs: table.outputs.unwrap_or(default.outputs),
                    inputs: table.inputs.unwrap_or(default.inputs),
                    forgetting: table.forgetting.unwrap_or(default.forgetting),
                    covariance: table.covariance.unwrap_or(default.covariance),
                }))
            }
            (None, Some(Identify::Moesp)) => Ok(ModelConfig::Moesp(MoespConfig {
                order: table.order,
                window: table.window.unwrap_or(MoespConfig::default().window),
                rows: table.rows,
            })),
            _ => Err(de::Error::custom("expected either `derivatives` or `identify`")),
        }
    }
}
