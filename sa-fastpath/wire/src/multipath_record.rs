//! MultiPathRecord: a request for paths between several sources and destinations.
//!
//! Source: IBA vol. 1, 15.2.5.20; OpenSM `osm_sa_multipath_record.c` for limits and clamping.

use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::comp_mask::comp_mask;
use crate::ids::{Gid, ServiceId};
use crate::mad::DecodeError;
use crate::path_record::{
    FlowWord, NumbPathByte, PathCompMask, PathRecord, QosClassSl, SelectedValue,
};

/// The most GIDs in a request, sources and destinations together: what fits one segment behind
/// the fixed part.
pub const MAX_GIDS: usize = 11;

/// The fixed part, before the GIDs.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct MultiPathRecord {
    /// RawTraffic, FlowLabel, HopLimit in one word.
    pub flow: FlowWord,
    /// TClass, for policies that ask for it.
    pub tclass: u8,
    /// Reversible and NumbPath, the most paths wanted in all.
    pub numb_path: NumbPathByte,
    /// P_Key, raw: counts only where its component is in the mask.
    pub pkey: U16,
    /// QoSClass (12 bits) and SL (4 bits).
    pub qos_class_sl: QosClassSl,
    /// MTU and its selector.
    pub mtu: SelectedValue,
    /// Rate and its selector.
    pub rate: SelectedValue,
    /// PacketLifeTime and its selector.
    pub packet_life: SelectedValue,
    /// Bits 63 to 56 of ServiceID.
    pub service_id_msb: u8,
    /// IndependenceSelector (bits 7 and 6), rest reserved.
    pub independence: u8,
    /// How many SGIDs follow.
    pub sgid_count: u8,
    /// How many DGIDs follow these.
    pub dgid_count: u8,
    /// Bits 55 to 0 of ServiceID.
    pub service_id_lsb: [u8; 7],
}

impl MultiPathRecord {
    /// The fixed part, before the GIDs. Units: bytes.
    pub const SIZE: usize = size_of::<Self>();

    /// IndependenceSelector, 0 to 3.
    pub const fn independence_selector(&self) -> u8 {
        self.independence >> 6
    }

    /// ServiceID, from its two places.
    pub const fn service_id(&self) -> ServiceId {
        // In two places on the wire: a byte before the counts, seven behind them.
        let [b, c, d, e, f, g, h] = self.service_id_lsb;
        ServiceId(u64::from_be_bytes([
            self.service_id_msb,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
        ]))
    }

    /// What it says of each path, in the places of a PathRecord; the ends are left out.
    pub fn path_components(&self) -> PathRecord {
        PathRecord {
            // Ends stay zero: they come from the lists of GIDs, pair by pair.
            service_id: self.service_id().0.into(),
            flow: self.flow,
            tclass: self.tclass,
            numb_path: self.numb_path,
            pkey: self.pkey,
            qos_class_sl: self.qos_class_sl,
            mtu: self.mtu,
            rate: self.rate,
            packet_life: self.packet_life,
            ..PathRecord::default()
        }
    }

    /// Writes ServiceID to its two places.
    pub const fn set_service_id(&mut self, id: ServiceId) {
        let [a, lsb @ ..] = id.0.to_be_bytes();
        self.service_id_msb = a;
        self.service_id_lsb = lsb;
    }
}

/// A request as received: the fixed part, and the bytes behind it, which may be any number.
#[derive(Debug, Clone, Copy)]
pub struct MultiPathRequest<'a> {
    /// The fixed part of the request, in place.
    pub record: &'a MultiPathRecord,
    tail: &'a [u8],
}

impl<'a> MultiPathRequest<'a> {
    /// Splits attribute data. `data` ends where the received bytes end.
    /// Errors: [`DecodeError::TooShort`] without a whole fixed part.
    pub fn parse(data: &'a [u8]) -> Result<Self, DecodeError> {
        // Bytes behind the fixed part may be any number; how many GIDs they are is asked later.
        match MultiPathRecord::ref_from_prefix(data) {
            Ok((record, tail)) => Ok(Self { record, tail }),
            Err(_) => Err(DecodeError::TooShort {
                have: data.len(),
                need: MultiPathRecord::SIZE,
            }),
        }
    }

