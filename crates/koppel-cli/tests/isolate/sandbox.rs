//! What isolated FMUs do not get at, what opens it to them, and who may say so.

use super::faults::{faulty, left, run_with, sound, with};
use super::*;

/// Says in the right words what the FMU did not get, and its rows are as if it had not tried.
#[test]
fn no_fmu_gets_out() {
    let folder = faulty();
    let rows = sound(&folder);
    folder.write("secret", "untouched");
    let network = "the sandbox keeps it from the network: network = true allows it";
    for (fault, says) in [
        ("write outside", "the sandbox does not let it write `outside`: write = ["),
        ("socket", network),
        ("ptrace", "the sandbox refuses the system call ptrace: sandbox = false lifts all limits"),
        ("escapes", "the sandbox refuses the system call bpf"),
        ("kill parent", ""),
        ("child", ""),
        ("setsid", ""),
    ] {
        for call in ["load", "step"] {
            let said = run_with(&folder, fault, call, &["--isolate", "--no-certificate"]);
            assert_eq!(said.code, Some(0), "{fault} {call}: {}", said.err);
            assert!(
                !said.err.contains("not refused") && !said.err.contains("a deed"),
                "{call}: {}",
                said.err
            );
            assert!(folder.read("r.csv") == rows, "{fault} {call}: rows differ");
            assert!(said.err.contains(says), "{fault} {call}: {}", said.err);
            assert!(!said.err.contains("datagrams"), "libraries try those: {}", said.err);
            assert!(!folder.has("outside") && !folder.has("made") && folder.read("secret") == "untouched");
            assert_eq!((temporary(&folder), left(&folder)), (0, 0), "{fault} {call}");
        }
    }
}

