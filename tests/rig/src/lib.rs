//! The simulated fabric for end-to-end tests: ibsim, OpenSM and saquery as processes of their own.
//!
//! Every fabric has its own socket name and its own scratch directory, so tests run side by side.
//! All waiting is for a condition with a deadline; every process is ended by its id, also when a
//! test fails. Standard library only: the tests of all crates may use it.

pub mod counting;
pub mod rng;
pub mod tap;

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tap::Tap;

/// A running ibsim with a scratch directory.
#[derive(Debug)]
pub struct Fabric {
    // In order of dropping: the process goes before its files.
    ibsim: Process,
    scratch: Scratch,
    base: String,
    /// The simulator's own name; another one behind a tap.
    sim: String,
}

impl Fabric {
    /// Why fabrics cannot be simulated here: the programs that are missing and how to get them.
    /// A test prints it and skips itself.
    pub fn unavailable() -> Option<String> {
        let programs = ["ibsim", "opensm", "saquery"];
        let mut missing: Vec<&str> = programs
            .into_iter()
            .filter(|name| find_program(name).is_none())
            .collect();
        if preload_library().is_none() {
            missing.push("libumad2sim.so");
        }
        (!missing.is_empty()).then(|| {
            format!(
                "skipped: {} not found (apt-get install ibsim-utils libumad2sim0 opensm \
                 infiniband-diags)",
                missing.join(", ")
            )
        })
    }

    /// Starts ibsim on the text of a net file and waits until it takes clients.
    pub fn start(net: &str) -> io::Result<Self> {
        Self::begin(Scratch::new()?, net, None, "")
    }

    /// The same with a console, for links that go and come.
    pub fn with_console(net: &str) -> io::Result<(Self, Console)> {
        Self::commanded(net, "")
    }

    /// The same with a tap between the simulator and all clients. The simulator takes a large fabric.
    pub fn tapped(net: &str) -> io::Result<(Self, Console, Tap)> {
        let (fabric, console) = Self::commanded(net, "-sim")?;
        let tap = Tap::start(&fabric.base, &fabric.sim)?;
        Ok((fabric, console, tap))
    }

    fn commanded(net: &str, apart: &str) -> io::Result<(Self, Console)> {
        let scratch = Scratch::new()?;
        let path = scratch.path().join("console");
        let made = Command::new("mkfifo").arg(&path).status()?;
        if !made.success() {
            return Err(io::Error::other("mkfifo failed"));
        }
        // Open both ways: without a writer ibsim would read the end of the file again and again.
        let console = File::options().read(true).write(true).open(&path)?;
        let fabric = Self::begin(scratch, net, Some(console.try_clone()?), apart)?;
        Ok((fabric, Console(console)))
    }

    /// `apart`: what the simulator's name ends in behind its clients'.
    fn begin(scratch: Scratch, net: &str, console: Option<File>, apart: &str) -> io::Result<Self> {
        fs::write(scratch.path().join("net"), net)?;
        let base = format!("sapphire-{}", scratch.name());
        let sim = format!("{base}{apart}");
        Ok(Self {
            ibsim: simulate(&sim, scratch.path(), console)?,
            scratch,
            base,
            sim,
        })
    }

    /// Ends ibsim and starts another one on the same net file and under the same name.
    pub fn restart(&mut self) -> io::Result<()> {
        self.ibsim.stop();
        self.ibsim = simulate(&self.sim, self.scratch.path(), None)?;
        Ok(())
    }

    /// The simulator's socket name, for native clients.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Files of this fabric: the net file, OpenSM's dumps and log. Gone when the fabric is.
    pub fn dir(&self) -> &Path {
        self.scratch.path()
    }

    /// The simulator itself.
    pub fn ibsim(&mut self) -> &mut Process {
        &mut self.ibsim
    }

