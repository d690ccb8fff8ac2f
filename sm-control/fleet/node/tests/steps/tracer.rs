//! strace on one thread: which calls it makes, and one of them that is made to fail, to kill or to stop its process.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::process::signal;
use crate::rig::until;

/// A call of a thread, that is the same one in every run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// The name of the thread; with a number where there are several, in their order.
    pub(crate) thread: String,
    /// Such as `fsync`.
    pub(crate) kind: String,
    /// Among the calls of this kind of this thread; from 1.
    pub(crate) nth: usize,
    /// As strace shows it.
    pub(crate) text: String,
}

impl Step {
    /// True where a file or what is in it becomes another: such an error has to be told.
    pub(crate) fn changes(&self) -> bool {
        let is_made = self.kind == "openat" && self.text.contains("O_CREAT");
        is_made || ["write", "fsync", "renameat"].contains(&self.kind.as_str())
    }
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process is killed before it.
    Killed,
    /// It does nothing, and this comes back.
    Error(&'static str),
    /// The process stands still after it.
    Stopped,
}

impl Fault {
    /// As strace is told.
    fn injected(self, step: &Step) -> String {
        let what = match self {
            Self::Killed => "signal=SIGKILL".to_owned(),
            Self::Error(name) => format!("error={name}"),
            Self::Stopped => "signal=SIGSTOP".to_owned(),
        };
        format!("inject={}:{what}:when={}", step.kind, step.nth)
    }

    /// What strace writes when it has happened.
    const fn trace(self) -> &'static str {
        match self {
            Self::Killed => "+++ killed by SIGKILL",
            Self::Error(_) => "(INJECTED)",
            Self::Stopped => "--- stopped by SIGSTOP",
        }
    }
}

/// An strace that runs. It lets go of what it traces when this is dropped.
pub(crate) struct Tracer {
    strace: Child,
    out: PathBuf,
    fault: Option<Fault>,
}

impl Tracer {
    /// Whether there is one, and it may trace.
    pub(crate) fn is_there() -> bool {
        let tried = Command::new("strace")
            .args(["-o", "/dev/null", "true"])
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    }

    /// On one thread, without any fault.
    pub(crate) fn watch(thread: u32, out: &Path) -> Self {
        let what = ["-e", "trace=%file,%desc", "-p", &thread.to_string()].map(str::to_owned);
        Self::attach(&what, out, None)
    }

    /// On one thread, with this fault at this step.
    pub(crate) fn inject(thread: u32, out: &Path, step: &Step, fault: Fault) -> Self {
        let what = [
            "-e".to_owned(),
            format!("trace={}", step.kind),
            "-e".to_owned(),
            fault.injected(step),
            "-p".to_owned(),
            thread.to_string(),
        ];
        Self::attach(&what, out, Some(fault))
    }

    /// On all threads of a process and those that it starts: each of them meets it, where it comes so far.
    pub(crate) fn inject_all(pid: u32, out: &Path, step: &Step, fault: Fault) -> Self {
        let what = [
            "-e",
            &format!("trace={}", step.kind),
            "-e",
            &fault.injected(step),
        ];
        Self::follow(pid, out, &what.map(str::to_owned), Some(fault))
    }

    /// On all threads of a process and those that it starts; `more`: what happens to which calls.
    pub(crate) fn follow(pid: u32, out: &Path, more: &[String], fault: Option<Fault>) -> Self {
        let mut what = ["-f", "-Y", "-p", &pid.to_string()]
            .map(str::to_owned)
            .to_vec();
        what.extend_from_slice(more);
        Self::attach(&what, out, fault)
    }

    /// Returns when no call of a traced thread can go by unseen any more.
    fn attach(what: &[String], out: &Path, fault: Option<Fault>) -> Self {
        let mut strace = Command::new("strace")
            .args(["-y", "-s", "0", "-o"])
            .arg(out)
            .args(what)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(strace.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("attached"), "{line}");
        // It must not wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self {
            strace,
            out: out.to_owned(),
            fault,
        }
    }

    /// What it has seen so far.
    pub(crate) fn seen(&self) -> String {
        let bytes = std::fs::read(&self.out).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until the fault has happened.
    pub(crate) fn strikes(&self) {
        let fault = self.fault.expect("a fault");
        until(&format!("{fault:?}"), || {
            self.seen().contains(fault.trace())
        });
    }

    /// Lets go, and gives all that was seen.
    pub(crate) fn end(mut self) -> String {
        self.let_go();
        self.seen()
    }

    fn let_go(&mut self) {
        if self.strace.try_wait().is_ok_and(|ended| ended.is_none()) {
            signal("TERM", self.strace.id());
        }
        let _ = self.strace.wait();
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// Of what strace wrote about one thread: the calls that have to do with this directory.
pub(crate) fn steps(thread: &str, trace: &str, directory: &Path) -> Vec<Step> {
    let directory = directory.to_str().expect("a path in UTF-8");
    let mut kinds: Vec<&str> = Vec::new();
    let mut steps = Vec::new();
    for line in trace.lines() {
        let Some(kind) = kind(line) else { continue };
        kinds.push(kind);
        if line.contains(directory) {
            steps.push(Step {
                thread: thread.to_owned(),
                kind: kind.to_owned(),
                nth: kinds.iter().filter(|it| **it == kind).count(),
                text: line.replace(directory, ""),
            });
        }
    }
    steps
}

/// The call that a line begins with: none where it goes on with one, or tells a signal or an end.
pub(crate) fn kind(line: &str) -> Option<&str> {
    let (name, _) = line.split_once('(')?;
    let is_name = name
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || it == b'_');
    is_name.then_some(name)
}

/// Panics unless each file was synced after it was written and before it got its name, and its directory after that: a kill does not
/// show what a power cut would.
pub(crate) fn are_lasting(steps: &[Step]) {
    for (at, step) in steps.iter().enumerate() {
        if step.kind != "renameat" {
            continue;
        }
        // renameat(DIRECTORY, "TEMPORARY", DIRECTORY, "NAME"): a descriptor is shown as NUMBER<PATH>.
        let temporary = step.text.split('"').nth(1).unwrap();
        let folder = step.text.split(['<', '>']).nth(1).unwrap();
        let of_file = |it: &&Step| it.thread == step.thread && it.text.contains(temporary);
        let last = steps[..at].iter().rfind(|it| of_file(it) && it.changes());
        assert!(
            last.is_some_and(|it| it.kind == "fsync"),
            "not synced: {step:?}: {last:?}"
        );
        let synced = format!("<{folder}>");
        let mut behind = steps[at..].iter().filter(|it| it.thread == step.thread);
        let is_last = behind
            .nth(1)
            .is_some_and(|it| it.kind == "fsync" && it.text.contains(&synced));
        assert!(is_last, "its directory is not synced: {step:?}");
    }
}
