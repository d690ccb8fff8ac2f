//! Who else answers this host's kernel: whoever replies first is believed.
//!
//! The kernel lists all netlink sockets in `/proc/net/netlink`, with the groups that each has
//! joined:
//!
//! ```text
//!  sk               Eth Pid        Groups   Rmem ...
//!  00000000a6f4a3e8 20  4321       00000004 0    ...
//! ```
//!
//! Protocol 20 is NETLINK_RDMA, and the mask 4 the group of the local service. The usual find is
//! ibacm, whose socket unit makes systemd listen even while no ibacm runs. We warn and go on: two
//! agents with one policy do no harm, and to refuse would leave the kernel to the other alone.

use sa_wire::netlink_ls::{GROUP_MASK, PROTOCOL};

/// Another socket in the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Its netlink address. The first socket of a process has the process' number, later ones some
    /// other number.
    pub port_id: u32,
    /// The program of that process, from `/proc/PID/comm`. None where no process has the number.
    pub program: Option<String>,
}

impl core::fmt::Display for Listener {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { port_id, program } = self;
        match program {
            Some(program) => write!(f, "{program} (process {port_id})"),
            None => write!(f, "the socket with netlink address {port_id}"),
        }
    }
}

/// The listeners but for `own`. None where the kernel does not tell: without `/proc`, for example.
pub fn listeners(own: Option<u32>) -> Option<Vec<Listener>> {
    let table = std::fs::read_to_string("/proc/net/netlink").ok()?;
    let others = addresses(&table).filter(|address| Some(*address) != own);
    let listener = |port_id| Listener {
        port_id,
        program: std::fs::read_to_string(format!("/proc/{port_id}/comm"))
            .ok()
            .map(|name| name.trim().to_owned()),
    };
    Some(others.map(listener).collect())
}

/// Addresses of the sockets in the group. Shape of the table: `sk Eth Pid Groups ..`, the groups in
/// hexadecimal digits. A line that cannot be read is skipped: a warning is all that depends on it.
fn addresses(table: &str) -> impl Iterator<Item = u32> {
    table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let protocol: i32 = words.next()?.parse().ok()?;
        let address: u32 = words.next()?.parse().ok()?;
        let groups = u32::from_str_radix(words.next()?, 16).ok()?;
        (protocol == PROTOCOL && groups & GROUP_MASK != 0).then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_in_the_group_count() {
        let table = "\
sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode
00000000a6f4a3e8 0   1234       00000551 0        0        0     2        0        1
00000000a6f4a3e8 20  0          00000000 0        0        0     2        0        2
00000000a6f4a3e8 20  4321       00000004 0        0        0     2        0        3
00000000a6f4a3e8 20  77         00000001 0        0        0     2        0        4
short
00000000a6f4a3e8 20  4294963199 00000005 0        0        0     2        0        5
";
        assert_eq!(addresses(table).collect::<Vec<_>>(), [4321, 4_294_963_199]);
    }
}
