//! Replies of more than one MAD over the simulator, which has no RMPP: the daemon does it.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use sa_port::ibsim::{Attachment, Options};
use sa_port::{ClientPort, Destination, Patience, Reply};
use sa_rig::{Fabric, records};
use sa_tests::config::Config;
use sa_tests::daemon::count;
use sa_tests::served::Served;
use sa_tests::skip;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::{Gid, Guid, SubnetPrefix, request};
use serde_json::Value;

const HOSTS: usize = 33;

/// Hosts on one switch.
fn net() -> String {
    let mut net = format!("switchguid=0x200000\nSwitch {HOSTS} \"S1\"\n");
    for host in 1..=HOSTS {
        let _ = writeln!(net, "[{host}] \"H{host}\"[1]");
    }
    for host in 1..=HOSTS {
        let guid = 0x10_0000 + 0x10 * host;
        let _ = write!(
            net,
            "\ncaguid={guid:#x}\nHca 1 \"H{host}\"\n[1] \"S1\"[{host}]\n"
        );
    }
    net
}

/// The daemon attaches before OpenSM, as it must to get the requests.
fn served(more: &str) -> Result<Served> {
    let config = Config::of_files("opensm-subnet.lst").ibsim("H1").with(more);
    let mut served = Served::beside_opensm(&net(), "H1", &config)?;
    served.daemon.signal("HUP")?;
    served.daemon.next_epoch("ready")?;
    Ok(served)
}

/// The pairs of LIDs that `sapphire query pr --table` gets.
fn lid_pairs(served: &Served, more: &[&str]) -> Result<Vec<(u64, u64)>> {
    let records = whole(served, &[&["pr", "--table"], more].concat())?;
    let number = |value: &Value| {
        let text = value
            .as_str()
            .map(str::to_owned)
            .unwrap_or_else(|| value.to_string());
        text.parse::<u64>()
    };
    let pairs = records
        .iter()
        .map(|record| Ok((number(&record["slid"])?, number(&record["dlid"])?)));
    pairs.collect()
}

/// The records of a reply, which is no refusal.
fn whole(served: &Served, arguments: &[&str]) -> Result<Vec<Value>> {
    let output = served.query("H2", arguments)?;
    ensure!(output.status.success(), "{arguments:?}: {output:?}");
    let reply: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(reply["status"] == "0x0000", "{arguments:?}: {reply}");
    let records = reply["records"].as_array().cloned();
    Ok(records.unwrap_or_default())
}

#[test]
fn more_than_a_thousand_records_come_whole() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut bed = served("")?;
    let all = lid_pairs(&bed, &[])?;
    let pairs: BTreeSet<_> = all.iter().copied().collect();
    let ports = HOSTS + 1;
    ensure!(
        all.len() == ports * ports && pairs.len() == all.len(),
        "{} records",
        all.len()
    );

    // From one host to all, from all to one, and one alone.
    let part = |wanted: fn(&(u64, u64)) -> bool| -> BTreeSet<_> {
        pairs.iter().copied().filter(wanted).collect()
    };
    let from_one = lid_pairs(&bed, &["--slid", "3"])?.into_iter().collect();
    ensure!(part(|pair| pair.0 == 3) == from_one);
    let to_one = lid_pairs(&bed, &["--dlid", "4"])?.into_iter().collect();
    ensure!(part(|pair| pair.1 == 4) == to_one);
    ensure!(lid_pairs(&bed, &["--slid", "3", "--dlid", "4"])? == [(3, 4)]);

    let counters = bed.daemon.counters()?;
    ensure!(
        count(&counters, "punted=unnamed_end:")? == 3,
        "nothing was asked twice: {counters}"
    );
    Ok(())
}

/// The request is acknowledged, the requester hands over, the reply takes three segments.
#[test]
fn a_double_sided_exchange_gets_all_paths() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = served("")?;
    let mut options = Options::on("H2");
    bed.fabric.base().clone_into(&mut options.base);
    let mut attachment = Attachment::new(&options)?;
    let sa = Destination::sa(attachment.port()?.sm_lid.context("no SM")?);
    let mut client = attachment.client()?;

    let gid = |host: u64| -> Result<Gid> {
        let guid = Guid::new(0x10_0001 + 0x10 * host)?;
        Ok(Gid::unicast(SubnetPrefix::LINK_LOCAL, guid))
    };
    let destinations = (3..=11).map(gid).collect::<Result<Vec<_>>>()?;
    let mask = MultiPathCompMask::default();
    let record = MultiPathRecord::default();
    let slot = request::multi_path_request(0, mask, &record, &[gid(2)?], &destinations)?;
    let mut reply = Reply::default();
    for transaction in [7u64, 7, 8] {
        let mut mad = slot.mad;
        mad[8..16].copy_from_slice(&transaction.to_be_bytes());
        client.ask(&sa, &mad, Patience::default(), &mut reply)?;
        let (status, records) = request::parse(&reply.mad)?;
        ensure!(
            (status, records.len()) == (0, 9),
            "{status:#x}, {} records",
            records.len()
        );
        ensure!(reply.mad.len() == 56 + 9 * 64);
    }
    Ok(())
}

/// libumad2sim has no RMPP: the program behind it gets one segment, and thinks that it is all.
#[test]
fn the_preload_library_shows_the_first_segment_and_the_daemon_goes_on() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut bed = served("")?;
    let printed = bed.fabric.saquery("H2", &["PR", "--slid", "3"])?;
    let shown = records(&printed);
    // The third lies across the 224 bytes that come through.
    ensure!(shown.len() == 3, "{printed}");
    ensure!(
        shown[..2]
            .iter()
            .all(|record| record.get("slid") == Some("3")),
        "{printed}"
    );

    bed.daemon.alive()?;
    ensure!(lid_pairs(&bed, &["--slid", "3"])?.len() == HOSTS + 1);
    Ok(())
}

/// Tables of what clients set, and of GUIDs, with their acknowledgements: each ends.
#[test]
fn tables_of_what_clients_set_come_whole() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut bed = served("[sa]\nrole = \"test\"\n")?;
    let ask = |arguments: &[&str]| Ok::<_, anyhow::Error>(whole(&bed, arguments)?.len());
    for id in ["1", "2", "3"] {
        let set = [
            "sr",
            "--set",
            "--service-id",
            id,
            "--service-gid",
            "fe80::10:21",
        ];
        ask(&[
            &set[..],
            &["--service-pkey", "0xffff", "--service-name", "many"],
        ]
        .concat())?;
    }
    ensure!(ask(&["sr"])? == 3);
    ensure!(ask(&["gir"])? > HOSTS);
    let counters = bed.daemon.counters()?;
    let received = count(&counters, "received=")?;
    ensure!(received < 200, "{counters}");
    Ok(())
}
