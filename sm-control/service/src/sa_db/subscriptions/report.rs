//! What a subscriber is told, and whether. Source: OpenSM `osm_inform.c`.
//!
//! Two questions are kept apart, because they have different answers for the subscription. Who does
//! not *want* a trap hears nothing and stays subscribed. Who wants it and *may not* hear hears
//! nothing either, and may lose the subscription ([`ends_by`]).
//!
//! ```text
//!  Notice: generic, type 3 (subnet management), producer 4 (class manager), trap 64
//!          issuer: the SM's LID and GID      data: the GID of the port that came
//! ```

use sa_compiler::state::FabricState;
use sa_fabric::subnet::EndPort;
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method};
use sa_wire::notice::{Notice, trap};
use sa_wire::records::{ANY16, ANY24, InformInfo};
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::{MAD_SIZE, QP1_QKEY};
use sa_wire::{Gid, Guid, Lid};
use zerocopy::IntoBytes;

use super::super::access::Holder;
use super::entry::Subscription;
use super::{Event, Report};
use crate::records::View;

/// The trap that an event is. The SM is its issuer, so subscriptions by source are held against the
/// SM's LID and GID, and not against those of the port that the trap is about.
pub(super) fn notice(event: &Event, parts: &FabricState) -> Notice {
    let prefix = parts.options.subnet_prefix;
    let port = |guid: &Guid| Gid::unicast(prefix, *guid);
    let (number, subject) = match event {
        Event::PortIn(guid) => (trap::GID_IN_SERVICE, port(guid)),
        Event::PortOut { guid, .. } => (trap::GID_OUT_OF_SERVICE, port(guid)),
        Event::GroupMade { mgid, .. } => (trap::MGID_CREATED, *mgid),
        Event::GroupGone { mgid, .. } => (trap::MGID_DESTROYED, *mgid),
        Event::Trap(told) => {
            let gid = issuer(told, parts).map(|end| port(&end.guid));
            let issuer_gid = gid.unwrap_or(Gid([0; 16])).0;
            return Notice {
                issuer_gid,
                ..*told
            };
        }
    };
    let sm = parts.subnet.end_ports().get(parts.subnet.sm());
    let gid = sm.map_or(Gid([0; 16]), |sm| port(&sm.guid));
    Notice::about_gid(number, sm.map(|sm| sm.lid), gid, subject)
}

/// The port that a trap of a device comes from.
fn issuer<'a>(told: &Notice, parts: &'a FabricState) -> Option<&'a EndPort> {
    let lid = Lid::new(told.issuer_lid.get()).ok()?;
    parts.subnet.end_ports().get(parts.subnet.by_lid(lid)?)
}

/// True when a subscription asks for such traps.
pub(super) fn wants(info: &InformInfo, notice: &Notice) -> bool {
    // 0xffff in a request means all.
    let any = |wanted: u16, is: u16| wanted == ANY16 || wanted == is;
    let issuer = notice.issuer_lid.get();
    let is_source = match info.gid == [0; 16] {
        false => info.gid == notice.issuer_gid,
        true => {
            let (first, last) = (info.lid_range_begin.get(), info.lid_range_end.get());
            first == ANY16 || (first..=last).contains(&issuer)
        }
    };
    is_source
        && (info.is_generic != 0) == notice.is_generic()
        && any(info.trap_type.get(), notice.notice_type().into())
        && any(info.trap_number.get(), notice.trap_number.get())
        && (info.producer_type == ANY24 || info.producer_type == notice.producer_type)
}

/// True when the subscriber shares a partition with the port, or holds the group's P_Key.
pub(super) fn may_hear(event: &Event, subscriber: &View<'_>) -> bool {
    match event {
        Event::PortIn(guid) => {
            let index = subscriber.parts.subnet.by_guid(*guid);
            let ends = subscriber.parts.subnet.end_ports();
            let end = index.and_then(|index| ends.get(index));
            end.is_some_and(|end| subscriber.shows(end.at))
        }
        Event::PortOut { keys, .. } => subscriber.shares(keys),
        // Of a port that nobody knows nobody hears, as with OpenSM.
        Event::Trap(told) => {
            issuer(told, subscriber.parts).is_some_and(|end| subscriber.shows(end.at))
        }
        Event::GroupMade { base, .. } | Event::GroupGone { base, .. } => {
            Holder::new(subscriber, subscriber.requester).has(*base)
        }
    }
}

/// True when a subscription ends because its subscriber may not hear of a port. Only one that named
/// LIDs: one for all sources just goes without.
pub(super) fn ends_by(event: &Event, info: &InformInfo, parts: &FabricState) -> bool {
    let is_there = match event {
        Event::PortIn(guid) => parts.subnet.by_guid(*guid).is_some(),
        Event::PortOut { .. } => true,
        Event::Trap(told) => issuer(told, parts).is_some(),
        Event::GroupMade { .. } | Event::GroupGone { .. } => false,
    };
    is_there && info.lid_range_begin.get() != ANY16
}

/// The Report. Its transaction is given when it is sent, and kept when it is sent again.
pub(super) fn report(to: &Subscription, notice: &Notice) -> Report {
    let mut bytes = Box::new([0; MAD_SIZE]);
    let mad = SaMad::from_bytes_mut(&mut bytes);
    mad.mad.base_version = BASE_VERSION;
    mad.mad.mgmt_class = MGMT_CLASS_SA;
    mad.mad.class_version = SA_CLASS_VERSION;
    mad.mad.method = method::REPORT;
    mad.mad.attribute_id = AttributeId::NOTICE.get().into();
    for (place, byte) in mad.data.iter_mut().zip(notice.as_bytes()) {
        *place = *byte;
    }
    let mut header = to.to;
    // The header is that of the request as it was received: what a send reads of it is set anew.
    header.status = 0;
    header.qkey = QP1_QKEY.into();
    Report {
        port: to.port,
        to: header,
        mad: bytes,
    }
}
