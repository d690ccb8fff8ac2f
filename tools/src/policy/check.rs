//! `sapphire policy check`.
//!
//! A policy that does not load is an error of [`file::read`] and ends the verb with exit status 1,
//! so that what is printed is always about one that loads. A level or scope that is wrong in itself
//! does not
//! keep a file from loading; with `--strict` it is exit status 3 here.

use std::path::PathBuf;

use clap::Args;
use policy::diff::offer;
use policy::model::Origin;
use policy::{GroupResolver, Policy};
use sa_fabric::display;
use sa_text::{Diagnostic, Location, Severity};
use serde::Serialize;

use super::changes::{self, Changes};
use super::file::{self, FileArgs, PolicyFile, Site};
use crate::failure::{Failure, Outcome};
use crate::json::{self, Document};

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

/// Errors: the policy does not load; with `--strict` a level or scope is wrong (exit status 3).
pub(crate) fn run(verb: &Check) -> Outcome {
    let site = verb.file.site()?;
    let read = verb.file.read(site.as_ref())?;
    // Before anything is printed: an old file that does not load ends the verb without half of an output.
    // The old policy is read in the dialect that it looks like: it may be another one.
    let old = verb.diff.as_ref().map(|path| {
        let options = verb.file.options(site.as_ref())?;
        file::read(path, None, &options, site.as_ref())
    });
    let old = old.transpose()?;
    let changes = old
        .as_ref()
        .map(|old| Changes::new(old, &read, site.as_ref()));
    let changes = changes.transpose()?;
    let remarks = remarks(&read, site.as_ref());
    if verb.json {
        json::print(&Report::new(
            &read,
            site.as_ref(),
            &remarks,
            changes.as_ref(),
        ))?;
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

/// What the parser and the checks of every load have to say, in the order of the file.
///
/// Sorted by place, since parser and notes were made one after the other and a person reads along
/// the file. Remarks without a place come first.
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
    // Notes are warnings: a policy that has them loads.
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

/// By severity: errors decide on the exit status, warnings do not.
///
/// Remarks of the parser and of the checks alike.
fn count(remarks: &[Diagnostic], severity: Severity) -> usize {
    let alike = remarks.iter().filter(|remark| remark.severity == severity);
    alike.count()
}

/// The groups that are written.
///
/// Those that a policy gets without writing them (of keywords) are left out; members need a fabric.
fn groups(policy: &Policy, site: Option<&Site>) -> Vec<Group> {
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
        .map(|group| Group {
            name: group.name.value.clone(),
            members: members(group),
            line: group.span.start.line,
        })
        .collect()
}

/// What a policy says, for programs.
///
/// Fields are in the order of the text output.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// As it was given.
    file: &'a str,
    /// True: one that does not load is an error.
    loads: bool,
    /// As the option `--dialect` spells it.
    dialect: &'static str,
    semantics: Meant,
    /// In the order of the policy; the built-in default too where it has none of its own.
    levels: Vec<Level>,
    /// What a request gets that no rule is for.
    default_level: String,
    groups: Vec<Group>,
    /// Match rules.
    rules: usize,
    /// Set-up scopes for SL2VL tables.
    sl2vl_scopes: usize,
    /// Likewise for VL arbitration.
    vlarb_scopes: usize,
    /// What the parser and the checks say, by place.
    diagnostics: Vec<Said<'a>>,
    /// None without `--diff`.
    diff: Option<changes::Report<'a>>,
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.policy-check/1";
}

/// How a policy is meant, by the words of the options.
#[derive(Debug, Serialize)]
struct Meant {
    /// A rule with an end holds only for requests that name that end.
    endpoint_mask_required: bool,
    /// Which of two scopes wins.
    scope_precedence: &'static str,
    /// How service ids of files are to be read.
    service_id_encoding: &'static str,
    /// What a record says of the request.
    echo: &'static str,
}

/// A QoS level.
/// As a rule names it; of the built-in one in words.
#[derive(Debug, Serialize)]
struct Level {
    name: String,
    /// In words.
    gives: String,
    /// From 1 on; where it begins.
    line: u32,
}

/// A group that the policy writes.
#[derive(Debug, Serialize)]
struct Group {
    /// As the policy writes it.
    name: String,
    /// None without a fabric.
    members: Option<usize>,
    /// Likewise.
    line: u32,
}

/// A remark.
#[derive(Debug, Serialize)]
struct Said<'a> {
    /// In the parser's word.
    severity: String,
    line: Option<u32>,
    column: Option<u32>,
    /// One sentence.
    message: &'a str,
    /// The first thing to try; the text output has all.
    remedy: Option<&'a str>,
}

impl<'a> Report<'a> {
    fn new(
        read: &'a PolicyFile,
        site: Option<&Site>,
        remarks: &'a [Diagnostic],
        changes: Option<&'a Changes<'_>>,
    ) -> Self {
        let policy = &read.policy;
        let meant = &policy.semantics;
        let levels = policy.levels.iter().map(|level| Level {
            name: level.title(),
            gives: offer(level),
            line: level.span.start.line,
        });
        let remarks = remarks.iter().map(|remark| Said {
            severity: remark.severity.to_string(),
            line: remark.place.map(|place| place.start.line),
            column: remark.place.map(|place| place.start.column),
            message: &remark.message,
            remedy: remark.help.first().map(AsRef::as_ref),
        });
        Self {
            file: &read.name,
            loads: true,
            dialect: policy.dialect.word(),
            semantics: Meant {
                endpoint_mask_required: meant.endpoint_mask_required,
                scope_precedence: meant.scope_precedence.word(),
                service_id_encoding: meant.service_id_encoding.word(),
                echo: meant.echo.word(),
            },
            levels: levels.collect(),
            default_level: policy.level(policy.default_level).title(),
            groups: groups(policy, site),
            rules: policy.rules.len(),
            sl2vl_scopes: policy.setup.sl2vl.len(),
            vlarb_scopes: policy.setup.vlarb.len(),
            diagnostics: remarks.collect(),
            diff: changes.map(Changes::report),
        }
    }
}

/// The same facts as the report, a line each.
fn print(read: &PolicyFile, site: Option<&Site>, remarks: &[Diagnostic]) {
    let policy = &read.policy;
    outln!("{}: loads, dialect {}", read.name, policy.dialect);
    outln!("meant       {}", policy.semantics);
    for level in &policy.levels {
        outln!("level       {}: {}", level.title(), offer(level));
    }
    outln!("default     {}", policy.level(policy.default_level).title());
    for Group { name, members, .. } in groups(policy, site) {
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
