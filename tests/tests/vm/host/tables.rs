//! Whole tables of every kind, PathRecords and MultiPathRecords, from OpenSM and from the daemon
//! beside it; then what the same VM is good for.

use anyhow::{Result, ensure};

use super::vm::{LIMIT, Left, Vm, checks};

/// An irregular fabric with partitions, a policy, LMC 1 and a router. Then saquery's lists, for
/// which the daemon takes OpenSM's place.
pub(super) fn equal_opensms() -> Result<String> {
    let net = checks("tables/fabric.net").display().to_string();
    let options = opensm_options();
    let vm = Vm {
        options: &[
            "-f",
            &net,
            "-n",
            "H1,H2,H5,H6",
            "-O",
            &options,
            "-c",
            "1",
            "-t",
            LIMIT,
        ],
        script: "tables.sh saquery.sh",
        variables: &[("ROLE", "test"), ("STATE", "1"), WIRE],
    };
    let left = vm.run()?;
    let compared = judge(&left, 2000)?;
    let queries = super::saquery::prints_the_same(&left)?;
    Ok(format!("{compared}{queries}"))
}

/// What the HCAs of the VM say to each other on QP 1 does not go through the simulator.
pub(super) const WIRE: (&str, &str) = ("SOFTIB_MOD_ARGS", "direct_gmp=1");

/// Of OpenSM on that fabric, with the dumps that the daemon reads.
fn opensm_options() -> String {
    format!(
        "-D 0x43 -F {} -P {} -Y {}",
        checks("tables/opensm.conf").display(),
        checks("tables/partitions.conf").display(),
        checks("tables/qos-policy.conf").display()
    )
}

/// First the fabric is read from OpenSM alone.
pub(super) fn of_a_torus() -> Result<String> {
    let vm = Vm {
        options: &["-T", "4,3,2", "-O", "-D 0x43", "-c", "1", "-t", LIMIT],
        script: "live.sh tables.sh",
        variables: &[("ENGINE", "torus-2QoS"), WIRE],
    };
    let left = vm.run()?;
    let read = super::live::reads_as_dumped(&left, &["opensm-sl2vl.dump"], TABLES)?;
    let compared = judge(&left, 1000)?;
    Ok(format!("{read}{compared}"))
}

/// All attributes were found, and nothing differed.
pub(super) fn judge(left: &Left, least: u64) -> Result<String> {
    ensure!(left.result("differences")? == 0);
    let (paths, multi) = (left.result("0x0035")?, left.result("0x003a")?);
    ensure!(
        paths + multi >= least,
        "{paths} and {multi} requests for paths"
    );
    for attribute in [
        "0x0011", "0x0012", "0x0013", "0x0014", "0x0015", "0x0018", "0x0020", "0x0030", "0x0033",
        "0x0036", "0x0035", "0x003a", "0x0001",
    ] {
        ensure!(
            left.result(&format!("{attribute}.found"))? > 0,
            "no {attribute} found"
        );
    }
    Ok(left.lines("compared"))
}

/// Checks of tables.sh: one for each kind of record.
const TABLES: usize = 9;
