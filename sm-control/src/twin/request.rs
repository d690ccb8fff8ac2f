//! A PathRecord request as its component mask leaves it.

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
}

/// What is asked for; fields that the component mask leaves out are `None`.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) service_id: Option<u64>,
    pub(super) dgid: Option<Gid>,
    pub(super) sgid: Option<Gid>,
    pub(super) dlid: Option<u16>,
    pub(super) slid: Option<u16>,
    pub(super) raw_traffic: bool,
    pub(super) tclass: Option<u8>,
    /// Asking for paths that are *not* reversible is no wish at all.
    pub(super) must_be_reversible: bool,
    pub(super) numb_path: Option<u8>,
    pub(super) pkey: Option<u16>,
    pub(super) qos_class: Option<u16>,
    pub(super) sl: Option<Sl>,
    pub(super) mtu: Option<Wanted>,
    pub(super) rate: Option<Wanted>,
    pub(super) packet_life: Option<Wanted>,
}

/// Which bits of the component mask stand for a ServiceID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceIdHalves {
    /// One for each half.
    Both,
    /// The upper half's for both.
    Upper,
}

/// A value and how it is meant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) selector: Selector,
    /// 6 bits.
    pub(super) value: u8,
}

impl Request {
    /// Errors: the status for values that no path can have, whatever the selector, and for half a
    /// ServiceID, where both halves count.
    pub(super) fn decode(
        method: Method,
        mad: &SaMad,
        max_rate: u8,
        halves: ServiceIdHalves,
    ) -> Result<Self, Status> {
        let data = Data {
            mask: mad.sa.component_mask.get(),
            bytes: &mad.data,
        };
        let rate = data.wanted(18, 55);
        if rate.is_some_and(|rate| rate.value < 2 || rate.value > max_rate) {
            return Err(Status::REQ_INVALID);
        }
        let mtu = data.wanted(16, 54);
        if mtu.is_some_and(|mtu| mtu.value < 1 || mtu.value > 5) {
            return Err(Status::REQ_INVALID);
        }
        if halves == ServiceIdHalves::Both && data.has(0) != data.has(1) {
            return Err(Status::REQ_INSUFFICIENT_COMPONENTS);
        }
        Ok(Self {
            method,
            service_id: data.field(0, data.u64(0)),
            dgid: data.field(2, data.gid(8)),
            sgid: data.field(3, data.gid(24)),
            dlid: data.field(4, data.u16(40)),
            slid: data.field(5, data.u16(42)),
            raw_traffic: data.has(6) && data.byte(44) & 0x80 != 0,
            tclass: data.field(10, data.byte(48)),
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

    /// The same wishes for the way back.
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

/// The attribute data of a request. Offsets are those of PathRecord, bits those of its component
/// mask.
struct Data<'a> {
    mask: u64,
    bytes: &'a [u8; DATA_SIZE],
}

impl Data<'_> {
    const fn has(&self, bit: u32) -> bool {
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

    const fn byte(&self, at: usize) -> u8 {
        self.bytes[at]
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.array(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_be_bytes(self.array(at))
    }

    fn gid(&self, at: usize) -> Gid {
        Gid(self.array(at))
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        core::array::from_fn(|nth| self.bytes[at + nth])
    }
}
