//! `sapphired` as the Subnet Manager that ends and begins anew.

use std::fs;

use anyhow::{Result, ensure};
use sa_rig::Fabric;
use sa_rig::tap::Writes;
use sa_tests::config::Config;
use sa_tests::served::Served;
use sa_tests::skip;

use super::sweep::{TREE, config};

/// Ports of [`TREE`] that an SM writes: both ends of eight cables, and port 0 of four switches.
const PORTS: u64 = 20;

const QOS: &str = "qos TRUE\nqos_max_vls 4\nqos_high_limit 2\nqos_vlarb_high 0:4,1:8\n\
                   qos_vlarb_low 0:1,1:2,2:4,3:8\nqos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3\n";

pub(crate) fn config_with_qos() -> Config {
    config().fabric("opensm_conf = \"opensm.conf\"\n")
}

/// The file that [`config_with_qos`] names.
pub(crate) fn with_options(fabric: &Fabric) -> Result<()> {
    Ok(fs::write(fabric.dir().join("opensm.conf"), QOS)?)
}

/// Of what was written, everything but PortInfo.
pub(crate) const fn tables(writes: Writes) -> u64 {
    writes.count - writes.ports
}

/// Forwarding tables of all switches, and states, widths and LIDs at both ends of all links, as others read them.
pub(crate) fn held(fabric: &Fabric) -> Result<String> {
    let tables = fabric.tool("dump_fts", "H1", &[])?;
    let links = fabric.tool("iblinkinfo", "H1", &["-l"])?;
    ensure!(
        tables.contains("0x0001") && links.contains("Active"),
        "{tables}\n{links}"
    );
    Ok(tables + &links)
}

#[test]
fn a_restart_writes_no_table() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, _console, tap) = Fabric::tapped(TREE)?;
    with_options(&fabric)?;
    let bed = Served::on(fabric, &config_with_qos())?;
    let first = tap.writes();
    ensure!(tables(first) > 100, "{first:?}");
    let before = held(&bed.fabric)?;
    let Served { daemon, fabric, .. } = bed;
    let (ended, logged) = daemon.terminate()?;
    ensure!(ended.success(), "{logged}");
    let mut bed = Served::on(fabric, &config_with_qos())?;
    // Ready it is before that, by the snapshot of before.
    bed.daemon.wait_logged("SUBNET UP")?;
    let again = tap.writes();
    ensure!(tables(again) == tables(first), "{first:?} {again:?}");
    // The simulator forgets NeighborMTU, MasterSMSL, VLHighLimit and time-outs of PortInfo, so a new process finds them
    // other than wanted.
    ensure!(again.ports - first.ports <= PORTS, "{first:?} {again:?}");
    ensure!(held(&bed.fabric)? == before);
    Ok(())
}