    /// `program` under the preload library, as if it ran on `node`.
    pub fn preloaded(&self, program: &Path, node: &str) -> io::Result<Command> {
        let library = preload_library().ok_or_else(|| not_found("libumad2sim.so"))?;
        let mut command = Command::new(program);
        command
            // The library keeps its sysfs files below the current directory.
            .current_dir(self.dir())
            .env("LD_PRELOAD", library)
            .env("IBSIM_SOCKNAME", &self.base)
            .env("SIM_HOST", node)
            .env("OSM_CACHE_DIR", self.dir())
            .env("OSM_TMP_DIR", self.dir())
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Starts OpenSM on `node`, with `options` besides log and dumps, and waits for SUBNET UP.
    /// Its dumps (`opensm-lfts.dump` and so on) are in [`Fabric::dir`].
    pub fn opensm(&self, node: &str, options: &[&str]) -> io::Result<Process> {
        self.up(self.preloaded(&program("opensm")?, node)?, options)
    }

    /// The same with `library` before the simulator's, so that it sees OpenSM's calls first, and with
    /// these variables in its environment.
    pub fn opensm_behind(
        &self,
        library: &Path,
        node: &str,
        options: &[&str],
        variables: &[(&str, &Path)],
    ) -> io::Result<Process> {
        let mut command = self.preloaded(&program("opensm")?, node)?;
        let simulators = preload_library().ok_or_else(|| not_found("libumad2sim.so"))?;
        let both = format!("{} {}", library.display(), simulators.display());
        command.env("LD_PRELOAD", both);
        command.envs(variables.iter().copied());
        self.up(command, options)
    }

    /// Starts OpenSM on `node` beside an SM that is the master, and waits until it stands by.
    pub fn opensm_standing_by(&self, node: &str, options: &[&str]) -> io::Result<Process> {
        let command = self.preloaded(&program("opensm")?, node)?;
        self.until("Entering STANDBY state", command, options)
    }

    /// Starts OpenSM on `node`, and waits until its log says so.
    pub fn opensm_until(
        &self,
        said: &'static str,
        node: &str,
        options: &[&str],
    ) -> io::Result<Process> {
        let command = self.preloaded(&program("opensm")?, node)?;
        self.until(said, command, options)
    }

    /// Runs OpenSM until it has set up the fabric.
    fn up(&self, command: Command, options: &[&str]) -> io::Result<Process> {
        self.until("SUBNET UP", command, options)
    }

    /// Runs OpenSM until its log says so.
    fn until(
        &self,
        said: &'static str,
        mut command: Command,
        options: &[&str],
    ) -> io::Result<Process> {
        let log = self.dir().join("opensm.log");
        // A former run's line must not be taken for this one's.
        let _ = fs::remove_file(&log);
        command
            .args(["-e", "-d", "2", "-D", "0x43", "-f"])
            .arg(&log)
            .args(options);
        let mut opensm = Process::spawn("opensm", &mut command, self.dir())?;
        wait_for(said, SUBNET_UP, || {
            if fs::read_to_string(&log).is_ok_and(|text| text.contains(said)) {
                return Ok(true);
            }
            opensm.check()?;
            Ok(false)
        })?;
        Ok(opensm)
    }

    /// Lets OpenSM configure the fabric once from `node` and leave: ports stay active, and the
    /// SM's LID belongs to nobody but that node.
    pub fn configure(&self, node: &str, options: &[&str]) -> io::Result<()> {
        let mut all = vec!["-o"];
        all.extend(options);
        let mut opensm = self.opensm(node, &all)?;
        opensm.wait(SUBNET_UP)
    }

    /// Runs saquery on `node` and gives what it printed. Errors: it failed; the message has what
    /// it said.
    pub fn saquery(&self, node: &str, arguments: &[&str]) -> io::Result<String> {
        self.tool("saquery", node, arguments)
    }

    /// The same of another program of infiniband-diags. One that dies of a signal is run again: the thread of the
    /// simulator's library now and then outlives what it locks.
    pub fn tool(&self, name: &str, node: &str, arguments: &[&str]) -> io::Result<String> {
        let mut command = self.preloaded(&program(name)?, node)?;
        command.args(arguments);
        let mut output = command.output()?;
        for _ in 0..DEATHS {
            if output.status.code().is_some() {
                break;
            }
            output = command.output()?;
        }
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(printed);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!(
            "{name} {arguments:?}: {}: {said}",
            output.status
        )))
    }
}

/// How often a program may die of a signal before that counts.
const DEATHS: usize = 3;

/// ibsim's console.
#[derive(Debug)]
pub struct Console(File);

impl Console {
    /// One command, such as `Unlink "S0"[3]`.
    pub fn say(&mut self, command: &str) -> io::Result<()> {
        writeln!(self.0, "{command}")
    }
}

