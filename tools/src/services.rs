//! Services by name: the table, its file, and what verbs take of it.
//!
//! Three kinds of callers: `query services` shows the table, `query pr --service NAME` turns a name
//! into what a request carries, and `explain`, `query` and the policy verbs describe an id that
//! they met. All use the same [`UlpNames`], so that a name means the same on a command line as in a
//! policy.
//!
//! A file of names is in the format of docs/ulps.md. A name that the
//! built-in table has already is replaced; one that the file has twice is an error with its place.
//!
//! A file is read once for a verb, however many names it is asked about.

use std::path::{Path, PathBuf};

use clap::Args;
use policy::UlpNames;
use policy::services::{Meaning, Service, Ulp};
use sa_fabric::intake::{self, Kind};
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::json::{self, Document};

/// Built-in names and those of a file. Errors: the file cannot be read or parsed.
///
/// Names of a file outweigh built-in ones, as an operator knows what listens where.
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
///
/// Errors say what the word could have meant, where something like it is known.
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
        return json::print_all(&rows);
    }
    for row in &rows {
        print(row);
    }
    Ok(())
}

/// What a name or a service id stands for.
///
/// Columns of the table for people, members of an object for programs.
#[derive(Debug, Serialize)]
struct Row {
    /// None for an id that no service has.
    name: Option<String>,
    /// Of a service in the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    aliases: Option<Vec<String>>,
    /// None for a name that names nothing in its requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// What of a request tells that it is this service's; none as with `title`.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched_by: Option<&'static str>,
    /// Ids, and ranges of them, as policies write them.
    service_ids: Vec<String>,
}

// One document per name, so that a list of names gives as many lines.
impl Document for Row {
    const SCHEMA: &'static str = "sapphire.query-services/1";
}

/// A row of the table. Which field of a request tells that it is this service's depends on the
/// service: most have ids, IPoIB is known by its P_Key alone.
fn row(ulp: &Ulp) -> Row {
    let (ids, matched) = match &ulp.meaning {
        Meaning::Space(space) => (vec![space.range()], "service ids of any port"),
        Meaning::Ids { ids, .. } => (ids.clone(), "service ids"),
        Meaning::QueuePairs => (Vec::new(), "service id by queue pair"),
        Meaning::Partition => (Vec::new(), "P_Key"),
        Meaning::Target => (Vec::new(), "destination, or the targets' own service ids"),
        Meaning::Silent => (Vec::new(), "nothing: it names nothing"),
    };
    Row {
        name: Some(ulp.name.clone()),
        aliases: Some(ulp.aliases.clone()),
        title: Some(ulp.title.clone()),
        matched_by: Some(matched),
        service_ids: ids.iter().map(range).collect(),
    }
}

/// A word of the command line. A name of the table gives its row; whatever else
/// [`UlpNames::service`] understands (`tcp:4420`, an id in hexadecimal, a partition) gives a row
/// made for it. Errors: it understands nothing of it.
fn looked_up(names: &UlpNames, word: &str) -> Outcome<Row> {
    if let Some(ulp) = names.find(word.trim()) {
        return Ok(row(ulp));
    }
    Ok(match service(names, word)? {
        Service::Id(id) => Row {
            name: names.name(id),
            aliases: None,
            title: Some(names.describe(id)),
            matched_by: Some("service ids"),
            service_ids: vec![range(&(id.0, id.0))],
        },
        Service::Partition { pkey } => Row {
            name: Some("ipoib".to_owned()),
            aliases: None,
            title: Some(format!("IP over InfiniBand in partition 0x{pkey:04x}")),
            matched_by: Some("P_Key"),
            service_ids: Vec::new(),
        },
        // Known by name, so it is no error; there is nothing to show but that.
        Service::Silent(name) => Row {
            name: Some(name),
            aliases: None,
            title: None,
            matched_by: None,
            service_ids: Vec::new(),
        },
    })
}

/// As policies write it.
///
/// One id without a dash: policies take either.
fn range((low, high): &(u64, u64)) -> String {
    match low == high {
        true => format!("0x{low:016x}"),
        false => format!("0x{low:016x}-0x{high:016x}"),
    }
}

/// A dash for what a service does not have.
fn print(row: &Row) {
    let ids = match row.service_ids.as_slice() {
        [] => row.matched_by.unwrap_or("-").to_owned(),
        ids => ids.join(", "),
    };
    let aliases = match row.aliases.as_deref().unwrap_or_default() {
        [] => String::new(),
        aliases => format!(" (also {})", aliases.join(", ")),
    };
    let name = row.name.as_deref().unwrap_or("-");
    let title = row.title.as_deref().unwrap_or("-");
    outln!("{name:<18}{ids:<40}  {title}{aliases}");
}
