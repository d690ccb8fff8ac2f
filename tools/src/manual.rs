//! `sapphire completions` and `sapphire man`: made from the command lines themselves.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::failure::{Failure, Outcome};

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
    let mut script = Vec::new();
    clap_complete::generate(verb.shell, &mut command, name, &mut script);
    let mut out = io::stdout().lock();
    match out.write_all(&script).and_then(|()| out.flush()) {
        // Who reads has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::failed(error)),
        _ => Ok(()),
    }
}

/// Errors: a page cannot be written.
pub(crate) fn manual(verb: &Manual) -> Outcome {
    let directory = verb.out.as_path();
    fs::create_dir_all(directory).map_err(|error| about(directory, &error))?;
    clap_mangen::generate_to(Program::Sapphire.command(), directory)
        .map_err(|error| about(directory, &error))?;
    let path = directory.join("sapphired.8");
    let page = Man::new(Program::Sapphired.command()).section("8");
    let mut text = Vec::new();
    let written = page
        .render(&mut text)
        .and_then(|()| fs::write(&path, &text));
    written.map_err(|error| about(&path, &error))
}

fn about(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}
