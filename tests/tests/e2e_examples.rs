//! The configurations in `docs/examples` are complete, current, and work.

mod e2e_support;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use e2e_support::check;
use sm_control::config::Config;
use sm_control::pipeline::Inputs;

const EXAMPLES: [&str; 2] = ["sapphired-ibsim.toml", "sapphired-umad.toml"];

fn example(name: &str) -> Result<String> {
    let path = repository().join("docs/examples").join(name);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// An example with the keys that it only shows: `#key = value`.
fn with_optional_keys(text: &str) -> String {
    let shown = |line: &&str| {
        line.strip_prefix('#')
            .is_some_and(|rest| !rest.starts_with(' '))
    };
    let lines = text
        .lines()
        .map(|line| line.get(usize::from(shown(&line))..).unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn parse(text: &str) -> Result<Config> {
    Config::parse(text).map_err(anyhow::Error::msg)
}

#[test]
fn examples_hold_the_defaults() -> Result<()> {
    let fabric = "[fabric]\nsource = \"files\"\npath = \"opensm-subnet.lst\"\n";
    let ports = [
        "transport = \"ibsim\"\nnode = \"H1\"\n",
        "transport = \"umad\"\n",
    ];
    for (name, port) in EXAMPLES.into_iter().zip(ports) {
        let bare = parse(&format!("{fabric}[[port]]\n{port}"))?;
        let given = parse(&example(name)?).context(name)?;
        let facts = |config: &Config| {
            let inputs = Inputs::from_config(config);
            format!(
                "{inputs:?} {:?} {:?} {:?} {:?} {:?}",
                config.ports, config.workers, config.state, config.sa, config.overload
            )
        };
        ensure!(
            facts(&given) == facts(&bare),
            "{name}: {given:#?} instead of {bare:#?}"
        );
    }
    Ok(())
}

#[test]
fn examples_show_every_key() -> Result<()> {
    for name in EXAMPLES {
        let text = with_optional_keys(&example(name)?);
        parse(&text).context(name)?;
        let mut sections = 0;
        for (at, line) in text
            .match_indices('\n')
            .filter(|(at, _)| text[at + 1..].starts_with('['))
        {
            let section = text[at + line.len()..].lines().next().unwrap_or_default();
            for key in keys(&text, section)? {
                // A section of its own, for sources that ask a running SA.
                if key == "sa" {
                    continue;
                }
                ensure!(
                    text.contains(&format!("\n{key} = ")),
                    "{name}: {section} does not show `{key}`"
                );
            }
            sections += 1;
        }
        ensure!(sections == 9, "{name}: {sections} sections");
    }
    Ok(())
}

#[test]
fn the_example_beside_opensm_shows_what_it_is_about() -> Result<()> {
    let name = "sapphired-opensm.toml";
    let given = parse(&example(name)?).context(name)?;
    let bare = "[fabric]\nsource = \"opensm\"\n[opensm]\n[[port]]\ntransport = \"umad\"\n";
    let (opensm, defaults) = (given.opensm, parse(bare)?.opensm);
    ensure!(format!("{opensm:?}") == format!("{defaults:?}"));
    let text = with_optional_keys(&example(name)?);
    parse(&text).context(name)?;
    for section in ["[opensm]", "[control]", "[http]", "[log]"] {
        for key in keys(&text, section)? {
            ensure!(
                text.contains(&format!("\n{key} = ")),
                "{name}: {section} does not show `{key}`"
            );
        }
    }
    Ok(())
}

#[test]
fn the_example_for_hosts_shows_what_it_is_about() -> Result<()> {
    let name = "sapphired-local-service.toml";
    let given = parse(&example(name)?).context(name)?;
    let local = given.local_service.context("a local service")?;
    let bare = "[fabric]\nsource = \"snapshot\"\npath = \"x\"\n[local_service]\nfollow_sa = true\n";
    let defaults = parse(bare)?.local_service;
    ensure!(format!("{:?}", Some(local)) == format!("{defaults:?}"));
    let text = with_optional_keys(&example(name)?);
    parse(&text).context(name)?;
    for section in ["[local_service]", "[local_service.cache]"] {
        for key in keys(&text, section)? {
            let is_section = ["cache", "far_subnet"].contains(&key.as_str());
            ensure!(
                is_section || text.contains(&format!("\n{key} = ")),
                "{name}: {section} does not show `{key}`"
            );
        }
    }
    Ok(())
}

/// The keys of a section: what the parser expects instead of one that it does not know.
fn keys(text: &str, section: &str) -> Result<Vec<String>> {
    let wrong = text.replacen(section, &format!("{section}\nnothing = 0"), 1);
    let error = Config::parse(&wrong)
        .err()
        .context("an unknown key is refused")?;
    let (_, expected) = error
        .split_once("expected")
        .with_context(|| error.clone())?;
    let keys: Vec<String> = expected
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    ensure!(error.contains("`nothing`") && !keys.is_empty(), "{error}");
    Ok(keys)
}

#[test]
fn an_example_passes_its_check_on_real_files() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let put = |name: &str, from: &str| {
        let from = repository().join(from);
        fs::copy(&from, directory.path().join(name)).with_context(|| from.display().to_string())
    };
    // Compressed or not is told by the content.
    put(
        "opensm-subnet.lst",
        "tests/golden/torus/s01-6x5/opensm-subnet.lst.xz",
    )?;
    put(
        "torus-2QoS.conf",
        "tests/golden/torus/s01-6x5/torus-2QoS.conf",
    )?;
    put("qos-policy.conf", "docs/examples/qos-policy.conf")?;
    put("ulp-names", "docs/examples/ulp-names")?;
    fs::write(directory.path().join("prefix-routes.conf"), "* *\n")?;
    fs::write(directory.path().join("opensm-sa.dump"), "# none\n")?;
    fs::write(
        directory.path().join("partitions.conf"),
        "Default=0x7fff, ipoib : ALL=full;\n",
    )?;
    fs::write(
        directory.path().join("opensm.conf"),
        "subnet_timeout 18\nqos TRUE\n",
    )?;
    for name in EXAMPLES {
        let config = directory.path().join(name);
        // The files know the SM's node; the example's is not of this fabric.
        let text = with_optional_keys(&example(name)?);
        let lines = text.lines().filter(|line| !line.starts_with("sm_node = "));
        fs::write(&config, lines.collect::<Vec<_>>().join("\n"))?;
        let (fine, said) = check(&config)?;
        ensure!(
            fine && said.contains("30 switches, 60 hosts, engine torus-2QoS"),
            "{said}"
        );
        ensure!(said.contains("4 policy rules"), "{said}");
    }
    Ok(())
}
