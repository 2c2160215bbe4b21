//! A stop condition such as `left.x > 0.2`.

use super::columns::find;
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::system::{SubsystemId, SystemGraph, VariableId};

/// An expression over a system's variables.
#[derive(Clone, Debug)]
pub struct Condition {
    expression: Expression,
    variables: Vec<(SubsystemId, VariableId)>,
    values: Vec<f64>,
}

impl Condition {
    /// Parses the text and finds its variables.
    pub fn new(text: &str, graph: &SystemGraph) -> Result<Self> {
        let expression =
            Expression::parse(text).map_err(|source| Error::Expression { text: text.into(), source })?;
        if !expression.is_condition() {
            return Err(Error::Setting {
                what: "stop_when".into(),
                value: text.into(),
                problem: "is not a condition; write a comparison such as `left.x > 0.2`".into(),
            }
            .into());
        }
        let variables =
            expression.names().iter().map(|name| find(name, graph)).collect::<Result<Vec<_>>>()?;
        let values = vec![0.0; variables.len()];
        Ok(Condition { expression, variables, values })
    }

    /// The variables it looks at.
    pub(crate) fn variables(&self) -> &[(SubsystemId, VariableId)] {
        &self.variables
    }

    /// True if it holds now.
    pub(crate) fn holds(
        &mut self,
        time: f64,
        mut value: impl FnMut(SubsystemId, VariableId) -> Result<f64>,
    ) -> Result<bool> {
        for ((id, variable), out) in self.variables.iter().zip(&mut self.values) {
            *out = value(*id, *variable)?;
        }
        Ok(self.expression.evaluate(time, &self.values) != 0.0)
    }
}
