//! A request for paths as its component mask leaves it.
//!
//! Offsets are bytes of the record, bits those of its component mask (IBA volume 1, chapter 15).
//! Fields are read by hand and not through the structs of the wire crate, which the fast path uses:
//! a wrong offset there must not be wrong here as well.
//!
//! ```text
//!  PathRecord: 0 ServiceID 8 | 8 DGID 16 | 24 SGID 16 | 40 DLID | 42 SLID | 44 raw, label, hop
//! limit
//!    48 TClass | 49 reversible, NumbPath | 50 P_Key | 52 QoSClass, SL | 54 MTU | 55 rate | 56 life
//! ```

use policy::Query;
use sa_wire::mad::Status;
use sa_wire::sa::{DATA_SIZE, SaMad};
use sa_wire::{Gid, Selector, Sl};

/// How many records are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// The first.
    Get,
    /// All of them.
    GetTable,
    /// Some between several ports.
    GetMulti,
}

/// What is asked for; fields that the component mask leaves out are `None`.
///
/// One for both attributes; a MultiPathRecord's ends are filled in for each pair.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) service_id: Option<u64>,
    /// Any GID; whose it is shows later.
    pub(super) dgid: Option<Gid>,
    pub(super) sgid: Option<Gid>,
    pub(super) dlid: Option<u16>,
    pub(super) slid: Option<u16>,
    /// False where it is not asked about.
    pub(super) raw_traffic: bool,
    pub(super) tclass: Option<u8>,
    /// 20 bits.
    pub(super) flow_label: Option<u32>,
    /// Asking for paths that are *not* reversible is no wish at all.
    pub(super) must_be_reversible: bool,
    /// 7 bits; 0 is allowed and gives none.
    pub(super) numb_path: Option<u8>,
    /// With its membership bit, which comes back.
    pub(super) pkey: Option<u16>,
    /// 12 bits.
    pub(super) qos_class: Option<u16>,
    pub(super) sl: Option<Sl>,
    pub(super) mtu: Option<Wanted>,
    pub(super) rate: Option<Wanted>,
    pub(super) packet_life: Option<Wanted>,
}

/// Where a ServiceID is looked for.
///
/// By the policy's `service_id_encoding`; the standard one without a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceIdPlace {
    /// In the record, with a bit of the component mask for each half.
    BothHalves,
    /// In the record, with the upper half's bit for both.
    UpperHalf,
    /// As [`Self::BothHalves`], else in the SM_Key, where this stands.
    Key(Option<u64>),
}

/// A value and how it is meant.
///
/// Present only if the mask has both: one of them alone is ignored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) selector: Selector,
    /// 6 bits.
    pub(super) value: u8,
}

impl Request {
    /// A PathRecord request.
    ///
    /// Errors: the status for values that no path can have, whatever the selector, and for half a
    /// ServiceID, where both halves count.
    pub(super) fn decode(
        method: Method,
        mad: &SaMad,
        max_rate: u8,
        place: ServiceIdPlace,
    ) -> Result<Self, Status> {
        let data = Data::of(mad);
        let (rate, mtu) = (data.wanted(18, 55), data.wanted(16, 54));
        // Before the ServiceID, as OpenSM does.
        check_codes(rate, mtu, max_rate)?;
        let halves = (data.has(0), data.has(1));
        Ok(Self {
            method,
            service_id: service_id(place, halves, data.u64(0))?,
            dgid: data.field(2, data.gid(8)),
            sgid: data.field(3, data.gid(24)),
            dlid: data.field(4, data.u16(40)),
            slid: data.field(5, data.u16(42)),
            raw_traffic: data.has(6) && data.byte(44) & 0x80 != 0,
            tclass: data.field(10, data.byte(48)),
            flow_label: data.field(8, data.u32(44) >> 8 & 0xf_ffff),
            must_be_reversible: data.has(11) && data.byte(49) & 0x80 != 0,
            numb_path: data.field(12, data.byte(49) & 0x7f),
            pkey: data.field(13, data.u16(50)),
            qos_class: data.field(14, data.u16(52) >> 4),
            sl: data.field(15, Sl::from_low_bits(data.byte(53))),
            mtu,
            rate,
            packet_life: data.wanted(20, 56),
        })
    }

