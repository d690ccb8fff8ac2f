//! Pictures for the documents: `SAPPHIRE_PICTURES=write cargo test -p sa-tests --test browser` writes those of `docs/pictures/page`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use sa_tests::skip;

use crate::bed::{Bed, ENTER, POLICY, TOKEN, bed, with_token};
use crate::pages::PAGES;

/// Nobody asks for STORAGE with a QoS class any more, and packets of all others live longer.
fn other_policy() -> String {
    let class = |level| format!("qos-class: 7\n  qos-level-name: {level}");
    POLICY
        .replace(&class("STORAGE"), &class("DEFAULT"))
        .replace("packet-life: 15", "packet-life: 16")
}

#[test]
fn pictures_are_written_when_asked_for() -> Result<()> {
    if std::env::var_os("SAPPHIRE_PICTURES").is_none() {
        return skip("browser: SAPPHIRE_PICTURES is not set, so no picture is written");
    }
    // A torus with a missing cable shows more than a whole one.
    let damaged = |directory: &Path| {
        with_token(directory)?;
        let net = directory.join("net");
        let text = fs::read_to_string(&net)?;
        let lines: Vec<_> = text.lines().filter(|line| !is_lost(line)).collect();
        Ok(fs::write(net, lines.join("\n") + "\n")?)
    };
    let Some(bed) = bed(damaged)? else {
        return Ok(());
    };
    bed.browser.prefer("light")?;
    bed.browser.resize(1100, 760)?;
    for (path, name) in PAGES.into_iter().filter(|(_, name)| !name.is_empty()) {
        bed.go(path)?;
        write(&bed, name)?;
    }
    bed.browser.prefer("dark")?;
    bed.go("/fabric")?;
    write(&bed, "fabric-dark")?;
    bed.browser.prefer("light")?;
    bed.browser.resize(360, 700)?;
    bed.go("/")?;
    write(&bed, "narrow")?;
    bed.browser.resize(1100, 900)?;
    bed.try_policy(&other_policy())?;
    write(&bed, "policy")?;
    bed.browser.resize(1100, 760)?;
    // With another policy in force there is something to return to.
    bed.set_policy(&other_policy(), 2)?;
    bed.go("/rollback")?;
    write(&bed, "rollback")?;
    bed.browser
        .run("document.getElementById('token').focus(); return true")?;
    bed.types(TOKEN)?;
    bed.browser.press(ENTER)?;
    bed.wait_words("is in force as epoch 3")?;
    write(&bed, "rollback-done")
}

/// What the window shows.
fn write(bed: &Bed, name: &str) -> Result<()> {
    let pictures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures/page");
    fs::create_dir_all(&pictures)?;
    ensure!(bed.browser.run(PLACES)? == true);
    bed.browser.picture(&pictures.join(format!("{name}.png")))
}

/// Where the files of a test lie is of no interest in a document.
const PLACES: &str = "const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); \
                      while (texts.nextNode()) { const it = texts.currentNode; \
                      it.data = it.data.replace(/\\/\\S*rig-[^/]*/, '/etc/sapphire'); } return true";

/// The cable between S1_1_1 and S2_1_1, at both ends.
fn is_lost(line: &str) -> bool {
    line.contains("\"S2_1_1\"[2]") && line.starts_with("[1]")
        || line.contains("\"S1_1_1\"[1]") && line.starts_with("[2]")
}
