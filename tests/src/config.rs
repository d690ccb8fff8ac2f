//! The configuration of a daemon under test: what the test is about, and for the rest what all of them want.
//!
//! ```text
//! Config::of_files("fabric.lst").ibsim("H1").with("[control]\npath = \"control\"\n")
//!
//! [fabric]                     [[port]]                   [workers]            [control]
//! source = "files"             transport = "ibsim"        yield_after = 64     path = "control"
//! path = "fabric.lst"          node = "H1"
//! ```

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// A `sapphired.toml`. Workers give their core away after 64 turns that found nothing, as machines that run
/// tests have few.
#[derive(Debug, Clone)]
pub struct Config {
    fabric: String,
    routing: String,
    ports: String,
    workers: String,
    others: String,
}

impl Config {
    /// Of a fabric in a file or directory; paths in it are relative to the configuration.
    pub fn of_files(path: &str) -> Self {
        Self::of(&format!("source = \"files\"\npath = \"{path}\"\n"))
    }

    /// Of the fabric that the SA behind its first port tells of.
    pub fn of_sa() -> Self {
        Self::of("source = \"sa\"\n")
    }

    /// Beside the OpenSM of this node of the simulator, whose library has this socket, and asked by a ring called
    /// `ring`. Nothing is sampled: on the simulator each question to OpenSM takes it a millisecond.
    pub fn of_opensm(socket: &str) -> Self {
        Self::of("source = \"opensm\"\n")
            .port("transport = \"umad\"\ndevice = \"ibsim0\"\n")
            .port("transport = \"ring\"\npath = \"ring\"\n")
            .with("[fabric.sa]\nsamples = 0\n")
            .with(&format!("[opensm]\nsocket = \"{socket}\"\n"))
    }

    /// As the Subnet Manager of the fabric of its first port, with a sweep each second.
    pub fn of_sweep() -> Self {
        Self::of_sweep_each(1)
    }

    /// The same with a sweep each so many seconds, if nothing orders one.
    pub fn of_sweep_each(seconds: u32) -> Self {
        Self::of("source = \"sweep\"\n")
            .with("[state]\ndirectory = \"state\"\n")
            .with(&format!("[sm]\nsweep_interval = {seconds}\n"))
    }

    fn of(fabric: &str) -> Self {
        Self {
            fabric: fabric.to_owned(),
            routing: String::new(),
            ports: String::new(),
            workers: "yield_after = 64\n".to_owned(),
            others: String::new(),
        }
    }

    /// With more keys of `[fabric]`. Shape: whole lines, as in all that follow.
    #[must_use]
    pub fn fabric(mut self, keys: &str) -> Self {
        self.fabric += keys;
        self
    }

    /// With keys of `[routing]`.
    #[must_use]
    pub fn routing(mut self, keys: &str) -> Self {
        self.routing += keys;
        self
    }

    /// Routed by torus-2QoS, with the `torus-2QoS.conf` beside the configuration.
    #[must_use]
    pub fn torus(self) -> Self {
        self.routing("torus_conf = \"torus-2QoS.conf\"\n")
    }

    /// Served on a node of the simulator.
    #[must_use]
    pub fn ibsim(self, node: &str) -> Self {
        self.port(&format!("transport = \"ibsim\"\nnode = \"{node}\"\n"))
    }

    /// With a `[[port]]` of these keys.
    #[must_use]
    pub fn port(mut self, keys: &str) -> Self {
        self.ports += "[[port]]\n";
        self.ports += keys;
        self
    }

    /// With these keys of `[workers]` in place of the usual one.
    #[must_use]
    pub fn workers(mut self, keys: &str) -> Self {
        keys.clone_into(&mut self.workers);
        self
    }

    /// With more sections.
    #[must_use]
    pub fn with(mut self, sections: &str) -> Self {
        self.others += sections;
        self
    }

    /// Writes it as `sapphired.toml` and gives its path. The state directory of [`Self::of_sweep`] is there afterwards.
    pub fn write(&self, directory: &Path) -> Result<PathBuf> {
        if self.fabric.contains("sweep") {
            fs::create_dir_all(directory.join("state"))?;
        }
        self.write_as(&directory.join("sapphired.toml"))
    }

    /// The same under another name, for a second daemon.
    pub fn write_as(&self, path: &Path) -> Result<PathBuf> {
        fs::write(path, self.to_string())?;
        Ok(path.to_owned())
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            fabric,
            routing,
            ports,
            workers,
            others,
        } = self;
        write!(f, "[fabric]\n{fabric}")?;
        if !routing.is_empty() {
            write!(f, "[routing]\n{routing}")?;
        }
        write!(f, "{ports}[workers]\n{workers}{others}")
    }
}

/// A policy of which nothing but this packet life time shows in answers.
pub fn policy_of_life(life: u8) -> String {
    format!(
        "qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n  packet-life: {life}\n \
         end-qos-level\nend-qos-levels\n"
    )
}