/// A fabric written by `tests/rig/gen_torus.py`.
#[derive(Debug, Clone)]
pub struct Torus {
    /// The ibsim net file.
    pub net: String,
    /// The `torus-2QoS.conf`.
    pub conf: String,
    /// Coordinates, links and hosts as the generator meant them, as JSON.
    pub truth: String,
}

impl Torus {
    /// Why fabrics cannot be generated here, as [`Fabric::unavailable`].
    pub fn unavailable() -> Option<String> {
        let missing = find_program("python3").is_none();
        missing.then(|| "skipped: python3 not found (apt-get install python3-minimal)".to_owned())
    }

    /// Runs the generator, for example with `["--dims", "5,5,5", "--hosts", "2"]`.
    pub fn generate(arguments: &[&str]) -> io::Result<Self> {
        let scratch = Scratch::new()?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("gen_torus.py");
        let output = Command::new(program("python3")?)
            .arg(script)
            .args(arguments)
            .args(["--net", "net", "--conf", "conf", "--json", "truth"])
            .current_dir(scratch.path())
            .output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!(
                "gen_torus.py {arguments:?}: {said}"
            )));
        }
        let text = |name| fs::read_to_string(scratch.path().join(name));
        Ok(Self {
            net: text("net")?,
            conf: text("conf")?,
            truth: text("truth")?,
        })
    }
}

/// The records in saquery's output: of each its kind (`PathRecord`) and its fields in order, names
/// and values as printed.
pub fn records(printed: &str) -> Vec<Record> {
    let mut all: Vec<Record> = Vec::new();
    for line in printed.lines() {
        if let Some(kind) = line.strip_suffix(" dump:") {
            all.push(Record {
                kind: kind.trim().to_owned(),
                fields: Vec::new(),
            });
        } else if let (Some(record), Some((name, value))) = (all.last_mut(), field(line)) {
            record.fields.push((name.to_owned(), value.to_owned()));
        }
    }
    all
}

/// One record that saquery printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Such as `PathRecord`.
    pub kind: String,
    /// Such as `("dlid", "5")`.
    pub fields: Vec<(String, String)>,
}

impl Record {
    /// A field's value as printed.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// `\t\tdgid....................fe80::10:201`; names have no dots, values may begin with none.
fn field(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("\t\t")?;
    let (name, rest) = line.split_once('.')?;
    Some((name.trim(), rest.trim_start_matches('.').trim()))
}

/// Starts ibsim on the file `net` of a directory and waits until it takes clients.
fn simulate(base: &str, dir: &Path, console: Option<File>) -> io::Result<Process> {
    let mut command = Command::new(program("ibsim")?);
    if console.is_none() {
        command.arg("-n");
    }
    command
        // Places for a fabric of thousands; they cost memory alone.
        .args(["-N", "8192", "-S", "2048", "-P", "65536", "-s"])
        .arg(dir.join("net"))
        .env("IBSIM_SOCKNAME", base);
    let stdin = console.map_or_else(Stdio::null, Stdio::from);
    let mut ibsim = Process::spawn_on("ibsim", &mut command, dir, stdin)?;
    let listens = || {
        ibsim.check()?;
        Ok(connects(&format!("{base}:ctl")))
    };
    wait_for("ibsim to take clients", START, listens)?;
    Ok(ibsim)
}

/// A child process; ended when dropped.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    output: PathBuf,
}

impl Process {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Starts `command`; what it prints goes to a file in `dir`.
    pub fn spawn(name: &'static str, command: &mut Command, dir: &Path) -> io::Result<Self> {
        Self::spawn_on(name, command, dir, Stdio::null())
    }

    fn spawn_on(
        name: &'static str,
        command: &mut Command,
        dir: &Path,
        stdin: Stdio,
    ) -> io::Result<Self> {
        let output = dir.join(format!("{name}.{}.out", serial()));
        let file = File::create(&output)?;
        command.stdin(stdin).stdout(file.try_clone()?).stderr(file);
        Ok(Self {
            name,
            child: command.spawn()?,
            output,
        })
    }

    /// What it printed so far.
    pub fn printed(&self) -> String {
        let mut text = Vec::new();
        let read = File::open(&self.output).and_then(|mut file| file.read_to_end(&mut text));
        read.map_or_else(
            |_| String::new(),
            |_| String::from_utf8_lossy(&text).into_owned(),
        )
    }

