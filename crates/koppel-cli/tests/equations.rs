//! Own equations in system files: templates, blocks, models for several subsystems, included files, units, mistakes, export.

mod common;

use common::Folder;

#[test]
fn the_car_follows_its_profile() {
    let folder = Folder::new();
    folder.succeed(&["new", "trip", "--from", "car"]).says(&["trip.toml"]);
    folder.succeed(&["run", "trip.toml", "--out", "trip.csv"]);
    let (time, speed) = (folder.column("trip.csv", "time"), folder.column("trip.csv", "car.v"));
    let at = |t: f64| speed[time.iter().position(|time| (time - t).abs() < 1e-9).unwrap()] * 3.6;
    assert!((at(19.0) - 50.0).abs() < 3.0 && (at(39.5) - 100.0).abs() < 6.0, "{} {}", at(19.0), at(39.5));
    assert!(at(60.0) < 45.0, "it brakes: {}", at(60.0));
    folder.succeed(&["check", "trip.toml"]).says(&["stable"]);
}

#[test]
fn every_block_has_a_system_that_runs() {
    let folder = Folder::new();
    for block in koppel::models::blocks() {
        let said = folder.succeed(&["models", block.name]);
        said.says(&[block.description(), "Equations", "[subsystems."]);
        folder.write("b.toml", &folder.succeed(&["models", block.name, "--example"]).out);
        folder.succeed(&["run", "b.toml", "--no-certificate", "--out", "b.csv"]);
        assert!(folder.csv("b.csv").1.len() > 100, "{}", block.name);
        std::fs::remove_file(folder.path("b.csv")).unwrap();
    }
}

const AXLE: &str = r#"
include = "wheel.toml"
[subsystems.wheel]
model = "wheel-of-axle"
[subsystems.body]
model = "free-mass"
parameters = { m = 10 }
[[connections]]
from = "wheel.F"
to = "body.F1"
[[connections]]
from = "body.x"
to = "wheel.x"
"#;
const WHEEL: &str = r#"
[models.wheel-of-axle]
equations_file = "wheel.eq"
parameters = { c = 100 }
"#;

/// One file twice with other parameters, files beside files, models on models.
#[test]
fn parts_come_from_other_files() {
    let folder = Folder::with(
        r#"
include = [{ file = "parts/axle.toml", as = "front" }, { file = "parts/axle.toml", as = "rear", parameters = { wheel.c = 400 } }]
[run]
stop = 1.0
step = 1e-3
coupling = "foh"
[[at]]
time = 0.0
set = { "front.body.x" = 1.0, "rear.body.x" = 1.0 }
"#,
    );
    std::fs::create_dir(folder.path("parts")).unwrap();
    folder.write("parts/axle.toml", AXLE);
    folder.write("parts/wheel.toml", WHEEL);
    folder.write("parts/wheel.eq", "parameter c = 1 [N/m]\ninput x [m]\noutput F [N]\nF = -c * x\n");
    folder.succeed(&["run", "system.toml", "--out", "r.csv"]);
    // x = cos(√(c / m) t): slow in front, twice as fast at the rear.
    for (name, omega) in [("front", 10.0_f64.sqrt()), ("rear", 40.0_f64.sqrt())] {
        let x = folder.column("r.csv", &format!("{name}.body.x"));
        assert!((x[x.len() - 1] - omega.cos()).abs() < 1e-3, "{name}: {} {}", x[x.len() - 1], omega.cos());
    }
    folder.write("parts/wheel.toml", &format!("include = \"axle.toml\"\n{WHEEL}"));
    let said = folder.run(&["run", "system.toml"]);
    assert!(said.err.contains("includes itself: axle.toml -> wheel.toml -> axle.toml"), "{}", said.err);
}

