//! What an SA answers from, asked of it.

use sa_wire::mad::{MadHeader, Status, method};
use sa_wire::sa::{AttributeId, DATA_OFFSET};
use sa_wire::served::ServedSnapshot;
use zerocopy::FromBytes;

use crate::live::{Ask, AskError};
use crate::request::request;

/// The snapshot that an SA serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Over all its bytes.
    pub digest: u64,
}

/// Asks. None where the SA is of another make. Errors: [`AskError`].
pub(super) fn ask(sa: &mut dyn Ask, transaction: u32) -> Result<Option<Served>, AskError> {
    let mut slot = request(sa.lid(), method::GET, AttributeId::SERVED_SNAPSHOT, 0, &[]);
    stamp(&mut slot.mad, transaction);
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

/// Gives a request its transaction.
pub(super) fn stamp(mad: &mut [u8], transaction: u32) {
    if let Some(place) = mad.get_mut(12..16) {
        place.copy_from_slice(&transaction.to_be_bytes());
    }
}
