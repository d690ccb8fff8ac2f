//! Output for machines: one JSON value per line on standard output.

use serde::Serialize;

use crate::failure::{Failure, Outcome};

/// Prints one line.
pub(crate) fn print(value: &impl Serialize) -> Outcome {
    let line = serde_json::to_string(value).map_err(Failure::failed)?;
    println!("{line}");
    Ok(())
}
