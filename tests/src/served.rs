//! A simulated fabric with a daemon that serves it.
//!
//! The simulator takes one manager on a node and gives it the requests that arrive there, so that the order
//! counts in which a daemon and OpenSM come:
//!
//! * [`Served::after_opensm`]: OpenSM sets the fabric up and leaves, then the daemon takes its place.
//! * [`Served::beside_opensm`]: the daemon attaches first and gets the requests; OpenSM stays.

use std::fs;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, Process};
use serde_json::Value;

use crate::cli::sapphire_on;
use crate::config::Config;
use crate::daemon::Daemon;
use crate::http;

/// What OpenSM has dumped, under a name that it does not write again.
pub const DUMPED: &str = "fabric.lst";

/// A fabric, and the daemon on it.
pub struct Served {
    // In order of dropping: who serves goes before what it is attached to.
    /// The daemon.
    pub daemon: Daemon,
    _opensm: Option<Process>,
    /// The simulator.
    pub fabric: Fabric,
}

impl Served {
    /// OpenSM sets the fabric up from `node`, with these options, and leaves; what it dumped is kept as [`DUMPED`].
    /// Then the daemon serves.
    pub fn after_opensm(
        net: &str,
        (node, options): (&str, &[&str]),
        config: &Config,
    ) -> Result<Self> {
        let fabric = set_up(net, (node, options))?;
        Self::on(fabric, config)
    }

    /// On a fabric that is set up.
    pub fn on(fabric: Fabric, config: &Config) -> Result<Self> {
        let config = config.write(fabric.dir())?;
        let mut daemon = Daemon::start(&fabric, &config)?;
        daemon.next_epoch("ready")?;
        Ok(Self {
            daemon,
            _opensm: None,
            fabric,
        })
    }

    /// The daemon waits for its files, and OpenSM sets the fabric up from `node` and stays.
    pub fn beside_opensm(net: &str, node: &str, config: &Config) -> Result<Self> {
        let fabric = Fabric::start(net)?;
        let config = config.write(fabric.dir())?;
        let mut daemon = Daemon::start(&fabric, &config)?;
        daemon.wait_logged("no snapshot yet, requests are dropped")?;
        let opensm = fabric.opensm(node, &[])?;
        Ok(Self {
            daemon,
            _opensm: Some(opensm),
            fabric,
        })
    }

    /// Gives the daemon what OpenSM has dumped as [`DUMPED`].
    pub fn provide_fabric(&self) -> Result<()> {
        keep_dump(&self.fabric)
    }

    /// `sapphire query`, asked from a node, with `--json`.
    pub fn query(&self, node: &str, arguments: &[&str]) -> Result<Output> {
        let via = format!("ibsim:{node}");
        let all = [&["query"], arguments, &["--via", &via, "--json"]].concat();
        sapphire_on(&self.fabric, &all)
    }

    /// The same: status and records of the reply, be it a refusal. Errors: there is none.
    pub fn ask(&self, node: &str, arguments: &[&str]) -> Result<(String, Vec<Value>)> {
        let output = self.query(node, arguments)?;
        let text = String::from_utf8(output.stdout.clone())?;
        let line = text.lines().last().with_context(|| format!("{output:?}"))?;
        let reply: Value = serde_json::from_str(line)?;
        let status = reply["status"].as_str();
        let status = status.with_context(|| line.to_owned())?.to_owned();
        let records = reply["records"].as_array().cloned();
        Ok((status, records.unwrap_or_default()))
    }

    /// `sapphire status`, by the socket `control`.
    pub fn status(&self) -> Result<Value> {
        status(&self.fabric)
    }

    /// Status and body of a page.
    pub fn page(&self, path: &str) -> Result<(u16, String)> {
        http::get(http::address(&self.daemon.logged())?, path)
    }

    /// A sample of the metrics.
    pub fn metric(&self, sample: &str) -> Result<f64> {
        let (_, page) = self.page("/metrics")?;
        let rest = page.lines().find_map(|line| line.strip_prefix(sample));
        let value = rest.with_context(|| format!("{sample} in {page}"))?;
        Ok(value.trim().parse()?)
    }
}

/// A fabric that OpenSM has set up and left; what it dumped is kept as [`DUMPED`].
pub fn set_up(net: &str, (node, options): (&str, &[&str])) -> Result<Fabric> {
    let fabric = Fabric::start(net)?;
    fabric.configure(node, options)?;
    keep_dump(&fabric)?;
    Ok(fabric)
}

fn keep_dump(fabric: &Fabric) -> Result<()> {
    let file = |name: &str| fabric.dir().join(name);
    fs::copy(file("opensm-subnet.lst"), file(DUMPED))?;
    Ok(())
}

/// `sapphire status` of a daemon whose socket is `control` in the fabric's directory.
pub fn status(fabric: &Fabric) -> Result<Value> {
    let output = sapphire_on(fabric, &["status", "--json", "--control", "control"])?;
    ensure!(output.status.success(), "{output:?}");
    Ok(serde_json::from_slice(&output.stdout)?)
}
