//! A subscription, in memory and in the journal.
//!
//! Two requests are of one subscriber when all of the address agrees that a reply would go by. Two
//! requests of one subscriber are about one subscription when sources, trap and QPN agree. Both
//! rules are OpenSM's (`osm_inform.c`), and a client that renews relies on them: else each renewal
//! would bring another Report of everything.

use sa_compiler::state::FabricState;
use sa_fabric::PortRef;
use sa_wire::records::{InformInfo, InformInfoRecord};
use sa_wire::umad::UmadHeader;
use sa_wire::{Gid, Guid};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::records::View;

/// One subscription. What its InformInfo says is as it was asked, with the QPN of the request.
#[derive(Debug, Clone)]
pub(super) struct Subscription {
    /// SubscriberGID.
    pub(super) gid: Gid,
    /// Number of the port that it came by.
    pub(super) port: usize,
    /// Where it came from.
    pub(super) to: UmadHeader,
    /// Another SA has told of it, which tells the port and its QPN alone: the rest of the address is what such a port has most likely.
    pub(super) is_inherited: bool,
    pub(super) info: InformInfo,
}

/// What tells subscribers apart: where the request came from.
///
/// Shape: LID, path bits, QPN, P_Key index, SL, and of a request with a GRH what that says.
pub(super) type Address = (u16, u8, u32, u16, u8, Option<([u8; 16], u8, u8, u32)>);

impl Subscription {
    /// As another SA tells it. None where no port is named.
    pub(super) fn inherited(told: &InformInfoRecord, port: usize) -> Option<Self> {
        Guid::new(Gid(told.subscriber_gid).interface_id()).ok()?;
        let mut to = UmadHeader::new_zeroed();
        to.qpn = told.info.qpn().into();
        Some(Self {
            gid: Gid(told.subscriber_gid),
            port,
            to,
            is_inherited: true,
            info: told.info,
        })
    }

    /// The LID and SL of now, for one whose address nobody has told. Gives whether they are other than before.
    pub(super) fn follow(&mut self, parts: &FabricState) -> bool {
        let end = Guid::new(self.gid.interface_id()).ok();
        let end = end.and_then(|guid| parts.subnet.by_guid(guid));
        let end = end.and_then(|index| parts.subnet.end_ports().get(index));
        let Some(end) = end.filter(|_| self.is_inherited) else {
            return false;
        };
        let told = parts.devices.as_deref();
        let told = told.and_then(|told| told.port_info(end.lid, end.at.port));
        let sl = told.map_or(self.to.sl, |info| info.neighbor_mtu_and_sm_sl & 0x0f);
        let before = (self.to.lid.get(), self.to.sl);
        (self.to.lid, self.to.sl) = (end.lid.get().into(), sl);
        before != (end.lid.get(), sl)
    }

    /// What tells subscribers apart as far as another SA tells it.
    pub(super) fn place(&self) -> Address {
        (self.to.lid.get(), 0, self.to.qpn.get(), 0, 0, None)
    }

    /// What tells this subscriber apart.
    pub(super) fn address(&self) -> Address {
        if self.is_inherited {
            return self.place();
        }
        let to = &self.to;
        let route = (to.gid, to.hop_limit, to.traffic_class, to.flow_label.get());
        (
            to.lid.get(),
            to.path_bits,
            to.qpn.get(),
            to.pkey_index,
            to.sl,
            (to.grh_present != 0).then_some(route),
        )
    }

    /// True when the same subscriber, asking so, means this subscription. As in OpenSM, who asks
    /// by LIDs may hit one that was asked for by GID.
    pub(super) fn is_replaced_by(&self, wanted: &InformInfo) -> bool {
        let own = &self.info;
        let same_sources = match wanted.gid == [0; 16] {
            false => own.gid == wanted.gid,
            true => {
                own.lid_range_begin == wanted.lid_range_begin
                    && own.lid_range_end == wanted.lid_range_end
            }
        };
        same_sources
            && own.trap_type == wanted.trap_type
            && own.is_generic == wanted.is_generic
            && own.trap_number == wanted.trap_number
            && own.qpn_and_resp_time == wanted.qpn_and_resp_time
            && own.producer_type == wanted.producer_type
    }

    /// The subscriber's port, if it is there. By the GUID of SubscriberGID, so a new LID is no end.
    pub(super) fn port_in(&self, parts: &FabricState) -> Option<PortRef> {
        let guid = Guid::new(self.gid.interface_id()).ok()?;
        let index = parts.subnet.by_guid(guid)?;
        parts.subnet.end_ports().get(index).map(|end| end.at)
    }

    /// The fabric by the eyes of whoever has the LID that reports go to.
    pub(super) fn seen_from<'a>(&self, parts: &'a FabricState) -> Option<View<'a>> {
        View::new(parts, self.to.lid.get())
    }

    /// Shape: GID 16 bytes, port 8 (its highest bit: inherited), address in the kernel's layout (`ib_user_mad_hdr`), InformInfo.
    pub(super) fn written(&self) -> Vec<u8> {
        let port = u64::try_from(self.port).unwrap_or(u64::MAX);
        let port = port & !INHERITED | u64::from(self.is_inherited) << 63;
        let (port, to) = (port.to_be_bytes(), self.to.as_bytes());
        [&self.gid.0[..], &port, to, self.info.as_bytes()].concat()
    }

    /// None for a value that this version has not written.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let (gid, rest) = value.split_first_chunk()?;
        let (port, rest) = rest.split_first_chunk()?;
        let (to, rest) = UmadHeader::read_from_prefix(rest).ok()?;
        Some(Self {
            gid: Gid(*gid),
            port: usize::try_from(u64::from_be_bytes(*port) & !INHERITED).ok()?,
            to,
            is_inherited: u64::from_be_bytes(*port) & INHERITED != 0,
            info: InformInfo::read_from_bytes(rest).ok()?,
        })
    }
}

/// Of the port's number in the journal.
const INHERITED: u64 = 1 << 63;
