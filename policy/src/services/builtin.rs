//! The names that are always there.
//!
//! What distributions and kernels use without being configured. A site whose services listen
//! elsewhere says so in a file of names. The order is that of listings: port spaces, services, then
//! what cannot be matched by id.
//!
//! ```text
//! a row       ("nfs", ["nfsordma", ..], "NFS over RDMA", Ports [20049])
//! becomes     name nfs, ids 0x1064e51, space tcp: so `nfs:2050` is port 2050 of the same space
//! ```

use super::names::{Meaning, Ulp};
use super::space::PortSpace;

/// A row of the table: name, other names, what it is, what its requests look like.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static str,
    Requests,
);

/// What the requests of a ULP look like.
/// A shorter form of [`Meaning`] for the table.
enum Requests {
    Space(PortSpace),
    /// Ports of the TCP port space, the usual one first.
    /// Only TCP's: no protocol of the table listens on RDMA CM's other spaces.
    Ports(&'static [u16]),
    QueuePairs,
    Partition,
    /// Nothing that could be written down once for all fabrics.
    Target,
    /// Asks without a service, or not at all.
    Silent,
}

/// Source of each number: `docs/ulps.md`.
/// Names and aliases differ throughout: the first that fits is taken.
const TABLE: &[Row] = &[
    (
        "sdp",
        &[],
        "Sockets Direct Protocol",
        Requests::Space(PortSpace::Sdp),
    ),
    (
        "tcp",
        &[],
        "RDMA CM connections",
        Requests::Space(PortSpace::Tcp),
    ),
    (
        "udp",
        &[],
        "RDMA CM datagrams",
        Requests::Space(PortSpace::Udp),
    ),
    (
        "ib",
        &[],
        "RDMA CM with InfiniBand addresses",
        Requests::Space(PortSpace::Ib),
    ),
    (
        "rdma-ipoib",
        &[],
        "RDMA CM datagrams to IPoIB groups",
        Requests::Space(PortSpace::Ipoib),
    ),
    (
        "iser",
        &["isert"],
        "iSCSI Extensions for RDMA",
        Requests::Ports(&[3260]),
    ),
    (
        "rds",
        &[],
        "Reliable Datagram Sockets",
        Requests::Ports(&[18634, 16385]),
    ),
    (
        "nfs",
        &["nfsordma", "nfs-rdma", "nfsrdma"],
        "NFS over RDMA",
        Requests::Ports(&[20049]),
    ),
    (
        "nvmeof",
        &["nvme", "nvmf", "nvme-rdma"],
        "NVMe over Fabrics",
        Requests::Ports(&[4420]),
    ),
    (
        "nvmeof-discovery",
        &["nvme-discovery"],
        "NVMe over Fabrics, discovery",
        Requests::Ports(&[8009]),
    ),
    (
        "lustre",
        &["o2iblnd", "o2ib"],
        "Lustre's o2iblnd",
        Requests::Ports(&[987]),
    ),
    (
        "smbd",
        &["smb-direct", "smbdirect"],
        "SMB Direct",
        Requests::Ports(&[445]),
    ),
    (
        "ipoib",
        &[],
        "IP over InfiniBand, by its partition",
        Requests::Partition,
    ),
    (
        "ipoib-cm",
        &[],
        "IP over InfiniBand, listening in connected mode",
        Requests::QueuePairs,
    ),
    ("srp", &[], "SCSI RDMA Protocol", Requests::Target),
    (
        "mpi",
        &[],
        "MPI without connection manager",
        Requests::Silent,
    ),
];

/// The table as it is looked up.
pub(super) fn entries() -> Vec<Ulp> {
    TABLE.iter().map(entry).collect()
}

/// A row as the table of names has it.
fn entry((name, aliases, title, requests): &Row) -> Ulp {
    Ulp {
        name: (*name).to_owned(),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        title: (*title).to_owned(),
        meaning: match requests {
            Requests::Space(space) => Meaning::Space(*space),
            Requests::Ports(ports) => of_ports(ports),
            Requests::QueuePairs => Meaning::QueuePairs,
            Requests::Partition => Meaning::Partition,
            Requests::Target => Meaning::Target,
            Requests::Silent => Meaning::Silent,
        },
    }
}

/// Ids of RDMA CM's TCP ports, which most ULPs listen on.
/// The first is what a request has unless it says otherwise.
fn of_ports(ports: &[u16]) -> Meaning {
    let ids = ports.iter().map(|port| PortSpace::Tcp.service_id(*port).0);
    Meaning::Ids {
        ids: ids.map(|id| (id, id)).collect(),
        space: Some(PortSpace::Tcp),
    }
}
