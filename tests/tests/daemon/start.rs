//! From nothing to answers: what `sapphired` does before it has a snapshot, how it gets one, and
//! what it says to requests that are none for PathRecords.

use anyhow::{Result, ensure};
use sa_rig::{Fabric, TWO_HOSTS, records};
use sa_tests::config::Config;
use sa_tests::daemon::count;
use sa_tests::served::{DUMPED, Served};
use sa_tests::skip;

/// The daemon attaches before OpenSM, as it must to get the requests. Its fabric file comes when
/// the test puts it there.
fn served(more: &str) -> Result<Served> {
    let config = Config::of_files(DUMPED).fabric(more).ibsim("H1");
    Served::beside_opensm(TWO_HOSTS, "H1", &config)
}

/// What saquery prints of the path from H1 to H2.
fn ask(served: &Served, more: &[&str]) -> std::io::Result<String> {
    let arguments = [&["PR", "--slid", "1", "--dlid", "3"], more].concat();
    served.fabric.saquery("H2", &arguments)
}

#[test]
fn without_a_snapshot_queries_are_dropped_and_counted_until_the_fabric_file_comes() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut bed = served("")?;
    let silence = ask(&bed, &["--timeout", "300"]).unwrap_err().to_string();
    ensure!(silence.contains("timed out"), "{silence}");
    let counters = bed.daemon.counters()?;
    ensure!(count(&counters, "dropped=not_ready:")? >= 1, "{counters}");
    ensure!(
        count(&counters, "answered=")? == 0 && count(&counters, "epoch=")? == 0,
        "{counters}"
    );
    ensure!(bed.daemon.printed().is_empty(), "{}", bed.daemon.printed());

    bed.provide_fabric()?;
    ensure!(bed.daemon.next_epoch("ready")? == 1);
    bed.daemon.wait_logged("cause=\"retry\"")?;
    let printed = ask(&bed, &[])?;
    let answers = records(&printed);
    ensure!(
        answers.len() == 1 && answers[0].get("dlid") == Some("3"),
        "{printed}"
    );
    ensure!(count(&bed.daemon.counters()?, "answered=")? >= 1);
    Ok(())
}

#[test]
fn sighup_loads_and_other_attributes_get_an_answer() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut bed = served("")?;
    bed.provide_fabric()?;
    bed.daemon.signal("HUP")?;
    // The retry may come first; the signal loads all the same.
    bed.daemon.wait_logged("cause=\"SIGHUP\"")?;
    ensure!(bed.daemon.next_epoch("ready")? == 1);

    class_port_info(&bed, "0x0000B5EA")?;
    let node = bed.fabric.saquery("H2", &["NR", "1"])?;
    ensure!(node.contains("H1") && node.contains("NodeRecord"), "{node}");
    let refused = bed.fabric.saquery("H2", &["SR"]).unwrap_err().to_string();
    ensure!(
        refused.contains("0x000c"),
        "method or attribute not supported: {refused}"
    );
    let counters = bed.daemon.counters()?;
    ensure!(count(&counters, "punted=attribute:")? >= 2, "{counters}");
    Ok(())
}

#[test]
fn without_qos_class_port_info_says_so() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut bed = served("qos = false\n")?;
    bed.provide_fabric()?;
    ensure!(bed.daemon.next_epoch("ready")? == 1);
    class_port_info(&bed, "0x0000B5E8")
}

/// As OpenSM 3.3 says it, but for the second mask.
fn class_port_info(bed: &Served, second_mask: &str) -> Result<()> {
    let printed = bed.fabric.saquery("H2", &["-c"])?;
    let got: Vec<(&str, &str)> = printed
        .lines()
        .filter_map(|line| line.trim().split_once(".."))
        .map(|(name, value)| (name, value.trim_start_matches('.')))
        .collect();
    let expected = [
        ("Base version", "1"),
        ("Class version", "2"),
        ("Capability mask", "0x2602"),
        ("Capability mask 2", second_mask),
        ("Response time value", "0x10"),
        ("Redirect GID", "::"),
        ("Redirect TC/SL/FL", "0x00000000"),
        ("Redirect LID", "0"),
        ("Redirect PKey", "0x0000"),
        ("Redirect QP", "0x00000001"),
        ("Redirect QKey", "0x80010000"),
        ("Trap GID", "::"),
        ("Trap TC/SL/FL", "0x00000000"),
        ("Trap LID", "0"),
        ("Trap PKey", "0x0000"),
        ("Trap HL/QP", "0x00000000"),
        ("Trap QKey", "0x80010000"),
    ];
    ensure!(got == expected, "{got:#?}");
    Ok(())
}
