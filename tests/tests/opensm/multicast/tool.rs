//! What people see.

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, records};
use sa_wire::records::Layout;
use serde_json::Value;

use crate::records::bench::Bench;
use crate::records::site::Site;
use sa_tests::cli::sapphire_on;
use sa_tests::skip;

const MGID: &str = "ff12::4:77";

/// `sapphire query mcmr` joins, shows and leaves a group of OpenSM, as saquery shows it.
#[test]
fn query_joins_and_leaves() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (_bench, fabric, _opensm) = Bench::start(&Site::new())?;
    let ask = |words: &[&str]| {
        let about = ["query", "mcmr", "--via", "ibsim:H4", "--mgid", MGID];
        sapphire_on(&fabric, &[&about[..], words].concat())
    };
    let membership = ["--port-gid", "fe80::10:31", "--join-state", "1"];
    let made = ["--set", "--q-key", "5", "--tclass", "1", "--pkey", "0xffff"];
    let more = ["--flow-label", "0x12", "--sl", "0", "--json"];
    let joined = ask(&[&membership[..], &made, &more].concat())?;
    ensure!(joined.status.success(), "{joined:?}");
    let joined: Value = serde_json::from_slice(&joined.stdout)?;
    ensure!(joined["status"] == "0x0000", "{joined}");
    let record = &joined["records"][0];
    ensure!(
        record["mgid"] == MGID && record["port_gid"] == "fe80::10:31",
        "{record}"
    );
    ensure!(
        record["flow_label"] == "0x12" && record["join_state"] == 1,
        "{record}"
    );

    let shown = ask(&["--sa-key", "1", "--port-gid", "fe80::10:31", "--get"])?;
    let shown = String::from_utf8(shown.stdout)?;
    ensure!(
        shown.lines().count() == Layout::MC_MEMBER.fields.len() + 1,
        "{shown}"
    );
    let printed = fabric.saquery("H1", &["--smkey", "1", "MCMR"])?;
    let all = records(&printed);
    let theirs = all.iter().find(|record| record.get("MGID") == Some(MGID));
    let theirs = theirs.context(printed.clone())?;
    for (name, its_name) in [("mlid", "mlid"), ("q_key", "qkey"), ("port_gid", "PortGid")] {
        ensure!(
            theirs.get(its_name) == record[name].as_str(),
            "{record} {printed}"
        );
    }

    let left = ask(&[&membership[..], &["--delete"]].concat())?;
    ensure!(left.status.success(), "{left:?}");
    let gone = String::from_utf8(ask(&["--get"])?.stdout)?;
    ensure!(gone.contains("0x0300"), "{gone}");
    let both = ask(&["--set", "--delete"])?;
    ensure!(both.status.code() == Some(2), "{both:?}");
    Ok(())
}
