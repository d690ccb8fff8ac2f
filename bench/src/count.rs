//! Instructions per query, counted by valgrind's callgrind: on a shared machine the one figure that
//! repeats.
//!
//! A case is written to a directory. The caller's own program is run on it twice under callgrind,
//! the second time answering more; what starting up takes is the same in both and falls out of the
//! difference. The program calls [`Case::answer`] in those runs. No request is asked twice.
//!
//! Callgrind also simulates a branch predictor, a simpler one than any processor's of today. What
//! it does not foresee is the same for the same program; in another build of the same code branches
//! lie elsewhere in its table, and it is not.

use core::hint::black_box;
use core::sync::atomic::{AtomicBool, Ordering};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use sa_answer::whole;
use sa_fabric::store;
use sa_snapshot::{LoadError, Snapshot};
use sa_wire::umad::{MAD_SIZE, Slot};
use thiserror::Error;

use crate::memory::answer_in_place;

/// A snapshot and requests to it.
///
/// Two runs of the program read it from files, so that both start from the same bytes.
pub struct Case {
    /// What answers.
    pub snapshot: Snapshot,
    /// What is asked. Shape: [`PASSES`] parts of the same length.
    pub requests: Vec<Slot>,
    /// Replies are more than one MAD, which the slow lane makes.
    pub is_long: bool,
    /// Requests that are answered at once.
    pub batch: usize,
}

/// Why nothing was counted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CountError {
    /// valgrind is not installed.
    #[error(
        "instructions are counted by valgrind, which is not installed: apt-get install valgrind"
    )]
    NoValgrind,
    /// The program did not run through under valgrind.
    #[error("under valgrind the program failed with {status}:\n{said}")]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// What it wrote.
        said: String,
    },
    /// It was told to stop.
    #[error("stopped before instructions were counted")]
    Stopped,
    /// valgrind wrote no sum.
    #[error("{}: callgrind wrote no sum of instructions", .0.display())]
    NoSum(PathBuf),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The snapshot of the case is broken.
    #[error(transparent)]
    Store(#[from] store::StoreError),
    /// The snapshot could not be taken over.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl Case {
    /// Writes the case into an empty directory. Errors: [`CountError::Io`], [`CountError::Store`].
    pub fn write(&self, directory: &Path) -> Result<(), CountError> {
        store::write(&directory.join(SNAPSHOT), &self.snapshot)?;
        let mut bytes = Vec::with_capacity(self.requests.len() * REQUEST);
        for slot in &self.requests {
            bytes.extend_from_slice(&slot.header.lid.get().to_be_bytes());
            bytes.extend_from_slice(&slot.mad);
        }
        // A line of two numbers: only this program reads it back.
        let [kind, batch] = [
            usize::from(self.is_long).to_string(),
            self.batch.to_string(),
        ];
        write(
            &directory.join(SETTINGS),
            format!("{kind} {batch}").as_bytes(),
        )?;
        write(&directory.join(REQUESTS), &bytes)
    }

    /// Reads what [`Self::write`] wrote. Errors: [`CountError`].
    pub fn read(directory: &Path) -> Result<Self, CountError> {
        let settings = directory.join(SETTINGS);
        let text = String::from_utf8_lossy(&read(&settings)?).into_owned();
        let (kind, batch) = text.split_once(' ').unwrap_or((&text, ""));
        let bytes = read(&directory.join(REQUESTS))?;
        Ok(Self {
            snapshot: store::open(&directory.join(SNAPSHOT))?,
            requests: bytes.chunks_exact(REQUEST).map(slot).collect(),
            is_long: kind == "1",
            batch: batch.trim().parse().unwrap_or(1),
        })
    }

    /// Answers the first `passes` parts of the requests, at most [`PASSES`], after the same
    /// preparation whatever the number is. Returns the replies.
    pub fn answer(&self, passes: usize) -> u64 {
        let part = self.requests.len() / PASSES;
        // All of them, whatever `passes` is: copying must cost the same in both runs.
        let mut slots = self.requests.clone();
        let answered = slots
            .get_mut(..part * passes.min(PASSES))
            .unwrap_or_default();
        if self.is_long {
            let replies = answered
                .iter()
                .map(|slot| whole::respond(&self.snapshot, slot));
            return replies
                .map(|reply| u64::from(black_box(reply).is_some()))
                .sum();
        }
        for batch in answered.chunks_mut(self.batch.max(1)) {
            answer_in_place(&self.snapshot, batch);
        }
        let lengths = black_box(&*answered).iter().map(|slot| slot.header.length);
        // One length is enough to use the result; summing all would be counted as answering.
        lengths.take(1).map(u64::from).sum()
    }

    /// Counts. `program` gives a command that calls [`Self::read`] on this directory and
    /// [`Self::answer`] with this number of passes. Errors: [`CountError`].
    ///
    /// Once `stop` is set, the run at hand is ended. Slow, as callgrind simulates every instruction
    /// of two runs.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub fn count(
        &self,
        directory: &Path,
        stop: &AtomicBool,
        program: impl Fn(&Path, usize) -> Command,
    ) -> Result<Counted, CountError> {
        if !has_valgrind() {
            return Err(CountError::NoValgrind);
        }
        self.write(directory)?;
        let least = under_callgrind(directory, &program(directory, 1), stop)?;
        let most = under_callgrind(directory, &program(directory, PASSES), stop)?;
        // The shorter run answers one part of three; the other two are what was counted.
        let queries = self.requests.len() / PASSES * (PASSES - 1);
        let each = |of: fn(&Sums) -> u64| {
            of(&most).saturating_sub(of(&least)) as f64 / queries.max(1) as f64
        };
        Ok(Counted {
            instructions: each(|sums| sums.instructions),
            mispredictions: each(|sums| sums.mispredictions),
        })
    }
}

