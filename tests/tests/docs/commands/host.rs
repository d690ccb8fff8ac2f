//! Documents that change a host: run as they stand there, by root, in a file system of their own. There is no systemd and no HCA: stand-ins take
//! their place, and all else is real.

use std::process::Command;

use anyhow::Result;
use sa_rig::Fabric;
use sa_tests::pages::script::Script;

use super::place::Place;
use super::{blocks_of, serves, simulated};

/// Why nothing is installed here.
fn unavailable() -> Option<String> {
    let id = Command::new("id").arg("-u").output().ok()?;
    if id.stdout != b"0\n" {
        return Some("skipped: what installs for a whole host is run by root".to_owned());
    }
    Fabric::unavailable()
}

/// With the stand-ins of a host.
fn furnished(place: Place) -> Result<Place> {
    for name in ["systemctl", "udevadm", "journalctl"] {
        place.stand_in(name, include_str!("systemctl.sh"))?;
    }
    place.stand_in("root", include_str!("root.sh"))?;
    place.stand_in("installed", include_str!("installed.sh"))?;
    Ok(place)
}

/// Runs a document by root, behind these programs.
fn run(place: &Place, document: &str, behind: &[&str]) -> Result<()> {
    let script = Script::of(&blocks_of(document)?)?;
    let unshare = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ];
    place.run(document, &script, &[&unshare, behind].concat())
}

/// The install text and the runbook.
#[test]
fn the_page_of_operating_runs() -> Result<()> {
    if let Some(why) = unavailable() {
        return sa_tests::skip(&why);
    }
    let _turn = serves();
    let place = Place::new()?;
    let simulated = simulated(&place)?;
    let place = furnished(place.on_fabric(&simulated.fabric)?)?;
    place.stand_in("saquery", include_str!("saquery.sh"))?;
    run(&place, "docs/operating.md", &["root"])
}

/// A fabric, read from a simulated one.
#[test]
fn the_offline_page_runs() -> Result<()> {
    if let Some(why) = unavailable() {
        return sa_tests::skip(&why);
    }
    let place = Place::new()?;
    let simulated = simulated(&place)?;
    let place = furnished(place.on_fabric(&simulated.fabric)?)?;
    run(&place, "docs/getting-started/offline.md", &["root"])
}

/// On a host that has the package.
fn on_a_host(document: &str) -> Result<()> {
    if let Some(why) = unavailable() {
        return sa_tests::skip(&why);
    }
    let _turn = serves();
    let place = furnished(Place::new()?)?;
    let torus = Command::new(place.built().join("sapphire"))
        .args(["fabric", "torus", "3", "3", "3", "-o", "simulated"])
        .current_dir(place.clone())
        .status()?;
    anyhow::ensure!(torus.success(), "{torus}");
    run(&place, document, &["root", "installed"])
}

#[test]
fn the_page_beside_opensm_runs() -> Result<()> {
    on_a_host("docs/getting-started/beside-opensm.md")
}

#[test]
fn the_page_as_the_sm_runs() -> Result<()> {
    on_a_host("docs/getting-started/as-sm.md")
}

#[test]
fn the_page_for_every_node_runs() -> Result<()> {
    on_a_host("docs/getting-started/every-node.md")
}