    /// What a MultiPathRecord request says of each path; its ends are left open.
    ///
    /// Errors: as [`Self::decode`].
    pub(super) fn decode_multi(
        mad: &SaMad,
        max_rate: u8,
        place: ServiceIdPlace,
    ) -> Result<Self, Status> {
        let data = Data::of(mad);
        let (rate, mtu) = (data.wanted(12, 11), data.wanted(10, 10));
        check_codes(rate, mtu, max_rate)?;
        let halves = (data.has(16), data.has(21));
        let low = data.u64(16) & 0x00ff_ffff_ffff_ffff;
        // Its upper byte stands before the counts, the other seven behind them.
        let id = u64::from(data.byte(13)) << 56 | low;
        Ok(Self {
            method: Method::GetMulti,
            service_id: service_id(place, halves, id)?,
            dgid: None,
            sgid: None,
            dlid: None,
            slid: None,
            raw_traffic: data.has(0) && data.byte(0) & 0x80 != 0,
            tclass: data.field(4, data.byte(4)),
            flow_label: data.field(2, data.u32(0) >> 8 & 0xf_ffff),
            must_be_reversible: data.has(5) && data.byte(5) & 0x80 != 0,
            numb_path: data.field(6, data.byte(5) & 0x7f),
            pkey: data.field(7, data.u16(6)),
            qos_class: data.field(8, data.u16(8) >> 4),
            sl: data.field(9, Sl::from_low_bits(data.byte(9))),
            mtu,
            rate,
            packet_life: data.wanted(14, 12),
        })
    }

    /// What a policy's rules ask about a path between these ports. Shape: places of end ports.
    ///
    /// An end counts as named whichever way it is named.
    pub(super) const fn query(&self, source: usize, destination: usize) -> Query {
        Query {
            source,
            destination,
            qos_class: self.qos_class,
            service_id: self.service_id,
            pkey: self.pkey,
            tclass: self.tclass,
            source_named: self.sgid.is_some() || self.slid.is_some(),
            destination_named: self.dgid.is_some() || self.dlid.is_some(),
        }
    }

    /// The same wishes for a path between two ports that are named.
    pub(super) fn between(&self, sgid: Gid, dgid: Gid) -> Self {
        Self {
            sgid: Some(sgid),
            dgid: Some(dgid),
            ..self.clone()
        }
    }

    /// The same wishes for the way back.
    ///
    /// All other wishes stay, its SL too, so that it must be the same there and back.
    pub(super) fn back(&self) -> Self {
        Self {
            dgid: self.sgid,
            sgid: self.dgid,
            dlid: self.slid,
            slid: self.dlid,
            ..self.clone()
        }
    }
}

/// Errors: REQ_INVALID for a rate or MTU that is none, also with a selector that ignores the value.
/// Packet life times are not checked.
fn check_codes(rate: Option<Wanted>, mtu: Option<Wanted>, max_rate: u8) -> Result<(), Status> {
    let bad_rate = rate.is_some_and(|rate| rate.value < 2 || rate.value > max_rate);
    let bad_mtu = mtu.is_some_and(|mtu| mtu.value < 1 || mtu.value > 5);
    if bad_rate || bad_mtu {
        return Err(Status::REQ_INVALID);
    }
    Ok(())
}

/// The ServiceID, when it counts. Errors: half of one, where both halves count.
fn service_id(
    place: ServiceIdPlace,
    (upper, lower): (bool, bool),
    id: u64,
) -> Result<Option<u64>, Status> {
    match (place, upper, lower) {
        (ServiceIdPlace::UpperHalf, upper, _) => Ok(upper.then_some(id)),
        (_, true, true) => Ok(Some(id)),
        (_, true, false) | (_, false, true) => Err(Status::REQ_INSUFFICIENT_COMPONENTS),
        (ServiceIdPlace::Key(key), false, false) => Ok(key),
        (ServiceIdPlace::BothHalves, false, false) => Ok(None),
    }
}

/// The attribute data of a request. Offsets are those of its record, bits those of its component
/// mask.
///
/// Offsets are constants of this module, so indexing cannot fail.
pub(super) struct Data<'a> {
    mask: u64,
    bytes: &'a [u8; DATA_SIZE],
}

impl<'a> Data<'a> {
    pub(super) const fn of(mad: &'a SaMad) -> Self {
        Self {
            mask: mad.sa.component_mask.get(),
            bytes: &mad.data,
        }
    }

    pub(super) const fn has(&self, bit: u32) -> bool {
        self.mask >> bit & 1 == 1
    }

    fn field<T>(&self, bit: u32, value: T) -> Option<T> {
        self.has(bit).then_some(value)
    }

    /// A value with its selector; one of them alone is ignored. The value's bit is the next.
    fn wanted(&self, selector_bit: u32, at: usize) -> Option<Wanted> {
        let byte = self.byte(at);
        let wanted = Wanted {
            selector: Selector::from_byte(byte),
            value: byte & 0x3f,
        };
        (self.has(selector_bit) && self.has(selector_bit + 1)).then_some(wanted)
    }

    pub(super) const fn byte(&self, at: usize) -> u8 {
        self.bytes[at]
    }

    pub(super) fn u16(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.array(at))
    }

    pub(super) fn u32(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.array(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_be_bytes(self.array(at))
    }

    pub(super) fn gid(&self, at: usize) -> Gid {
        Gid(self.array(at))
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        core::array::from_fn(|nth| self.bytes[at + nth])
    }
}
