//! `sapphire completions` and `sapphire man`: made from the command lines themselves.
//!
//! Neither has text of its own: both walk the clap command that parses the command line, so that an
//! option cannot be there without its line in the page. `sapphired` has its arguments in
//! `sm-control`, a library, which is why this tool can write the daemon's page without running it.
//!
//! Whoever packages the program calls `sapphire man --out DIR` once, and installs what `sapphire
//! completions bash` prints.

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

/// Writes man pages: `sapphire.1`, one for each verb, and `sapphired.8`.
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// Directory for them; made if it is missing
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
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
    let folder = or_fail(Folder::make(&verb.out))?;
    let mut command = Program::Sapphire.command().disable_help_subcommand(true);
    // Fills in what clap adds only when it parses: full names of subcommands, and options that go
    // down.
    command.build();
    // `sapphire.1` is written last by that walk, after the pages of its verbs.
    pages(&folder, &command)?;
    let page = Man::new(Program::Sapphired.command()).section("8");
    or_fail(folder.write_with("sapphired.8", Readers::All, |out| page.render(out)))
}

/// Of a command and all below it, as `clap_mangen::generate_to` writes them.
fn pages(folder: &Folder, command: &Command) -> Outcome {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        pages(folder, verb)?;
    }
    let page = Man::new(command.clone());
    or_fail(folder.write_with(page.get_filename(), Readers::All, |out| page.render(out)))
}
