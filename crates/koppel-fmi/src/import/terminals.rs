//! Terminals of an FMU as terminals of a subsystem.

use crate::description::{self, Description, MemberKind};
use koppel::system::{Flow, Terminal, TerminalMember};

/// All terminals; those inside others follow them, with dotted names.
pub(super) fn of(description: &Description) -> Vec<Terminal> {
    let mut found = Vec::new();
    description.terminals.iter().for_each(|terminal| add(description, terminal, "", &mut found));
    found
}

fn add(description: &Description, from: &description::Terminal, prefix: &str, found: &mut Vec<Terminal>) {
    let name = format!("{prefix}{}", from.name);
    let member = |member: &description::TerminalMember| TerminalMember {
        variable: description.variables[member.variable].name.clone(),
        name: member.member_name.clone(),
        flow: match &member.kind {
            MemberKind::Signal => Flow::Signal,
            MemberKind::Inflow => Flow::Inflow,
            MemberKind::Outflow => Flow::Outflow,
            MemberKind::Other(word) => Flow::Other(word.clone()),
        },
    };
    let inner = format!("{name}.");
    found.push(Terminal {
        name,
        matching_rule: from.matching_rule.clone(),
        kind: from.terminal_kind.clone(),
        members: from.members.iter().map(member).collect(),
    });
    from.terminals.iter().for_each(|terminal| add(description, terminal, &inner, found));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{Terminal as Described, TerminalMember as DescribedMember};

    #[test]
    fn power_bonds_are_found_and_inner_terminals_follow() {
        let text = include_str!("../../tests/fixtures/fmi3.xml");
        let mut description = Description::parse(text.as_bytes(), "x").unwrap();
        let member = |variable: &str, kind: MemberKind| DescribedMember {
            variable: description.find(variable).unwrap(),
            member_name: Some(variable.to_uppercase()),
            kind,
        };
        let terminal = |name: &str, members, terminals| Described {
            name: name.into(),
            description: None,
            matching_rule: "plug".into(),
            terminal_kind: None,
            members,
            streams: Vec::new(),
            terminals,
        };
        let inner = terminal("inner", vec![member("flag", MemberKind::Other("special".into()))], Vec::new());
        let members = vec![member("i", MemberKind::Outflow), member("u", MemberKind::Signal)];
        description.terminals = vec![terminal("plug", members, vec![inner])];
        let found = of(&description);
        assert_eq!(found.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["plug", "plug.inner"]);
        let bond = found[0].power_bond().unwrap();
        assert_eq!((bond.effort, bond.flow, bond.sign), ("u", "i", -1));
        assert_eq!(found[0].members[0].name.as_deref(), Some("I"));
        assert_eq!(found[1].members[0].flow, Flow::Other("special".into()));
        assert_eq!(found[1].power_bond(), None);
    }
}
