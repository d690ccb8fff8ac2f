//! What an SA answers from, asked of it.
//!
//! InfiniBand has no attribute that says when paths have changed. Ours is 0xFF51
//! (`ServedSnapshot`): Get alone, answered with the digest of the snapshot in service. Two
//! snapshots with one digest give the same answers, so a copy on a host can be compared with the
//! SA's in one MAD a second. An SA of another make refuses the attribute, and then the LIDs of port
//! and SM and the age of an answer are all there is (ADR 13).

use sa_source::{Ask, AskError, next_transaction};
use sa_wire::Lid;
use sa_wire::mad::{MadHeader, Status, method};
use sa_wire::request::request;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::served::ServedSnapshot;
use sa_wire::umad::MAD_SIZE;
use zerocopy::FromBytes;

/// The snapshot that an SA serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// XXH3 over all its bytes but the SA's key, so that it is the same for the public copy, which
    /// is without the key.
    pub digest: u64,
}

/// Asks, and waits for the SA as long as `sa` does. None where the SA is of another make: it
/// answers with an error status. Errors: [`AskError`], where it may well be ours and did not
/// answer.
pub(super) fn ask(sa: &mut dyn Ask) -> Result<Option<Served>, AskError> {
    let mut slot = request(
        Lid::raw(sa.lid()),
        method::GET,
        AttributeId::SERVED_SNAPSHOT,
        0,
        &[],
    );
    stamp(&mut slot.mad);
    let reply = sa.ask(&slot.mad)?;
    let (header, _) = MadHeader::ref_from_prefix(&reply)
        .map_err(|_| AskError::Unanswered("what came back is no MAD".to_owned()))?;
    if header.status.get() != Status::OK.get() {
        return Ok(None);
    }
    let data = reply.get(DATA_OFFSET..).unwrap_or_default();
    let served = ServedSnapshot::read_from_prefix(data).ok();
    Ok(served.map(|(served, _)| Served {
        digest: served.digest.get(),
    }))
}

/// Gives a request a transaction of its own. A late reply to an earlier request then cannot pass
/// for the reply to this one.
pub(super) fn stamp(mad: &mut [u8; MAD_SIZE]) {
    let place = SaMad::from_bytes_mut(mad);
    place.mad.transaction_id = u64::from(next_transaction()).into();
}