    /// The counts that hold: SGIDCount up to [`MAX_GIDS`], DGIDCount up to what is left, as
    /// OpenSM reads them. Either may be zero, which the request's answerer must refuse.
    /// Errors: [`DecodeError::CountsNotInMask`].
    pub fn counts(&self, mask: MultiPathCompMask) -> Result<(usize, usize), DecodeError> {
        // Both or none: OpenSM refuses one count without the other.
        if !mask.has_all(MultiPathCompMask::COUNTS) {
            return Err(DecodeError::CountsNotInMask);
        }
        // Clamped as OpenSM does it: sources first, destinations what is left of eleven.
        let sources = usize::from(self.record.sgid_count).min(MAX_GIDS);
        let destinations = usize::from(self.record.dgid_count).min(MAX_GIDS - sources);
        Ok((sources, destinations))
    }

    /// The GIDs, from the received bytes only.
    /// Errors: those of [`Self::counts`]; [`DecodeError::GidsCutOff`] when fewer were received.
    pub fn gids(&self, mask: MultiPathCompMask) -> Result<GidLists<'a>, DecodeError> {
        let (sources, destinations) = self.counts(mask)?;
        // Whole GIDs only; a cut one at the end is nobody's.
        let (present, _) = self.tail.as_chunks::<16>();
        let cut_off = DecodeError::GidsCutOff {
            promised: sources + destinations,
            present: present.len(),
        };
        let (sgids, rest) = present.split_at_checked(sources).ok_or(cut_off)?;
        let dgids = rest.get(..destinations).ok_or(cut_off)?;
        Ok(GidLists { sgids, dgids })
    }
}

/// The GIDs of a request, [`MAX_GIDS`] at most; duplicates are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GidLists<'a> {
    /// Sources in the order of the request, possibly none. Shape: wire bytes.
    pub sgids: &'a [[u8; 16]],
    /// Destinations in the order of the request, possibly none. Shape: wire bytes.
    pub dgids: &'a [[u8; 16]],
}

/// Writes a request: the fixed part with both counts set from the lists, then the GIDs.
/// Gives the bytes written; the component mask is the caller's.
/// Errors: [`DecodeError::TooManyGids`] over [`MAX_GIDS`]; [`DecodeError::TooShort`] when `out`
/// has no room. `out` is untouched then.
pub fn encode(
    record: &MultiPathRecord,
    sgids: &[Gid],
    dgids: &[Gid],
    out: &mut [u8],
) -> Result<usize, DecodeError> {
    // Saturating, as lengths of slices of a caller's may be anything.
    let total = sgids.len().saturating_add(dgids.len());
    let (Ok(sgid_count), Ok(dgid_count), true) = (
        u8::try_from(sgids.len()),
        u8::try_from(dgids.len()),
        total <= MAX_GIDS,
    ) else {
        return Err(DecodeError::TooManyGids {
            count: total,
            most: MAX_GIDS,
        });
    };
    let need = MultiPathRecord::SIZE + total * 16;
    let have = out.len();
    // All room is checked before anything is written, so that an error leaves `out` as it was.
    let Some((fixed, slots)) = out
        .get_mut(..need)
        .and_then(|bytes| bytes.split_at_mut_checked(MultiPathRecord::SIZE))
    else {
        return Err(DecodeError::TooShort { have, need });
    };
    let counted = MultiPathRecord {
        sgid_count,
        dgid_count,
        ..*record
    };
    fixed.copy_from_slice(counted.as_bytes());
    let (slots, _) = slots.as_chunks_mut::<16>();
    for (slot, gid) in slots.iter_mut().zip(sgids.iter().chain(dgids)) {
        *slot = gid.0;
    }
    Ok(need)
}

/// Which components of a MultiPathRecord count in a request. Bits that no constant names are
/// ignored by OpenSM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MultiPathCompMask(pub u64);

