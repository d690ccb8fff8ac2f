//! A subnet that both bring up, as files.

use std::fmt;
use std::fs;
use std::path::Path;

use routing::EngineKind;
use sa_bench::shapes::{self, Shape};
use sa_fabric::Fabric;
use sa_fabric::formats::net;
use sa_wire::NodeType;

use crate::failure::{Failure, Outcome};

/// Cables, and how they are routed.
pub(crate) struct Subnet {
    /// The text of the cables, and the engine that routes them.
    shape: Shape,
    /// The same, parsed.
    fabric: Fabric,
}

impl Subnet {
    /// By name: `torus:8x8x8x1` (the last number: hosts on each switch), or a shape as
    /// `fat-tree:16`. Errors: another name.
    pub(crate) fn named(name: &str) -> Outcome<Self> {
        // Parsed here too: the first host and the room that ibsim needs are not in the text of the cables.
        let wrong = |why: &dyn fmt::Display| Failure::Usage(format!("{name}: {why}"));
        let shape = Shape::named(name).map_err(|error| wrong(&error))?;
        let fabric = net::parse(shape.net.as_bytes()).map_err(|error| wrong(&error))?;
        Ok(Self { shape, fabric })
    }

    /// The same, by an engine that still routes it when a cable or a switch is away: OpenSM's ftree
    /// finds no fat tree then.
    pub(crate) fn that_fails(mut self) -> Self {
        if self.shape.engine == EngineKind::FatTree {
            self.shape.engine = EngineKind::UpDown;
        }
        self
    }

    /// The text of the cables.
    pub(crate) fn net(&self) -> &str {
        &self.shape.net
    }

    /// The same, parsed.
    pub(crate) const fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Writes `net`, and what OpenSM and sapphired read. Errors: the directory takes no files.
    pub(crate) fn write(&self, directory: &Path) -> Outcome {
        let put = |name: &str, text: &str| {
            let path = directory.join(name);
            fs::write(&path, text).map_err(Failure::of(path.display()))
        };
        put("net", &self.shape.net)?;
        if let Some(conf) = &self.shape.torus_conf {
            put("torus-2QoS.conf", conf)?;
        }
        put("opensm.conf", &self.opensm_conf())?;
        put("sapphired.toml", &self.config())
    }

    /// No sweep after the first one; the rest is as OpenSM has it.
    ///
    /// `no_fallback`: minhop in its place would make the comparison one of other routes.
    fn opensm_conf(&self) -> String {
        // force_log_flush: the program waits for a line of that log.
        let torus = match &self.shape.torus_conf {
            Some(_) => "torus_config torus-2QoS.conf\nqos TRUE\n",
            None => "",
        };
        // As OpenSM spells them; it has the first half of dfsssp-nue under that name.
        let engine = match self.shape.engine {
            EngineKind::DfssspNue => "dfsssp".to_owned(),
            other => other.to_string(),
        };
        format!(
            "routing_engine {engine},no_fallback\nsweep_interval 0\nforce_log_flush TRUE\n{torus}"
        )
    }

    /// sapphired as the Subnet Manager: the same engine, and what its OpenSM reads besides.
    ///
    /// `sleep_after = 0`: a worker that spins would take CPU time that is not the Subnet Manager's.
    pub(crate) fn config(&self) -> String {
        let torus = match &self.shape.torus_conf {
            Some(_) => "torus_conf = \"torus-2QoS.conf\"\n",
            None => "",
        };
        format!(
            "[fabric]\nsource = \"sweep\"\nopensm_conf = \"opensm.conf\"\nqos = {}\n\
             [routing]\nengine = \"{}\"\n{torus}\
             [[port]]\ntransport = \"ibsim\"\nnode = \"{}\"\n[workers]\nsleep_after = 0\n",
            self.shape.torus_conf.is_some(),
            self.shape.engine.name(),
            self.sm_node(),
        )
    }

    /// Options of ibsim that make room for it.
    // Every node's ports and one more, as `crate::fabric` counts them.
    pub(super) fn room(&self) -> [String; 6] {
        let nodes = self.fabric.nodes();
        let switches = nodes.iter().filter(|node| node.kind == NodeType::Switch);
        let ports: usize = nodes
            .iter()
            .map(|node| usize::from(node.port_count()) + 1)
            .sum();
        crate::fabric::room(nodes.len(), switches.count(), ports)
    }

    /// The host of the Subnet Manager.
    ///
    /// Empty where the shape has none.
    pub(crate) fn sm_node(&self) -> &str {
        let host = shapes::first_host(&self.fabric);
        host.map_or("", |at| self.fabric.node(at.node).description.as_str())
    }
}
