//! `[plan]`: which values are tried together.

use koppel_io::system_file::{Mark, Marks, Node, Value as Toml};
use serde::{Deserialize, Serialize};

use super::factor::Factor;

type Result<T> = std::result::Result<T, Marks>;

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

/// Reads `[plan]`; a full factorial one if there is none. Without factors only what does not depend on them is checked.
pub(super) fn read(node: Option<&Node>, factors: Option<&Vec<Factor>>) -> Result<Plan> {
    let mut plan = Plan { kind: PlanKind::FullFactorial, runs: 1, seed: 1 };
    let random = factors.into_iter().flatten().find(|factor| factor.source.is_random());
    let Some(node) = node else {
        return match random {
            Some(factor) => {
                Err(Mark::new(factor.span.clone(), format!("factor `{}` is random", factor.name))
                    .hint("set the number of runs: [plan] with kind = \"monte-carlo\" and runs = 1000")
                    .into())
            }
            None => Ok(plan),
        };
    };
    let mut fields = node.fields("[plan]", &["kind", "runs", "seed", "draws"])?;
    let kind = fields.read("kind", |node| super::measure::chosen(node, "plan", &KINDS));
    plan.kind = kind.unwrap_or(plan.kind);
    let whole = |key: &'static str| {
        move |node: &Node| match node.value {
            Toml::Integer(count @ 0..) => Ok(count as u64),
            _ => Err(node.wanted(key, "a whole number")),
        }
    };
    plan.seed = fields.read("seed", whole("seed")).unwrap_or(1);
    let is_factorial = plan.kind == PlanKind::FullFactorial;
    let (key, other) = if is_factorial { ("draws", "runs") } else { ("runs", "draws") };
    // What goes with the plan is not known if its kind is not.
    if fields.get("kind").is_some() && kind.is_none() {
        return fields.or(plan);
    }
    let hint = if is_factorial {
        "a full factorial plan has as many runs as there are combinations; random factors are drawn `draws` times"
    } else {
        "write `runs`"
    };
    fields.read(other, |node| {
        Err::<(), _>(Mark::new(node.span.clone(), format!("`{other}` does not go with this plan")).hint(hint))
    });
    let count = fields.read(key, |node| match whole(key)(node)? {
        0 => Err(Mark::new(node.span.clone(), "the plan has no runs")),
        count => Ok(count),
    });
    let needs_count = random.is_some() || !is_factorial;
    if needs_count && !fields.has_mistakes() && fields.get(key).is_none() {
        let mark = Mark::new(node.span.clone(), format!("[plan] needs `{key}`"));
        fields.note(Err::<(), _>(mark.hint("how often values are drawn, such as 1000")));
    }
    plan.runs = count.unwrap_or(1);
    let most = crate::design::SOBOL_DIMENSIONS;
    if plan.kind == PlanKind::Sobol && factors.is_some_and(|factors| factors.len() > most) {
        let mark = Mark::new(node.span.clone(), format!("a Sobol plan has at most {most} factors"));
        fields.note(Err::<(), _>(mark.hint("use kind = \"latin-hypercube\"")));
    }
    fields.or(plan)
}
