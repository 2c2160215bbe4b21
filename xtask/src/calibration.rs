//! `cargo xtask proof calibration [--seed N] [--systems N]`: verdicts on runs of random systems beside the truth.
//!
//! The experiment `calibration` measures. Each seed has a block of its own in `bench/calibration.md`.

use crate::command::{Result, cargo, output, program, put_block};

const PAGE: &str = "bench/calibration.md";
/// Systems unless told otherwise.
const SYSTEMS: u64 = 1000;

/// What is asked for.
#[derive(Debug, PartialEq)]
struct Asked {
    seed: u64,
    systems: u64,
}

/// Measures one seed, and writes its tables.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let Asked { seed, systems } = asked(arguments)?;
    let (first, second) = (seed.to_string(), systems.to_string());
    // Figures do not depend on the profile.
    let binary = ["run", "--package", "koppel-experiments", "--bin", "calibration", "--"];
    let text = output(&mut cargo(&[binary.as_slice(), &[&first, &second]].concat()))?;
    let line =
        |name, arguments: &[&str]| Ok::<_, String>(output(&mut program(name, arguments))?.trim().to_owned());
    let commit = line("git", &["describe", "--always", "--dirty"])?;
    let date = line("date", &["-u", "+%F"])?;
    let head = format!(
        "`cargo xtask proof calibration --seed {seed} --systems {systems}`, {date}, koppel at `{commit}`."
    );
    put_block(PAGE, &format!("seed-{seed}"), &format!("\n{head}\n\n{text}"))
}

fn asked(arguments: &[&str]) -> Result<Asked> {
    let mut asked = Asked { seed: 1, systems: SYSTEMS };
    for pair in arguments.chunks(2) {
        let place = match pair {
            ["--seed", _] => &mut asked.seed,
            ["--systems", _] => &mut asked.systems,
            _ => {
                return Err(format!(
                    "`{}` is not understood; there are --seed N and --systems N",
                    pair.join(" ")
                ));
            }
        };
        *place = pair[1].parse().map_err(|_| format!("{} {}: must be a whole number", pair[0], pair[1]))?;
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_and_counts_are_read() {
        assert_eq!(asked(&[]), Ok(Asked { seed: 1, systems: SYSTEMS }));
        assert_eq!(asked(&["--systems", "50", "--seed", "7"]), Ok(Asked { seed: 7, systems: 50 }));
        assert!(
            asked(&["--seed"]).is_err() && asked(&["--seed", "x"]).is_err() && asked(&["7", "8"]).is_err()
        );
    }
}