#[test]
fn keys_open_what_was_refused() {
    let folder = faulty();
    let deed = |fault: &str, setting: &str| {
        let settings = setting.split(' ').flat_map(|one| ["--set", one]);
        let options: Vec<&str> = ["--isolate", "--no-certificate"].into_iter().chain(settings).collect();
        let said = run_with(&folder, fault, "step", &options);
        assert_eq!(said.code, Some(0), "{setting}: {}", said.err);
        (said.err.contains("a deed was done"), said.err)
    };
    for (fault, setting, succeeds) in [
        ("write outside", "body.write=[\".\"]", true),
        ("write outside", "run.write=[\"tmp\"]", false),
        ("write outside", "run.network=true", false),
        ("socket", "body.network=true", true),
        ("socket", "run.write=[\".\"]", false),
        ("write outside", "run.sandbox=false", true),
        ("read outside", "run.sandbox=true", true),
        ("read outside", "run.sandbox=\"strict\"", false),
        ("read outside", "run.sandbox=\"strict\" body.read=[\"secret\"]", true),
    ] {
        folder.write("secret", "read by those who may");
        let (done, said) = deed(fault, setting);
        assert_eq!(done, succeeds, "{fault} {setting}: {said}");
        let _ = std::fs::remove_file(folder.path("outside"));
    }
    let said = run(&folder, &["run", "system.toml", "--isolate", "--set", "run.write=[\"nowhere\"]"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["`write` names", "nowhere"]);
}

/// What an FMU did not get stands in the message about its failure.
#[test]
fn a_failure_names_what_was_refused_before() {
    let folder = faulty();
    let script = "#include <sys/socket.h>\n#include <fcntl.h>\n";
    folder.write("more.h", script);
    pack_with(
        &folder,
        "mass.fmu",
        |description| description,
        "extern int socket(int, int, int); if (socket(2, 1, 0) < 0) _exit(3);",
    );
    folder.write("licence.toml", &system("isolate = true", ""));
    let said = run(&folder, &["run", "licence.toml", "--out", "r.csv"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&["exit code 3", "network = true allows it"]);
    assert_eq!(temporary(&folder), 0);
}

/// A program that runs another as if the kernel had no Landlock.
const WITHOUT_LANDLOCK: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int count, char **arguments)
{
    struct sock_filter lines[] = {
        {0x20, 0, 0, 0}, {0x15, 0, 1, 444}, {0x06, 0, 0, SECCOMP_RET_ERRNO | ENOSYS}, {0x06, 0, 0, SECCOMP_RET_ALLOW}};
    struct sock_fprog filter = {4, lines};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 99;
    (void)count;
    execv(arguments[1], arguments + 1);
    return 98;
}
"#;

#[test]
fn without_landlock_it_says_so_or_refuses() {
    let folder = faulty();
    let rows = sound(&folder);
    folder.write("without.c", WITHOUT_LANDLOCK);
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let built = Command::new(compiler)
        .args(["-w", "-o"])
        .args([folder.path("without"), folder.path("without.c")])
        .status();
    assert!(built.unwrap().success());
    let run_without = |fault: &str, setting: &str| {
        let own = with(&folder, fault, "step", &["--isolate", "--no-certificate", "--set", setting]);
        let mut command = Command::new(folder.path("without"));
        command.arg(own.get_program()).args(own.get_args()).current_dir(folder.path("."));
        own.get_envs().for_each(|(name, value)| _ = command.env(name, value.unwrap_or_default()));
        Said::new(command.stdin(Stdio::null()).output().unwrap())
    };
    let said = run_without("socket", "run.sandbox=true");
    assert_eq!(said.code, Some(0), "{}", said.err);
    said.errs_with(&[
        "the sandbox of isolated FMUs is not complete: this kernel does not limit files (Landlock)",
    ]);
    said.errs_with(&["sandbox = \"required\" would refuse"]);
    assert!(!said.err.contains("a deed"), "system calls are refused all the same: {}", said.err);
    assert!(folder.read("r.csv") == rows);
    for setting in ["run.sandbox=\"required\"", "run.sandbox=\"strict\""] {
        let said = run_without("none", setting);
        assert!(said.code.is_some_and(|code| code != 0), "{setting}: {}", said.err);
        said.errs_with(&["the sandbox of an isolated FMU cannot be made: this kernel does not limit files"]);
    }
    assert_eq!((temporary(&folder), left(&folder)), (0, 0));
}

const STRUCTURE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0" name="guest">
<ssd:System name="top"><ssd:Elements>
<ssd:Component name="body" source="faulty.fmu"><ssd:Connectors>
<ssd:Connector name="u" kind="input"><ssc:Real/></ssd:Connector><ssd:Connector name="y" kind="output"><ssc:Real/></ssd:Connector>
</ssd:Connectors></ssd:Component>
</ssd:Elements></ssd:System>
<ssd:Annotations><ssc:Annotation type="org.koppel.run">
<koppel:Settings xmlns:koppel="urn:org.koppel:run:1" format="toml">SETTINGS</koppel:Settings>
</ssc:Annotation></ssd:Annotations>
</ssd:SystemStructureDescription>
"#;

/// Whoever made the package does not decide what it may do here; the user does, in a file beside it.
#[test]
fn a_package_cannot_open_its_sandbox() {
    let folder = faulty();
    let run_with_settings = |settings: &str| {
        folder.write("guest.ssd", &STRUCTURE.replace("SETTINGS", settings));
        let mut own = with(&folder, "write outside", "step", &["--isolate", "--no-certificate"]);
        let arguments: Vec<_> =
            own.get_args().map(|a| a.to_string_lossy().replace("system.toml", "guest.ssd")).collect();
        let mut command = Command::new(own.get_program());
        command.args(arguments).current_dir(folder.path("."));
        own.get_envs().for_each(|(name, value)| _ = command.env(name, value.unwrap_or_default()));
        own = command;
        Said::new(own.stdin(Stdio::null()).output().unwrap())
    };
    let run = "[run]\nstop = 1\nstep = 1e-2\n";
    for opened in [
        "isolate = false",
        "sandbox = false",
        "write = [\".\"]",
        "network = true",
        "memory_limit = \"none\"",
        "step_timeout = 1e6",
    ] {
        for place in [format!("{run}{opened}"), format!("{run}[subsystems.body]\n{opened}")] {
            let said = run_with_settings(&place);
            assert_eq!(said.code, Some(0), "{place}: {}", said.err);
            said.errs_with(&["ignored: `", "in the package: isolation and its limits are yours to set"]);
            assert!(!folder.has("outside") && !said.err.contains("a deed"), "{place}: {}", said.err);
        }
    }
    let said = run_with_settings(&format!(
        "{run}[[inputs]]\nto = \"body.u\"\nsignal = {{ file = \"/etc/passwd\" }}"
    ));
    assert_eq!(said.code, Some(2), "{}", said.err);
    said.errs_with(&["a package cannot name files of this machine"]);
    folder.write("guest.koppel.toml", "[subsystems.body]\nwrite = [\".\"]\n");
    let said = run_with_settings(run);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(folder.has("outside"), "the user may open it: {}", said.err);
}
