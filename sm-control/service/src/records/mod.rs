//! Records of the fabric's state: nodes, ports, links, forwarding tables, VLs, P_Keys, GUIDs, the
//! SM; answered as OpenSM answers them.
//!
//! They are made from the files and tables that a snapshot is compiled from, one by one while they
//! are asked for, and are a *model* of the fabric: what the SM has set up once the fabric has
//! settled, not what ports and counters say at the moment. What a device alone knows (capability
//! masks, lease periods, table sizes) is in `device`: the values of the simulator ibsim, with which
//! the records equal OpenSM's there. Where the fabric was read from a running SA, what that told is
//! given back instead.
//!
//! # A request's way
//!
//! ```text
//!  MAD ──> Served::find ──> key? method? ──> View::new: who asks, and what may he see
//!                                              │
//!                        walk(view, query) <───┘   one function for each attribute
//!                          │ finds by LID, or goes over all
//!                          │ makes a record, compares it (Query::agrees), asks view.shows
//!                          v
//!                         Out ──> none, one, too many, too long ──> reply
//! ```
//!
//! What a record is compared by differs between attributes, and follows OpenSM's `osm_sa_*.c` each
//! time, also in what it ignores. A LID mostly *finds* (a node, an end port) and is not compared
//! afterwards; some components are never looked at. Clients rely on both.
//!
//! # Who sees what
//!
//! A port is shown when it shares a partition with the requester (`View::shows`). P_Key tables are
//! shown to those alone who know the SA's key. A request with a wrong key gets no reply.
//!
//! # To add a kind
//!
//! One entry in `SERVED`, one `walk`, one layout in `sa_wire::records`.

mod device;
mod guids;
mod link;
mod node;
mod out;
mod pkeys;
mod port_info;
mod query;
mod sm_info;
mod stream;
mod switch;
mod view;
mod vls;

use core::ops::ControlFlow;

use sa_answer::whole::{succeed, succeed_with_table};
use sa_answer::{finish_empty_table, finish_error};
use sa_wire::mad::{Status, method};
use sa_wire::records::Layout;
use sa_wire::rmpp::{RmppHeader, flag};
use sa_wire::sa::{AttributeId, DATA_OFFSET, DATA_SIZE, SaMad};
use sa_wire::umad::Slot;
use zerocopy::IntoBytes;

use self::out::{Out, Reason};
use sa_compiler::state::FabricState;

pub(crate) use self::guids::{Tables as GuidTables, guid_cap};
pub(crate) use self::query::Query;
pub(crate) use self::stream::Stream;
pub(crate) use self::view::View;

/// Puts the records that a request wants; ends early when they are enough. `Break` is no error:
/// [`Out`] knows why.
type Walk = fn(&View<'_>, &Query<'_>, &mut Out) -> ControlFlow<()>;

/// How records of one kind are answered. All of them stand in [`SERVED`].
struct Served {
    attribute: AttributeId,
    walk: Walk,
    /// What a table can be made of piece by piece while it is sent; none for tables that are made
    /// as a whole, because they are short.
    unit: Option<Unit>,
    /// The components by which records are found, not compared: the LIDs. A request that names one
    /// gets few records, so it is never streamed. Shape: component mask.
    finders: u64,
    /// Shown to those alone who know the SA's key; refused to others with "request invalid".
    is_secret: bool,
}

/// What has records of its own in a table, in the order of the table: a table is the records of its
/// first unit, then those of the second, and so on.
#[derive(Debug, Clone, Copy)]
enum Unit {
    Node,
    EndPort,
    Switch,
}

/// All records of the fabric's state: the one place where a new kind is entered.
const SERVED: [Served; 11] = [
    Served::by_node(AttributeId::NODE_RECORD, node::walk),
    Served {
        finders: LID | 1 << 5,
        ..Served::by_node(AttributeId::PORT_INFO_RECORD, port_info::walk)
    },
    Served::by_end_port(AttributeId::SL_TO_VL_RECORD, vls::sl_to_vl),
    Served::by_switch(AttributeId::SWITCH_INFO_RECORD, switch::switch_info),
    Served::by_switch(
        AttributeId::LINEAR_FORWARDING_TABLE_RECORD,
        switch::linear_forwarding,
    ),
    Served::by_switch(
        AttributeId::MULTICAST_FORWARDING_TABLE_RECORD,
        switch::multicast_forwarding,
    ),
    Served::whole(AttributeId::SM_INFO_RECORD, sm_info::walk),
    Served {
        finders: LID | 1 << 3,
        ..Served::by_node(AttributeId::LINK_RECORD, link::walk)
    },
    Served::by_node(AttributeId::GUID_INFO_RECORD, guids::walk),
    Served {
        is_secret: true,
        ..Served::by_end_port(AttributeId::PKEY_TABLE_RECORD, pkeys::walk)
    },
    Served::by_end_port(AttributeId::VL_ARBITRATION_RECORD, vls::vl_arbitration),
];

/// The mask's bit of the LID, which is the first component of every record.
const LID: u64 = 1;

impl Served {
    /// Found by LID, a table node by node.
    const fn by_node(attribute: AttributeId, walk: Walk) -> Self {
        Self {
            unit: Some(Unit::Node),
            ..Self::whole(attribute, walk)
        }
    }

    /// Found by LID, a table end port by end port.
    const fn by_end_port(attribute: AttributeId, walk: Walk) -> Self {
        Self {
            unit: Some(Unit::EndPort),
            ..Self::whole(attribute, walk)
        }
    }

