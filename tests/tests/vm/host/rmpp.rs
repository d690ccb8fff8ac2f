//! What RMPP against the kernel's, both ways, takes.

use std::fmt::Write;

/// Hosts on a chain of switches: more than 5,000 pairs, and soon set up.
pub(super) fn many_hosts() -> String {
    let mut net = String::new();
    for switch in 1..=SWITCHES {
        let _ = writeln!(
            net,
            "switchguid={:#x}\nSwitch 36 \"S{switch}\"",
            0x20_0000 + switch
        );
        for port in 1..=HOSTS {
            let _ = writeln!(net, "[{port}] \"H{switch}_{port}\"[1]");
        }
        if switch > 1 {
            let _ = writeln!(net, "[35] \"S{}\"[36]", switch - 1);
        }
        if switch < SWITCHES {
            let _ = writeln!(net, "[36] \"S{}\"[35]", switch + 1);
        }
        net.push('\n');
    }
    for switch in 1..=SWITCHES {
        for port in 1..=HOSTS {
            let guid = 0x10_0000 + 0x1000 * switch + 0x10 * port;
            let _ = writeln!(
                net,
                "caguid={guid:#x}\nHca 1 \"H{switch}_{port}\"\n[1] \"S{switch}\"[{port}]\n"
            );
        }
    }
    net
}

const SWITCHES: u32 = 3;
/// On each.
const HOSTS: u32 = 24;
/// 5 ways out, 3 ends of a transfer, 4 ways in, an ABORT, OpenSM's table.
pub(super) const CHECKS: usize = 14;
