//! Where verbs write: never through a link that somebody has put there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::good::Good;
use super::run;

/// A verb that fills a directory, which comes last.
fn fill(good: &Good, verb: &[&str], directory: &str) -> (i32, String) {
    let directory = good.path(directory);
    let arguments: Vec<&str> = verb.iter().copied().chain([directory.as_str()]).collect();
    let said = run(&arguments, "");
    (said.code, said.stderr)
}

fn files(directory: &str) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn no_verb_writes_through_a_link() {
    let good = Good::new();
    let (net, conf) = (good.path("net"), good.path("torus-2QoS.conf"));
    let route = ["route", "--fabric", &net, "--torus-conf", &conf, "--out"];
    let torus = ["fabric", "torus", "2", "2", "2", "--lids", "-o"];
    for (nth, verb) in [&torus[..], &route, &["man", "-o"]].into_iter().enumerate() {
        let name = format!("out{nth}");
        let (code, said) = fill(&good, verb, &name);
        assert_eq!(code, 0, "{verb:?}: {said}");
        let written = files(&good.path(&name));
        assert!(written.len() > 3, "{verb:?}: {written:?}");
        let victim = good.write("victim", "precious");
        for file in &written {
            fs::remove_file(file).unwrap();
            symlink(&victim, file).unwrap();
        }
        assert_eq!(fill(&good, verb, &name).0, 0, "{verb:?}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{verb:?}");
        let now = files(&good.path(&name));
        assert_eq!(now.len(), written.len(), "nothing else is left: {now:?}");
        let is_file = |file: &std::path::PathBuf| fs::symlink_metadata(file).unwrap().is_file();
        assert!(now.iter().all(is_file), "{verb:?}");

        // Nor into a directory that a link leads to.
        let link = good.path(&format!("link{nth}"));
        symlink(good.path(&name), &link).unwrap();
        for ending in ["", "/"] {
            let (code, said) = fill(&good, verb, &format!("link{nth}{ending}"));
            assert_eq!(code, 1, "{verb:?}");
            assert!(said.contains("is a symbolic link"), "{verb:?}: {said}");
        }
    }
}

#[test]
fn a_file_that_is_a_link_is_replaced_and_a_device_stays_one() {
    let good = Good::new();
    let (net, conf, policy) = (
        good.path("net"),
        good.path("torus-2QoS.conf"),
        good.path("policy.conf"),
    );
    let fabric = ["--fabric", &net, "--torus-conf", &conf];
    let verbs = [
        [&["compile"][..], &fabric, &["-o"]].concat(),
        [&["draw"][..], &fabric, &["-o"]].concat(),
        vec!["policy", "convert", &policy, "--to", "text", "-o"],
        vec!["snapshot", "export", "--public", "GOOD", "-o"],
    ];
    for mut verb in verbs {
        let snapshot = good.path("good.snap");
        for word in &mut verb {
            if *word == "GOOD" {
                *word = &snapshot;
            }
        }
        let victim = good.write("victim", "precious");
        let link = good.path("link");
        let _ = fs::remove_file(&link);
        symlink(&victim, &link).unwrap();
        let to = |output: &str| run(&[&verb[..], &[output]].concat(), "");
        assert_eq!(to(&link).code, 0, "{verb:?}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{verb:?}");
        assert!(!Path::new(&link).is_symlink(), "{verb:?}");
        assert_eq!(to("/dev/null").code, 0, "{verb:?}");
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let full = to("/dev/full");
        assert!(
            full.code == 1 && full.stderr.contains("No space left"),
            "{}",
            full.stderr
        );
        let nowhere = to("/nonexistent/file");
        let said = &nowhere.stderr;
        assert!(
            nowhere.code == 1 && said.contains("sapphire: /nonexistent/file: "),
            "{said}"
        );
        // Snapshots are no text for this test to look at.
        if matches!(verb[0], "draw" | "policy") {
            let said = to("/dev/stdout");
            assert_eq!(said.code, 0, "{verb:?}: {}", said.stderr);
            assert!(said.stdout.len() > 100, "{verb:?}");
        }
    }
}
