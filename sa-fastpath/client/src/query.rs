//! What one path is asked for: the two ends and what the path is to be good for.
//!
//! Why a type of its own beside `sa_wire`'s request: a PathRecord has a value and a bit of the
//! component mask for each wish, some have a selector too, and a value without its bit is silently not
//! heeded. Here a wish sets all that belongs to it, and cannot hold what its field does not.
//!
//! An end is a GID, a LID or a GUID, each as the program has it; the two need not be of one kind. A
//! GUID is asked for as the link-local GID, which every subnet understands as its own, whatever its
//! prefix is.

use core::fmt;
use core::net::Ipv6Addr;
use core::str::FromStr;

use sa_wire::attrs::{Mtu, PacketLifeTime, Rate, Selector, Sl};
use sa_wire::mad::method;
use sa_wire::path_record::{
    FlowWord, NumbPathByte, PathCompMask, PathRecord, QosClassSl, SelectedValue,
};
use sa_wire::{Gid, Guid, Lid, Pkey, ServiceId, SubnetPrefix};
use thiserror::Error;

use super::request;

/// One end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By GID, of the port or of a group.
    Gid(Gid),
    /// By LID, a base LID or any other of the port's.
    Lid(Lid),
    /// By the GUID of the port.
    Guid(Guid),
}

impl End {
    /// Of a number: up to 0xbfff it is a LID, above 0xffff a GUID. Errors: [`NoEnd`].
    pub fn of_number(number: u64) -> Result<Self, NoEnd> {
        let no_end = || NoEnd(format!("0x{number:x}"));
        match u16::try_from(number) {
            Ok(lid) => Lid::new(lid).map(Self::Lid).map_err(|_| no_end()),
            Err(_) => Guid::new(number).map(Self::Guid).map_err(|_| no_end()),
        }
    }
}

impl FromStr for End {
    type Err = NoEnd;

    /// A GID as an IPv6 address; a LID or a GUID as a number, with `0x` before a hexadecimal one.
    fn from_str(text: &str) -> Result<Self, NoEnd> {
        let no_end = || NoEnd(text.to_owned());
        if text.contains(':') {
            let address: Ipv6Addr = text.parse().map_err(|_| no_end())?;
            return Ok(Self::Gid(Gid(address.octets())));
        }
        // A sign is no digit, though the standard library takes it.
        let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16),
            None if !text.starts_with('+') => text.parse(),
            _ => return Err(no_end()),
        };
        Self::of_number(number.map_err(|_| no_end())?).map_err(|_| no_end())
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gid(gid) => gid.fmt(f),
            Self::Lid(lid) => lid.get().fmt(f),
            Self::Guid(guid) => guid.fmt(f),
        }
    }
}

/// What names no end of a path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{0} names no port: give a LID (1 to 49151), a port's GUID, or a GID as an IPv6 address, such as \
     fe80::2:c903:0:1234"
)]
pub struct NoEnd(pub String);

/// A value that its field of a PathRecord does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{field} {value} is over {most}")]
pub struct TooLarge {
    /// The field, by its name in the PathRecord.
    pub field: &'static str,
    /// What was given.
    pub value: u32,
    /// The most that it holds.
    pub most: u32,
}

/// A request for the path between two ports.
///
/// Always one that can be sent: see the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathQuery {
    mask: PathCompMask,
    record: PathRecord,
}

impl PathQuery {
    /// The path from one port to another, one that works both ways, as connections need it.
    pub fn between(source: End, destination: End) -> Self {
        let mut query = Self {
            mask: PathCompMask::NUMB_PATH | PathCompMask::REVERSIBLE,
            record: PathRecord {
                numb_path: NumbPathByte::new(1).with_reversible(),
                ..PathRecord::default()
            },
        };
        match source {
            End::Lid(lid) => query.record.slid = lid.get().into(),
            End::Gid(gid) => query.record.sgid = gid.0,
            End::Guid(guid) => query.record.sgid = local(guid).0,
        }
        match destination {
            End::Lid(lid) => query.record.dlid = lid.get().into(),
            End::Gid(gid) => query.record.dgid = gid.0,
            End::Guid(guid) => query.record.dgid = local(guid).0,
        }
        let is_lid = |end| matches!(end, End::Lid(_));
        query
            .with(match is_lid(source) {
                true => PathCompMask::SLID,
                false => PathCompMask::SGID,
            })
            .with(match is_lid(destination) {
                true => PathCompMask::DLID,
                false => PathCompMask::DGID,
            })
    }

