//! Thousands of random edits, always the same ones: never a panic, and always an answer. `cargo xtask proof` makes a million.

#[allow(unreachable_pub, dead_code, reason = "the experiment `mutations` uses the rest")]
mod driver;
#[allow(unreachable_pub, dead_code, reason = "the experiment `mutations` uses the rest")]
mod mutate;
#[allow(unreachable_pub, dead_code, reason = "the experiment `mutations` uses the rest")]
mod targets;

/// Inputs of each target.
const COUNT: u64 = 2_000;

#[test]
fn edited_files_never_panic() {
    let all = targets::targets().expect("the seeds are in the project");
    for (number, target) in all.iter().enumerate() {
        for seed in &target.seeds {
            (target.read)(seed);
        }
        let outcome = driver::feed(number, target, COUNT, 2);
        assert!(outcome.panics.is_empty(), "{}: {:?}", target.name, outcome.panics);
        // Some edits leave a sound file behind, or the later stages would not be reached; some do not.
        let share = outcome.accepted as f64 / outcome.inputs as f64;
        assert!(outcome.inputs == COUNT && share > 0.01 && share < 0.99, "{}: {share}", target.name);
    }
}
