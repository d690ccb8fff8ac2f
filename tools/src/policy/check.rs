//! `sapphire policy check`.

use std::path::PathBuf;

use clap::Args;
use policy::diff::offer;
use policy::model::Origin;
use policy::{GroupResolver, Policy};
use sa_fabric::display;
use sa_text::{Diagnostic, Location, Severity};
use serde_json::{Value, json};

use super::changes::Changes;
use super::file::{self, FileArgs, PolicyFile, Site};
use crate::failure::{Failure, Outcome};
use crate::json;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Say what changes when FILE takes the place of this policy; with --fabric, for how many
    /// pairs of ports
    #[arg(long, value_name = "OLD")]
    diff: Option<PathBuf>,
    /// A level or scope that is wrong in itself is a problem: exit 3
    #[arg(long)]
    strict: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: FileArgs,
}

pub(crate) fn run(verb: &Check) -> Outcome {
    let site = verb.file.site()?;
    let read = verb.file.read(site.as_ref())?;
    let changes = match &verb.diff {
        Some(path) => Some(changes(verb, path, &read, site.as_ref())?),
        None => None,
    };
    let remarks = remarks(&read, site.as_ref());
    if verb.json {
        json::print(&summary(&read, site.as_ref(), &remarks, changes.as_ref()))?;
    } else {
        for remark in &remarks {
            err!("{}", remark.render(&read.name, &read.text));
        }
        print(&read, site.as_ref(), &remarks);
        if let Some(changes) = &changes {
            changes.print();
        }
    }
    let errors = count(&remarks, Severity::Error);
    if verb.strict && errors > 0 {
        let errors = display::count(errors, "error", "errors");
        let words = format!("{}: {errors} in single levels or scopes", read.name);
        return Err(Failure::refused(words).about(Location::file(&read.name)));
    }
    Ok(())
}

/// The old policy is read in the dialect that it looks like: it may be another one.
fn changes<'a>(
    verb: &Check,
    path: &std::path::Path,
    new: &'a PolicyFile,
    site: Option<&'a Site>,
) -> Outcome<Changes<'a>> {
    let old = file::read(path, None, &verb.file.options(site)?, site)?;
    Changes::new(old, new, site)
}

/// What the parser and the checks of every load have to say, in the order of the file.
fn remarks(read: &PolicyFile, site: Option<&Site>) -> Vec<Diagnostic> {
    let mut notes = policy::lint::notes::notes(&read.policy);
    if let Some(site) = site {
        let partitions = &site.sources.partitions;
        notes.extend(policy::lint::notes::fabric_notes(
            &read.policy,
            &site.facts,
            partitions,
        ));
    }
    let notes = notes.into_iter().map(|note| Diagnostic {
        code: None,
        severity: Severity::Warning,
        place: Some(note.span),
        message: note.kind.to_string(),
        help: Vec::new(),
    });
    let parser = read.policy.diagnostics().into_iter();
    let mut all: Vec<Diagnostic> = parser.chain(notes).collect();
    all.sort_by_key(|remark| remark.place.map(|place| place.start));
    all
}

fn count(remarks: &[Diagnostic], severity: Severity) -> usize {
    let alike = remarks.iter().filter(|remark| remark.severity == severity);
    alike.count()
}

/// Name, members where there is a fabric, and line of the written groups.
fn groups(policy: &Policy, site: Option<&Site>) -> Vec<(String, Option<usize>, u32)> {
    let resolver = site.map(|site| GroupResolver::new(&site.facts, &site.sources.partitions));
    let written = policy
        .groups
        .iter()
        .filter(|group| group.origin == Origin::Written);
    let members = |group| {
        let found = resolver.as_ref()?.members(group);
        // A load would have refused what cannot be resolved.
        found.ok().map(|members| members.len())
    };
    written
        .map(|group| {
            (
                group.name.value.clone(),
                members(group),
                group.span.start.line,
            )
        })
        .collect()
}

fn summary(
    read: &PolicyFile,
    site: Option<&Site>,
    remarks: &[Diagnostic],
    changes: Option<&Changes<'_>>,
) -> Value {
    let policy = &read.policy;
    let meant = &policy.semantics;
    let levels = policy.levels.iter().map(
        |level| json!({ "name": level.title(), "gives": offer(level), "line": level.span.start.line }),
    );
    let groups = groups(policy, site)
        .into_iter()
        .map(|(name, members, line)| json!({ "name": name, "members": members, "line": line }));
    let remarks = remarks.iter().map(|remark| {
        json!({
            "severity": remark.severity.to_string(),
            "line": remark.place.map(|place| place.start.line),
            "column": remark.place.map(|place| place.start.column),
            "message": remark.message,
            "remedy": remark.help.first(),
        })
    });
    json!({
        "file": read.name,
        "loads": true,
        "dialect": policy.dialect.word(),
        "semantics": {
            "endpoint_mask_required": meant.endpoint_mask_required,
            "scope_precedence": meant.scope_precedence.word(),
            "service_id_encoding": meant.service_id_encoding.word(),
            "echo": meant.echo.word(),
        },
        "levels": levels.collect::<Vec<_>>(),
        "default_level": policy.level(policy.default_level).title(),
        "groups": groups.collect::<Vec<_>>(),
        "rules": policy.rules.len(),
        "sl2vl_scopes": policy.setup.sl2vl.len(),
        "vlarb_scopes": policy.setup.vlarb.len(),
        "diagnostics": remarks.collect::<Vec<_>>(),
        "diff": changes.map(Changes::json),
    })
}

fn print(read: &PolicyFile, site: Option<&Site>, remarks: &[Diagnostic]) {
    let policy = &read.policy;
    outln!("{}: loads, dialect {}", read.name, policy.dialect);
    outln!("meant       {}", policy.semantics);
    for level in &policy.levels {
        outln!("level       {}: {}", level.title(), offer(level));
    }
    outln!("default     {}", policy.level(policy.default_level).title());
    for (name, members, _) in groups(policy, site) {
        match members {
            Some(members) => outln!(
                "group       {name}: {}",
                display::count(members, "port", "ports")
            ),
            None => outln!("group       {name}"),
        }
    }
    outln!("rules       {}", policy.rules.len());
    outln!(
        "set-up      {} SL2VL scopes, {} VL arbitration scopes",
        policy.setup.sl2vl.len(),
        policy.setup.vlarb.len()
    );
    outln!(
        "remarks     {}, {}; `sapphire policy lint` looks closer",
        display::count(count(remarks, Severity::Error), "error", "errors"),
        display::count(count(remarks, Severity::Warning), "warning", "warnings")
    );
}
