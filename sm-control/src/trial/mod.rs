//! Loads that may take more memory than is left are tried by another process first, whose end
//! leaves the daemon alone (ADR 15). What fits there is then done here, on the same bytes.
//!
//! ```text
//!  most_taken(size of the files) <= room ──> no trial: even the worst files of this size fit
//!  else: sapphired --trial, with the configuration on its standard input
//!          │ watched every 5 ms; killed when the room is used up
//!          └─> report: digests of the files, memory taken ──> fits? ──> load, expecting these digests
//! ```
//!
//! A daemon that dies of a fabric file answers nobody, and dies again at each restart. A trial
//! costs a second load in time, so it is made only where it could matter: files of 200 KB are tried
//! where less than 1.4 GB is left.

mod child;
mod memory;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use sa_compiler::watch::Watch;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::memory::{Room, Taken};
use crate::config::{Config, Source};
use sa_fabric::intake::{self, Seen};

pub use child::run;
pub use memory::Limit;

/// How often a trial is looked at. What it takes between two looks has to fit into [`SPARE`].
const LOOK: Duration = Duration::from_millis(5);

/// Left over at least when a load is done, for what serves meanwhile. Units: bytes.
const SPARE: u64 = 32 << 20;

/// Twenty files with the longest paths, and an error. Units: bytes.
const LONGEST_REPORT: u64 = 1 << 20;

/// What any fabric of a few switches may take, with 128 LIDs for each port. Units: bytes.
const SMALL: u64 = 64 << 20;

/// LIDs of unicast (1 to 0xbfff), which bound what switches and end ports there can be.
const MOST_NODES: u64 = 0xc000;

/// Why a load is not to be done. The words tell an operator what to change.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrialError {
    /// It does not fit into what is left.
    #[error(
        "this load takes more memory than is left: {} MiB or more, of {} MiB ({limit}); give \
         sapphired more, or make its input files smaller",
        taken >> 20,
        left >> 20
    )]
    TooMuch {
        /// What it took when it was given up. Units: bytes.
        taken: u64,
        /// What there was. Units: bytes.
        left: u64,
        /// What bounds that.
        limit: Limit,
    },
    /// Files cannot be read or parsed.
    #[error("{said}")]
    Refused {
        /// As the other process said it.
        said: String,
    },
    /// The other process cannot be had.
    #[error("cannot try this load in a process of its own: {what}: {source}")]
    Process {
        /// What of it.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// What it told cannot be read.
    #[error("cannot try this load in a process of its own: its report: {source}")]
    Report {
        /// Why not.
        source: serde_json::Error,
    },
    /// Nobody wants it any more.
    #[error("trying this load in a process of its own was stopped")]
    Stopped,
    /// It ended, and not for want of memory.
    #[error("trying this load in a process of its own failed ({status}); nothing is loaded")]
    Ended {
        /// How.
        status: ExitStatus,
    },
}

/// What a trial tells, as JSON on its standard output.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    /// The bytes of each path, and the digest of its file.
    seen: Vec<(Vec<u8>, u64)>,
    /// Why files cannot be read or parsed.
    refused: Option<String>,
    taken: Taken,
}

/// Tries a load, unless whatever is in files of their size fits. Gives what the files held; none
/// where there was no need to try. Errors: [`TrialError`].
///
/// `watch`: may say that nobody wants it any more.
pub fn attempt(config: &Config, watch: Watch) -> Result<Option<Seen>, TrialError> {
    let size = size_of_inputs(config);
    let room = memory::room();
    // No trial: what it takes is known from its size.
    if config.fabric.source == Source::Snapshot {
        // Read, then copied; nothing is computed.
        return fits(&room, Taken::alike(size.saturating_mul(2))).map(|()| None);
    }
    if room.least() >= most_taken(size) {
        return Ok(None);
    }
    let report = tried(config, &room, watch)?;
    if let Some(said) = report.refused {
        return Err(TrialError::Refused { said });
    }
    fits(&memory::room(), report.taken)?;
    let path = |bytes: Vec<u8>| PathBuf::from(OsString::from_vec(bytes));
    let seen = report.seen.into_iter();
    Ok(Some(
        seen.map(|(bytes, digest)| (path(bytes), digest)).collect(),
    ))
}

/// Whether less is left than files of their size may take.
pub fn is_tight(config: &Config) -> bool {
    config.fabric.source != Source::Snapshot
        && memory::room().least() < most_taken(size_of_inputs(config))
}

