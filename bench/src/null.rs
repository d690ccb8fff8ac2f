//! The null record: a responder that touches a request where an answer must, and writes a record
//! that says nothing. No answer costs less, whatever it finds out, so a figure's ratio to it says
//! how far an answer is from the least, on any machine.
//!
//! Why not an empty loop: memory is what an answer waits for first. The null record reads and
//! writes the lines that an answer cannot avoid, with the same batch and the same slots; what an
//! answer takes beyond is looking things up and deciding.
//!
//! ```text
//! line 0 of a slot   LID of the requester, length of the reply
//! line 1             MAD header, component mask
//! line 2             record
//! ```

use sa_wire::mad::method;
use sa_wire::umad::Slot;

use crate::pool::{Expected, Pool};

/// Units: bytes of a reply with one record.
pub const REPLY_BYTES: u16 = 120;

/// Turns each request into a reply with one record. Reads and writes the three cache lines of a
/// slot that a PathRecord takes: the requester's LID and the reply's length, the headers, the
/// record.
#[inline]
pub fn null_records(slots: &mut [Slot]) {
    for slot in slots {
        null_record(slot);
    }
}

#[inline(always)]
fn null_record(slot: &mut Slot) {
    let lid = u64::from(slot.header.lid.get());
    let words = slot.mad.as_chunks_mut::<8>().0;
    let [head, tid, _, _, _, _, mask, record @ ..] = words else {
        return;
    };
    let Some(record) = record.first_chunk_mut::<8>() else {
        return;
    };
    // A word of each line goes into the record, so that none of them is read in vain.
    let [first, ..] = record;
    let seen =
        lid ^ u64::from_ne_bytes(*tid) ^ u64::from_ne_bytes(*mask) ^ u64::from_ne_bytes(*first);
    // Depends on all that was read, so that no load can be left out.
    *record = [seen.to_ne_bytes(); 8];
    let [_, _, _, asked, high, low, ..] = head;
    // A reply by its method: clients and pools take it for one.
    *asked |= method::RESPONSE_BIT;
    [*high, *low] = [0; 2];
    slot.header.length = REPLY_BYTES.into();
}

/// The same requests with the replies that the null record gives, when the n-th request has the
/// transaction id n.
///
/// Replies of the null record depend on the request, so a mix-up of slots shows as a wrong one.
pub fn null_pool(pool: &Pool) -> Pool {
    let expected = (0..pool.requests.len()).map(|index| {
        let mut slot = Slot::EMPTY;
        pool.write(index, index as u64, &mut slot);
        null_record(&mut slot);
        let record = slot.mad.get(56..usize::from(REPLY_BYTES));
        Expected::Records(record.unwrap_or_default().to_vec())
    });
    Pool {
        requests: pool.requests.clone(),
        expected: vec![expected.collect()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Request;

    #[test]
    fn the_record_depends_on_every_line_that_an_answer_reads() {
        let mut replies = Vec::new();
        for changed in [None, Some(9), Some(50), Some(60)] {
            let mut mad = [0; 256];
            if let Some(place) = changed {
                mad[place] = 0x40;
            }
            replies.push(Request::new(1, &mad).slot());
        }
        replies.push(Request::new(2, &[0; 256]).slot());
        null_records(&mut replies);
        let records: Vec<&[u8]> = replies.iter().map(|slot| &slot.mad[56..120]).collect();
        for (nth, record) in records.iter().enumerate() {
            assert!(
                !records[..nth].contains(record),
                "the same as before: {nth}"
            );
        }
        for slot in &replies {
            assert_eq!(
                (slot.header.length, slot.mad[3]),
                (120, method::RESPONSE_BIT)
            );
        }
    }
}
