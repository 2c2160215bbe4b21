//! Tables of methods are complete.

#![allow(dead_code, reason = "every test uses its part")]

use koppel::coupling::CouplingConfig;

/// Every method that fills inputs by itself: `mixed` and `auto` stand for others.
pub(crate) fn methods() -> impl Iterator<Item = &'static str> {
    CouplingConfig::METHODS.iter().map(|(name, _)| *name).filter(|name| !["mixed", "auto"].contains(name))
}

/// Fails if a method is missing in a table of a test.
pub(crate) fn assert_every_method<'a>(table: &str, couplings: impl Iterator<Item = &'a CouplingConfig>) {
    let listed: Vec<&str> = couplings.map(CouplingConfig::name).collect();
    assert_listed(table, methods(), &listed);
}

/// Fails if one of these methods is missing in a table of a test.
pub(crate) fn assert_listed<'a>(table: &str, all: impl Iterator<Item = &'a str>, listed: &[&str]) {
    let missing = missing(all, listed);
    assert!(missing.is_empty(), "{table} has no row for {}", missing.join(", "));
}

fn missing<'a>(all: impl Iterator<Item = &'a str>, listed: &[&str]) -> Vec<&'a str> {
    all.filter(|name| !listed.contains(name)).collect()
}

#[test]
fn missing_methods_are_named() {
    assert_eq!(missing(["zoh", "new", "foh"].into_iter(), &["foh", "zoh"]), ["new"]);
    assert!(methods().any(|name| name == "vfps") && methods().any(|name| name == "hinf"));
}
