//! `sapphire policy explain`: `sapphire explain` with the policy in the first place.
//!
//! Only the order of arguments differs: the policy is the argument, the fabric an option. The
//! account is made by [`explain::explain`], and there is one of it only.

use clap::Args;

use super::file::FileArgs;
use crate::explain::{self, Question};
use crate::failure::{Failure, Outcome};

#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten, next_help_heading = Option::<&'static str>::None)]
    question: Question,
}

pub(crate) fn run(verb: &Explain) -> Outcome {
    // clap cannot demand it: in the other verbs the same option may be left out.
    let inputs = verb.file.inputs().ok_or_else(|| {
        Failure::usage(String::from(
            "which rule decides depends on the ports: give --fabric",
        ))
    })?;
    explain::explain(&inputs, &verb.question)
}
