//! Which papers there are, and what each consists of.

use crate::context::Context;
use crate::{Exhibit, Result, chen, genser, genser_benedikt, glumac, kuebler};

/// A paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// Glumac & Kovacic 2018.
    Glumac,
    /// Kübler & Schiehlen 2000.
    Kuebler,
    /// Chen et al. 2021.
    Chen,
    /// Genser & Benedikt 2018.
    GenserBenedikt,
    /// Genser 2020.
    Genser,
}

/// A part of a paper that is made at once.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    /// About how long it takes, in full and quick, in seconds on two cores: for the time that is left.
    pub(crate) seconds: [f64; 2],
    pub(crate) make: fn(&Context<'_>) -> Result<Vec<Exhibit>>,
}

impl Paper {
    /// All papers, the quickest first.
    pub const ALL: [Paper; 5] =
        [Paper::Glumac, Paper::Kuebler, Paper::Chen, Paper::GenserBenedikt, Paper::Genser];

    /// Name on the command line and of its folder.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Paper::Glumac => "glumac",
            Paper::Kuebler => "kuebler",
            Paper::Chen => "chen",
            Paper::GenserBenedikt => "genser-benedikt",
            Paper::Genser => "genser",
        }
    }

    /// The paper of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Paper> {
        Paper::ALL.into_iter().find(|paper| paper.name() == name)
    }

    /// Authors, year and subject.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Paper::Glumac => "Glumac & Kovacic 2018: quality measures of a sequential master",
            Paper::Kuebler => "Kübler & Schiehlen 2000: algebraic loops, iteration and filters",
            Paper::Chen => "Chen et al. 2021: coupling by H-infinity synthesis",
            Paper::GenserBenedikt => "Genser & Benedikt 2018: the pre-step method on a stiff pendulum",
            Paper::Genser => "Genser 2020: the model-based pre-step stabilisation method",
        }
    }

    pub(crate) fn stages(self) -> &'static [Stage] {
        match self {
            Paper::Glumac => glumac::STAGES,
            Paper::Kuebler => kuebler::STAGES,
            Paper::Chen => chen::STAGES,
            Paper::GenserBenedikt => genser_benedikt::STAGES,
            Paper::Genser => genser::STAGES,
        }
    }
}
