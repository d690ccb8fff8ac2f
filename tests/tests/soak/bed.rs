//! A fabric, its files, and a daemon with a limit on its memory.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sa_tests::rig::{Fabric, Scratch, wait_for};

use crate::ring_support::{program, sapphire};

/// The daemon's `[[port]]` in shared memory. Two of what it answers with the slow lane wait at most.
pub(crate) const RING: &str = "[[port]]\ntransport = \"ring\"\npath = \"ring\"\n";
/// And on the simulator.
pub(crate) const IBSIM: &str = "[[port]]\ntransport = \"ibsim\"\nnode = \"H0_0_0_0\"\n";

const CONFIG: &str = "\
[fabric]
source = \"files\"
path = \"fabric\"
[routing]
torus_conf = \"torus-2QoS.conf\"
[policy]
file = \"policy.conf\"
[workers]
yield_after = 64
[http]
listen = \"127.0.0.1:0\"
[state]
directory = \"state\"
";

/// Address space of the daemon. Threads, arenas of the allocator and 64 rings take most of it. Units: KiB.
const ADDRESS_SPACE: u64 = 8 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

/// Where it all lies.
pub(crate) struct Bed {
    /// Where the fabric is simulated.
    fabric: Option<Fabric>,
    scratch: Scratch,
}

impl Bed {
    /// A torus that exists in files only.
    pub(crate) fn of_files() -> Result<Self> {
        let bed = Self::new()?;
        fs::rename(bed.dir().join("net"), bed.dir().join("fabric"))?;
        Ok(bed)
    }

    /// The same torus, simulated and set up by an OpenSM that has left.
    pub(crate) fn simulated() -> Result<Self> {
        let mut bed = Self::new()?;
        let fabric = Fabric::start(&fs::read_to_string(bed.dir().join("net"))?)?;
        fabric.configure("H0_0_0_0", &["-Q"])?;
        fs::copy(
            fabric.dir().join("opensm-subnet.lst"),
            bed.dir().join("fabric"),
        )?;
        bed.fabric = Some(fabric);
        Ok(bed)
    }

    fn new() -> Result<Self> {
        let scratch = Scratch::new()?;
        let arguments = ["fabric", "torus", "3", "3", "3", "--hosts", "1", "-o", "."];
        let made = sapphire(scratch.path(), &arguments)?;
        ensure!(made.status.success(), "{made:?}");
        fs::create_dir(scratch.path().join("state"))?;
        for which in POLICIES {
            fs::write(scratch.path().join(which.0), policy(which.1))?;
        }
        let bed = Self {
            fabric: None,
            scratch,
        };
        bed.set_policy(0)?;
        Ok(bed)
    }

    pub(crate) fn dir(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) const fn fabric(&self) -> Option<&Fabric> {
        self.fabric.as_ref()
    }

    /// Puts one of the two policies in its place, whole.
    pub(crate) fn set_policy(&self, nth: u32) -> Result<()> {
        let [one, other] = POLICIES.map(|(name, _)| self.dir().join(name));
        let wanted = if nth.is_multiple_of(2) { one } else { other };
        let new = self.dir().join("policy.new");
        fs::copy(wanted, &new)?;
        Ok(fs::rename(new, self.dir().join("policy.conf"))?)
    }

    /// Starts the daemon and waits until it answers.
    pub(crate) fn start(&self, port: &str) -> Result<Daemon> {
        fs::write(self.dir().join("sapphired.toml"), format!("{CONFIG}{port}"))?;
        let printed = self.dir().join("printed");
        let file = File::create(&printed)?;
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -v \"$1\" && shift && exec \"$@\"", "sh"])
            .arg(ADDRESS_SPACE.to_string())
            // Its worker polls: on a machine with few cores it would take them from its clients.
            .args(["nice", "-n", "5"])
            .arg(program("sapphired")?)
            .args(["--config", "sapphired.toml"])
            .current_dir(self.dir())
            .env(
                "RUST_LOG",
                "warn,sm_control::server::admin=info,sm_control=info",
            )
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file);
        if let Some(fabric) = &self.fabric {
            command.env("IBSIM_SOCKNAME", fabric.base());
        }
        let mut daemon = Daemon {
            child: command.spawn()?,
            printed,
        };
        daemon.wait_printed("ready epoch=")?;
        Ok(daemon)
    }
}

/// Two policies of which nothing but a packet life time shows.
pub(crate) const POLICIES: [(&str, u8); 2] = [("policy-15", 15), ("policy-16", 16)];

fn policy(life: u8) -> String {
    format!(
        "qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n  packet-life: {life}\n \
         end-qos-level\nend-qos-levels\n"
    )
}

/// A running `sapphired`, killed when dropped.
pub(crate) struct Daemon {
    child: Child,
    printed: PathBuf,
}

impl Daemon {
    fn printed(&self) -> String {
        fs::read_to_string(&self.printed).unwrap_or_default()
    }

    fn wait_printed(&mut self, text: &str) -> Result<()> {
        let waited = wait_for(text, PATIENCE, || {
            self.alive().map_err(std::io::Error::other)?;
            Ok(self.printed().contains(text))
        });
        waited.with_context(|| self.printed())
    }

    /// Errors: it has ended.
    pub(crate) fn alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("sapphired ended ({status}): {}", self.printed()),
        }
    }

    /// Sends a signal, such as `HUP`.
    pub(crate) fn signal(&self, name: &str) -> Result<()> {
        let id = self.child.id().to_string();
        let script = ["-c", "kill -\"$1\" \"$2\"", "sh", name, &id];
        ensure!(Command::new("sh").args(script).status()?.success());
        Ok(())
    }

    /// Its resident memory. Units: KiB.
    pub(crate) fn resident(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        Ok(number.context("VmRSS")?.parse()?)
    }

    /// The page of its metrics.
    pub(crate) fn metrics(&self) -> Result<String> {
        let printed = self.printed();
        let address = printed
            .split_once("metrics, health and ready are here")
            .and_then(|(_, rest)| rest.split_once("address="))
            .and_then(|(_, rest)| rest.split_whitespace().next());
        let mut stream = TcpStream::connect(address.context("an address")?)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        Ok(page)
    }

    /// Ends it by SIGTERM. Gives how long that took.
    pub(crate) fn terminate(&mut self) -> Result<Duration> {
        let began = Instant::now();
        self.signal("TERM")?;
        let mut status = None;
        wait_for("sapphired's end", PATIENCE, || {
            status = self.child.try_wait()?;
            Ok(status.is_some())
        })?;
        let took = began.elapsed();
        let status = status.context("a status")?;
        ensure!(status.success(), "{status}: {}", self.printed());
        Ok(took)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
