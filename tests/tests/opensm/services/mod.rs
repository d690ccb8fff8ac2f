//! Services, subscriptions and alias GUIDs as OpenSM keeps them: the same requests of several
//! nodes to OpenSM on the simulator and to our database, one after the other; replies equal.

mod heard;
mod pair;
mod random;
mod tool;

use anyhow::{Result, ensure};
use sa_rig::Fabric;
use sa_wire::mad::method;
use sa_wire::records::Layout;

use crate::records::site::{BOTH, Site};
use pair::{Ask, Pair};
use random::{alias, inform, service};
use sa_tests::rng::Rng;

/// Requests on each site.
const ROUNDS: usize = 4500;

#[test]
fn replies_equal_opensms() -> Result<()> {
    compare(&Site::new(), 1)
}

#[test]
fn replies_equal_opensms_with_both_pkeys() -> Result<()> {
    let site = Site {
        conf: "allow_both_pkeys TRUE\n",
        partitions: BOTH,
        ..Site::new()
    };
    compare(&site, 2)
}

#[test]
fn replies_equal_opensms_without_a_partitions_file() -> Result<()> {
    let site = Site {
        partitions: "Default=0x7fff, ipoib : ALL=full ;\n",
        conf: "",
        ..Site::new()
    };
    compare(&site, 3)
}

#[test]
fn the_tool_sets_shows_and_deletes() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        eprintln!("{why}");
        return Ok(());
    }
    tool::sets_shows_and_deletes()
}

#[test]
fn reports_equal_opensms() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        eprintln!("{why}");
        return Ok(());
    }
    let compared = heard::compare(&Site::new())?;
    eprintln!("{compared} Reports compared, none differs");
    ensure!(compared > 10, "only {compared} Reports");
    Ok(())
}

fn compare(site: &Site, seed: u64) -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        eprintln!("{why}");
        return Ok(());
    }
    let (mut pair, _fabric, _opensm) = Pair::start(site)?;
    let mut rng = Rng::new(seed);
    for _ in 0..ROUNDS {
        let client = rng.below(pair.clients.len());
        let ask = match rng.below(3) {
            0 => service(&pair, &mut rng),
            1 => inform(&pair, &mut rng),
            _ => alias(&pair, &mut rng),
        };
        pair.compare(client, &ask)?;
    }
    every_method(&mut pair)?;
    pair.finish()
}

#[test]
fn aliases_in_groups_are_kept_as_opensm_keeps_them() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        eprintln!("{why}");
        return Ok(());
    }
    heard::alias_in_a_group(&Site::new())
}

/// OpenSM looks every second or so; ours ends when it is over.
#[test]
fn leases_end_as_opensms() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        eprintln!("{why}");
        return Ok(());
    }
    let (mut pair, _fabric, _opensm) = Pair::start(&Site::new())?;
    for lease in [0, 3] {
        let (ours, theirs) = pair.lease_ends(lease)?;
        let whole = f64::from(lease.max(1));
        ensure!((ours - whole).abs() < 0.5, "{ours} s");
        ensure!(
            (theirs - ours).abs() < 1.5,
            "OpenSM's ends after {theirs} s"
        );
    }
    Ok(())
}

/// Those that OpenSM's two dispatchers let through.
fn every_method(pair: &mut Pair) -> Result<()> {
    use sa_wire::sa::AttributeId;
    let get_multi = method::GET_MULTI;
    let asked = [
        (AttributeId::SERVICE_RECORD, get_multi),
        (AttributeId::INFORM_INFO, method::GET),
        (AttributeId::INFORM_INFO, method::GET_TABLE),
        (AttributeId::INFORM_INFO, method::DELETE),
        (AttributeId::INFORM_INFO, get_multi),
        (AttributeId::INFORM_INFO_RECORD, get_multi),
        (AttributeId::GUID_INFO_RECORD, get_multi),
    ];
    for (attribute, method) in asked {
        for key in [0, 1] {
            let ask = Ask::new(attribute, method, 0, &[1; 64]);
            pair.compare(0, &Ask { key, ..ask })?;
        }
    }
    // A stranger's key gets silence.
    for layout in [Layout::SERVICE, Layout::INFORM_INFO, Layout::GUID_INFO] {
        let ask = Ask::new(layout.attribute, method::GET_TABLE, 0, &[]);
        pair.compare(1, &Ask { key: 7, ..ask })?;
    }
    Ok(())
}
