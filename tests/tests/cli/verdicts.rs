//! The verbs and the daemon say the same of the same tables: packets between hosts decide, and a loop that
//! others close with them is told, and refused where that is asked for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::Path;
use std::process::{Command, Output};

use sa_tests::cli::{program, sapphire};

/// What is asked of each directory of dumps, and whether a management loop is refused there.
const VERBS: [(&[&str], &[&str], bool); 7] = [
    (&["check"], &[], false),
    (&["check"], &["--strict"], true),
    (&["route", "--fabric"], &[], false),
    (&["route", "--fabric"], &["--strict"], true),
    (&["compile", "-o", "SNAPSHOT", "--fabric"], &[], false),
    (
        &["compile", "-o", "SNAPSHOT", "--fabric"],
        &["--strict"],
        true,
    ),
    (&["explain", "--fabric"], &["H0_0_0", "H3_1_1"], false),
];

/// OpenSM's engines, and whether their tables have a management loop.
const ENGINES: [(&str, bool); 3] = [("minhop", true), ("updn", false), ("ftree", false)];

/// As verbs and the daemon tell it.
const TOLD: [&str; 2] = [
    "packets that port 0 of a switch sends or gets",
    "packets that a switch itself (port 0) sends or gets could close a credit loop",
];

/// As the daemon refuses it where it is strict.
const REFUSED: &str = "packets that ports 0 of switches send or get could close a credit loop";

fn is_told(output: &Output) -> bool {
    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let is_in = |words| texts.iter().any(|text| text.contains(words));
    TOLD.into_iter().any(is_in)
}

fn asked(verb: &[&str], dumps: &str, options: &[&str], snapshot: &str) -> Output {
    let all = [verb, &[dumps], options].concat();
    let all: Vec<_> = all
        .into_iter()
        .map(|word| if word == "SNAPSHOT" { snapshot } else { word })
        .collect();
    sapphire(&all, "")
}

fn daemon(directory: &Path, dumps: &str, strict: bool) -> Output {
    let (config, ring) = (directory.join("sapphired.toml"), directory.join("ring"));
    let text = format!(
        "[fabric]\nsource = \"files\"\npath = {dumps:?}\n[routing]\nstrict = {strict}\n[[port]]\ntransport = \"ring\"\npath = {ring:?}\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut command = Command::new(program("sapphired").unwrap());
    command.args(["--check", "--config"]).arg(config);
    command.output().unwrap()
}

#[test]
fn of_opensms_tables_all_verbs_and_the_daemon_say_the_same() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/verdicts");
    let directory = tempfile::tempdir().unwrap();
    let snapshot = directory.path().join("x.snap").display().to_string();
    for (engine, has_loop) in ENGINES {
        let dumps = golden.join(engine).display().to_string();
        // As OpenSM wrote them, and as `route` writes them again, with a psl.
        let again = directory.path().join(engine).display().to_string();
        let written = sapphire(&["route", "--fabric", &dumps, "--out", &again], "");
        assert!(written.status.success(), "{engine}: {written:?}");
        for dumps in [&dumps, &again] {
            for (verb, options, refuses) in VERBS {
                let said = asked(verb, dumps, options, &snapshot);
                let status = if has_loop && refuses { 3 } else { 0 };
                let about = format!("{engine} {verb:?} {options:?}: {said:?}");
                assert_eq!(said.status.code(), Some(status), "{about}");
                assert_eq!(is_told(&said), has_loop, "{about}");
            }
            let said = daemon(directory.path(), dumps, false);
            assert!(said.status.success(), "{engine}: {said:?}");
            assert_eq!(is_told(&said), has_loop, "{engine}: {said:?}");
            let said = daemon(directory.path(), dumps, true);
            assert_eq!(said.status.success(), !has_loop, "{engine}: {said:?}");
            let text = String::from_utf8_lossy(&said.stderr);
            assert_eq!(text.contains(REFUSED), has_loop, "{engine}: {text}");
        }
    }
}
