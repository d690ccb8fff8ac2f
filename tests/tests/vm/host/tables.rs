//! Whole tables of every kind, PathRecords and MultiPathRecords, from OpenSM and from the daemon
//! beside it.

use anyhow::{Result, ensure};

use super::vm::{LIMIT, Left, Vm, checks};

/// An irregular fabric with partitions, a policy, LMC 1 and a router.
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
        script: "tables.sh",
        variables: &[],
    };
    judge(&vm.run()?, 2000)
}

/// Of OpenSM on that fabric, with the dumps that the daemon reads.
pub(super) fn opensm_options() -> String {
    format!(
        "-D 0x43 -F {} -P {} -Y {}",
        checks("tables/opensm.conf").display(),
        checks("tables/partitions.conf").display(),
        checks("tables/qos-policy.conf").display()
    )
}

pub(super) fn of_a_torus() -> Result<String> {
    let vm = Vm {
        options: &["-T", "4,3,2", "-O", "-D 0x43", "-c", "1", "-t", LIMIT],
        script: "tables.sh",
        variables: &[],
    };
    judge(&vm.run()?, 1000)
}

fn judge(left: &Left, least: u64) -> Result<String> {
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
