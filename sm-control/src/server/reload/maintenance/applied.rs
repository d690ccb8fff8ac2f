//! A change of the configuration that was applied and is in no file of the operator's yet.
//!
//! ```text
//!  configuration file  +  what `sapphire plan --change` names  =  the configuration in force
//! ```
//!
//! `applied` of the `[state]` directory has both texts: a restart goes on with what is in force, as
//! long as the configuration file is what it was then. Whoever has changed that file since has
//! decided anew, and the applied change is over.
//!
//! | the file that is named | what counts over what is in force |
//! |---|---|
//! | policy, `partitions.conf`, `opensm.conf`, `torus-2QoS.conf` | its path, at the key that names such a file |
//! | some sections of ours | their keys |
//! | a whole configuration, with `[[port]]` | all of it |
//!
//! Which it is says the text, as operators name files as they like. Only what a sweep reads can be
//! changed: `[fabric]` but for its source, `[routing]`, `[policy]`, `[partitions]`, `[sm]`,
//! `[limits]`.

use std::fs;
use std::path::{Path, PathBuf};

use routing::EngineKind;
use sa_fabric::intake::{self, Kind};
use sa_fabric::mistaken::FileKind;
use sa_fabric::outlet::{Folder, Readers};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use tracing::{info, warn};

use crate::config::{Config, Written};

/// In the state directory.
const FILE: &str = "applied";

/// What the file holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// The configuration file as it was.
    configuration: String,
    /// The configuration in force.
    applied: String,
}

/// A configuration with a change, and what that is in words. Errors: in words, with the file.
pub(super) fn changed(config: &Config, path: &Path) -> Result<(Config, String), String> {
    if !path.is_absolute() {
        return Err(format!("{}: give an absolute path", path.display()));
    }
    let bytes = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if !bytes.is_file() {
        return Err(format!("{}: no file", path.display()));
    }
    let text = intake::read_text(Kind::Policy, path).map_err(|error| error.to_string())?;
    let (section, key) = match kind(&text) {
        Some(FileKind::Configuration) => return parts_of_it(config, path, &text),
        Some(FileKind::Policy) => ("policy", "file"),
        Some(FileKind::Partitions) => ("partitions", "file"),
        Some(FileKind::OpenSmConf) => ("fabric", "opensm_conf"),
        Some(FileKind::TorusConf) => ("routing", "torus_conf"),
        _ => {
            return Err(format!(
                "{}: no policy, partitions.conf, opensm.conf, torus-2QoS.conf or configuration; where it is one of these, name it by \
                 its key in a file such as `[policy]` with `file = \"{}\"`",
                path.display(),
                path.display()
            ));
        }
    };
    let value = Value::String(path.display().to_string());
    let changed = with(config, [(section, [(key, value)])])?;
    Ok((
        changed,
        format!("{key} of [{section}] is {}", path.display()),
    ))
}

/// With another engine. Errors: there is none of that name.
pub(super) fn routed_by(config: &Config, engine: &str) -> Result<(Config, String), String> {
    let kind: EngineKind = engine.parse().map_err(|unknown| format!("{unknown}"))?;
    let value = Value::String(kind.name().to_owned());
    let changed = with(config, [("routing", [("engine", value)])])?;
    Ok((changed, format!("engine of [routing] is {kind}")))
}

/// A text that has sections of ours is a configuration, whatever else it looks like.
fn kind(text: &str) -> Option<FileKind> {
    let is_section = |key: &String| SECTIONS.contains(&key.as_str());
    let table = text.parse::<Table>().ok();
    if table.is_some_and(|table| !table.is_empty() && table.keys().all(is_section)) {
        return Some(FileKind::Configuration);
    }
    FileKind::recognise(text.as_bytes())
}

/// All that a configuration may have.
const SECTIONS: [&str; 17] = [
    "fabric",
    "routing",
    "policy",
    "partitions",
    "sm",
    "limits",
    "port",
    "workers",
    "state",
    "sa",
    "overload",
    "opensm",
    "health",
    "control",
    "http",
    "local_service",
    "log",
];

/// A whole configuration has ports; keys of a part of one count over those in force.
fn parts_of_it(config: &Config, path: &Path, text: &str) -> Result<(Config, String), String> {
    let table: Table = text
        .parse()
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let base = config.written.path.as_path();
    // No daemon runs without a port, so a text without one was never whole.
    let is_whole = table.contains_key("port");
    let changed = match is_whole {
        true => Config::parse_at(base, text),
        false => Config::parse_at(base, &merged(config, table)?),
    };
    let changed = changed.map_err(|error| {
        let place = path.display();
        match is_whole {
            true => format!("{place}: {error}"),
            false => format!("with {place} the configuration would be wrong: {error}"),
        }
    })?;
    let others = others(config, &changed);
    if !others.is_empty() {
        let words = others.join(", ");
        return Err(format!(
            "{}: {words} can only be changed by a restart",
            path.display()
        ));
    }
    Ok((
        changed,
        format!("the configuration is that of {}", path.display()),
    ))
}

