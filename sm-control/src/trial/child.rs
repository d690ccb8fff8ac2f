//! The process that tries a load: it reads the configuration from standard input, does what the
//! daemon would, and tells what that took.
//!
//! It is the same program, started by `/proc/self/exe`, so it compiles as the daemon does even
//! after the file on the disk was replaced. It makes itself the first that the kernel kills when
//! memory runs out, and dies with its parent.
//!
//! ```text
//!  {"seen":[[[47,101,..],1234567890],..],"refused":null,"taken":{"space":81788928,"memory":50331648}}
//! ```
//!
//! Paths are bytes, as the system has them; a file that was read is known by its digest, so that
//! the daemon loads what was tried and nothing else.

use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sa_compiler::pipeline::{self, Inputs, PipelineError, Stamp};

use super::Report;
use super::memory;
use crate::config::{Config, Source};

/// As much of an error as is told, so that the report has a longest length. Units: characters.
const MOST_SAID: usize = 16 << 10;

/// Tries one load. `path`: of the configuration, whose text is read from standard input. Errors:
/// nothing can be told.
pub fn run(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    go_first()?;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    // The text that the daemon runs with; the path is for relative names alone.
    let config = Config::parse_at(path, &text)?;
    // What the program itself takes is in both processes.
    let begun = memory::own();
    let inputs = config.inputs();
    let refused = load(&config, &inputs);
    let report = Report {
        seen: inputs
            .intake
            .seen()
            .into_iter()
            .map(|(path, digest)| (path.as_os_str().as_bytes().to_vec(), digest))
            .collect(),
        refused: refused.map(|said| said.chars().take(MOST_SAID).collect()),
        taken: memory::peak().since(begun),
    };
    std::io::stdout().write_all(&serde_json::to_vec(&report)?)?;
    Ok(())
}

/// What the daemon would do. Gives why files cannot be read or parsed; what else fails is the
/// daemon's to say, which knows what is in service.
fn load(config: &Config, inputs: &Inputs) -> Option<String> {
    match config.fabric.source {
        Source::Sa | Source::OpenSm | Source::Sweep => {
            let read = pipeline::read_but_the_fabric(inputs);
            read.err().map(|problem| problem.to_string())
        }
        Source::Files | Source::Snapshot | Source::Fleet | Source::None => {
            match pipeline::compile(inputs, Stamp::default()) {
                Err(PipelineError::Read(problem)) => Some(problem.to_string()),
                Ok(_) | Err(_) => None,
            }
        }
    }
}

/// When memory runs out this goes, not the daemon; and it goes with it. Errors: the system does not
/// allow one of both, and then nothing is tried.
fn go_first() -> std::io::Result<()> {
    std::fs::write("/proc/self/oom_score_adj", "1000")?;
    let kill = rustix::process::Signal::KILL;
    Ok(rustix::process::set_parent_process_death_signal(Some(
        kill,
    ))?)
}
