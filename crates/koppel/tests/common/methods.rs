//! Tables of methods are complete.

use koppel::coupling::CouplingConfig;

/// Every method that fills inputs by itself: `mixed` and `auto` stand for others.
pub(crate) fn methods() -> impl Iterator<Item = &'static str> {
    CouplingConfig::METHODS.iter().map(|(name, _)| *name).filter(|name| !["mixed", "auto"].contains(name))
}

/// Fails if a method is missing in a table of a test.
pub(crate) fn assert_every_method<'a>(table: &str, couplings: impl Iterator<Item = &'a CouplingConfig>) {
    let listed: Vec<&str> = couplings.map(CouplingConfig::name).collect();
    let missing = missing(methods(), &listed);
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