#[test]
fn external_signals_have_units() {
    let folder = Folder::with(
        r#"
[run]
stop = 0.1
step = 0.01
[subsystems.a]
model = "equations"
equations = "input v [m/s], T [K]; output y [m/s], z [K]; y = v; z = T"
[[inputs]]
to = "a.v"
unit = "km/h"
gain = 2.0
signal = { kind = "constant", value = 18 }
[[inputs]]
to = "a.T"
unit = "degC"
signal = [{ kind = "constant", value = 20 }, { kind = "constant", value = 5 }]
"#,
    );
    folder.succeed(&["run", "system.toml", "--out", "r.csv"]);
    let last = |name: &str| *folder.column("r.csv", name).last().unwrap();
    assert!((last("a.y") - 10.0).abs() < 1e-12 && (last("a.z") - 298.15).abs() < 1e-9);
    folder.succeed(&["run", "system.toml", "--out", "s.csv", "--dry-run"]);
    let text = folder.read("system.toml").replace("km/h", "kg");
    folder.write("system.toml", &text);
    let said = folder.run(&["run", "system.toml"]);
    assert!(said.err.contains("kg") && said.err.contains("system.toml:"), "{}", said.err);
}

/// Mistakes of the text, of what stands beside it, of tables, of files and of a block, all in one go and each at its place.
#[test]
fn mistakes_of_a_whole_file_come_in_one_go() {
    let folder = Folder::with(
        r#"
[run]
stop = 1.0
step = 0.1
[models.base]
equations = "input u; output y; der(y) = k * (u - y)"
parameters = { k = 2 }
[subsystems.a]
model = "base"
parameters = { kk = 3 }
[subsystems.b]
model = "equations"
equations = """
    input F [N]
    parameter m = 2 [kg]
    output v [m/s]
    der(v) = F / m + speed
    w = v + m
"""
[subsystems.c]
model = "equations"
equations = "output y; y = f(time)"
tables = { f = { x = [0, 2, 1], y = [0, 1, 2] } }
[subsystems.d]
model = "pid"
parameters = { kq = 3, Tf = 0 }
[subsystems.e]
model = "equations"
equations = "output y; y = g(time)"
tables = { g = { file = "g.csv" } }
"#,
    );
    folder.write("g.csv", "x,y\n0,1\n1,\n");
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("g.csv:3") && said.err.contains("empty"), "{}", said.err);
    folder.write("g.csv", "x,y\n0,1\n1,2\n");
    let said = folder.run(&["run", "system.toml"]);
    for (what, place) in [
        ("parameter `kk` is used by no equation", "system.toml:10:16"),
        ("unknown name `speed`", "system.toml:17:22"),
        ("m/s and kg do not fit together", "system.toml:18:9"),
        ("map `f`: `x` does not grow", "system.toml:23:12"),
        ("parameter `kq` is used by no equation", "system.toml:26:16"),
    ] {
        assert!(said.err.contains(what) && said.err.contains(place), "{what} at {place}:\n{}", said.err);
    }
    let text = folder.read("system.toml").replace("kq = 3, ", "");
    folder.write("system.toml", &text);
    let said = folder.run(&["run", "system.toml"]);
    assert!(
        said.err.contains("division by zero at the start") && said.err.contains("block `pid`"),
        "{}",
        said.err
    );
}

#[test]
fn models_have_their_own_mistakes() {
    let system = |models: &str, own: &str| {
        Folder::with(&format!("[run]\nstop = 1.0\nstep = 0.1\n{models}\n[subsystems.a]\n{own}\n"))
    };
    for (models, own, expected) in [
        (
            "[models.a]\nmodel = \"b\"\n[models.b]\nmodel = \"a\"",
            "model = \"a\"",
            "depend on each other: `a` -> `b` -> `a`",
        ),
        ("[models.mass]\nequations = \"\"", "model = \"mass\"", "`mass` is a model of koppel"),
        ("", "model = \"pid\"\nequations = \"y = 1\"", "has equations of its own"),
        ("", "model = \"pidd\"", "did you mean `pid`?"),
        ("include = \"nowhere.toml\"", "model = \"pid\"", "nowhere.toml"),
    ] {
        let text = if models.starts_with("include") {
            format!("{models}\n[run]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\n{own}\n")
        } else {
            system(models, own).read("system.toml")
        };
        let said = Folder::with(&text).run(&["run", "system.toml"]);
        assert!(said.code == Some(2) && said.err.contains(expected), "{expected}:\n{}", said.err);
    }
}

