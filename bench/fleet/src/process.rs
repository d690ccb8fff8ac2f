//! The other processes: this very program as a leader or a relay, told by lines on its standard input.
//!
//! ```text
//!  fleet ...                       fleet --leader DIRECTORY ...
//!     <──────────────── 127.0.0.1:43210      where it is
//!     publish 200 ────────────>              an order
//!     <──────────────── 8123456789           its answer, a line: a number, or JSON
//!     spent ──────────────────>
//! ```
//!
//! Processes of their own, so that their CPU time and memory are those of a leader or a relay and
//! nothing else.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde::de::DeserializeOwned;

use crate::spent::Spent;
use crate::{Arguments, Failure};

/// A leader or a relay that runs.
pub(crate) struct Part {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Part {
    /// It ends when its standard input does, so also when this process is killed. `role`: the option
    /// that makes it one; `more`: arguments of its measurement. Errors: it cannot be started.
    pub(crate) fn start(
        (role, folder): (&str, &Path),
        arguments: &Arguments,
        more: &[OsString],
    ) -> Result<Self, Failure> {
        let tls = arguments.tls.as_deref();
        let tls = tls.map(|directory| [Path::new("--tls"), directory]);
        let mut child = Command::new(std::env::current_exe()?)
            .arg(role)
            .arg(folder)
            .args(["--followers", &arguments.followers.to_string()])
            .args(tls.iter().flatten())
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Self { child, lines })
    }

    /// One order. Errors: it has ended.
    pub(crate) fn say(&mut self, words: &str) -> Result<(), Failure> {
        let stdin = self.child.stdin.as_mut().ok_or("no standard input")?;
        Ok(writeln!(stdin, "{words}")?)
    }

    /// The answer to the last order. Errors: it has ended.
    pub(crate) fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.lines.read_line(&mut line)? {
            0 => Err("a leader or relay has ended".into()),
            _ => Ok(line.trim().to_owned()),
        }
    }

    /// The same as a value. Errors: it is none.
    pub(crate) fn value<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        Ok(serde_json::from_str(&self.line()?)?)
    }

    /// What it has used since it began; two of these are what a generation took.
    pub(crate) fn spent(&mut self) -> Result<Spent, Failure> {
        self.say("spent")?;
        self.value()
    }

    /// It ends with its standard input.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        drop(self.child.stdin.take());
        self.child.wait()?;
        Ok(())
    }
}
