//! Courses with the optimal parameters of the thesis on learned models. Figures 3.43, 3.44, 3.50 and 3.51.

use crate::cases::case;
use koppel::coupling::{CouplingConfig, ErrorEquationConfig, Hold, LearningConfig, PrestepConfig};
use koppel::identify::ModelConfig;
use koppel::run::RunConfig;

use super::dual_mass::{SIGNALS, courses, differences, stale};
use super::learned::{STATES, SYSTEM};
use crate::course::{Course, global_error};
use crate::exhibit::{Comparison, short};
use crate::{Exhibit, Result};

/// The run with the optimal parameters of the thesis: learning, switch, and both thresholds.
pub(super) fn optimal_run(
    number: &str,
    table: &str,
    model: ModelConfig,
    [duration, switch, hold_above, modified_above]: [f64; 4],
    (error_equation, hold): (ErrorEquationConfig, Hold),
) -> Result<Exhibit> {
    let case = case("nonlinear-dual-mass")?;
    let learning =
        LearningConfig { duration, switch, hold_above, modified_above, ..LearningConfig::default() };
    let prestep =
        PrestepConfig { model, error_equation, learning: Some(learning), ..PrestepConfig::default() };
    let run = |coupling| RunConfig { hold, ..stale(coupling, 1.0, 1e-3) };
    let settings = run(CouplingConfig::from(prestep));
    let (course, exact) = (Course::of(&case, &settings)?, Course::reference(&case, &settings)?);
    let error = global_error(&case, &course, &exact)?;
    let zoh = Course::of(&case, &run(CouplingConfig::zoh()))?;
    let hold = global_error(&case, &zoh, &exact)?;
    // Root mean square of the force's error, while learning and after.
    let part = |from: f64, to: f64| {
        let (own, other) = (course.column(SIGNALS[2].1), exact.column(SIGNALS[2].1));
        let within = course.table.times.iter().enumerate().filter(|(_, t)| **t > from && **t <= to);
        let (sum, count) =
            within.fold((0.0, 0.0), |(s, n), (k, _)| (s + (own[k] - other[k]).powi(2), n + 1.0));
        (sum / count).sqrt()
    };
    let (before, after) = (part(0.0, duration), part(1.5 * duration, 1.0));
    let runs = [("Pre-Step", course)];
    let exhibit = Exhibit::new(number, &format!("courses and errors with the parameters of {table}"), SYSTEM);
    Ok(differences(courses(exhibit, &runs, &exact), &runs, &exact)
        .compare(
            Comparison::statement(
                "after the learning phase the error is damped",
                after < before,
                format!(
                    "root mean square error of the force {} while learning, {} later",
                    short(before),
                    short(after)
                ),
            )
            .because(STATES),
        )
        .compare(
            Comparison::statement(
                "the results fit the uncut system",
                error < 0.1,
                format!("error (3.9) {}, ZOH {}", short(error), short(hold)),
            )
            .because(STATES),
        ))
}