/// A ball and a sampled controller, as FMUs of both versions and both kinds: the rows of the native model.
#[test]
fn exported_equations_run_as_native_ones() {
    let folder = Folder::with(
        r#"
[run]
stop = 1.0
step = 0.05
coupling = "zoh"
record = ["ball.*", "controller.*"]
[subsystems.ball]
model = "equations"
solver = { method = "adaptive", rtol = 1e-11, atol = 1e-13 }
equations = """
    parameter g = 9.81 [m/s2], e = 0.8, h0 = 1 [m]
    input wind [m/s2]
    output h [m], v [m/s], n
    state h = h0, v = 0
    der(h) = v
    der(v) = -g + wind
    when h < 0 then v = -e * v; n = n + 1 end
"""
start = { v = 0.5 }
[subsystems.controller]
model = "equations"
equations = """
    input v
    output a
    when every(0.02) then a = 0.3 * v + 0.1 * a end
"""
[[connections]]
from = "ball.v"
to = "controller.v"
[[connections]]
from = "controller.a"
to = "ball.wind"
"#,
    );
    folder.succeed(&["run", "system.toml", "--out", "native.csv"]);
    let native = folder.column("native.csv", "ball.h");
    for version in ["2", "3"] {
        for without in
            ["model-exchange", "co-simulation", "state-saving,directional-derivatives,intermediate-update"]
        {
            let arguments =
                ["fmu", "export", "system.toml", "--subsystem", "ball", "-o", "ball.fmu", "--force"];
            let more = ["--fmi", version, "--without", without];
            folder.succeed(&[&arguments[..], &more].concat());
            let told = folder.succeed(&["fmu", "check", "ball.fmu"]);
            assert!(!told.out.contains("lie") && !told.out.contains("fail"), "{}", told.out);
            let text = folder.read("system.toml");
            let (before, rest) = text.split_once("model = \"equations\"").unwrap();
            let after = &rest[rest.find("[subsystems.controller]").unwrap()..];
            let exchange = without == "co-simulation";
            let solver = if exchange {
                "solver = { method = \"adaptive\", rtol = 1e-11, atol = 1e-13 }\n"
            } else {
                ""
            };
            folder.write("fmu.toml", &format!("{before}fmu = \"ball.fmu\"\n{solver}{after}"));
            folder.succeed(&["run", "fmu.toml", "--out", "fmu.csv"]);
            for (own, exact) in folder.column("fmu.csv", "ball.h").iter().zip(&native) {
                assert!((own - exact).abs() < 1e-9, "FMI {version} without {without}: {own} against {exact}");
            }
            assert_eq!(folder.column("fmu.csv", "ball.n"), folder.column("native.csv", "ball.n"));
        }
    }
    let said = folder.run(&["fmu", "export", "system.toml", "--subsystem", "bal"]);
    assert!(said.err.contains("did you mean `ball`?"), "{}", said.err);
    let said = folder.run(&["fmu", "export", "sum", "--without", "co-simulation"]);
    assert!(said.err.contains("nothing is left"), "{}", said.err);
}

/// At the kink of `clamp` the derivative of either side is right.
#[test]
fn derivatives_at_a_kink_are_no_lie() {
    let folder = Folder::with(
        "[run]\nstop = 1.0\nstep = 0.1\n[subsystems.valve]\nmodel = \"equations\"\n\
         equations = \"input u\\noutput y\\nstate x = 0\\nder(x) = -clamp(x, 0, 1)\\ny = x + u\"\n",
    );
    let export = ["fmu", "export", "system.toml", "--subsystem", "valve", "-o", "valve.fmu"];
    folder.succeed(&[&export[..], &["--without", "co-simulation"]].concat());
    let said = folder.succeed(&["fmu", "check", "valve.fmu"]);
    assert!(!said.out.contains("differences give") && said.out.contains("entries agree"), "{}", said.out);
}
