//! Blocks: models of the library that are written as equations, one text each in `blocks/`.
//!
//! A text begins with a comment of one line that says what the block is; further comments name sources. Ports without a unit connect
//! to everything: a block of signals is as good for metres as for kelvin.

use crate::equations::{Declaration, Equations, Kind, MapConfig, Source};
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it is called in system files.
    pub name: &'static str,
    /// Its equations.
    pub text: &'static str,
}

macro_rules! blocks {
    ($($name:literal),* $(,)?) => {
        static BLOCKS: &[Block] =
            &[$(Block { name: $name, text: include_str!(concat!("blocks/", $name, ".eq")) }),*];
    };
}

blocks![
    "gain",
    "sum",
    "integrator",
    "pt2",
    "pi",
    "pid",
    "delay",
    "rate-limiter",
    "saturation",
    "dead-zone",
    "backlash",
    "relay",
    "lookup",
    "lookup-2d",
    "signal-generator",
    "noise",
    "free-mass",
    "spring-damper",
    "coulomb-friction",
    "lugre-friction",
    "dc-motor",
    "thermal-capacity",
    "tank",
];

/// Every block.
pub fn blocks() -> &'static [Block] {
    BLOCKS
}

/// The block of this name.
pub fn block(name: &str) -> Option<&'static Block> {
    BLOCKS.iter().find(|block| block.name == name)
}

impl Block {
    /// What it is, in one line.
    pub fn description(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches('#').trim()
    }

    /// Its equations, with tables where it needs some.
    pub fn source(&self) -> Source {
        Source { maps: self.tables(), ..Source::new(self.text) }
    }

    /// Tables that stand for those of the user: a straight line, and a plane.
    pub fn tables(&self) -> Vec<MapConfig> {
        let (name, x) = ("f".to_owned(), vec![0.0, 1.0]);
        match self.name {
            "lookup" => vec![MapConfig { name, values: x.clone(), x, ..MapConfig::default() }],
            "lookup-2d" => {
                let values = vec![0.0, 1.0, 1.0, 2.0];
                vec![MapConfig { name, y: Some(x.clone()), x, values, ..MapConfig::default() }]
            }
            _ => vec![],
        }
    }

    /// Its equations with these parameters, defaults for the others.
    pub fn build(&self, parameters: &BTreeMap<String, f64>) -> Result<Equations> {
        let failed = |problem: String| Error::Block { name: self.name.into(), problem };
        let all = |mistakes: Vec<crate::equations::Mistake>| {
            failed(mistakes.into_iter().map(|mistake| mistake.what).collect::<Vec<_>>().join("; "))
        };
        let mut source = self.source();
        for (name, value) in parameters {
            source = source.with(Declaration::new(Kind::Parameter, name).value(*value));
        }
        let known = source.parameters();
        if let Some(name) = parameters.keys().find(|name| !known.contains(name)) {
            return Err(Error::Unknown { kind: "parameter", name: name.clone(), known }.into());
        }
        Ok(Equations::new(&source).map_err(all)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models;

    #[test]
    fn every_block_is_a_model_of_its_own() {
        for block in blocks() {
            let model =
                block.build(&BTreeMap::new()).unwrap_or_else(|error| panic!("{}: {error}", block.name));
            assert!(!block.description().is_empty() && block.description().len() <= 100, "{}", block.name);
            assert!(models::catalogue().iter().all(|entry| entry.name != block.name));
            let ports = crate::system::Ode::ports(&model);
            for variable in ports.inputs.iter().chain(&ports.outputs).chain(&ports.parameters) {
                assert!(!variable.description.is_empty(), "{}.{}", block.name, variable.name);
            }
        }
    }
}
