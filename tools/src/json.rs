//! Output for machines: one JSON value per line on standard output.

use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::output;

/// Prints one line.
pub(crate) fn print(value: &impl Serialize) -> Outcome {
    let line = serde_json::to_string(value).map_err(Failure::failed)?;
    outln!("{line}");
    output::answered();
    Ok(())
}

/// Prints the line that stands for an answer that there is not.
pub(crate) fn print_failure(failure: &Failure) {
    outln!("{}", failure.in_json());
    output::answered();
}

/// Where each line is an answer of its own, the one that fails is a line too, behind those before.
pub(crate) fn line_failed(is_json: bool, failure: Failure) -> Failure {
    if is_json && output::is_answered() {
        print_failure(&failure);
    }
    failure
}
