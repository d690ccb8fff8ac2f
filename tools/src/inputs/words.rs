//! The options that a fabric was compiled with, as words of a command line.
//!
//! Words, because that is the form in which options already have an unambiguous meaning: one
//! reader, with its checks, for the command line and for a sidecar. An option that is added is kept
//! without a line here.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};
use sa_compiler::pipeline::Inputs;

use super::FabricArgs;
use crate::failure::{Failure, Outcome};

/// Options of [`FabricArgs`] as they stand on the command line. Shape: `--name` or `--name=value`.
///
/// Part of these; it stands before the others, which take the values away.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words(pub(crate) Vec<String>);

impl Args for Words {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for Words {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut words = Vec::new();
        for option in command().get_arguments() {
            let id = option.get_id().as_str();
            let Some(name) = option.get_long() else {
                continue;
            };
            if matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            if matches!(option.get_action(), ArgAction::SetTrue) {
                words.push(format!("--{name}"));
                continue;
            }
            for value in matches.get_raw(id).into_iter().flatten() {
                let value = value.to_str();
                let value = value.ok_or_else(|| clap::Error::new(ErrorKind::InvalidUtf8))?;
                words.push(format!("--{name}={value}"));
            }
        }
        Ok(Self(words))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Words {
    /// Errors: options of a fabric beside what has its own, but for those of `allowed`. `given`:
    /// what that is.
    ///
    /// Clap's `requires` does not see to it: it is waived for an option that must not be there.
    pub(crate) fn are_alone(&self, given: &str, allowed: &[&str]) -> Outcome {
        let names = self.0.iter().filter_map(|word| word.split('=').next());
        let extra: Vec<&str> = names.filter(|name| !allowed.contains(name)).collect();
        if extra.is_empty() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{given} brings the options that it was compiled with: leave {} out",
            extra.join(", ")
        )))
    }
}

/// A command line of nothing but a fabric and its options.
fn command() -> Command {
    FabricArgs::augment_args(Command::new("kept").no_binary_name(true))
}

/// What the words mean; none for words that no fabric is compiled with.
pub(super) fn inputs(words: &[String]) -> Option<Inputs> {
    let matches = command().try_get_matches_from(words).ok()?;
    let arguments = FabricArgs::from_arg_matches(&matches).ok()?;
    arguments.of_files()
}