    /// Errors: it has ended; the message has the end of what it printed.
    pub fn check(&mut self) -> io::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.ended(&status.to_string())),
        }
    }

    /// Waits until it ends by itself. Errors: it failed, or is still there after `patience`.
    pub fn wait(&mut self, patience: Duration) -> io::Result<()> {
        let mut status = None;
        let child = &mut self.child;
        wait_for(self.name, patience, || {
            status = child.try_wait()?;
            Ok(status.is_some())
        })?;
        match status {
            Some(status) if !status.success() => Err(self.ended(&status.to_string())),
            _ => Ok(()),
        }
    }

    /// Sends a signal, such as `HUP`.
    pub fn signal(&self, name: &str) -> io::Result<()> {
        let id = self.child.id().to_string();
        let mut command = Command::new("sh");
        command.args(["-c", "kill -\"$1\" \"$2\"", "sh", name, &id]);
        command.status().map(drop)
    }

    /// Asks it to end (SIGTERM), so that it gives its place on the fabric back; insists after five
    /// seconds.
    pub fn stop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let asked = self.signal("TERM");
        let child = &mut self.child;
        let gone = || Ok(matches!(child.try_wait(), Ok(Some(_))));
        if asked.is_err() || wait_for("the end", STOP, gone).is_err() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn ended(&self, how: &str) -> io::Error {
        let printed = self.printed();
        let lines: Vec<&str> = printed.lines().collect();
        let tail = lines.len().saturating_sub(20);
        let tail = lines.get(tail..).unwrap_or_default().join("\n");
        io::Error::other(format!("{} ended ({how}):\n{tail}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A directory of its own, removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    name: String,
}

impl Scratch {
    /// Makes one below the system's directory for temporary files.
    pub fn new() -> io::Result<Self> {
        let name = format!("{}-{}", std::process::id(), serial());
        let path = std::env::temp_dir().join(format!("sapphire-rig-{name}"));
        fs::create_dir(&path)?;
        Ok(Self { path, name })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Tries `condition` until it holds. Errors: its own, and TimedOut with `what` was waited for.
pub fn wait_for(
    what: &str,
    patience: Duration,
    mut condition: impl FnMut() -> io::Result<bool>,
) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    while !condition()? {
        if Instant::now() >= deadline {
            let message = format!("waited {} s in vain for {what}", patience.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Two hosts on one switch: enough for most tests.
pub const TWO_HOSTS: &str = "\
switchguid=0x200000\nSwitch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n\n\
caguid=0x100000\nHca 1 \"H1\"\n[1] \"S1\"[1]\n\n\
caguid=0x100010\nHca 1 \"H2\"\n[1] \"S1\"[2]\n\n";

/// A number that this process has not used yet.
fn serial() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// True when a datagram socket listens under the abstract name (the simulator counts a NUL in).
fn connects(name: &str) -> bool {
    let with_nul = [name.as_bytes(), b"\0"].concat();
    let address = SocketAddr::from_abstract_name(with_nul);
    let socket = UnixDatagram::unbound();
    matches!((address, socket), (Ok(to), Ok(socket)) if socket.connect_addr(&to).is_ok())
}

fn program(name: &str) -> io::Result<PathBuf> {
    find_program(name).ok_or_else(|| not_found(name))
}

/// Debian keeps OpenSM in a directory that users' paths leave out.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    places
        .map(|place| place.join(name))
        .find(|file| file.is_file())
}

fn preload_library() -> Option<PathBuf> {
    let libraries = fs::read_dir("/usr/lib").ok()?.flatten();
    let mut places = libraries.map(|entry| entry.path().join("umad2sim/libumad2sim.so"));
    places.find(|file| file.is_file())
}

fn not_found(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{name} not found"))
}

const PAUSE: Duration = Duration::from_millis(5);
const START: Duration = Duration::from_secs(60);
const STOP: Duration = Duration::from_secs(5);
/// A torus of a thousand switches takes OpenSM most of a minute here.
const SUBNET_UP: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_cut_at_their_headings() {
        let printed = "PathRecord dump:\n\t\tservice_id..............0x0000000000000000\n\
                       \t\tdgid....................fe80::10:201\nPathRecord dump:\n\
                       \t\tsgid....................::\n";
        let all = records(printed);
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].kind, "PathRecord");
        assert_eq!(all[0].get("dgid"), Some("fe80::10:201"));
        assert_eq!(all[1].get("sgid"), Some("::"));
    }
}
