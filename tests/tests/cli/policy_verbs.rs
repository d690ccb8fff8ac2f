//! `sapphire policy check`, `convert` and `explain` as their users call them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use sa_tests::cli::program;
use serde_json::Value;

/// A small torus in files, and a place for policies.
struct Bench {
    directory: tempfile::TempDir,
}

/// What a program said and how it ended.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn of(output: Output) -> Result<Self> {
        Ok(Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout)?,
            err: String::from_utf8(output.stderr)?,
        })
    }

    fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.out).with_context(|| self.out.clone())
    }
}

impl Bench {
    fn new() -> Result<Self> {
        let bench = Self {
            directory: tempfile::tempdir()?,
        };
        let made = bench.sapphire(&["fabric", "torus", "3", "3", "2", "-o", "."])?;
        ensure!(made.code == Some(0), "{}", made.err);
        Ok(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn put(&self, name: &str, text: &str) -> Result<()> {
        Ok(fs::write(self.path(name), text)?)
    }

    fn sapphire(&self, arguments: &[&str]) -> Result<Said> {
        let mut command = Command::new(program("sapphire")?);
        Said::of(
            command
                .args(arguments)
                .current_dir(&self.directory)
                .output()?,
        )
    }

    /// The same with the torus.
    fn there(&self, arguments: &[&str]) -> Result<Said> {
        let fabric = ["--fabric", "net", "--torus-conf", "torus-2QoS.conf"];
        self.sapphire(&[arguments, &fabric].concat())
    }
}

const OLD: &str = "\
port-groups
    port-group
        name: storage
        port-guid: 0x100001-0x100021
    end-port-group
end-port-groups
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: bulk
        sl: 8
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        use: NVMe
        service-id: 0x1061144
        qos-level-name: bulk
    end-qos-match-rule
    qos-match-rule
        destination: storage
        qos-level-name: bulk
    end-qos-match-rule
end-qos-match-rules
";

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden/policy-rfc")
        .join(name)
}

#[test]
fn check_says_how_a_policy_is_meant() -> Result<()> {
    let bench = Bench::new()?;
    bench.put("p.conf", OLD)?;
    let said = bench.sapphire(&["policy", "check", "p.conf"])?;
    ensure!(said.code == Some(0) && said.err.is_empty(), "{}", said.err);
    for words in [
        "p.conf: loads, dialect OpenSM",
        "level       bulk: SL 8",
        "service id as standardised",
        "group       storage\n",
    ] {
        ensure!(said.out.contains(words), "{words:?} in {}", said.out);
    }
    let said = bench.there(&["policy", "check", "p.conf"])?;
    ensure!(
        said.out.contains("group       storage: 3 ports"),
        "{}",
        said.out
    );

    let way = ["--echo", "qos-class", "--endpoint-mask-required", "true"];
    let said = bench.sapphire(&[&["policy", "check", "p.conf", "--json"], &way[..]].concat())?;
    let json = said.json()?;
    ensure!(json["semantics"]["echo"] == "qos-class", "{json}");
    ensure!(
        json["semantics"]["endpoint_mask_required"] == true,
        "{json}"
    );
    ensure!(json["rules"] == 2 && json["dialect"] == "opensm", "{json}");
    Ok(())
}

#[test]
fn the_examples_of_the_rfcs_load_and_their_errors_are_their_own() -> Result<()> {
    let bench = Bench::new()?;
    for (name, dialect, error) in [
        ("rfc-0.1-example.xml", "xml", "there is no SL 16"),
        (
            "rfc-0.2-example.conf",
            "text",
            "there is no port-group 'Part1'",
        ),
    ] {
        let path = golden(name);
        let path = path.to_str().context("a name")?;
        let said = bench.sapphire(&["policy", "check", path])?;
        ensure!(said.code == Some(0), "{}", said.err);
        ensure!(
            said.err.contains(error) && said.err.contains("^^"),
            "{}",
            said.err
        );
        let json = bench
            .sapphire(&["policy", "check", path, "--json"])?
            .json()?;
        ensure!(
            json["dialect"] == dialect && json["loads"] == true,
            "{json}"
        );
        let said = bench.sapphire(&["policy", "check", path, "--strict"])?;
        ensure!(said.code == Some(3), "{}", said.err);
    }
    Ok(())
}

#[test]
fn a_broken_policy_is_shown_with_its_place() -> Result<()> {
    let bench = Bench::new()?;
    bench.put("p.conf", &OLD.replace("sl: 8", "sl: eight"))?;
    for verb in [
        &["policy", "check", "p.conf"][..],
        &["policy", "lint", "p.conf"],
        &["policy", "convert", "p.conf", "--to", "xml"],
    ] {
        let said = bench.sapphire(verb)?;
        ensure!(said.code == Some(1), "{verb:?}: {}", said.err);
        ensure!(
            said.err.contains("p.conf:14:13: error") && said.err.contains("^"),
            "{verb:?}: {}",
            said.err
        );
        ensure!(said.err.contains("expected a number"), "{}", said.err);
    }
    let said = bench.there(&["policy", "explain", "p.conf", "H0_0_0_0", "H1_0_0_0"])?;
    ensure!(
        said.code == Some(1) && said.err.contains("p.conf:14:13"),
        "{}",
        said.err
    );
    let said = bench.sapphire(&["policy", "check", "none.conf"])?;
    ensure!(
        said.code == Some(1) && said.err.contains("none.conf"),
        "{}",
        said.err
    );
    Ok(())
}

#[test]
fn a_diff_counts_pairs_and_shows_a_request() -> Result<()> {
    let bench = Bench::new()?;
    bench.put("old.conf", OLD)?;
    bench.put("same.conf", &OLD.replace("NVMe", "NVMe over Fabrics"))?;
    bench.put(
        "new.conf",
        &OLD.replace("0x100021", "0x100001")
            .replace("sl: 0", "sl: 0\n        packet-life: 16"),
    )?;
    let diff = |new| bench.there(&["policy", "check", new, "--diff", "old.conf", "--json"]);

    let same = diff("same.conf")?.json()?;
    ensure!(same["diff"]["pairs_changed"] == 0, "{same}");
    ensure!(same["diff"]["complete"] == true, "{same}");

    // 18 switches and 18 hosts; two hosts leave the group.
    let new = diff("new.conf")?.json()?;
    let changes = &new["diff"];
    ensure!(changes["pairs"] == 36 * 35, "{changes}");
    ensure!(
        changes["groups"][0]["lost"]
            .as_array()
            .is_some_and(|lost| lost.len() == 2),
        "{changes}"
    );
    ensure!(changes["levels"][0]["name"] == "DEFAULT", "{changes}");
    let by_levels = |old: &str, new: &str| {
        let all = changes["transitions"].as_array().into_iter().flatten();
        all.clone()
            .find(|one| one["old_level"] == old && one["new_level"] == new)
            .map(|one| one["pairs"].clone())
    };
    // To hosts outside both groups the default level changes; to those that left, bulk ends.
    ensure!(
        by_levels("DEFAULT", "DEFAULT") == Some((33 * 35).into()),
        "{changes}"
    );
    ensure!(
        by_levels("bulk", "DEFAULT") == Some((2 * 35).into()),
        "{changes}"
    );
    ensure!(changes["pairs_changed"] == 35 * 35, "{changes}");

    let said = bench.there(&["policy", "check", "new.conf", "--diff", "old.conf"])?;
    for words in [
        "1225 of 1260 pairs",
        "such as ",
        "old.conf:23 -> default level of new.conf",
    ] {
        ensure!(said.out.contains(words), "{words:?} in {}", said.out);
    }
    let said = bench.sapphire(&["policy", "check", "new.conf", "--diff", "old.conf"])?;
    ensure!(
        said.out.contains("not counted; give --fabric"),
        "{}",
        said.out
    );
    Ok(())
}

#[test]
fn explain_names_the_rule_and_the_ones_before_it() -> Result<()> {
    let bench = Bench::new()?;
    bench.put("p.conf", OLD)?;
    let said = bench.there(&["policy", "explain", "p.conf", "H1_1_1_0", "H0_0_0_0"])?;
    ensure!(said.code == Some(0), "{}", said.err);
    for words in [
        "p.conf:18: no, the request names no service id (NVMe)",
        "p.conf:23: yes, level bulk with SL 8",
        "destination in storage",
        "bit 3 (1) from the level",
    ] {
        ensure!(said.out.contains(words), "{words:?} in {}", said.out);
    }
    bench.put("black.conf", &OLD.replace("sl: 8", "sl: 16"))?;
    let said = bench.there(&[
        "policy",
        "explain",
        "black.conf",
        "H1_1_1_0",
        "H0_0_0_0",
        "--service-id",
        "0x1061144",
    ])?;
    for words in [
        "status 0x0300, no record",
        "SL of the level: there is no SL 16",
        "black.conf:23: would hold too",
        "the first rule that holds is final",
    ] {
        ensure!(said.out.contains(words), "{words:?} in {}", said.out);
    }
    let said = bench.sapphire(&["policy", "explain", "p.conf", "H1_1_1_0", "H0_0_0_0"])?;
    ensure!(
        said.code == Some(2) && said.err.contains("--fabric"),
        "{}",
        said.err
    );
    Ok(())
}

#[test]
fn convert_tells_what_is_lost() -> Result<()> {
    let bench = Bench::new()?;
    bench.put("p.conf", OLD)?;
    let said = bench.sapphire(&[
        "policy", "convert", "p.conf", "--to", "text", "-o", "p.text",
    ])?;
    ensure!(said.code == Some(0), "{}", said.err);
    let back = bench.sapphire(&["policy", "check", "p.text", "--dialect", "text", "--json"])?;
    ensure!(back.json()?["rules"] == 2, "{}", back.out);

    let example = golden("rfc-0.2-example.conf");
    let example = example.to_str().context("a name")?;
    let said = bench.sapphire(&["policy", "convert", example, "--to", "opensm", "--json"])?;
    let json = said.json()?;
    ensure!(
        json["losses"]
            .as_array()
            .is_some_and(|losses| !losses.is_empty()),
        "{json}"
    );
    let strict = [
        "policy", "convert", example, "--to", "opensm", "--strict", "-o", "o.conf",
    ];
    let said = bench.sapphire(&strict)?;
    ensure!(
        said.code == Some(3) && !bench.path("o.conf").exists(),
        "{}",
        said.err
    );
    ensure!(said.err.contains("rfc-0.2-example.conf:"), "{}", said.err);
    Ok(())
}
