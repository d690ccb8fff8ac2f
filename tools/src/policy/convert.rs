//! `sapphire policy convert`.
//!
//! Reading takes any dialect; writing loses what the other one has no words for. Each loss is a
//! warning with the place in the file that was read, so that the text that is written may still be
//! used knowingly. With `--strict` nothing is written then, neither to the file nor to standard
//! output: half a policy must not be loaded by mistake.
//!
//! No fabric is taken: groups stay as they are written.

use std::path::PathBuf;

use clap::Args;
use policy::{Converted, Dialect, convert};
use sa_fabric::outlet::{self, Readers};
use sa_text::Location;
use serde::Serialize;

use super::file;
use crate::failure::{Failure, Outcome};
use crate::inputs::{ReadingArgs, or_fail};
use crate::json::{self, Document};

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// Policy file
    #[arg(id = "policy", value_name = "FILE")]
    path: PathBuf,
    /// Dialect to write: RFC 0.2, RFC 0.1 or OpenSM's
    #[arg(long, value_name = "text|xml|opensm")]
    to: Dialect,
    /// File to write; by default standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write nothing if the other dialect cannot say all of it: exit 3
    #[arg(long)]
    strict: bool,
    /// Print the result as JSON: the text and what it does not say
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Errors: the file does not parse; with `--strict` something cannot be said; the output cannot be
/// written.
pub(crate) fn run(verb: &Convert) -> Outcome {
    let options = verb.reading.options_with_names()?;
    let read = file::read(&verb.path, verb.reading.dialect, &options, None)?;
    let converted = convert(&read.policy, verb.to);
    if !verb.json {
        tell(&read.name, &converted);
    }
    // Before the file is opened: an earlier version of it stays as it was.
    if verb.strict && !converted.losses.is_empty() {
        let text = format!(
            "{}: {} cannot say all of it, nothing is written",
            read.name, verb.to
        );
        return Err(Failure::refused(text).about(Location::file(&read.name)));
    }
    // Before anything is printed: what says that it was written must not be a lie.
    if let Some(path) = &verb.output {
        or_fail(outlet::write(path, Readers::All, converted.text.as_bytes()))?;
    }
    if verb.json {
        return print_json(verb, &read, &converted);
    }
    match &verb.output {
        Some(path) => outln!(
            "{}: {} as {}, {}",
            path.display(),
            read.policy.dialect,
            verb.to,
            how_much(&converted)
        ),
        None => out!("{}", converted.text),
    }
    Ok(())
}

/// On standard error: standard output is the text itself, and may be piped into a file.
///
/// In the order of the file.
fn tell(name: &str, converted: &Converted) {
    for loss in &converted.losses {
        errln!(
            "{name}:{}:{}: warning: {}",
            loss.span.start.line,
            loss.span.start.column,
            loss.what
        );
    }
}

/// For the line that says what was written.
fn how_much(converted: &Converted) -> String {
    match converted.losses.len() {
        0 => String::from("all of it"),
        1 => String::from("but for one thing, see the warning"),
        losses => format!("but for {losses} things, see the warnings"),
    }
}

/// The policy in the other dialect.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// As it was given.
    file: &'a str,
    /// Dialect that was read.
    from: &'static str,
    /// Dialect that is written.
    to: &'static str,
    /// In the order of the file; empty where the text says all of it.
    losses: Vec<Loss>,
    /// The policy as it was written, whether or not it says all.
    text: &'a str,
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.policy-convert/1";
}

/// What the other dialect cannot say.
///
/// By place in the file that was read; `kind` is stable, `message` is for people.
#[derive(Debug, Serialize)]
struct Loss {
    /// Of the file that was read, from 1 on.
    line: u32,
    column: u32,
    /// A word that stays from version to version.
    kind: &'static str,
    message: String,
}

/// Losses have a `kind`, a word that programs may rely on, beside the sentence for people.
fn print_json(verb: &Convert, read: &file::PolicyFile, converted: &Converted) -> Outcome {
    let losses = converted.losses.iter().map(|loss| Loss {
        line: loss.span.start.line,
        column: loss.span.start.column,
        kind: loss.what.kind().word(),
        message: loss.what.to_string(),
    });
    json::print(&Report {
        file: &read.name,
        from: read.policy.dialect.word(),
        to: verb.to.word(),
        losses: losses.collect(),
        text: &converted.text,
    })
}