    /// For traffic in one direction: the way back need not exist.
    #[must_use]
    pub const fn one_way(mut self) -> Self {
        self.record.numb_path = NumbPathByte::new(1);
        self.mask.0 &= !PathCompMask::REVERSIBLE.0;
        self
    }

    /// For this service, which rules of a policy match.
    #[must_use]
    pub fn service_id(mut self, service: ServiceId) -> Self {
        self.record.service_id = service.0.into();
        self.with(PathCompMask::SERVICE_ID)
    }

    /// In this partition.
    #[must_use]
    pub fn pkey(mut self, pkey: Pkey) -> Self {
        self.record.pkey = pkey.get().into();
        self.with(PathCompMask::PKEY)
    }

    /// Of this QoS class, which rules of a policy match. Errors: over 4095.
    pub fn qos_class(mut self, class: u16) -> Result<Self, TooLarge> {
        within("QoSClass", class.into(), 0x0fff)?;
        self.record.qos_class_sl = QosClassSl::new(class, self.record.qos_class_sl.sl());
        Ok(self.with(PathCompMask::QOS_CLASS))
    }

    /// On this SL and no other.
    #[must_use]
    pub fn sl(mut self, sl: Sl) -> Self {
        let class = self.record.qos_class_sl.qos_class();
        self.record.qos_class_sl = QosClassSl::new(class, sl);
        self.with(PathCompMask::SL)
    }

    /// With this traffic class of a global route header, which rules of a policy may match.
    #[must_use]
    pub const fn traffic_class(mut self, class: u8) -> Self {
        self.record.tclass = class;
        self.with(PathCompMask::TCLASS)
    }

    /// With this flow label of a global route header. Errors: over 20 bits.
    pub fn flow_label(mut self, label: u32) -> Result<Self, TooLarge> {
        within("FlowLabel", label, 0x000f_ffff)?;
        self.record.flow = FlowWord::new(label, self.record.flow.hop_limit());
        Ok(self.with(PathCompMask::FLOW_LABEL))
    }

    /// With this hop limit of a global route header.
    #[must_use]
    pub const fn hop_limit(mut self, hops: u8) -> Self {
        self.record.flow = FlowWord::new(self.record.flow.flow_label(), hops);
        self.with(PathCompMask::HOP_LIMIT)
    }

    /// With an MTU that is greater, less, or exactly this, or the largest there is.
    #[must_use]
    pub const fn mtu(mut self, selector: Selector, mtu: Mtu) -> Self {
        self.record.mtu = SelectedValue::new(selector, mtu.code());
        self.with(PathCompMask::MTU_PAIR)
    }

    /// With a rate that is greater, less, or exactly this, or the largest there is.
    #[must_use]
    pub const fn rate(mut self, selector: Selector, rate: Rate) -> Self {
        self.record.rate = SelectedValue::new(selector, rate.code());
        self.with(PathCompMask::RATE_PAIR)
    }

    /// With a packet life time that is greater, less, or exactly this, or the smallest there is.
    #[must_use]
    pub const fn packet_life(mut self, selector: Selector, time: PacketLifeTime) -> Self {
        self.record.packet_life = SelectedValue::new(selector, time.get());
        self.with(PathCompMask::PACKET_LIFE_PAIR)
    }

    /// The components that count, and the record that has them.
    pub const fn parts(&self) -> (PathCompMask, &PathRecord) {
        (self.mask, &self.record)
    }

    /// The request of it, with a transaction of 0.
    pub fn mad(&self) -> [u8; request::PATH_REQUEST] {
        request::path(method::GET, self.mask, &self.record)
    }

    /// The same with one component more that counts.
    const fn with(mut self, component: PathCompMask) -> Self {
        self.mask = self.mask.union(component);
        self
    }
}

/// As every subnet understands it as one of its own.
fn local(guid: Guid) -> Gid {
    Gid::unicast(SubnetPrefix::LINK_LOCAL, guid)
}

/// Errors: the field does not hold the value.
const fn within(field: &'static str, value: u32, most: u32) -> Result<(), TooLarge> {
    if value > most {
        return Err(TooLarge { field, value, most });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
