//! The recipe of the container image.
//!
//! No engine builds it here. What is looked at is what breaks such a file when a tree changes: names of
//! packages and paths that are not there any more.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::repository;

/// The words of an instruction, continued lines joined.
fn instructions(text: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect()
}

#[test]
fn the_container_file_names_what_is_there() -> Result<()> {
    let root = repository();
    let text = fs::read_to_string(root.join("tools/package/Containerfile"))?;
    let all = instructions(&text);
    let of = |word: &str| all.iter().filter(|it| it[0] == word).collect::<Vec<_>>();
    ensure!(
        of("FROM").len() == 1 && all.iter().any(|it| it[0] == "FROM"),
        "{text}"
    );
    // The package comes from where the script puts it, by the name that it gives it.
    let script = fs::read_to_string(root.join("tools/package/build"))?;
    ensure!(script.contains("out=$root/target/package\n"), "{script}");
    let copied = of("COPY");
    ensure!(copied.len() == 1, "{text}");
    ensure!(copied[0][1] == "target/package/sapphire_*.deb", "{text}");
    // What it starts, as whom, lies in the package.
    let entry = of("ENTRYPOINT").first().context("ENTRYPOINT")?[1..].join(" ");
    let entry: Vec<String> = serde_json::from_str(&entry)?;
    ensure!(
        entry[0] == "/usr/bin/sapphired" && entry[1] == "--config",
        "{entry:?}"
    );
    let config = entry[2]
        .strip_prefix("/etc/sapphire/")
        .context("a conffile")?;
    ensure!(
        root.join("tools/package").join(config).is_file(),
        "{config}"
    );
    let user = &of("USER").first().context("USER")?[1];
    let users = fs::read_to_string(root.join("tools/package/debian/sapphire.sysusers"))?;
    ensure!(users.contains(&format!("u {user} ")), "{user}");
    Ok(())
}