/// Some keys over those in force. Shape: sections by their names, each with its keys. Errors: the
/// whole would be wrong.
fn with<const N: usize, const M: usize>(
    config: &Config,
    keys: [(&str, [(&str, Value); M]); N],
) -> Result<Config, String> {
    let section = |(name, keys): (&str, [(&str, Value); M])| {
        let keys = keys.map(|(key, value)| (key.to_owned(), value));
        (name.to_owned(), Value::Table(keys.into_iter().collect()))
    };
    let text = merged(config, keys.map(section).into_iter().collect())?;
    let changed = Config::parse_at(&config.written.path, &text);
    changed.map_err(|error| error.to_string())
}

/// The text of a configuration with these keys. Errors: what is in force is no table, which cannot
/// be.
fn merged(config: &Config, keys: Table) -> Result<String, String> {
    let mut table: Table = config
        .written
        .text
        .parse()
        .map_err(|error: toml::de::Error| error.to_string())?;
    for (name, value) in keys {
        match (table.get_mut(&name), value) {
            // Keys that are not named stay as they are.
            (Some(Value::Table(section)), Value::Table(more)) => section.extend(more),
            (_, value) => drop(table.insert(name, value)),
        }
    }
    toml::to_string(&table).map_err(|error| error.to_string())
}

/// Sections that differ and are read at the start alone.
fn others(one: &Config, other: &Config) -> Vec<&'static str> {
    let same = [
        ("[[port]]", said(&one.ports) == said(&other.ports)),
        ("[workers]", said(&one.workers) == said(&other.workers)),
        ("[state]", said(&one.state) == said(&other.state)),
        ("[sa]", said(&one.sa) == said(&other.sa)),
        ("[overload]", said(&one.overload) == said(&other.overload)),
        ("[opensm]", said(&one.opensm) == said(&other.opensm)),
        ("[control]", said(&one.control) == said(&other.control)),
        ("[health]", said(&one.health) == said(&other.health)),
        ("[http]", said(&one.http) == said(&other.http)),
        (
            "[local_service]",
            said(&one.local_service) == said(&other.local_service),
        ),
        ("[log]", said(&one.log) == said(&other.log)),
        (
            "source of [fabric]",
            one.fabric.source == other.fabric.source,
        ),
    ];
    let differ = same.into_iter().filter(|(_, is_same)| !is_same);
    differ.map(|(name, _)| name).collect()
}

/// All that it says. Shape: text that is equal where the sections are.
fn said(section: &impl core::fmt::Debug) -> String {
    format!("{section:?}")
}

/// True where two say the same.
pub(super) fn is_same(one: &Config, other: &Config) -> bool {
    let bare = |config: &Config| Config {
        written: Written::default(),
        ..config.clone()
    };
    said(&bare(one)) == said(&bare(other))
}

/// What an earlier run had applied; none where there is nothing, or where the configuration file
/// was changed since.
pub(in crate::server::reload) fn restored(config: &Config) -> Option<Box<Config>> {
    let path = file(config)?;
    // There is none where nothing was applied, which is the rule.
    let text = fs::read_to_string(&path).ok()?;
    let kept: Result<Kept, _> = serde_json::from_str(&text);
    let kept = kept.map_err(|error| {
        warn!(
            "{}: {error}; the configuration file decides",
            path.display()
        );
    });
    let kept = kept.ok()?;
    // By its text: times of files change with every copy.
    if kept.configuration != config.written.text {
        info!("the configuration file was changed since `sapphire apply`: it decides");
        return None;
    }
    match Config::parse_at(&config.written.path, &kept.applied) {
        Ok(applied) => {
            warn!(
                "what `sapphire apply` has put in force is in force still, and is not in the configuration file"
            );
            Some(Box::new(applied))
        }
        Err(error) => {
            warn!(
                "{}: {error}; the configuration file decides",
                path.display()
            );
            None
        }
    }
}

/// Keeps what is in force over a restart; without a change there is nothing to keep. Errors: the
/// file cannot be written.
pub(super) fn keep(config: &Config, applied: Option<&Config>) -> Result<(), String> {
    let Some(path) = file(config) else {
        return Ok(());
    };
    let Some(applied) = applied else {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("{}: {error}", path.display()))
            }
            _ => Ok(()),
        };
    };
    let kept = Kept {
        configuration: config.written.text.clone(),
        applied: applied.written.text.clone(),
    };
    let text = serde_json::to_string(&kept).map_err(|error| error.to_string())?;
    let folder = Folder::of(&path).map_err(|error| error.to_string())?;
    // Keys of the SM may be in it.
    let written = folder.write(FILE, Readers::Owner, text.as_bytes());
    written.map_err(|error| error.to_string())
}

/// None without a state directory: then nothing outlives the process.
fn file(config: &Config) -> Option<PathBuf> {
    let directory = config.state.directory.as_ref()?;
    Some(directory.join(FILE))
}
