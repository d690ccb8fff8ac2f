//! The umad port on a kernel.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::vm::{LIMIT, Vm};

/// RMPP against the kernel's, both ways; then what the port does with good and bad requests, and
/// with HCAs that come and go.
pub(super) fn serves() -> Result<String> {
    let scratch = tempfile::tempdir()?;
    let net = scratch.path().join("fabric.net");
    fs::write(&net, super::rmpp::many_hosts())?;
    let vm = Vm {
        options: &[
            "-f",
            net.to_str().context("a path")?,
            "-n",
            "H1_1,H2_1,H3_1,H1_2",
            "-O",
            "-D 0x43",
            "-t",
            LIMIT,
        ],
        script: "rmpp.sh umad.sh",
        variables: &[],
    };
    let left = vm.run()?;
    left.all_passed(super::rmpp::CHECKS + CHECKS)
}

/// What a query costs beside one that is only turned around. Counted, not timed.
pub(super) fn costs_little() -> Result<String> {
    let vm = Vm {
        options: &["-i", "-O", "-D 0x43", "-t", LIMIT],
        script: "umad-cost.sh",
        variables: &[("SOFTIB_MOD_ARGS", "direct_gmp=1")],
    };
    let left = vm.run()?;
    let mut said = String::new();
    for way in ["rw", "uring"] {
        for window in [1, 32] {
            let [ours, echo] = ["sapphired", "echo"].map(|name| {
                let all = left.result(&format!("{name}.{way}.{window}.all"))?;
                let own = left.result(&format!("{name}.{way}.{window}.own"))?;
                Ok::<_, anyhow::Error>([all, own])
            });
            let ([all, own], [echo_all, echo_own]) = (ours?, echo?);
            said += &format!(
                "     {way}, {window} in flight: {all} instructions a query, {own} of them the \
                 daemon's; turned around {echo_all}, {echo_own}\n"
            );
            ensure!(
                all * 100 <= echo_all * MOST_PER_CENT,
                "{said}more than {MOST_PER_CENT} % of a responder that only turns around"
            );
        }
    }
    Ok(said)
}

/// Get, GetTable, 1,000 in flight, transactions, a table asked for again and again, bad requests
/// and their count; two for each way to drive a port; duplicates, released methods; the daemon
/// whose HCA comes back; ways that serve, one line for the end of each, other handles, and ways that serve again.
const CHECKS: usize = 7 + 6 + 2 + 1 + 6;
/// Of its instructions.
const MOST_PER_CENT: u64 = 105;
