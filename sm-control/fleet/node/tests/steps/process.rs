//! A process of this test binary that does what its standard input says, and its end.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::rig::until;

/// Which of the two parts a process plays.
const ROLE: &str = "SAPPHIRE_STEPS_ROLE";
/// Where its files are.
const DIRECTORY: &str = "SAPPHIRE_STEPS_DIRECTORY";
/// Where it listens, or whom it asks.
const ADDRESS: &str = "SAPPHIRE_STEPS_ADDRESS";

/// What a process says begins with this: the test harness writes there too.
pub(crate) const SAYS: &str = "~ ";

/// Plays the part that the environment names; without one, this is a test of nothing.
#[test]
fn a_part_in_a_process_of_its_own() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let directory = PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    let address = std::env::var(ADDRESS).unwrap();
    match role.as_str() {
        "leader" => crate::leading::play(&directory, &address),
        "follower" => crate::following::play(&directory, &address),
        other => panic!("no such part: {other}"),
    }
}

/// Such a process. It is killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    orders: ChildStdin,
    said: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts it. Lines that begin with `s ` go to `sampled` alone.
    pub(crate) fn start(
        role: &str,
        directory: &Path,
        address: &str,
        sampled: impl Fn(&str) + Send + 'static,
    ) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::a_part_in_a_process_of_its_own"])
            .args(["--nocapture", "--test-threads=1", "-q"])
            .env(ROLE, role)
            .env(DIRECTORY, directory)
            .env(ADDRESS, address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (orders, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                // The harness ends no line before a test is over.
                let Some((_, words)) = line.split_once(SAYS) else {
                    continue;
                };
                match words.strip_prefix("s ") {
                    Some(sample) => sampled(sample),
                    None => heard.lock().unwrap().push(words.to_owned()),
                }
            }
        });
        let mut it = Self {
            child,
            orders,
            said,
        };
        it.hears("ready");
        it
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives an order. A process that is gone takes none.
    pub(crate) fn order(&mut self, what: &str) {
        let _ = writeln!(self.orders, "{what}");
    }

    /// What it has said that begins with this.
    pub(crate) fn said(&self, words: &str) -> Vec<String> {
        let said = self.said.lock().unwrap();
        said.iter()
            .filter(|it| it.starts_with(words))
            .cloned()
            .collect()
    }

    /// Waits until it says this. Panics at once where it ends instead.
    pub(crate) fn hears(&mut self, words: &str) {
        until(&format!("the process says {words}"), || {
            let is_over = self.is_over();
            let is_said = !self.said(words).is_empty();
            assert!(
                is_said || !is_over,
                "it has ended: {:?}",
                self.said("warns")
            );
            is_said
        });
    }

    /// The thread of this name.
    pub(crate) fn thread(&self, name: &str) -> u32 {
        let mut found = None;
        until(&format!("a thread {name}"), || {
            found = threads(self.pid()).into_iter().find_map(|(thread, its)| {
                let is_it = its == name;
                is_it.then_some(thread)
            });
            found.is_some()
        });
        found.unwrap()
    }

    /// True once it has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it has ended.
    pub(crate) fn ends(&mut self) {
        until("the process ends", || self.is_over());
    }

    /// SIGKILL, and waits for its end.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGCONT.
    pub(crate) fn goes_on(&self) {
        signal("CONT", self.pid());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a signal to one process.
pub(crate) fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill")
        .args(["-s", name, &pid.to_string()])
        .status();
    assert!(sent.unwrap().success(), "SIG{name} to {pid}");
}

/// Threads of a process, with their names.
fn threads(pid: u32) -> Vec<(u32, String)> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let named = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let thread = task.file_name().to_str()?.parse().ok()?;
        Some((thread, name.trim_end().to_owned()))
    };
    tasks.flatten().filter_map(named).collect()
}

/// In such a process: says a line to who started it, whole.
pub(crate) fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{SAYS}{words}");
    let _ = out.flush();
}
