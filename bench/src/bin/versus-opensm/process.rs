//! Programs that are started, stopped for a while, and ended by their ids.
//!
//! A process that outlives its run would hold its socket name and disturb the next measurement, so
//! each is owned by a value that kills it when it goes, also when the run fails half way. Processes
//! are ended by their ids, never by names: others may run programs of the same name here.
//!
//! Waiting is for a condition with a deadline, and looks whether the process still lives: a daemon
//! that refuses its configuration is an error at once, with what it printed, and not after a
//! minute.

use std::fs::{self, File};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};

/// A child process; killed when dropped, also while it is stopped.
#[derive(Debug)]
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    output: PathBuf,
}

impl Process {
    /// Starts `command`; what it prints goes to `NAME.out` in `directory`.
    ///
    /// In a process group of its own: an interrupt from the terminal reaches this program alone,
    /// which then ends the others in order.
    pub(crate) fn spawn(
        name: &'static str,
        command: &mut Command,
        directory: &Path,
    ) -> Outcome<Self> {
        let output = directory.join(format!("{name}.out"));
        let file = File::create(&output).map_err(Failure::of(output.display()))?;
        let same = file.try_clone().map_err(Failure::of(output.display()))?;
        command
            // Or Ctrl-C would kill the simulator under those who still talk to it.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(same);
        let child = command
            .spawn()
            .map_err(Failure::of(format!("cannot start {name}")))?;
        Ok(Self {
            name,
            child,
            output,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it printed so far.
    pub(crate) fn printed(&self) -> String {
        fs::read(&self.output).map_or_else(
            |_| String::new(),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// Errors: it has ended; the message has the end of what it printed.
    ///
    /// Twenty lines: enough for a daemon's reason, and not its whole log.
    pub(crate) fn check(&mut self) -> Outcome {
        let name = self.name;
        let ended = self.child.try_wait().map_err(Failure::of(name))?;
        let Some(status) = ended else {
            return Ok(());
        };
        let printed = self.printed();
        let lines: Vec<&str> = printed.lines().collect();
        // The end: that is where a daemon says why.
        let tail = lines.get(lines.len().saturating_sub(20)..);
        Err(Failure::Failed(format!(
            "{name} ended ({status}):\n{}",
            tail.unwrap_or_default().join("\n")
        )))
    }

    /// Waits until `condition` holds. Errors: the process has ended; the time is up; interrupted.
    pub(crate) fn wait_for(
        &mut self,
        what: &str,
        patience: Duration,
        interrupted: &AtomicBool,
        mut condition: impl FnMut(&Self) -> bool,
    ) -> Outcome {
        let deadline = Instant::now() + patience;
        while !condition(self) {
            // Before the deadline: that it has ended is the better reason, and comes with its own words.
            self.check()?;
            // Relaxed: the flag stands alone.
            if interrupted.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            if Instant::now() >= deadline {
                return Err(Failure::Failed(format!(
                    "waited {} s in vain for {what}; {} printed:\n{}",
                    patience.as_secs(),
                    self.name,
                    self.printed()
                )));
            }
            // A look each so often: what is waited for is in files and sockets of other programs, which wake nobody.
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its fabric goes with it: there is nothing that it should put in order.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends `STOP` or `CONT` to processes. Errors: one of them is gone.
///
/// By the shell's `kill`: the standard library can only kill, and these are to be stopped and go
/// on.
// Ids go as arguments, not into the text: the shell takes none of them for a word of its own.
pub(crate) fn signal(name: &str, ids: &[u32]) -> Outcome {
    let mut command = Command::new("sh");
    command.args(["-c", "name=$1; shift; kill -\"$name\" \"$@\"", "sh", name]);
    command.args(ids.iter().map(u32::to_string));
    let status = command.status().map_err(Failure::of("sh"))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::Failed(format!(
            "a measured process has ended: kill -{name} {ids:?} failed"
        ))),
    }
}

/// The programs from packages.
///
/// From Debian's packages: what is compared is what a site would install.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) ibsim: PathBuf,
    pub(crate) opensm: PathBuf,
    /// The library through which OpenSM takes the simulator for a device.
    pub(crate) preload: PathBuf,
}

impl Programs {
    /// Errors: something is missing, and the packages that have it.
    pub(crate) fn find() -> Outcome<Self> {
        match (program("ibsim"), program("opensm"), preload_library()) {
            (Some(ibsim), Some(opensm), Some(preload)) => Ok(Self {
                ibsim,
                opensm,
                preload,
            }),
            // All that is missing at once: one call of apt-get and not three runs.
            (ibsim, opensm, preload) => {
                let of = [
                    (ibsim.is_none(), "ibsim", "ibsim-utils"),
                    (opensm.is_none(), "opensm", "opensm"),
                    (preload.is_none(), "libumad2sim.so", "libumad2sim0"),
                ];
                let missing = of.into_iter().filter(|(is_missing, ..)| *is_missing);
                let (names, packages): (Vec<_>, Vec<_>) =
                    missing.map(|(_, name, package)| (name, package)).unzip();
                Err(Failure::Failed(format!(
                    "{} not found; run: apt-get install {}",
                    names.join(", "),
                    packages.join(" ")
                )))
            }
        }
    }
}

/// Debian keeps OpenSM in a directory that users' paths leave out.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // After PATH: a build of one's own, put there, comes first.
    let places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    places
        .map(|place| place.join(name))
        .find(|file| file.is_file())
}

/// Below `/usr/lib/<architecture>`, which this need not know.
// The multiarch folder has the name of the architecture, so each is tried.
fn preload_library() -> Option<PathBuf> {
    let libraries = fs::read_dir("/usr/lib").ok()?.flatten();
    let mut places = libraries.map(|entry| entry.path().join("umad2sim/libumad2sim.so"));
    places.find(|file| file.is_file())
}

/// True when the simulator of that socket name takes clients (it counts a NUL into the name).
pub(crate) fn listens(base: &str) -> bool {
    let address = SocketAddr::from_abstract_name(format!("{base}:ctl\0"));
    // Connecting sends nothing: it only asks whether somebody has that name.
    let socket = UnixDatagram::unbound();
    matches!((address, socket), (Ok(to), Ok(socket)) if socket.connect_addr(&to).is_ok())
}

/// Between two looks while something starts; no measurement waits for it.
///
/// Short beside what a start takes, long beside a look.
const PAUSE: Duration = Duration::from_millis(20);
