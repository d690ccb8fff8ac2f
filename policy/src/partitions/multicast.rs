//! Multicast groups that partitions create. Source: OpenSM `osm_prtn_config.c`,
//! `osm_sa_mcmember_record.c`.
//!
//! OpenSM makes an IPv4 broadcast group for each partition with `ipoib`, and the groups that are listed with
//! an address. IP groups only exist beside the broadcast group of their partition; addresses have the
//! partition's P_Key in them, which is filled in.
//!
//! ```text
//! partition 0x0123 with ipoib    ff12:401b:8123::ffff:ffff     scope 2, signature IPv4, P_Key
//! mgid=ff12:401b::1 in it        ff12:401b:8123::1             P_Key filled in
//! mgid=ff12:601b::1, mtu=5       nothing, if the partition's mtu is another
//! ```
//!
//! Groups that clients make are not here: these are only those that stand as soon as the SM does.
//! An answer for a path to a group takes its SL, MTU and rate from this list.

use sa_wire::{Gid, Mtu, Pkey, Rate, Sl};

use super::PartitionOptions;
use super::config::{Item, PartitionsConfig, Statement};
use super::flags::GroupFlags;

/// A multicast group as the SM creates it.
/// Known without any member: who joins gets these values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MulticastGroup {
    /// Its address, with scope and, for IP, the P_Key in it.
    /// Unique among the groups of a file.
    pub mgid: Gid,
    /// Base of its partition; the group's P_Key has the full-membership bit.
    pub base: u16,
    /// MTU of its packets.
    pub mtu: Mtu,
    /// Rate that members have to keep up with.
    pub rate: Rate,
    /// Service level of its packets.
    /// The group's own, else its statement's, which is 0 with QoS off.
    pub sl: Sl,
    /// Q_Key that its packets carry.
    pub q_key: u32,
    /// Traffic class of its packets.
    pub tclass: u8,
    /// Flow label of its packets, 20 bits.
    pub flow_label: u32,
    /// Scope, 2 for link-local.
    pub scope: u8,
    /// 0 for link-local groups, else 255.
    pub hop_limit: u8,
}

/// The groups of a file in the order of creation. Of two with the same address the first stays.
/// For all partitions, with members or without.
pub(super) fn groups(config: &PartitionsConfig, options: PartitionOptions) -> Vec<MulticastGroup> {
    let mut maker = Maker { made: Vec::new() };
    for statement in &config.statements {
        let base = config.partitions[usize::from(statement.partition)].base;
        let sl = if options.qos {
            statement.sl
        } else {
            Sl::default()
        };
        if statement.ipoib {
            // Before the groups that are listed: those of IP need it.
            maker.make(broadcast_gid(base), base, sl, &broadcast_flags(statement));
        }
        for item in &statement.items {
            if let Item::Group { mgid, flags } = &item.value {
                maker.listed(*mgid, base, flags.sl.unwrap_or(sl), flags, &statement.flags);
            }
        }
    }
    maker.made
}

/// The group that the SM makes without a file.
pub(super) fn default_broadcast() -> MulticastGroup {
    MulticastGroup {
        mgid: broadcast_gid(0x7fff),
        base: 0x7fff,
        mtu: Mtu::M2048,
        rate: RATE_10,
        sl: Sl::default(),
        q_key: IPOIB_Q_KEY,
        tclass: 0,
        flow_label: 0,
        scope: LINK_LOCAL,
        hop_limit: 0,
    }
}

/// 10 Gb/s: four lanes of SDR, which OpenSM takes where nothing is said.
const RATE_10: Rate = match Rate::from_code(3) {
    Ok(rate) => rate,
    Err(_) => Rate::SDR_1X,
};
/// What OpenSM gives the groups of IP; IPoIB needs one and the same.
const IPOIB_Q_KEY: u32 = 0x0b1b;
/// The scope of groups that stay in their subnet.
const LINK_LOCAL: u8 = 2;
/// Signature in the addresses of IPv4's groups.
const IPV4: u16 = 0x401b;
/// Signature in the addresses of IPv6's groups.
const IPV6: u16 = 0x601b;
/// Addresses that an SA gives out.
const SA_ASSIGNED: u16 = 0xa01b;

/// The address of all IPv4 hosts in a partition.
/// With the full-membership bit in the key, as IPoIB writes it.
fn broadcast_gid(base: u16) -> Gid {
    let [high, low] = (base | Pkey::FULL_BIT).to_be_bytes();
    Gid([
        0xff, 0x12, 0x40, 0x1b, high, low, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
    ])
}

