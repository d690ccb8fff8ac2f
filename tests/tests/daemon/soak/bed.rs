//! A fabric, its files, and a daemon with a limit on its memory.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, Scratch};

use sa_tests::cli::{program, sapphire_in};
use sa_tests::config::{Config, policy_of_life};
use sa_tests::daemon::Daemon;
use sa_tests::http;

/// Keys of the daemon's `[[port]]` in shared memory. Two of what it answers with the slow lane wait at most.
pub(crate) const RING: &str = "transport = \"ring\"\npath = \"ring\"\n";
/// And on the simulator.
pub(crate) const IBSIM: &str = "transport = \"ibsim\"\nnode = \"H0_0_0_0\"\n";

fn config() -> Config {
    Config::of_files("fabric")
        .torus()
        .with("[policy]\nfile = \"policy.conf\"\n")
        .with("[http]\nlisten = \"127.0.0.1:0\"\n")
        .with("[state]\ndirectory = \"state\"\n")
}

/// Address space of the daemon. Threads, arenas of the allocator and 64 rings take most of it. Units: KiB.
const ADDRESS_SPACE: u64 = 8 << 20;

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
        let made = sapphire_in(scratch.path(), &arguments)?;
        ensure!(made.status.success(), "{made:?}");
        fs::create_dir(scratch.path().join("state"))?;
        for which in POLICIES {
            fs::write(scratch.path().join(which.0), policy_of_life(which.1))?;
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

    /// Starts the daemon with a limit on its memory, and waits until it answers.
    pub(crate) fn start(&self, port: &str) -> Result<Daemon> {
        let config = config().port(port).write(self.dir())?;
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -v \"$1\" && shift && exec \"$@\"", "sh"])
            .arg(ADDRESS_SPACE.to_string())
            // Its worker polls: on a machine with few cores it would take them from its clients.
            .args(["nice", "-n", "5"])
            .arg(program("sapphired")?)
            .current_dir(self.dir());
        if let Some(fabric) = &self.fabric {
            command.env("IBSIM_SOCKNAME", fabric.base());
        }
        let mut daemon = Daemon::spawn(command, &config)?;
        daemon.next_epoch("ready")?;
        Ok(daemon)
    }
}

/// Its resident memory. Units: KiB.
pub(crate) fn resident(daemon: &Daemon) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    Ok(number.context("VmRSS")?.parse()?)
}

/// The page of its metrics.
pub(crate) fn metrics(daemon: &Daemon) -> Result<String> {
    let (status, page) = http::get(http::address(&daemon.logged())?, "/metrics")?;
    ensure!(status == 200, "{status}: {page}");
    Ok(page)
}

/// Two policies of which nothing but a packet life time shows.
pub(crate) const POLICIES: [(&str, u8); 2] = [("policy-15", 15), ("policy-16", 16)];
