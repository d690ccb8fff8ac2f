//! Services by name: the table, its file, and what verbs take of it.

use std::path::{Path, PathBuf};

use clap::Args;
use policy::UlpNames;
use policy::services::{Meaning, Service, Ulp};
use sa_fabric::intake::{self, Kind};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::json;

/// Built-in names and those of a file. Errors: the file cannot be read or parsed.
pub(crate) fn names(file: Option<&Path>) -> Outcome<UlpNames> {
    let names = UlpNames::default();
    let Some(path) = file else {
        return Ok(names);
    };
    let bytes = intake::read_or_pipe(Kind::Policy, path).map_err(Failure::failed)?;
    let extended = names.extend(&sa_text::decode(&bytes));
    extended.map_err(|error| {
        let advice = error.help().map(|help| format!(" ({help})"));
        let advice = advice.unwrap_or_default();
        let message = error.message();
        Failure::failed_at(path, error.span.start, format!("{message}{advice}"))
    })
}

/// What a word means as `--service`. Errors: no service is called so.
pub(crate) fn service(names: &UlpNames, word: &str) -> Outcome<Service> {
    names.service(word).map_err(|error| {
        let advice = error.problem.advice();
        let advice = advice.map(|advice| format!(" ({advice})"));
        Failure::usage(format!(
            "--service {word:?}: {error}{}",
            advice.unwrap_or_default()
        ))
    })
}

/// Names of services.
#[derive(Debug, Args)]
pub(crate) struct Services {
    /// Names or service ids to look up; without any, the whole table
    #[arg(value_name = "NAME|ID")]
    wanted: Vec<String>,
    /// More names, in a file; docs/ulps.md has the format
    #[arg(long, value_name = "FILE")]
    ulp_names: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the table, or what names and ids stand for.
pub(crate) fn run(verb: &Services) -> Outcome {
    let names = names(verb.ulp_names.as_deref())?;
    let rows = match verb.wanted.as_slice() {
        [] => names.entries().iter().map(row).collect(),
        wanted => {
            let rows = wanted.iter().map(|word| looked_up(&names, word));
            rows.collect::<Outcome<Vec<_>>>()?
        }
    };
    if verb.json {
        return json::print(&Value::from(rows));
    }
    for row in &rows {
        print(row);
    }
    Ok(())
}

fn row(ulp: &Ulp) -> Value {
    let (ids, matched) = match &ulp.meaning {
        Meaning::Space(space) => (vec![space.range()], "service ids of any port"),
        Meaning::Ids { ids, .. } => (ids.clone(), "service ids"),
        Meaning::QueuePairs => (Vec::new(), "service id by queue pair"),
        Meaning::Partition => (Vec::new(), "P_Key"),
        Meaning::Target => (Vec::new(), "destination, or the targets' own service ids"),
        Meaning::Silent => (Vec::new(), "nothing: it names nothing"),
    };
    json!({
        "name": ulp.name,
        "aliases": ulp.aliases,
        "title": ulp.title,
        "matched_by": matched,
        "service_ids": ids.iter().map(range).collect::<Vec<_>>(),
    })
}

fn looked_up(names: &UlpNames, word: &str) -> Outcome<Value> {
    if let Some(ulp) = names.find(word.trim()) {
        return Ok(row(ulp));
    }
    match service(names, word)? {
        Service::Id(id) => Ok(json!({
            "name": names.name(id),
            "title": names.describe(id),
            "matched_by": "service ids",
            "service_ids": [range(&(id.0, id.0))],
        })),
        Service::Partition { pkey } => Ok(json!({
            "name": "ipoib",
            "title": format!("IP over InfiniBand in partition 0x{pkey:04x}"),
            "matched_by": "P_Key",
            "service_ids": [],
        })),
        Service::Silent(name) => Ok(json!({ "name": name, "service_ids": [] })),
    }
}

/// As policies write it.
fn range((low, high): &(u64, u64)) -> String {
    match low == high {
        true => format!("0x{low:016x}"),
        false => format!("0x{low:016x}-0x{high:016x}"),
    }
}

fn print(row: &Value) {
    let list = |key: &str| {
        let words = row[key].as_array().into_iter().flatten();
        let words: Vec<&str> = words.filter_map(Value::as_str).collect();
        words.join(", ")
    };
    let text = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
    let ids = match list("service_ids") {
        none if none.is_empty() => text("matched_by"),
        ids => ids,
    };
    let aliases = match list("aliases") {
        none if none.is_empty() => none,
        aliases => format!(" (also {aliases})"),
    };
    outln!("{:<18}{ids:<40}  {}{aliases}", text("name"), text("title"));
}
