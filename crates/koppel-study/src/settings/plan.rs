//! `[plan]`: which values are tried together.

use koppel_io::system_file::{Mark, Node, Value as Toml};
use serde::{Deserialize, Serialize};

use super::factor::Factor;

type Result<T> = std::result::Result<T, Mark>;

/// Kinds of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanKind {
    /// Every value with every other.
    FullFactorial,
    /// Every factor's range in as many parts as there are runs, each part tried once.
    LatinHypercube,
    /// Points that fill the space evenly (Sobol), shifted by the seed.
    Sobol,
    /// Drawn.
    MonteCarlo,
}

/// Which values are tried together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The kind.
    pub kind: PlanKind,
    /// Runs of a plan that is drawn; in a factorial plan the draws of those factors that can only be drawn.
    pub runs: u64,
    /// Begin of all random numbers.
    pub seed: u64,
}

const KINDS: [(&str, PlanKind); 4] = [
    ("full-factorial", PlanKind::FullFactorial),
    ("latin-hypercube", PlanKind::LatinHypercube),
    ("sobol", PlanKind::Sobol),
    ("monte-carlo", PlanKind::MonteCarlo),
];

/// Reads `[plan]`; a full factorial one if there is none.
pub(super) fn read(node: Option<&Node>, factors: &[Factor]) -> Result<Plan> {
    let mut plan = Plan { kind: PlanKind::FullFactorial, runs: 1, seed: 1 };
    let random = factors.iter().find(|factor| factor.source.is_random());
    let Some(node) = node else {
        return match random {
            Some(factor) => Err(Mark::new(factor.span.clone(), format!("factor `{}` is drawn", factor.name))
                .hint("say how often: [plan] with kind = \"monte-carlo\" and runs = 1000")),
            None => Ok(plan),
        };
    };
    let fields = node.fields("[plan]", &["kind", "runs", "seed", "draws"])?;
    if let Some(kind) = fields.get("kind") {
        let name = kind.text("kind")?;
        let known: Vec<String> = KINDS.iter().map(|(name, _)| (*name).to_owned()).collect();
        let found = KINDS.iter().find(|(known, _)| *known == name);
        plan.kind = found.ok_or_else(|| Mark::unknown(kind.span.clone(), "plan", name, &known))?.1;
    }
    let whole = |key: &str| match fields.get(key).map(|node| (&node.value, node)) {
        None => Ok(None),
        Some((Toml::Integer(count @ 0..), _)) => Ok(Some(*count as u64)),
        Some((_, node)) => Err(node.wanted(key, "a whole number")),
    };
    plan.seed = whole("seed")?.unwrap_or(1);
    let is_factorial = plan.kind == PlanKind::FullFactorial;
    let (key, other) = if is_factorial { ("draws", "runs") } else { ("runs", "draws") };
    if let Some(wrong) = fields.get(other) {
        let message = format!("`{other}` does not go with this plan");
        let hint = if is_factorial {
            "a full factorial plan has as many runs as there are combinations; factors that are drawn are drawn `draws` times"
        } else {
            "write `runs`"
        };
        return Err(Mark::new(wrong.span.clone(), message).hint(hint));
    }
    plan.runs = match (whole(key)?, random) {
        (Some(0), _) => {
            let span = fields.need(key)?.span.clone();
            return Err(Mark::new(span, "the plan has no runs"));
        }
        (Some(count), _) => count,
        (None, None) if is_factorial => 1,
        (None, _) => {
            let message = format!("[plan] needs `{key}`");
            return Err(
                Mark::new(node.span.clone(), message).hint("how often values are drawn, such as 1000")
            );
        }
    };
    if plan.kind == PlanKind::Sobol && factors.len() > crate::design::SOBOL_DIMENSIONS {
        let most = crate::design::SOBOL_DIMENSIONS;
        return Err(Mark::new(node.span.clone(), format!("a Sobol plan has at most {most} factors"))
            .hint("use kind = \"latin-hypercube\""));
    }
    Ok(plan)
}
