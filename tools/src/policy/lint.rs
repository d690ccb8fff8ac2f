//! `sapphire policy lint`.
//!
//! `check` says whether a policy loads; this says what is likely not meant although it does. The
//! checks are listed in `policy::lint::CATALOGUE`, with ids (`L10`) that stay, so that a script may
//! allow some.
//!
//! Without a fabric the text alone is looked at. With one, the fabric is routed (not proved) and
//! the checks see the tables in force: those of OpenSM, or with `--apply-setup` those that the
//! policy's scopes give. Which checks were left out is said on standard error, since silence would
//! look like consent.
//!
//! A finding of severity error is exit status 3; warnings and remarks are 0.

use std::io::{self, Write};

use clap::Args;
use policy::lint::{CATALOGUE, Finding, LintId, Needs};
use sa_compiler::lint::TablesInForce;
use sa_compiler::pipeline;
use sa_compiler::qos_setup::{ScopeFit, Scopes, SetupContext};
use sa_fabric::display;
use sa_text::{Remark, Severity};
use serde::Serialize;

use super::file::{FileArgs, PolicyFile, Site};
use crate::failure::{Failure, Outcome};
use crate::inputs::{failure, warn};
use crate::json::{self, Document};
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct Lint {
    /// Make these checks only
    #[arg(long, value_name = "L10,..", value_delimiter = ',')]
    only: Vec<LintId>,
    /// Say nothing of these checks
    #[arg(long, value_name = "L21,..", value_delimiter = ',')]
    allow: Vec<LintId>,
    /// Print one JSON line for each finding
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: FileArgs,
}

/// Errors: the policy does not load; a finding is an error (exit status 3).
pub(crate) fn run(verb: &Lint) -> Outcome {
    let site = verb.file.site()?;
    // What the fabric makes of the policy is for the checks to tell.
    let options = verb.file.options(site.as_ref())?;
    let read = super::file::read(&verb.file.path, verb.file.reading.dialect, &options, None)?;
    let has_fabric = site.is_some();
    let mut findings = match site {
        Some(site) => in_fabric(verb, &read, site)?,
        None => policy::lint::lint(&read.policy, None, Some(&read.text)),
    };
    findings.retain(|finding| verb.tells(finding.id));
    let tally = Tally::new(&findings);
    output::stream(|out| print(out, verb, &read, &findings, &tally))?;
    if !has_fabric {
        verb.tell_what_was_left_out();
    }
    match tally.errors {
        0 => Ok(()),
        _ => Err(Failure::refused(format!(
            "{}: {}",
            read.name,
            count(tally.errors, "error")
        ))),
    }
}

impl Lint {
    /// `--allow` wins over `--only`.
    ///
    /// An id that is both asked for and allowed was meant to be allowed, most likely by a script.
    fn tells(&self, id: LintId) -> bool {
        (self.only.is_empty() || self.only.contains(&id)) && !self.allow.contains(&id)
    }

    /// By ids, as `--allow` takes them. Says nothing where no check that needs a fabric was asked
    /// for.
    fn tell_what_was_left_out(&self) {
        let left_out = CATALOGUE
            .iter()
            .filter(|check| check.needs == Needs::Fabric);
        let left_out = left_out.filter(|check| self.tells(check.id));
        let ids: Vec<String> = left_out.map(|check| check.id.to_string()).collect();
        match ids.len() {
            0 => {}
            checks => errln!(
                "without --fabric: {} not made ({})",
                display::count(checks, "check was", "checks were"),
                ids.join(", ")
            ),
        }
    }
}

