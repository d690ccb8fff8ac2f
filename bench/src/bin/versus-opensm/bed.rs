//! How the processes of a side are started.
//!
//! All processes of a side live in one temporary directory and one socket name, so that both sides
//! can be up at the same time. Order matters: the simulator, then `sapphired` (only on its side),
//! then OpenSM. On an ibsim port the client that attached first gets the requests; OpenSM behind it
//! still manages the subnet.
//!
//! OpenSM gets the options of a site that routes a torus with QoS, and no more.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::fabric::{Fabric, Files};
use crate::failure::{Failure, Outcome};
use crate::options::Options;
use crate::process::{Process, Programs, listens};

/// What the processes of a side are started with.
///
/// All borrowed: it makes processes, and owns none of them.
pub(crate) struct Bed<'a> {
    pub(crate) fabric: &'a Fabric,
    pub(crate) programs: &'a Programs,
    pub(crate) interrupted: &'a AtomicBool,
    pub(crate) directory: &'a Path,
    pub(crate) files: &'a Files,
    /// The simulator's socket name.
    /// Told apart by process and side, so that no two simulators meet.
    pub(crate) base: String,
}

impl Bed<'_> {
    /// Without a terminal, and the network file as it stands. Errors: it ends, or does not listen.
    pub(crate) fn ibsim(&self) -> Outcome<Process> {
        // ibsim's own tables end at 256 switches.
        let room = self.fabric.room();
        let (base, net) = (&self.base, &self.files.net);
        simulator(
            self.programs,
            &room,
            net,
            base,
            self.directory,
            self.interrupted,
        )
    }

    /// Attached before OpenSM, it gets what is asked of the SA.
    ///
    /// Errors: there is no such program; it ends, or does not attach in time. Ready it is only when
    /// OpenSM has brought the subnet up, for which the side waits later.
    pub(crate) fn sapphired(&self, options: &Options) -> Outcome<Process> {
        // In the side's own directory: both sides write files of the same names.
        let config = self.directory.join("sapphired.toml");
        fs::write(&config, self.config(options)).map_err(Failure::of(config.display()))?;
        let mut command = Command::new(options.sapphired()?);
        command
            .arg("--config")
            .arg(&config)
            .current_dir(self.directory)
            .env("IBSIM_SOCKNAME", &self.base)
            // A caller's own setting would make the daemon print for each request.
            .env_remove("RUST_LOG");
        let mut sapphired = Process::spawn("sapphired", &mut command, self.directory)?;
        // Attached, and not ready: it becomes ready by the subnet that OpenSM has yet to bring up.
        sapphired.wait_for("sapphired to attach", LONG, self.interrupted, |it| {
            it.printed().contains("attached to the simulator")
        })?;
        Ok(sapphired)
    }

    /// The smallest configuration: the fabric as OpenSM wrote it down, and one port.
    fn config(&self, options: &Options) -> String {
        let policy = match &self.files.policy {
            Some(_) => "[policy]\nfile = \"qos-policy.conf\"\n",
            None => "",
        };
        format!(
            "[fabric]\nsource = \"files\"\npath = \"opensm-subnet.lst\"\nqos = true\n\
             [routing]\ntorus_conf = \"torus-2QoS.conf\"\n{policy}\
             [[port]]\ntransport = \"ibsim\"\nnode = \"{}\"\n\
             [workers]\n{}\n\
             # One client asks for all hosts.\n[overload]\ngets_per_lid = 0\n",
            self.fabric.sm_node(),
            options.idle()
        )
    }

    /// OpenSM as packaged, without sweeps: those are the SM's work, not the SA's.
    ///
    /// Errors: it ends, or has not brought the subnet up in time.
    pub(crate) fn opensm(&self) -> Outcome<Process> {
        let log = self.directory.join("opensm.log");
        let mut command = Command::new(&self.programs.opensm);
        command
            .args(["-e", "-D", "0x43", "-d", "2", "-s", "0", "-f"])
            .arg(&log)
            .args(["-Q", "-R", "torus-2QoS,no_fallback", "--torus_config"])
            .arg(&self.files.torus_conf);
        if let Some(policy) = &self.files.policy {
            command.arg("-Y").arg(policy);
        }
        command
            // The preload library keeps its sysfs files below the current directory.
            .current_dir(self.directory)
            .env("LD_PRELOAD", &self.programs.preload)
            .env("IBSIM_SOCKNAME", &self.base)
            .env("SIM_HOST", self.fabric.sm_node())
            .env("OSM_CACHE_DIR", self.directory)
            .env("OSM_TMP_DIR", self.directory);
        // Its log and not its output: that is where it says so.
        let mut opensm = Process::spawn("opensm", &mut command, self.directory)?;
        opensm.wait_for("OpenSM's SUBNET UP", SUBNET_UP, self.interrupted, |_| {
            fs::read_to_string(&log).is_ok_and(|text| text.contains("SUBNET UP"))
        })?;
        Ok(opensm)
    }
}

/// A simulator of a network file that takes clients under the name. `room`: options that make it
/// large enough. Errors: it ends, or does not listen.
pub(crate) fn simulator(
    programs: &Programs,
    room: &[String],
    net: &Path,
    base: &str,
    directory: &Path,
    interrupted: &AtomicBool,
) -> Outcome<Process> {
    let mut command = Command::new(&programs.ibsim);
    command
        .args(room)
        .args(["-n", "-s"])
        .arg(net)
        .env("IBSIM_SOCKNAME", base);
    let mut ibsim = Process::spawn("ibsim", &mut command, directory)?;
    let listening = |_: &Process| listens(base);
    ibsim.wait_for("ibsim to take clients", LONG, interrupted, listening)?;
    Ok(ibsim)
}

/// For what is there in a moment.
///
/// Generous: on a machine that is busy a second is soon gone, and nothing here is a figure.
pub(crate) const LONG: Duration = Duration::from_secs(60);
/// 512 switches take OpenSM a quarter of a minute.
const SUBNET_UP: Duration = Duration::from_secs(300);
