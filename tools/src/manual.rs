//! `sapphire completions` and `sapphire man`: made from the command lines themselves.
//!
//! Both walk the clap command that parses the command line, so that an option cannot be there
//! without its line in the page. `sapphired` has its arguments in `sm-control`, a library, which is
//! why this tool can write the daemon's page without running it. What clap does not know is beside:
//! `examples`, `sections` (files, exit status) and `formats` (section 5).
//!
//! Whoever packages the program calls `sapphire man -o DIR` once, and installs what `sapphire
//! completions bash` prints.

mod examples;
mod formats;
mod sections;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;
use sa_fabric::outlet::{Folder, Readers};

use crate::failure::Outcome;
use crate::inputs::or_fail;
use crate::output;

/// Prints a script that completes verbs and options.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
    /// Whose command line
    #[arg(value_name = "PROGRAM", value_enum, default_value_t = Program::Sapphire)]
    program: Program,
}

/// Writes man pages: `sapphire.1`, one for each verb, `sapphired.8`, and one for each format of
/// files.
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// Directory for them; made if it is missing
    #[arg(short, long, alias = "out", value_name = "DIR")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Program {
    Sapphire,
    Sapphired,
}

impl Program {
    fn command(self) -> Command {
        match self {
            Self::Sapphire => crate::Arguments::command(),
            Self::Sapphired => sm_control::arguments::Arguments::command(),
        }
    }
}

/// Errors: standard output takes no more.
pub(crate) fn completions(verb: &Completions) -> Outcome {
    let mut command = verb.program.command();
    let name = command.get_name().to_owned();
    // Into memory first: `clap_complete::generate` hands back no error of its writer, such as a
    // closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(verb.shell, &mut command, name, &mut script);
    output::stream(|out| out.write_all(&script))
}

/// Errors: a page cannot be written.
pub(crate) fn manual(verb: &Manual) -> Outcome {
    let folder = or_fail(Folder::make(&verb.output))?;
    let mut command = Program::Sapphire.command().disable_help_subcommand(true);
    // Fills in what clap adds only when it parses: full names of subcommands, and options that go
    // down.
    command.build();
    pages(&folder, "", &command)?;
    page(&folder, "", &Program::Sapphired.command(), "8")?;
    for (name, text) in formats::pages() {
        or_fail(folder.write_with(&name, Readers::All, |out| text.to_writer(out)))?;
    }
    Ok(())
}

/// Of a command and all below it. `path` is its words behind the program.
fn pages(folder: &Folder, path: &str, command: &Command) -> Outcome {
    for (path, verb) in below(path, command) {
        pages(folder, &path, verb)?;
    }
    page(folder, path, command, "1")
}

/// Verbs below a command, each with its words behind the program.
fn below<'a>(
    path: &'a str,
    command: &'a Command,
) -> impl Iterator<Item = (String, &'a Command)> + 'a {
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
    shown.map(move |verb| {
        let words = format!("{path} {}", verb.get_name());
        (words.trim_start().to_owned(), verb)
    })
}

/// What clap knows, then what it does not.
fn page(folder: &Folder, path: &str, command: &Command, section: &str) -> Outcome {
    let page = Man::new(command.clone()).section(section);
    or_fail(folder.write_with(page.get_filename(), Readers::All, |out| {
        page.render(out)?;
        sections::of(path, command).to_writer(out)
    }))
}

/// The command itself if it has no verbs, else all that have none, each with its words.
#[cfg(test)]
fn leaves(command: &Command) -> Vec<(String, Command)> {
    fn go(path: &str, command: &Command, found: &mut Vec<(String, Command)>) {
        if command.get_subcommands().next().is_none() {
            found.push((path.to_owned(), command.clone()));
        }
        for (path, verb) in below(path, command) {
            go(&path, verb, found);
        }
    }
    let mut found = Vec::new();
    go("", command, &mut found);
    found
}
