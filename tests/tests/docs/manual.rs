//! Completions and man pages of both programs, made from their command lines.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::process::{Command, Stdio};

use sa_tests::cli::sapphire;
use sa_tests::golden::{entries, name};

#[test]
fn every_shell_gets_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = sapphire(&["completions", shell], "");
        assert!(output.status.success(), "{shell}: {output:?}");
        let script = String::from_utf8(output.stdout).unwrap();
        for word in ["sapphire", "doctor", "simulate", "torus-conf"] {
            assert!(script.contains(word), "{shell} without {word}");
        }
        let daemon = sapphire(&["completions", shell, "sapphired"], "");
        let script = String::from_utf8(daemon.stdout).unwrap();
        let both = script.contains("sapphired") && script.contains("check");
        assert!(both, "{shell}: {script}");
    }
    let unknown = sapphire(&["completions", "tcsh"], "");
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
}

/// By the function that the script defines.
#[test]
fn bash_completes_a_verb_and_an_option() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sapphire.bash");
    fs::write(&path, sapphire(&["completions", "bash"], "").stdout).unwrap();
    let complete = |words: &str, last: &str| {
        let program = format!(
            "source '{}'; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _sapphire sapphire {last} x; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            path.display()
        );
        let mut bash = Command::new("bash");
        let output = bash.args(["-c", &program]).stdin(Stdio::null()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(complete("sapphire doc", "doc"), "doctor\n");
    assert_eq!(complete("sapphire fleet ro", "ro"), "root\n");
    let options = complete("sapphire status --c", "--c");
    assert!(options.contains("--control\n"), "{options}");
}

#[test]
fn every_verb_has_a_page() {
    let directory = tempfile::tempdir().unwrap();
    // Made with what lies above it.
    let place = directory.path().join("share/man");
    let write = || sapphire(&["man", "-o", place.to_str().unwrap()], "");
    let output = write();
    assert!(output.status.success(), "{output:?}");
    let pages = entries(&place);
    for page in [
        "sapphire.1",
        "sapphire-route.1",
        "sapphire-query-pr.1",
        "sapphire-fleet-root-sign.1",
        "sapphire-man.1",
        "sapphired.8",
        "sapphired.toml.5",
        "sapphire-policy.5",
    ] {
        assert!(
            pages.iter().any(|path| name(path) == page),
            "{page} in {pages:?}"
        );
    }
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for section in [".TH ", ".SH NAME", ".SH EXAMPLES", ".SH FILES"] {
            assert!(text.contains(section), "{}: {section}", page.display());
        }
        let is_program = page.extension().is_none_or(|section| section != "5");
        let has_status = text.contains(".SH \"EXIT STATUS\"");
        assert_eq!(is_program, has_status, "{}", page.display());
    }
    let daemon = fs::read_to_string(place.join("sapphired.8")).unwrap();
    assert!(daemon.contains("SIGHUP"), "{daemon}");
    // Twice the same: packages are to be built alike.
    let read = || {
        pages
            .iter()
            .map(|page| fs::read(page).unwrap())
            .collect::<Vec<_>>()
    };
    let before = read();
    assert!(write().status.success());
    assert_eq!(before, read());
}

#[test]
fn a_page_that_cannot_be_written_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let refused = sapphire(&["man", "-o", file.path().to_str().unwrap()], "");
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains(file.path().to_str().unwrap()), "{said}");
}
