//! Terminals: variables that are connected together, from `terminalsAndIcons.xml`.

use super::model::{Description, MemberKind, Terminal, TerminalMember, TerminalStream};
use super::problem::Problem;
use super::xml::{Element, MAX_XML_DEPTH, Result};
use std::collections::HashMap;

/// All terminals of the file.
pub(super) fn read(root: Element<'_>, description: &Description) -> Result<Vec<Terminal>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, variable) in description.variables.iter().enumerate() {
        places.insert(&variable.name, place);
        places.extend(variable.aliases.iter().map(|alias| (alias.name.as_str(), place)));
    }
    let Some(list) = root.child("Terminals")? else { return Ok(Vec::new()) };
    terminals(list, &places, 0)
}

fn terminals(list: Element<'_>, places: &HashMap<&str, usize>, depth: usize) -> Result<Vec<Terminal>> {
    if depth > MAX_XML_DEPTH {
        return Err(list.error(Problem::TooDeep { limit: MAX_XML_DEPTH }));
    }
    let mut found: Vec<Terminal> = Vec::new();
    for element in list.children().filter(|child| child.name() == "Terminal") {
        let terminal = terminal(element, places, depth)?;
        if found.iter().any(|other| other.name == terminal.name) {
            return Err(element.error(Problem::Duplicate { what: "terminal", name: terminal.name }));
        }
        found.push(terminal);
    }
    Ok(found)
}

fn terminal(element: Element<'_>, places: &HashMap<&str, usize>, depth: usize) -> Result<Terminal> {
    let find = |element: Element<'_>, attribute: &'static str| -> Result<usize> {
        let name = element.required(attribute)?;
        let unknown = || Problem::Unknown { what: "variable", name: name.into(), close: None };
        places.get(name).copied().ok_or_else(|| element.error(unknown()))
    };
    let (mut members, mut streams) = (Vec::new(), Vec::new());
    for child in element.children() {
        match child.name() {
            "TerminalMemberVariable" => members.push(TerminalMember {
                variable: find(child, "variableName")?,
                member_name: child.text("memberName"),
                kind: match child.required("variableKind")? {
                    "signal" => MemberKind::Signal,
                    "inflow" => MemberKind::Inflow,
                    "outflow" => MemberKind::Outflow,
                    other => MemberKind::Other(other.into()),
                },
            }),
            "TerminalStreamMemberVariable" => streams.push(TerminalStream {
                in_stream_member_name: child.required("inStreamMemberName")?.into(),
                out_stream_member_name: child.required("outStreamMemberName")?.into(),
                in_stream_variable: find(child, "inStreamVariableName")?,
                out_stream_variable: find(child, "outStreamVariableName")?,
            }),
            _ => {}
        }
    }
    Ok(Terminal {
        name: element.required("name")?.into(),
        description: element.text("description"),
        matching_rule: element.required("matchingRule")?.into(),
        terminal_kind: element.text("terminalKind"),
        members,
        streams,
        terminals: terminals(element, places, depth + 1)?,
    })
}