    /// Found by LID, a table switch by switch.
    const fn by_switch(attribute: AttributeId, walk: Walk) -> Self {
        Self {
            unit: Some(Unit::Switch),
            ..Self::whole(attribute, walk)
        }
    }

    /// Made as a whole, found by its LID, shown to everybody.
    const fn whole(attribute: AttributeId, walk: Walk) -> Self {
        Self {
            attribute,
            walk,
            unit: None,
            finders: LID,
            is_secret: false,
        }
    }

    /// The entry of an attribute. Eleven comparisons at most; this is no fast path.
    fn find(attribute: AttributeId) -> Option<&'static Self> {
        SERVED.iter().find(|served| served.attribute == attribute)
    }
}

/// True for the attributes that [`respond`] answers.
pub fn serves(attribute: AttributeId) -> bool {
    Served::find(attribute).is_some()
}

/// The whole reply to a request for records of the fabric's state; none when it gets no reply: it
/// is of another attribute, its key is wrong, or nobody owns its source LID.
///
/// Shape: 256 bytes for a refusal, else 56 header bytes and any number of records; more than one
/// MAD holds is to be segmented by the transport. Pure: the same request of the same parts gets the
/// same bytes. Statuses: "method/attribute combination not supported" for all but Get and
/// GetTable; "request invalid" for P_Key tables without the key; "no records" and "too many
/// records" for Get; "no resources" for more than [`MAX_BYTES`](sa_answer::whole::MAX_BYTES). Source: OpenSM `osm_sa.c`.
pub fn respond(parts: &FabricState, request: &Slot) -> Option<Vec<u8>> {
    let mut slot = *request;
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    let served = Served::find(mad.attribute_id())?;
    let layout = Layout::of(mad.attribute_id())?;
    let key = mad.sa.sm_key.get();
    // As in OpenSM a wrong key is not refused, it gets no reply.
    if key != 0 && key != parts.options.sa_key {
        return None;
    }
    if !matches!(mad.mad.method, method::GET | method::GET_TABLE) {
        return Some(refuse(mad, Status::METHOD_ATTRIBUTE_NOT_SUPPORTED));
    }
    // After the method: without the key a Set is "not supported", as with it.
    if served.is_secret && key != parts.options.sa_key {
        return Some(refuse(mad, Status::REQ_INVALID));
    }
    // Whom nobody knows is not answered: partitions could not be judged.
    let view = View::new(parts, request.header.lid.get())?;
    let is_get = mad.mad.method == method::GET;
    // A Get may match one record; the second is the error, so no more are made.
    let mut out = Out::new(if is_get { 1 } else { usize::MAX });
    let _ = (served.walk)(&view, &Query::new(mad), &mut out);
    match out.finish() {
        Err(Reason::Silence) => None,
        // More than [`MAX_BYTES`] is refused, since RMPP could not carry it.
        Err(Reason::TooLong) => Some(refuse(mad, Status::NO_RESOURCES)),
        // Only a Get has so small a limit.
        Err(Reason::TooMany) => Some(refuse(mad, Status::TOO_MANY_RECORDS)),
        Ok(records) if records.is_empty() && is_get => Some(refuse(mad, Status::NO_RECORDS)),
        Ok(records) => Some(reply(mad, layout.stride, &records)),
    }
}

/// The GUIDInfoRecords that a request wants, with alias GUIDs, which only the database knows.
/// Errors: the status of the refusal.
pub(crate) fn guid_infos(
    view: &View<'_>,
    query: &Query<'_>,
    is_get: bool,
    tables: &GuidTables<'_>,
) -> Result<Vec<u8>, Status> {
    let mut out = Out::new(if is_get { 1 } else { usize::MAX });
    let _ = guids::walk_with(view, query, tables, &mut out);
    out.finish().map_err(|reason| match reason {
        Reason::TooMany => Status::TOO_MANY_RECORDS,
        Reason::TooLong | Reason::Silence => Status::NO_RESOURCES,
    })
}

/// The reply with these records. Shape: a table that fits one MAD is marked as a whole RMPP
/// transfer; of a longer one the transport sees to that.
pub(crate) fn reply(mad: &mut SaMad, stride: u16, records: &[u8]) -> Vec<u8> {
    if records.is_empty() {
        let length = finish_empty_table(mad);
        return take(mad, length.into());
    }
    if mad.mad.method != method::GET_TABLE {
        succeed(mad, stride);
    } else {
        succeed_with_table(mad, stride);
        if let Ok(length) = u32::try_from(records.len())
            && records.len() <= DATA_SIZE
        {
            mad.rmpp = RmppHeader::data(flag::SINGLE, 1, SA_HEADER + length);
        }
    }
    let mut reply = take(mad, DATA_OFFSET);
    reply.extend_from_slice(records);
    reply
}

/// A refusal: the request's MAD with this status, as a response. Always one MAD.
pub(crate) fn refuse(mad: &mut SaMad, status: Status) -> Vec<u8> {
    let length = finish_error(mad, status);
    take(mad, length.into())
}

/// The first bytes of a MAD, as a reply.
fn take(mad: &SaMad, length: usize) -> Vec<u8> {
    mad.as_bytes().get(..length).unwrap_or_default().to_vec()
}

/// In each segment, the SA header counts as payload. Units: bytes.
const SA_HEADER: u32 = 20;
