//! The documents say what is so: commands run as they stand there, examples are read, figures and
//! pictures are those of today.

mod commands;
mod examples;
mod examples_start;
mod manual;
mod performance;
mod pictures;
mod places;
mod policy;
mod promises;

use std::path::{Path, PathBuf};

/// Where the documents lie.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
