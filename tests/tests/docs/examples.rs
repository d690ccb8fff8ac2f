//! The configurations in `docs/examples` are complete, current, and work.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};
use sa_tests::cli::check;
use sm_control::config::{Config, RANGES, Range};

use super::repository;

const EXAMPLES: [&str; 2] = ["sapphired-ibsim.toml", "sapphired-umad.toml"];

const ALL: [&str; 7] = [
    "sapphired-fleet-follower.toml",
    "sapphired-fleet-leader.toml",
    "sapphired-ibsim.toml",
    "sapphired-local-service.toml",
    "sapphired-opensm.toml",
    "sapphired-ring.toml",
    "sapphired-umad.toml",
];

fn example(name: &str) -> Result<String> {
    let path = repository().join("docs/examples").join(name);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
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
            let inputs = config.inputs();
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
        ensure!(sections == 15, "{name}: {sections} sections");
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

#[test]
fn the_examples_of_a_fleet_show_what_they_are_about() -> Result<()> {
    let names = [
        "sapphired-fleet-leader.toml",
        "sapphired-fleet-follower.toml",
    ];
    let mut all = String::new();
    for name in names {
        parse(&example(name)?).context(name)?;
        all += &with_optional_keys(&example(name)?);
    }
    let leader = with_optional_keys(&example(names[0])?);
    for section in ["[fleet]", "[fleet.tls]", "[fleet.etcd]"] {
        for key in keys(&leader, section)? {
            let is_section = ["etcd", "tls"].contains(&key.as_str());
            let is_shown = is_section || all.contains(&format!("\n{key} = "));
            ensure!(is_shown, "{section} does not show `{key}`");
        }
    }
    Ok(())
}

/// The keys of a section: what the parser expects instead of one that it does not know.
fn keys(text: &str, section: &str) -> Result<Vec<String>> {
    let wrong = text.replacen(section, &format!("{section}\nnothing = 0"), 1);
    let error = Config::parse(&wrong)
        .err()
        .context("an unknown key is refused")?
        .to_string();
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
    let token = directory.path().join("token");
    fs::write(&token, "a-token-of-this-test\n")?;
    // Others must not read it.
    fs::set_permissions(&token, PermissionsExt::from_mode(0o600))?;
    for name in EXAMPLES {
        let config = directory.path().join(name);
        // The files know the SM's node; the example's is not of this fabric.
        let text = with_optional_keys(&example(name)?);
        let text = text.replace("/run/sapphire/control.sock", "control");
        let text = text.replace("/etc/sapphire/http-token", "token");
        let elsewhere = ["sm_node = ", "group = "];
        let lines = text
            .lines()
            .filter(|line| !elsewhere.iter().any(|key| line.starts_with(key)));
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

const STATE: &str = "[state]\ndirectory = \"s\"\n";
const LEADER: &str =
    "[fleet]\nrole = \"leader\"\nroot = \"r\"\nkey = \"k\"\nlisten = \"127.0.0.1:1\"\n";

/// A configuration of nothing but a section, and what needs no section of its own. Shape: without the last line's end.
fn only(section: &str) -> String {
    let fabric = |source: &str| format!("[fabric]\nsource = \"{source}\"\n");
    let files = format!("{}path = \"net\"\n", fabric("files"));
    let umad = "[[port]]\ntransport = \"umad\"\n";
    match section {
        "fabric" => format!("{umad}{files}"),
        "fabric.sa" => format!("{umad}{}[fabric.sa]\ntransport = \"umad\"\n", fabric("sa")),
        "port" => format!("{files}{umad}"),
        "port ring" => format!("{files}[[port]]\ntransport = \"ring\"\npath = \"ring\"\n"),
        "port ibsim" => format!("{files}[[port]]\ntransport = \"ibsim\"\nnode = \"H1\"\n"),
        "control" => format!("{files}{umad}[control]\npath = \"x\"\n"),
        "http" => format!("{files}{umad}[http]\nlisten = \"127.0.0.1:1\"\n"),
        "fleet" => format!("{files}{umad}{STATE}{LEADER}"),
        "fleet follower" => format!(
            "{}{umad}{STATE}[fleet]\nrole = \"follower\"\nroot = \"r\"\nfrom = [\"http://a:1\"]\n",
            fabric("fleet")
        ),
        "fleet.etcd" => {
            format!("{files}{umad}{STATE}{LEADER}[fleet.etcd]\nendpoints = [\"http://a:1\"]\n")
        }
        "local_service.far_subnet" => {
            format!("{files}{umad}[[local_service.far_subnet]]\nprefix = \"fec0:0:0:1::/64\"\n")
        }
        other => format!("{files}{umad}[{other}]\n"),
    }
}

/// Every section that there is, as [`only`] makes them.
fn sections() -> Result<Vec<String>> {
    let mut all: Vec<String> = [
        "port ring",
        "port ibsim",
        "fabric.sa",
        "fleet.etcd",
        "local_service.cache",
        "local_service.far_subnet",
    ]
    .map(str::to_owned)
    .into();
    all.extend(accepted("nothing = 0\n")?);
    Ok(all)
}

/// The keys that the parser expects instead of `nothing` at the end of this text.
fn accepted(text: &str) -> Result<Vec<String>> {
    let error = Config::parse(text)
        .err()
        .context("an unknown key is refused")?
        .to_string();
    let (_, expected) = error
        .split_once("expected")
        .with_context(|| error.clone())?;
    ensure!(error.contains("`nothing`"), "{error}");
    Ok(expected
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect())
}

/// The range of a key; of none there is none.
fn range(section: &str, key: &str) -> Option<&'static Range> {
    let section = section.split(' ').next().unwrap_or_default();
    RANGES
        .iter()
        .find(|range| (range.section, range.key) == (section, key))
}

/// Every key of every section is tried with a number: where that is no matter of type, it has a range.
#[test]
fn every_key_that_takes_a_number_has_a_range() -> Result<()> {
    let mut seen = 0;
    for section in sections()? {
        let text = only(&section);
        for key in accepted(&format!("{text}nothing = 0\n"))? {
            // Given already, and words.
            if ["transport", "source", "path", "node", "listen", "prefix"].contains(&key.as_str()) {
                let is_cache = section == "local_service.cache";
                ensure!(
                    is_cache || range(&section, &key).is_none(),
                    "{section} {key}"
                );
                continue;
            }
            let numbers = [format!("{text}{key} = 1\n"), format!("{text}{key} = [1]\n")];
            let takes = |text: &String| match Config::parse(text) {
                Ok(_) => true,
                Err(error) => error.to_string().contains("invalid value"),
            };
            // Sections of their own.
            if ["cache", "far_subnet", "etcd", "tls"].contains(&key.as_str()) {
                continue;
            }
            let has = range(&section, &key).is_some();
            ensure!(
                has == numbers.iter().any(takes),
                "[{section}] {key}: has a range: {has}"
            );
            seen += usize::from(has);
        }
    }
    ensure!(seen == RANGES.len(), "{seen} of {}", RANGES.len());
    Ok(())
}

#[test]
fn a_number_outside_of_its_range_is_refused_at_its_own_place() -> Result<()> {
    for range in &RANGES {
        let rings = ["slots", "clients", "clients_per_user", "late_mib", "lid"];
        let section = match range.section {
            "port" if rings.contains(&range.key) => "port ring",
            // Leaders have no use for it.
            "fleet" if range.key == "at_once" => "fleet follower",
            other => other,
        };
        let (least, most) = (range.numbers.start(), range.numbers.end());
        let mut wrong: Vec<String> = [least - 1, most + 1, -1_000_000, i64::MAX.into()]
            .map(|n| n.to_string())
            .into();
        wrong.extend(
            [
                "99999999999999999999999",
                "1e12",
                "2.5",
                "0x7fffffffffffffff",
            ]
            .map(str::to_owned),
        );
        // Another range, or another test, takes words.
        let words = (range.key != "numa").then(|| "\"7\"".to_owned());
        wrong.extend(
            words
                .into_iter()
                .chain(["true".to_owned(), "nan".to_owned()]),
        );
        for value in wrong {
            let is_list = range.key == "cores";
            let written = match is_list {
                true => format!("[0, {value}]"),
                false => value.clone(),
            };
            let text = format!(
                "# {}\n{}{} = {written}\n",
                range.key,
                only(section),
                range.key
            );
            let line = text.lines().count();
            let column = range.key.len() + 4 + if is_list { 4 } else { 0 };
            let error = Config::parse(&text)
                .err()
                .with_context(|| format!("accepted:\n{text}"))?
                .to_string();
            ensure!(
                error.starts_with(&format!("{line}:{column}: ")),
                "{line}:{column}, not {error}\n{text}"
            );
            ensure!(error.contains(&range.words()), "{error}\n{text}");
        }
        for value in [least, most] {
            let written = match range.key {
                "cores" => format!("[{value}]"),
                _ => value.to_string(),
            };
            let text = format!("{}{} = {written}\n", only(section), range.key);
            parse(&text).with_context(|| text.clone())?;
        }
    }
    Ok(())
}

#[test]
fn examples_say_every_range() -> Result<()> {
    for name in ALL {
        let text = with_optional_keys(&example(name)?);
        let mut section = String::new();
        // What stands above a section is for all its keys.
        let (mut comment, mut above) = (String::new(), String::new());
        for line in text.lines() {
            let is_comment = line.starts_with('#');
            if let Some(header) = line.strip_prefix('[') {
                section = header.trim_matches(['[', ']']).to_owned();
                above = std::mem::take(&mut comment);
            }
            if is_comment {
                comment.push_str(line.trim_start_matches('#'));
                continue;
            }
            let key = line.split(" = ").next().unwrap_or_default();
            if let Some(range) = range(&section, key) {
                let words = format!("{} to {}", range.numbers.start(), range.numbers.end());
                ensure!(
                    comment.contains(&words) || above.contains(&words),
                    "{name}: [{section}] {key}: say `{words}` above it"
                );
            }
            comment.clear();
        }
    }
    Ok(())
}
