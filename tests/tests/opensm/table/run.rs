//! One OpenSM on one fabric by one engine.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, Process};

use super::fabrics::Shape;
use crate::beside::{self, Asked, Shared, Socket};

/// What a fabric needs besides its shape.
pub(super) struct Plan {
    pub(super) net: String,
    pub(super) torus_conf: Option<String>,
    /// Tables for the engine `file`, as OpenSM's minhop dumped them.
    pub(super) tables: Option<String>,
}

/// A running OpenSM, listened to.
pub(super) struct Run {
    // In order of dropping: OpenSM goes before its fabric.
    pub(super) opensm: Process,
    pub(super) shared: Arc<Shared>,
    asker: String,
    pub(super) conf: PathBuf,
    pub(super) fabric: Fabric,
    /// What came of the engine.
    pub(super) outcome: Outcome,
}

/// What OpenSM made of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Routed,
    /// It refuses the fabric, for this reason in OpenSM's words, and another engine stands in.
    Refused {
        why: String,
        other: String,
    },
}

impl Run {
    /// Starts OpenSM with QoS and four data VLs, as LASH, Nue and torus-2QoS need them, and as many as the
    /// shape says with DFSSSP.
    pub(super) fn start(shape: &Shape, engine: &str, plan: &Plan) -> Result<Self> {
        let mut hosts = plan.net.lines().filter(|line| line.starts_with("Hca"));
        let mut host = || Some(hosts.next()?.split('"').nth(1)?.to_owned());
        let (server, asker) = (host().context("a host")?, host().context("two hosts")?);
        let fabric = Fabric::start(&plan.net)?;
        let conf = fabric.dir().join("opensm.conf");
        let put = |name: &str, text: &Option<String>| -> Result<PathBuf> {
            let path = fabric.dir().join(name);
            if let Some(text) = text {
                fs::write(&path, text)?;
            }
            Ok(path)
        };
        let mut text = format!(
            "routing_engine {engine}\nlmc {}\nqos TRUE\nmax_op_vls {}\nnue_max_num_vls 4\n",
            shape.lmc,
            match engine {
                "dfsssp" => shape.dfsssp,
                _ => VL0_TO_3,
            }
        );
        match engine {
            "file" => {
                let path = put("tables", &plan.tables)?;
                writeln!(text, "lfts_file {}", path.display())?;
            }
            "torus-2QoS" => {
                let path = put("torus-2QoS.conf", &plan.torus_conf)?;
                writeln!(text, "torus_config {}", path.display())?;
            }
            _ => {}
        }
        fs::write(&conf, text)?;
        let path = conf.to_str().context("a path")?;
        if engine == "dfsssp" {
            // It counts VLs that are in operation before the sweep, so those of `max_op_vls` after one.
            fabric.configure(&server, &["-F", path])?;
        }
        let (opensm, shared) = beside::start(&fabric, &server, &["-F", path])?;
        let log = fs::read_to_string(fabric.dir().join("opensm.log"))?;
        Ok(Self {
            outcome: outcome(engine, &log)?,
            opensm,
            shared,
            asker,
            conf,
            fabric,
        })
    }

    /// Asks OpenSM's SA over the library's socket.
    pub(super) fn socket(&self, asked: &Asked) -> Result<Socket> {
        Socket::open(&self.shared, &self.fabric, &self.asker, asked)
    }
}

/// `max_op_vls` for VLs 0 to 3.
pub(super) const VL0_TO_3: u8 = 3;

/// From OpenSM's log: `ucast_mgr_route: updn: cannot build lid matrices` behind the engine's reason, and
/// `minhop tables configured on all switches`.
fn outcome(engine: &str, log: &str) -> Result<Outcome> {
    let lines: Vec<&str> = log.lines().collect();
    let configured = lines.iter().find_map(|line| {
        let words = line.strip_suffix(" tables configured on all switches")?;
        words.rsplit(' ').next()
    });
    let other = configured.with_context(|| format!("no engine in {log}"))?;
    if other == engine {
        return Ok(Outcome::Routed);
    }
    let failed = format!("ucast_mgr_route: {engine}: ");
    let at = lines.iter().position(|line| line.contains(&failed));
    let at = at.with_context(|| format!("no refusal in {log}"))?;
    ensure!(at > 0, "{log}");
    let mut before = lines[..at].iter().rev();
    let reason = before.find(|line| line.contains(" -> "));
    let reason = reason.and_then(|line| line.rsplit_once(" -> "));
    let (_, words) = reason.context("a reason")?;
    // `construct_fabric: ERR AB2B: Found ..`
    let why = words.rsplit(": ").next().unwrap_or(words);
    Ok(Outcome::Refused {
        why: why.trim_end_matches('.').to_owned(),
        other: other.to_owned(),
    })
}