/// What files of this size take at most, whatever they hold: parsers by the length of a file,
/// tables by the square of what it can name, a line of which has 32 bytes and more. Each is twice
/// and more what the worst files took that were found. Units: bytes.
const fn most_taken(size: u64) -> u64 {
    let nodes = if size / 32 < MOST_NODES {
        size / 32
    } else {
        MOST_NODES
    };
    SMALL + 128 * size + 32 * nodes * nodes
}

/// Of all files, decompressed; what is not there or cannot be read has none. Units: bytes.
fn size_of_inputs(config: &Config) -> u64 {
    config
        .input_files()
        .iter()
        .map(|path| intake::size(path))
        .sum()
}

/// Errors: it does not fit, with a tenth and [`SPARE`] left over. The same load takes a little more
/// or less each time.
fn fits(room: &Room, taken: Taken) -> Result<(), TrialError> {
    let with_spare = |bytes: u64| bytes.saturating_add(bytes / 10).saturating_add(SPARE);
    // A process's address space holds its memory at least.
    let space = with_spare(taken.space.max(taken.memory));
    if space > room.space || with_spare(taken.memory) > room.memory {
        return Err(too_much(room, taken));
    }
    Ok(())
}

/// In the words of the limit that is the narrowest.
fn too_much(room: &Room, taken: Taken) -> TrialError {
    let (left, limit) = room.narrowest();
    let taken = taken.space.max(taken.memory);
    TrialError::TooMuch { taken, left, limit }
}

/// Runs the trial to its end. Errors: as [`attempt`].
fn tried(config: &Config, room: &Room, wanted: Watch) -> Result<Report, TrialError> {
    let failed = |what| move |source| TrialError::Process { what, source };
    let mut child = start(config).map_err(failed("its start"))?;
    // Taken while it is written: a pipe holds less than the longest report.
    let told = report_of(&mut child).map_err(failed("its report"))?;
    let watched = watch(&mut child, room, wanted);
    if watched.is_err() {
        // It may have ended by itself.
        let _ = child.kill();
    }
    let ended = child.wait();
    let taken = watched?;
    let status = ended.map_err(failed("its end"))?;
    if !status.success() {
        return Err(ended_badly(status, room, taken));
    }
    let told = told.join().unwrap_or_default();
    serde_json::from_slice(&told).map_err(|source| TrialError::Report { source })
}

/// Reads what a trial tells, until its end. Errors: no thread can be had.
fn report_of(child: &mut Child) -> std::io::Result<JoinHandle<Vec<u8>>> {
    let output = child.stdout.take();
    let thread = std::thread::Builder::new().name("sa-trial".into());
    let thread = thread.spawn(move || {
        let mut told = Vec::new();
        // What came before a failure is no whole report, which is seen when it is parsed.
        let _ = output.map(|output| output.take(LONGEST_REPORT).read_to_end(&mut told));
        told
    });
    thread.inspect_err(|_| {
        let _ = child.kill();
        let _ = child.wait();
    })
}

/// Errors: there is no process to be had.
fn start(config: &Config) -> std::io::Result<Child> {
    let mut child = Command::new("/proc/self/exe")
        .arg("--trial")
        .arg("--config")
        .arg(&config.written.path)
        // What stands before libc's functions, and who is told that the daemon is ready.
        .env_remove("LD_PRELOAD")
        .env_remove("NOTIFY_SOCKET")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    // The file may be another one by now.
    let sent = child.stdin.take().map_or(Ok(()), |mut input| {
        input.write_all(config.written.text.as_bytes())
    });
    if sent.is_err() {
        // Its end says why.
        let _ = child.kill();
    }
    Ok(child)
}

/// Waits for its end. Gives what it had taken when it was last looked at: memory alone, as its
/// address space is limited as ours is, and its report has both. Errors: it takes more than there
/// is.
fn watch(child: &mut Child, room: &Room, wanted: Watch) -> Result<Taken, TrialError> {
    let mut taken = Taken::default();
    while child.try_wait().is_ok_and(|ended| ended.is_none()) {
        taken.memory = memory::of(child.id()).memory.max(taken.memory);
        if taken.memory.saturating_add(SPARE) > room.memory {
            return Err(too_much(room, taken));
        }
        if wanted.is_stopped() {
            return Err(TrialError::Stopped);
        }
        // The kernel tells when a process ends, and not when it has taken much.
        sleep(LOOK);
    }
    Ok(taken)
}

/// What an end by a signal means: most are for want of memory.
fn ended_badly(status: ExitStatus, room: &Room, taken: Taken) -> TrialError {
    match status.signal() {
        // Aborted where an allocation failed, killed by the kernel where memory ran out.
        Some(libc::SIGABRT | libc::SIGKILL | libc::SIGSEGV | libc::SIGBUS) => too_much(room, taken),
        _ => TrialError::Ended { status },
    }
}
