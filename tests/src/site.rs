//! The files of a fabric in a directory of their own, and what the pipeline makes of them.
//!
//! ```text
//! Site::torus([3, 3, 3], 1).policy(POLICY).lmc(1).compile()
//!        |                     |             |       └─ as sapphired and `sapphire compile` do it
//!        |                     |             └─ an option
//!        |                     └─ policy.conf
//!        └─ net, torus-2QoS.conf
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use sa_compiler::pipeline::{self, Compiled, Inputs, PipelineError, Stamp};
use sa_fabric::generate::{TorusSpec, plan};
use sa_wire::{Gid, Lmc, SubnetPrefix};
use tempfile::TempDir;

/// A fabric as files. They go with it; what was compiled of them stays.
#[derive(Debug)]
pub struct Site {
    directory: TempDir,
    /// What the pipeline is given: the files that were written. To be changed for all else.
    pub inputs: Inputs,
}

impl Site {
    /// A fabric by the text of its net file.
    pub fn new(net: &str) -> Self {
        let mut site = Self {
            directory: tempfile::tempdir().expect("a directory"),
            inputs: Inputs::default(),
        };
        site.inputs.fabric = site.write("net", net);
        site
    }

    /// A whole torus with so many hosts on each switch, routed by torus-2QoS.
    pub fn torus(radix: [u8; 3], hosts: u8) -> Self {
        let plan = plan(&TorusSpec::new(radix, hosts)).expect("a torus");
        let mut site = Self::new(&plan.net());
        site.inputs.torus_conf = Some(site.write("torus-2QoS.conf", &plan.torus_conf()));
        site
    }

    /// With a QoS policy.
    #[must_use]
    pub fn policy(mut self, text: &str) -> Self {
        self.inputs.policy = Some(self.write("policy.conf", text));
        self
    }

    /// With partitions; without, all ports are full members of the default one.
    #[must_use]
    pub fn partitions(mut self, text: &str) -> Self {
        self.inputs.partitions = Some(self.write("partitions.conf", text));
        self
    }

    /// With options of OpenSM.
    #[must_use]
    pub fn opensm_conf(mut self, text: &str) -> Self {
        self.inputs.opensm_conf = Some(self.write("opensm.conf", text));
        self
    }

    /// With 2^`lmc` LIDs to a host.
    #[must_use]
    pub fn lmc(mut self, lmc: u8) -> Self {
        self.inputs.lmc = Some(Lmc::new(lmc).expect("0 to 7"));
        self
    }

    /// Where the files are.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file beside the others and gives its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    }

    /// Reads, routes, proves and builds. Errors: as [`pipeline::compile`].
    pub fn try_compile(&self) -> Result<Compiled, PipelineError> {
        pipeline::compile(&self.inputs, Stamp::default())
    }

    /// The same of inputs that are right.
    pub fn compile(&self) -> Compiled {
        match self.try_compile() {
            Ok(compiled) => compiled,
            Err(error) => panic!("{error}"),
        }
    }
}

/// LID and GID of every CA's first port, in the order of the topology.
pub fn hosts(compiled: &Compiled) -> Vec<(u16, Gid)> {
    let ends = compiled.parts.topology.end_ports.iter();
    let hosts = ends.filter(|end| end.port_number == 1);
    let gid = |guid| Gid::unicast(SubnetPrefix::LINK_LOCAL, guid);
    hosts.map(|end| (end.lid.get(), gid(end.guid))).collect()
}
