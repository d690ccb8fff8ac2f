//! A program whose standard streams are as they can be.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sa_rig::wait_for;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Words between blanks.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// What is at the other end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Somebody who reads all.
    Reader,
    /// Nobody any more.
    ClosedPipe,
    /// A disk without room.
    FullDevice,
    /// Nothing: the descriptor is closed.
    Nothing,
}

/// Both streams are read.
pub(crate) const READ: [End; 2] = [End::Reader, End::Reader];

impl End {
    fn stdio(self) -> Result<Stdio> {
        Ok(match self {
            Self::Reader | Self::Nothing => Stdio::piped(),
            Self::ClosedPipe => std::io::pipe()?.1.into(),
            Self::FullDevice => File::options().write(true).open("/dev/full")?.into(),
        })
    }
}

/// How a run ended, and what came out of streams that were read.
#[derive(Debug)]
pub(crate) struct Ended {
    /// None: by a signal.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a program to its end with nothing on standard input.
pub(crate) fn run(
    program: &Path,
    directory: &Path,
    line: &[String],
    [out, err]: [End; 2],
) -> Result<Ended> {
    // A descriptor is closed by the shell, which the program then replaces.
    let close = |end: End, words: &'static str| if end == End::Nothing { words } else { "" };
    let script = format!("exec \"$@\" {} {}", close(out, ">&-"), close(err, "2>&-"));
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).arg(program).args(line);
    command
        .current_dir(directory)
        .env_remove("RUST_BACKTRACE")
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(out.stdio()?)
        .stderr(err.stdio()?);
    let mut child = Killed(command.spawn()?);
    drop(command);
    let out = child.0.stdout.take().map(reader);
    let err = child.0.stderr.take().map(reader);
    let what = format!("the end of {line:?}");
    wait_for(&what, PATIENCE, || Ok(child.0.try_wait()?.is_some()))?;
    let code = child.0.wait()?.code();
    Ok(Ended {
        code,
        out: text(out)?,
        err: text(err)?,
    })
}

fn reader(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        all
    })
}

fn text(reader: Option<JoinHandle<Vec<u8>>>) -> Result<String> {
    let Some(reader) = reader else {
        return Ok(String::new());
    };
    let Ok(bytes) = reader.join() else {
        bail!("a reader has panicked");
    };
    String::from_utf8(bytes).context("no UTF-8")
}

/// Ended when dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
