//! Spaces of service ids: who hands them out, and how ports become ids.
//!
//! ```text
//! 00 00 00 00 01 06 11 44      first byte: who assigns; RDMA CM: space << 16 | port
//! 10 00 00 00 00 aa bb cc      connected-mode IPoIB: IETF's byte and a queue pair number
//! 02 ..                        a host's own choice
//! ```
//!
//! RDMA CM makes ids of ports so that TCP's port numbers can be used; the space keeps a port of TCP
//! apart from the same port of UDP. Which space a program uses is in its source, seldom in its
//! manual: `docs/ulps.md` says where each was found.

use std::fmt;

use sa_wire::ServiceId;

/// A port space of the RDMA CM. Its ids are the space's code, then the port.
/// Two programs may use one port number in two spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PortSpace {
    /// Sockets Direct Protocol, which left the kernel.
    Sdp,
    /// Datagrams to IPoIB's multicast groups.
    Ipoib,
    /// Reliable connections; most ULPs.
    Tcp,
    /// Datagrams of the RDMA CM.
    Udp,
    /// Ids of the program's own choice; those it does not choose are of this form.
    Ib,
}

impl PortSpace {
    /// All of them, by ascending code.
    pub const ALL: [Self; 5] = [Self::Sdp, Self::Ipoib, Self::Tcp, Self::Udp, Self::Ib];

    /// The number that the RDMA CM has for it. Source: Linux `enum rdma_ucm_port_space`; SDP's
    /// left the kernel with SDP.
    pub const fn code(self) -> u16 {
        match self {
            Self::Sdp => 0x0001,
            Self::Ipoib => 0x0002,
            Self::Tcp => 0x0106,
            Self::Udp => 0x0111,
            Self::Ib => 0x013f,
        }
    }

    /// The name of all its ids in [`UlpNames`](super::UlpNames).
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sdp => "sdp",
            Self::Ipoib => "rdma-ipoib",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Ib => "ib",
        }
    }

    /// The id of a port.
    pub fn service_id(self, port: u16) -> ServiceId {
        ServiceId(self.first() + u64::from(port))
    }

    /// First and last id.
    pub fn range(self) -> (u64, u64) {
        (self.first(), self.first() + u64::from(u16::MAX))
    }

    /// The space that an id is in, and the port.
    /// None for ids of no space, such as an SRP target's.
    pub fn of(id: ServiceId) -> Option<(Self, u16)> {
        let port = u16::try_from(id.0 & 0xffff).ok()?;
        let space = Self::ALL
            .into_iter()
            .find(|space| space.first() == id.0 & !0xffff);
        space.map(|space| (space, port))
    }

    /// The id of port 0.
    fn first(self) -> u64 {
        u64::from(self.code()) << 16
    }
}

impl fmt::Display for PortSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Who hands out the ids with this first byte.
/// By the first byte alone; says nothing about who uses the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Assigner {
    /// The InfiniBand Trade Association: 0x00.
    Ibta,
    /// An organisation that has its own identifier behind the first byte: 0x01.
    External,
    /// The host itself: 0x02. Source: Linux `IB_CM_ASSIGN_SERVICE_ID`.
    Local,
    /// The IETF: 0x10. Source: Linux `IPOIB_CM_IETF_ID`.
    Ietf,
}

impl Assigner {
    /// None for a first byte that nobody has.
    pub const fn of(id: ServiceId) -> Option<Self> {
        match id.0.to_be_bytes()[0] {
            0x00 => Some(Self::Ibta),
            0x01 => Some(Self::External),
            0x02 => Some(Self::Local),
            0x10 => Some(Self::Ietf),
            _ => None,
        }
    }
}

impl fmt::Display for Assigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ibta => "IBTA's space",
            Self::External => "another organisation's space",
            Self::Local => "assigned by its host",
            Self::Ietf => "IETF's space",
        })
    }
}

/// The id that connected-mode IPoIB listens on, by the queue pair of its datagrams. None for a
/// number over 24 bits. Source: Linux `ipoib_cm.c`.
pub fn ipoib_cm(qpn: u32) -> Option<ServiceId> {
    let qpn = u64::from(qpn);
    (qpn <= LAST_QPN).then_some(ServiceId(IPOIB_CM + qpn))
}

/// The queue pair of an id of connected-mode IPoIB.
pub fn ipoib_cm_qpn(id: ServiceId) -> Option<u32> {
    let qpn = id.0.checked_sub(IPOIB_CM)?;
    u32::try_from(qpn)
        .ok()
        .filter(|qpn| u64::from(*qpn) <= LAST_QPN)
}

/// Ids of connected-mode IPoIB begin here.
pub(super) const IPOIB_CM: u64 = 0x1000_0000_0000_0000;
/// Queue pair numbers have 24 bits.
pub(super) const LAST_QPN: u64 = 0xff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_become_ids_and_come_back() {
        for space in PortSpace::ALL {
            for port in [0, 1, 20049, u16::MAX] {
                let id = space.service_id(port);
                assert_eq!(PortSpace::of(id), Some((space, port)));
                assert_eq!(id.0, u64::from(space.code()) << 16 | u64::from(port));
            }
            let (first, last) = space.range();
            assert_eq!(PortSpace::of(ServiceId(first)), Some((space, 0)));
            assert_eq!(PortSpace::of(ServiceId(last)), Some((space, u16::MAX)));
        }
        assert_eq!(PortSpace::Tcp.service_id(20049).0, 0x106_4e51);
        for outside in [0, 0xffff, 0x3_0000, 0x105_ffff, 0x107_0000, 0x1_0106_0000] {
            assert_eq!(PortSpace::of(ServiceId(outside)), None, "{outside:#x}");
        }
    }

    #[test]
    fn queue_pairs_become_ids_and_come_back() {
        for qpn in [0, 0x48, 0xff_ffff] {
            assert_eq!(ipoib_cm(qpn).and_then(ipoib_cm_qpn), Some(qpn));
        }
        assert_eq!(ipoib_cm(0x48), Some(ServiceId(0x1000_0000_0000_0048)));
        assert_eq!(ipoib_cm(0x100_0000), None);
        assert_eq!(ipoib_cm_qpn(ServiceId(0x1000_0000_0100_0000)), None);
        assert_eq!(ipoib_cm_qpn(ServiceId(0x0fff_ffff_ffff_ffff)), None);
    }

    #[test]
    fn first_bytes_tell_who_assigns() {
        for (byte, assigner) in [
            (0x00, Some(Assigner::Ibta)),
            (0x01, Some(Assigner::External)),
            (0x02, Some(Assigner::Local)),
            (0x03, None),
            (0x10, Some(Assigner::Ietf)),
            (0xff, None),
        ] {
            assert_eq!(Assigner::of(ServiceId(byte << 56 | 5)), assigner);
        }
    }
}