impl MultiPathCompMask {
    /// RawTraffic: packets without P_Key.
    pub const RAW_TRAFFIC: Self = Self(1);
    /// FlowLabel of a global route header.
    pub const FLOW_LABEL: Self = Self(1 << 2);
    /// HopLimit of a global route header.
    pub const HOP_LIMIT: Self = Self(1 << 3);
    /// TClass of a global route header.
    pub const TCLASS: Self = Self(1 << 4);
    /// Reversible: only paths that work both ways.
    pub const REVERSIBLE: Self = Self(1 << 5);
    /// NumbPath: at most so many paths in all.
    pub const NUMB_PATH: Self = Self(1 << 6);
    /// P_Key that both ends must share.
    pub const PKEY: Self = Self(1 << 7);
    /// QoSClass that rules of a policy match.
    pub const QOS_CLASS: Self = Self(1 << 8);
    /// SL that each path must have.
    pub const SL: Self = Self(1 << 9);
    /// Selector of the MTU; counts together with it.
    pub const MTU_SELECTOR: Self = Self(1 << 10);
    /// MTU to compare with.
    pub const MTU: Self = Self(1 << 11);
    /// Selector of the rate; counts together with it.
    pub const RATE_SELECTOR: Self = Self(1 << 12);
    /// Rate to compare with.
    pub const RATE: Self = Self(1 << 13);
    /// Selector of the packet life time; counts together with it.
    pub const PACKET_LIFE_SELECTOR: Self = Self(1 << 14);
    /// Packet life time to compare with.
    pub const PACKET_LIFE: Self = Self(1 << 15);
    /// The upper 8 bits of ServiceID.
    pub const SERVICE_ID_MSB: Self = Self(1 << 16);
    /// IndependenceSelector: paths that share no links; not heeded here.
    pub const INDEPENDENCE_SELECTOR: Self = Self(1 << 17);
    /// SGIDCount; a request without it is refused.
    pub const SGID_COUNT: Self = Self(1 << 19);
    /// DGIDCount; a request without it is refused.
    pub const DGID_COUNT: Self = Self(1 << 20);
    /// The lower 56 bits of ServiceID.
    pub const SERVICE_ID_LSB: Self = Self(1 << 21);

    /// Both halves of ServiceID; one without the other is an error.
    pub const SERVICE_ID: Self = Self::SERVICE_ID_MSB.union(Self::SERVICE_ID_LSB);
    /// MTU with its selector; one without the other is ignored.
    pub const MTU_PAIR: Self = Self::MTU_SELECTOR.union(Self::MTU);
    /// Rate with its selector; one without the other is ignored.
    pub const RATE_PAIR: Self = Self::RATE_SELECTOR.union(Self::RATE);
    /// PacketLifeTime with its selector; one without the other is ignored.
    pub const PACKET_LIFE_PAIR: Self = Self::PACKET_LIFE_SELECTOR.union(Self::PACKET_LIFE);
    /// Both counts; a request without either is refused.
    pub const COUNTS: Self = Self::SGID_COUNT.union(Self::DGID_COUNT);

    /// The same components by the bits of a PathRecord; what PathRecord does not have is left out.
    pub const fn path_components(self) -> PathCompMask {
        // RawTraffic to PacketLifeTime stand in the same order in both.
        let mut found = PathCompMask((self.0 & COMMON) << COMMON_SHIFT);
        // Bit by bit, as both halves have other places in the two masks.
        if self.has(Self::SERVICE_ID_MSB) {
            found = found.union(PathCompMask::SERVICE_ID_MSB);
        }
        if self.has(Self::SERVICE_ID_LSB) {
            found = found.union(PathCompMask::SERVICE_ID_LSB);
        }
        found
    }
}

comp_mask!(MultiPathCompMask);

/// The components that PathRecord has too, ServiceID aside.
const COMMON: u64 = 0xffff & !(1 << 1);
/// How much further up PathRecord has them.
const COMMON_SHIFT: u32 = 6;

const _: () =
    assert!(MultiPathCompMask::RAW_TRAFFIC.0 << COMMON_SHIFT == PathCompMask::RAW_TRAFFIC.0);
const _: () = assert!(MultiPathCompMask::TCLASS.0 << COMMON_SHIFT == PathCompMask::TCLASS.0);
const _: () = assert!(MultiPathCompMask::SL.0 << COMMON_SHIFT == PathCompMask::SL.0);
const _: () =
    assert!(MultiPathCompMask::PACKET_LIFE.0 << COMMON_SHIFT == PathCompMask::PACKET_LIFE.0);
const _: () = assert!(size_of::<MultiPathRecord>() == 24);
const _: () = assert!(MultiPathRecord::SIZE + MAX_GIDS * 16 <= crate::sa::DATA_SIZE);