/// The scope flag does not reach the broadcast group.
fn broadcast_flags(statement: &Statement) -> GroupFlags {
    GroupFlags {
        q_key: default_q_key(statement.flags.q_key),
        scopes: 0,
        ..statement.flags
    }
}

/// 0 asks for IPoIB's own.
/// Members with another key would not hear each other.
const fn default_q_key(given: u32) -> u32 {
    if given == 0 { IPOIB_Q_KEY } else { given }
}

/// Groups made so far: whether another is made depends on them.
/// Looks through what was made for each new group; files list few.
struct Maker {
    /// In the order of creation, as MLIDs are given out in it.
    made: Vec<MulticastGroup>,
}

impl Maker {
    /// A group that is listed with its address; IP groups are made to fit their partition.
    fn listed(
        &mut self,
        mut mgid: Gid,
        base: u16,
        sl: Sl,
        flags: &GroupFlags,
        of_statement: &GroupFlags,
    ) {
        let mut flags = *flags;
        if is_ip(&mgid) {
            // OpenSM passes over an IP group that differs from its broadcast group in either.
            let alike = flags.rate == of_statement.rate && flags.mtu == of_statement.mtu;
            if !alike || !key_fits(&mgid, base) {
                return;
            }
            mgid.0[4..6].copy_from_slice(&(base | Pkey::FULL_BIT).to_be_bytes());
            flags.q_key = default_q_key(flags.q_key);
        }
        if !self.exists(&mgid) {
            self.make(mgid, base, sl, &flags);
        }
    }

    /// True when a group has this address.
    fn exists(&self, mgid: &Gid) -> bool {
        self.made.iter().any(|group| group.mgid == *mgid)
    }

    /// One group for each scope asked for, or one of link-local scope.
    fn make(&mut self, mgid: Gid, base: u16, sl: Sl, flags: &GroupFlags) {
        let scopes = if flags.scopes == 0 {
            1 << LINK_LOCAL
        } else {
            flags.scopes
        };
        for scope in (0..16).filter(|scope| scopes >> scope & 1 == 1) {
            let mut mgid = mgid;
            // The lower half of the second byte; flags in the upper half stay.
            mgid.0[1] = mgid.0[1] & 0xf0 | scope;
            if !self.exists(&mgid) && self.allowed(&mgid) {
                self.made.extend(group(mgid, base, sl, scope, flags));
            }
        }
    }

    /// An IP group needs the broadcast group of its partition and scope; others need an address
    /// that may be chosen.
    fn allowed(&self, mgid: &Gid) -> bool {
        if !is_ip(mgid) {
            let link_local = mgid.0[1] & 0xf == LINK_LOCAL;
            // Flag bits that are reserved, and addresses that an SA gives out itself, are refused.
            return mgid.0[1] & 0xe0 == 0 && !(signature(mgid) == SA_ASSIGNED && link_local);
        }
        let mut broadcast = broadcast_gid(0);
        broadcast.0[1] = broadcast.0[1] & 0xf0 | mgid.0[1] & 0x0f;
        broadcast.0[4..6].copy_from_slice(&mgid.0[4..6]);
        broadcast == *mgid || self.exists(&broadcast)
    }
}

/// None when MTU or rate are none.
fn group(mgid: Gid, base: u16, sl: Sl, scope: u8, flags: &GroupFlags) -> Option<MulticastGroup> {
    Some(MulticastGroup {
        mgid,
        base,
        mtu: Mtu::from_code(flags.mtu.to_le_bytes()[0]).ok()?,
        rate: Rate::from_code(flags.rate.to_le_bytes()[0]).ok()?,
        sl,
        q_key: flags.q_key,
        tclass: flags.tclass,
        flow_label: flags.flow_label,
        scope,
        // Packets of wider groups may pass routers.
        hop_limit: if scope == LINK_LOCAL { 0 } else { 255 },
    })
}

/// Which protocol the address belongs to.
const fn signature(mgid: &Gid) -> u16 {
    u16::from_be_bytes([mgid.0[2], mgid.0[3]])
}

/// True for addresses of IPv4 and IPv6.
const fn is_ip(mgid: &Gid) -> bool {
    matches!(signature(mgid), IPV4 | IPV6)
}

/// The P_Key in the address is the partition's, is left to fill in, or the address is the
/// pattern of all broadcast addresses.
fn key_fits(mgid: &Gid, base: u16) -> bool {
    let key = u16::from_be_bytes([mgid.0[4], mgid.0[5]]);
    key == 0 || key == base | Pkey::FULL_BIT || *mgid == broadcast_gid(0x7fff)
}