/// What was counted, per query.
///
/// The difference of the two runs by the queries that only the longer one answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    /// Instructions.
    pub instructions: f64,
    /// Branches that callgrind's simulated predictor does not foresee.
    pub mispredictions: f64,
}

/// Of a whole run.
#[derive(Default)]
struct Sums {
    instructions: u64,
    mispredictions: u64,
}

/// True when valgrind can be run here.
pub fn has_valgrind() -> bool {
    let mut version = Command::new("valgrind");
    version
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Runs a command under callgrind. Returns the sums of all its threads.
///
/// The caller's program as it is, with its arguments behind those of valgrind.
fn under_callgrind(
    directory: &Path,
    command: &Command,
    stop: &AtomicBool,
) -> Result<Sums, CountError> {
    let sums = directory.join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--branch-sim=yes", "--quiet"]);
    let mut option = std::ffi::OsString::from("--callgrind-out-file=");
    option.push(&sums);
    valgrind
        .arg(option)
        .arg(command.get_program())
        .args(command.get_args());
    let said = directory.join("callgrind.err");
    let (status, said) = run(&mut valgrind, &said, stop)?;
    if !status.success() {
        return Err(CountError::Failed { status, said });
    }
    let text = String::from_utf8_lossy(&read(&sums)?).into_owned();
    sums_in(&text).ok_or(CountError::NoSum(sums))
}

/// Runs a program to its end, or until it is stopped. Returns what it said on standard error, which
/// goes to a file: a pipe that nobody reads meanwhile would hold it up.
fn run(
    command: &mut Command,
    said: &Path,
    stop: &AtomicBool,
) -> Result<(ExitStatus, String), CountError> {
    let name = command.get_program().to_owned();
    let failed = |source| io_error(Path::new(&name), source);
    let file = File::create(said).map_err(|source| io_error(said, source))?;
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(file).spawn().map_err(failed)?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if stop.load(Ordering::Relaxed) {
            let _ = child.kill();
            child.wait().map_err(failed)?;
            return Err(CountError::Stopped);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    // The terminal may have told both at once.
    if !status.success() && stop.load(Ordering::Relaxed) {
        return Err(CountError::Stopped);
    }
    let said = String::from_utf8_lossy(&read(said)?).into_owned();
    Ok((status, said))
}

/// Names of events in one line of callgrind's file, their sums in another. Source: valgrind's
/// manual, "Callgrind Format Specification".
///
/// For example
///
/// ```text
/// events: Ir Bc Bcm Bi Bim
/// totals: 71033 11290 812 1024 35
/// ```
fn sums_in(text: &str) -> Option<Sums> {
    let line = |heads: [&str; 2]| {
        let rest = |head| text.lines().find_map(move |line| line.strip_prefix(head));
        heads.into_iter().find_map(rest)
    };
    let events = line(["events: ", "events:"])?.split_whitespace();
    let figures = line(["totals: ", "summary: "])?.split_whitespace();
    let mut sums = Sums::default();
    // By name: which events there are depends on valgrind's options.
    for (event, figure) in events.zip(figures) {
        let figure: u64 = figure.parse().ok()?;
        match event {
            "Ir" => sums.instructions = figure,
            // Conditional ones, and indirect ones.
            "Bcm" | "Bim" => sums.mispredictions += figure,
            _ => {}
        }
    }
    Some(sums).filter(|sums| sums.instructions > 0)
}

/// The reverse of what [`Case::write`] put down: two bytes of LID, then the MAD.
fn slot(bytes: &[u8]) -> Slot {
    let mut slot = Slot::EMPTY;
    slot.header.qpn = 1.into();
    if let Some((lid, mad)) = bytes.split_first_chunk::<2>() {
        slot.header.lid = u16::from_be_bytes(*lid).into();
        if let Some(mad) = mad.first_chunk() {
            slot.mad = *mad;
        }
    }
    slot
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CountError> {
    fs::write(path, bytes).map_err(|source| io_error(path, source))
}

fn read(path: &Path) -> Result<Vec<u8>, CountError> {
    fs::read(path).map_err(|source| io_error(path, source))
}

fn io_error(path: &Path, source: io::Error) -> CountError {
    CountError::Io {
        path: path.into(),
        source,
    }
}

/// Parts of the requests, all of which the longer run answers.
pub const PASSES: usize = 3;

/// A requester's LID and a MAD.
const REQUEST: usize = 2 + MAD_SIZE;
const SNAPSHOT: &str = "snapshot";
const REQUESTS: &str = "requests";
const SETTINGS: &str = "settings";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_found_by_the_names_of_their_events() {
        let text = "version: 1\nevents: Ir Bc Bcm Bi Bim\nfn=(1)\ntotals: 1000 90 7 5 2\n";
        let sums = sums_in(text).unwrap();
        assert_eq!((sums.instructions, sums.mispredictions), (1000, 9));
        assert!(sums_in("events: Ir Bc\n").is_none(), "no sums");
        assert!(sums_in("events: Ir\ntotals: many\n").is_none());
    }
}
