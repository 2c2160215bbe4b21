//! The example systems, embedded from `examples/`, and the car, a template for systems of own equations.

use koppel::error::closest;

use crate::failure::{Failure, Result};

/// A system file that comes with koppel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Example {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

macro_rules! examples {
    ($($name:literal),* $(,)?) => {
        /// All of them.
        pub(super) const ALL: &[Example] = &[
            Example { name: "car", text: include_str!("../../templates/car.toml") },
            $(Example { name: $name, text: include_str!(concat!("../../../../examples/", $name, ".toml")) }),*
        ];
    };
}

examples![
    "dual-mass",
    "control-loop",
    "double-pendulum",
    "epas",
    "epas-fast",
    "feedthrough-pair",
    "helicopter",
    "integral-loop",
    "lugre-mass",
    "nonlinear-dual-mass",
    "pendulum-oscillator",
    "quarter-truck",
    "quarter-truck-wheel-force",
    "random-dual-mass",
    "two-mass",
    "two-mass-displacement",
    "undamped-two-mass",
    "van-der-pol",
];

impl Example {
    /// Its title.
    pub(super) fn title(&self) -> &'static str {
        let line = self.text.lines().find_map(|line| line.strip_prefix("title = "));
        line.map_or("", |title| title.trim_matches('"'))
    }

    /// True if one of its subsystems is this model.
    pub(super) fn uses(&self, model: &str) -> bool {
        let wanted = format!("model = \"{model}\"");
        self.text.lines().any(|line| line.trim_start().starts_with(&wanted))
    }
}

/// The example of this name.
pub(super) fn find(name: &str) -> Result<&'static Example> {
    ALL.iter().find(|example| example.name == name).ok_or_else(|| {
        let known: Vec<String> = ALL.iter().map(|example| example.name.to_owned()).collect();
        let meant = closest(name, &known).map_or(String::new(), |best| format!("did you mean `{best}`? "));
        Failure::words(
            format!("unknown example system `{name}`"),
            format!("{meant}known: {}", known.join(", ")),
        )
    })
}

/// Names and titles, one per line.
pub(super) fn list() -> String {
    let width = ALL.iter().map(|example| example.name.len()).max().unwrap_or(0);
    ALL.iter().map(|example| format!("  {:width$}  {}\n", example.name, example.title())).collect()
}
