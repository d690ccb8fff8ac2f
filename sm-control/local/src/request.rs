//! A question of the kernel's as a request to an SA, and what came of it.
//!
//! The kernel conveys six components of the PathRecord that it would ask for, and whether the path
//! must be reversible. Number of paths, SL, MTU, rate and the like are not conveyed. The request
//! made here is the one that the kernel's own MAD would be as far as it tells: each attribute sets
//! its component and its bit in the mask, and NumbPath is 1.

use sa_wire::mad::method;
use sa_wire::netlink_ls::{PathUse, Resolve};
use sa_wire::path_record::{NumbPathByte, PathCompMask, PathRecord, QosClassSl};
use sa_wire::request::path_request;
use sa_wire::sa::{DATA_OFFSET, SaMad};
use sa_wire::umad::Slot;
use sa_wire::{Lid, Sl, mad};
use zerocopy::FromBytes;

use super::agent::Reason;

/// The largest QoSClass that a MAD has room for: the field has 12 bits, netlink's attribute 16.
const MOST_CLASSES: u16 = 0xfff;

/// Get(PathRecord) from a port with this LID, none where no SM has given it one: what the kernel
/// would send, as far as it tells. The LID is the requester's: an SA decides by it which paths this
/// host may know.
///
/// Errors: [`Reason::Unsupported`] without a DGID, with a QoSClass over 4095.
pub(super) fn path_get(lid: Option<Lid>, question: &Resolve<'_>) -> Result<Slot, Reason> {
    let mut mask = PathCompMask::NUMB_PATH | PathCompMask::DGID;
    let mut record = PathRecord {
        dgid: question.dgid.ok_or(Reason::Unsupported)?.0,
        numb_path: NumbPathByte::new(1),
        ..PathRecord::default()
    };
    // Reversible is conveyed by the path use alone: GMP before 6.1, ALL since.
    if question.path_use != PathUse::Unidirectional {
        record.numb_path = record.numb_path.with_reversible();
        mask = mask | PathCompMask::REVERSIBLE;
    }
    if let Some(sgid) = question.sgid {
        record.sgid = sgid.0;
        mask = mask | PathCompMask::SGID;
    }
    if let Some(service_id) = question.service_id {
        record.service_id = service_id.0.into();
        mask = mask | PathCompMask::SERVICE_ID;
    }
    if let Some(tclass) = question.tclass {
        record.tclass = tclass;
        mask = mask | PathCompMask::TCLASS;
    }
    if let Some(pkey) = question.pkey {
        record.pkey = pkey.into();
        mask = mask | PathCompMask::PKEY;
    }
    if let Some(class) = question.qos_class {
        if class > MOST_CLASSES {
            return Err(Reason::Unsupported);
        }
        record.qos_class_sl = QosClassSl::new(class, Sl::default());
        mask = mask | PathCompMask::QOS_CLASS;
    }
    Ok(path_request(Lid::raw(lid), method::GET, mask, &record))
}

/// The first record of a reply, which is the only one of a Get. Errors: [`Reason::NoPath`] where it
/// has none: a status other than 0, or too few bytes.
pub(super) fn record_of(reply: &[u8]) -> Result<PathRecord, Reason> {
    let (mad, _) = mad::MadHeader::ref_from_prefix(reply).map_err(|_| Reason::NoPath)?;
    if mad.status.get() != 0 {
        return Err(Reason::NoPath);
    }
    let data = reply.get(DATA_OFFSET..).unwrap_or_default();
    let record = PathRecord::read_from_prefix(data);
    record.map(|(record, _)| record).map_err(|_| Reason::NoPath)
}

/// The record that a slot holds after it was answered in place. Errors: as [`record_of`].
pub(super) fn record_in(slot: &Slot) -> Result<PathRecord, Reason> {
    let mad = SaMad::from_bytes(&slot.mad);
    if mad.mad.status.get() != 0 {
        return Err(Reason::NoPath);
    }
    let record = PathRecord::read_from_prefix(&mad.data);
    record.map(|(record, _)| record).map_err(|_| Reason::NoPath)
}