/// Errors: the engine refuses the fabric, so that there are no tables to look at.
///
/// Routed and not proved: no check needs to know of loops.
fn in_fabric(verb: &Lint, read: &PolicyFile, site: Site) -> Outcome<Vec<Finding>> {
    let mut sources = site.sources;
    if !sources.options.qos {
        let text = "QoS is off: no policy is in force";
        warn(&[Remark::warning("qos-off", text)]);
    }
    // Put in after reading, not given as an input: a load refuses what does not fit the fabric, and
    // here that is for the checks to tell.
    sources.policy = Some(read.policy.clone());
    let mut parts = pipeline::route(sources).map_err(failure)?;
    let applies = verb.file.inputs().is_some_and(|inputs| inputs.apply_setup);
    let tables = match applies {
        true => TablesInForce::Scopes,
        false => TablesInForce::OpenSm,
    };
    if tables == TablesInForce::Scopes {
        let scopes = Scopes::new(
            &read.policy,
            SetupContext::from_state(&parts),
            ScopeFit::Rfc,
        );
        let given = scopes.given_sl2vl();
        parts.routes = parts.routes.with_sl2vl(&parts.topology, &given);
    }
    Ok(sa_compiler::lint::lint(
        &parts,
        &read.policy,
        Some(&read.text),
        tables,
    ))
}

/// How many findings there are.
///
/// Errors decide on the exit status.
struct Tally {
    errors: usize,
    warnings: usize,
    infos: usize,
}

impl Tally {
    /// Of what is told: findings that are allowed do not count.
    fn new(findings: &[Finding]) -> Self {
        let of = |severity| findings.iter().filter(|it| it.severity == severity).count();
        Self {
            errors: of(Severity::Error),
            warnings: of(Severity::Warning),
            infos: of(Severity::Info),
        }
    }
}

/// `1 error`, `2 errors`.
fn count(number: usize, what: &str) -> String {
    display::count(number, what, &format!("{what}s"))
}

/// One finding after the other, then the counts. With `--json` there is no line of counts: whoever
/// reads it counts lines.
fn print(
    out: &mut impl Write,
    verb: &Lint,
    read: &PolicyFile,
    findings: &[Finding],
    tally: &Tally,
) -> io::Result<()> {
    if verb.json {
        for finding in findings {
            json::write(out, &Line::new(&read.name, finding))?;
        }
        return Ok(());
    }
    for finding in findings {
        let shown = finding.diagnostic().render(&read.name, &read.text);
        write!(out, "{shown}")?;
    }
    let Tally {
        errors,
        warnings,
        infos,
    } = *tally;
    let counts = [(errors, "error"), (warnings, "warning"), (infos, "remark")];
    let counts = counts.iter().filter(|(number, _)| *number > 0);
    let counts: Vec<_> = counts.map(|(number, what)| count(*number, what)).collect();
    match counts.is_empty() {
        true => writeln!(out, "{}: nothing found", read.name),
        false => writeln!(out, "{}: {}", read.name, counts.join(", ")),
    }
}

/// A finding for programs.
///
/// One finding; `jq` takes them one by one.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// As `--only` and `--allow` take it.
    id: String,
    /// `error`, `warning` or `info`.
    severity: &'static str,
    file: &'a str,
    /// None for what lies outside the policy.
    line: Option<u32>,
    column: Option<u32>,
    /// One sentence.
    message: &'a str,
    /// What to do, or why it may be meant so.
    remedy: &'a str,
    /// Other lines that it is about.
    related: Vec<Related<'a>>,
}

impl Document for Line<'_> {
    const SCHEMA: &'static str = "sapphire.policy-lint/1";
}

/// Another place in the same policy.
///
/// Always in the file itself: no other is read for it.
#[derive(Debug, Serialize)]
struct Related<'a> {
    line: u32,
    column: u32,
    message: &'a str,
}

impl<'a> Line<'a> {
    /// The place is where the finding begins; its end is for people, who see it underlined.
    fn new(name: &'a str, finding: &'a Finding) -> Self {
        let related = finding.related.iter().map(|related| Related {
            line: related.span.start.line,
            column: related.span.start.column,
            message: &related.label,
        });
        Self {
            id: finding.id.to_string(),
            severity: finding.severity.word(),
            file: name,
            line: finding.span.map(|span| span.start.line),
            column: finding.span.map(|span| span.start.column),
            message: &finding.sentence,
            remedy: &finding.remedy,
            related: related.collect(),
        }
    }
}
