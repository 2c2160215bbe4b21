//! The forecast of `koppel check`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, examples};

fn check(example: &str, settings: &[&str]) -> serde_json::Value {
    let file = examples().join(example);
    let mut arguments = vec!["check", file.to_str().unwrap(), "--json"];
    settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
    Folder::new().succeed(&arguments).json()
}

#[test]
fn check_tells_whether_a_run_is_stable_and_at_which_steps() {
    let zoh = ["run.coupling=zoh", "run.reading=stale", "run.schedule=parallel"];
    for (step, verdict) in [("run.step=0.012", "stable"), ("run.step=0.013", "unstable")] {
        let found = check("quarter-truck.toml", &[&zoh[..], &[step]].concat());
        assert_eq!(found["verdict"], verdict, "{found:#}");
        let radius = found["spectral_radius"].as_f64().unwrap();
        assert_eq!(radius < 1.0, verdict == "stable", "{found:#}");
        let robust = found["stability_radius"].as_f64().unwrap();
        assert!(robust <= (1.0 - radius).max(0.0) && (robust > 0.0) == (radius < 1.0), "{found:#}");
        // The limit of zero-order hold, from the step matrix of the two exact solutions written by hand.
        let own = &found["limits"][0];
        let limit = own["intervals"][0]["to"].as_f64().unwrap();
        assert!((limit / 0.012_563_287 - 1.0).abs() < 1e-5, "{found:#}");
        assert_eq!((&own["method"], &own["is_own"]), (&"zoh".into(), &true.into()));
    }
}

#[test]
fn check_says_what_it_cannot_forecast() {
    let found = check("quarter-truck.toml", &["run.coupling=vfps"]);
    assert_eq!(found["verdict"], "untrusted", "{found:#}");
    assert!(found["reason"].as_str().unwrap().contains("vfps"), "{found:#}");
    assert!(found["spectral_radius"].is_null(), "{found:#}");
}

#[test]
fn non_linear_systems_are_linearised_at_their_start() {
    let found = check("double-pendulum.toml", &[]);
    assert_eq!(found["linearised"], serde_json::json!(["upper", "lower"]), "{found:#}");
    assert!(found["spectral_radius"].is_number(), "{found:#}");
}
