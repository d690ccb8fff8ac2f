//! The fabric, and who is who on it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sa_compiler::pipeline::{Compiled, Inputs, Stamp, compile};
use sa_rig::{Fabric, Process};

/// Two switches, four hosts, a router; the SM on the first host.
const NET: &str = "\
switchguid=0x200000\nSwitch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n[8] \"S2\"[8]\n\n\
switchguid=0x200010\nSwitch 8 \"S2\"\n[8] \"S1\"[8]\n[1] \"H3\"[1]\n[2] \"H4\"[1]\n[3] \"R1\"[1]\n\n\
caguid=0x100000\nHca 1 \"H1\"\n[1](100001) \"S1\"[1]\n\n\
caguid=0x100010\nHca 1 \"H2\"\n[1](100011) \"S1\"[2]\n\n\
caguid=0x100020\nHca 1 \"H3\"\n[1](100021) \"S2\"[1]\n\n\
caguid=0x100030\nHca 1 \"H4\"\n[1](100031) \"S2\"[2]\n\n\
rtguid=0x300000\nRt 1 \"R1\"\n[1](300001) \"S2\"[3]\n\n";

/// The SM and H3 are limited members of the same, so neither may know of the other.
const PARTITIONS: &str = "\
Default=0x7fff, ipoib : ALL=limited, SELF=limited, 0x100011=full, 0x100031=full, ALL_SWITCHES=full ;
blue=0x0001 : 0x100011=full, 0x100031=full ;
";

/// SL 7 goes nowhere.
const CONF: &str = "qos TRUE\nqos_ca_sl2vl 0,1,2,3,0,1,2,15,0,1,2,3,0,1,2,3\n";

const ROUTES: &str = "fec0000000000007 0x300001\n";

/// Files for OpenSM and for this program.
fn inputs(dir: &Path) -> Result<Inputs> {
    let put = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::write(&path, text).map(|()| path)
    };
    let partitions = put("partitions.conf", PARTITIONS)?;
    let prefix_routes = put("prefix-routes.conf", ROUTES)?;
    let conf = format!(
        "{CONF}partition_config_file {}\nprefix_routes_file {}\n",
        partitions.display(),
        prefix_routes.display()
    );
    Ok(Inputs {
        fabric: dir.to_owned(),
        sm_node: Some("H1".to_owned()),
        opensm_conf: Some(put("opensm.conf", &conf)?),
        partitions: Some(partitions),
        prefix_routes: Some(prefix_routes),
        ..Inputs::default()
    })
}

/// The same without a simulator, and LIDs of this program's choice.
pub(crate) fn alone() -> Result<Compiled> {
    let dir = tempfile::tempdir()?;
    let net = dir.path().join("net");
    fs::write(&net, NET)?;
    let inputs = Inputs {
        fabric: net,
        ..inputs(dir.path())?
    };
    Ok(compile(&inputs, Stamp::default())?)
}

/// Brings the fabric up, and compiles what OpenSM has written about it.
pub(crate) fn start() -> Result<(Fabric, Process, Compiled)> {
    let fabric = Fabric::start(NET)?;
    let inputs = inputs(fabric.dir())?;
    let conf = inputs.opensm_conf.as_ref().context("a file")?;
    let conf = conf.to_str().context("a name")?;
    let opensm = fabric.opensm("H1", &["-F", conf])?;
    let compiled = compile(&inputs, Stamp::default())?;
    Ok((fabric, opensm, compiled))
}

pub(crate) const H1: u64 = 0x10_0001;
pub(crate) const H2: u64 = 0x10_0011;
pub(crate) const H3: u64 = 0x10_0021;
pub(crate) const H4: u64 = 0x10_0031;

/// LIDs by GUID.
pub(crate) struct Lids(Vec<(u64, u16)>);

impl Lids {
    pub(crate) fn new(compiled: &Compiled) -> Self {
        let ends = compiled.parts.topology.end_ports.iter();
        Self(ends.map(|end| (end.guid.get(), end.lid.get())).collect())
    }

    pub(crate) fn of(&self, guid: u64) -> u16 {
        let known = self.0.iter().find(|(known, _)| *known == guid);
        known.map_or(0, |(_, lid)| *lid)
    }

    pub(crate) fn unused(&self) -> u16 {
        self.0.iter().map(|(_, lid)| lid + 1).max().unwrap_or(1)
    }
}

/// A GID of this subnet.
pub(crate) const fn gid(guid: u64) -> [u8; 16] {
    with_prefix(0xfe80 << 48, guid)
}

pub(crate) const fn with_prefix(prefix: u64, guid: u64) -> [u8; 16] {
    ((prefix as u128) << 64 | guid as u128).to_be_bytes()
}
