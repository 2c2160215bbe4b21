//! Terminals: ports that belong together, such as effort and flow of a power bond.

use serde::{Deserialize, Serialize};

/// Ports that are meant to be connected together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// Its name; of one inside another, after that one's name and a dot.
    pub name: String,
    /// How members of two terminals find each other: `plug`, `bus`, `sequence`, or a rule of some other standard.
    pub matching_rule: String,
    /// What it is, by the name of some standard or library, if known.
    pub kind: Option<String>,
    /// Its ports.
    pub members: Vec<TerminalMember>,
}

/// One port of a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalMember {
    /// Name of the port.
    pub variable: String,
    /// Its name within the terminal, if it has another one there.
    pub name: Option<String>,
    /// What it carries.
    pub flow: Flow,
}

/// What a member of a terminal carries, and its sign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Flow {
    /// A potential or plain signal.
    Signal,
    /// A flow, positive into the subsystem.
    Inflow,
    /// A flow, positive out of the subsystem.
    Outflow,
    /// Named by some other standard.
    Other(String),
}

/// Effort and flow whose product is power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerBond<'a> {
    /// The potential.
    pub effort: &'a str,
    /// The flow.
    pub flow: &'a str,
    /// +1 if a positive flow brings power into the subsystem, -1 if it takes it out.
    pub sign: i8,
}

impl Terminal {
    /// The power bond this terminal is, if it has exactly one signal and one flow.
    pub fn power_bond(&self) -> Option<PowerBond<'_>> {
        let [a, b] = self.members.as_slice() else { return None };
        let (effort, flow) = if a.flow == Flow::Signal { (a, b) } else { (b, a) };
        let sign = match flow.flow {
            Flow::Inflow => 1,
            Flow::Outflow => -1,
            Flow::Signal | Flow::Other(_) => return None,
        };
        let bond = PowerBond { effort: &effort.variable, flow: &flow.variable, sign };
        (effort.flow == Flow::Signal).then_some(bond)
    }
}
