//! Traps: what devices say of themselves without being asked.
//!
//! ```text
//!  Trap(Notice) ──> TrapRepress, at once and each time it comes ──┬─> may have changed the subnet: look at it
//!                                                                  └─> subscribers of the SA, unless it is repeated too often
//! ```
//!
//! | trap | what it says | looked at | told to subscribers |
//! |---|---|---|---|
//! | 128 | the state of a link of a switch has changed | yes | yes |
//! | 129, 130, 131 | link integrity, buffer overruns, flow control | no: no state has changed | no, as with OpenSM |
//! | 144, 145 | something of a node has changed | yes | yes |
//! | 256 to 259 | a wrong key was used | no: nothing has changed | yes |
//! | vendors', others | | no | yes |
//!
//! What is read again for which trap [`crate::discovery::Told`] says.
//!
//! Whoever sends traps without end costs an answer each. What follows from them is bounded elsewhere: sweeps by whoever orders them, and
//! Reports by [`Repeats`].
//!
//! Source: IBA vol. 1, 13.4.8 to 13.4.11 and 14.3; how often is too often: OpenSM `osm_trap_rcv.c`.
//!
//! Nothing here sends or waits: bytes in, bytes out, and the time is the caller's.

use core::hash::{BuildHasher, BuildHasherDefault};
use std::collections::HashMap;
use std::hash::DefaultHasher;
use std::time::Duration;

use sa_wire::mad::{BASE_VERSION, method};
use sa_wire::notice::{Notice, trap};
use sa_wire::smp::{CLASS_VERSION, MGMT_CLASS_LID, Smp, attribute};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::sm_info::{Own, SmState};

/// A trap, and what its sender waits for.
///
/// Answered before anything is judged: a device repeats its trap until it is repressed, so a slow look at it would multiply it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trap {
    /// As it came; IssuerGID is 0.
    pub notice: Notice,
    /// TrapRepress, to the LID that the trap came from.
    /// The trap itself with another method, as a repress has to show the same transaction and notice.
    pub repress: [u8; 256],
}

impl Trap {
    /// `None` for what is no trap, and where this SM is not the master: that one hears it too, and what is answered is not sent
    /// again. LID routed ones alone: IBA knows no directed trap.
    pub fn parse(smp: &[u8; 256], own: &Own) -> Option<Self> {
        let request = Smp::read_from_bytes(smp).ok()?;
        let header = &request.header;
        let is_trap = header.mgmt_class == MGMT_CLASS_LID
            && header.base_version == BASE_VERSION
            && header.class_version == CLASS_VERSION
            && header.method == method::TRAP
            // TRAP with another attribute is not defined; a repress of it would mean nothing to its sender.
            && header.attribute_id.get() == attribute::NOTICE;
        if !is_trap || own.info.state != SmState::Master {
            return None;
        }
        let mut repress = request;
        repress.header.method = method::TRAP_REPRESS;
        repress.header.status = 0.into();
        // All ports have the same.
        repress.m_key = own.m_key.into();
        Some(Self {
            notice: Notice::of_smp(&request.data),
            repress: zerocopy::transmute!(repress),
        })
    }
}

/// Trap 144 of a CA, which says that the priority of the SM on it has changed: the master looks who is the greater.
///
/// Shape: 256 bytes, LID routed, of method Trap; `own_lid`: base LID of the SM's port, which issues it.
/// Without it a master would notice at its next sweep only.
pub fn priority_changed(own_lid: u16, transaction: u32) -> [u8; 256] {
    let [high, low] = own_lid.to_be_bytes();
    let mut data = [0; 64];
    // Bytes 8 and 9 are toggle and count, which the sender of a new trap leaves 0.
    // Generic and informational; of a CA; number; issuer; then the details, from byte 10 on: LID, OtherLocalChanges, flags.
    let [number_high, number_low] = trap::LOCAL_CHANGE.to_be_bytes();
    let head = [
        0x84,
        0,
        0,
        1,
        number_high,
        number_low,
        high,
        low,
        0,
        0,
        0,
        0,
        high,
        low,
        0,
        1,
        0,
        0,
        0,
        0,
        0,
        PRIORITY_FLAG,
    ];
    for (place, byte) in data.iter_mut().zip(head) {
        *place = byte;
    }
    // Made as a directed SMP for its header, then turned into a LID routed one: the two differ in the fields below.
    let mut smp = Smp::directed(method::TRAP, attribute::NOTICE, u64::from(transaction), &[])
        .unwrap_or_else(Smp::new_zeroed);
    // Hop pointer and count, and both directed LIDs, mean nothing in a LID routed SMP.
    smp.header.mgmt_class = MGMT_CLASS_LID;
    smp.header.class_specific = 0.into();
    (smp.directed_slid, smp.directed_dlid) = (0.into(), 0.into());
    smp.data = data;
    zerocopy::transmute!(smp)
}

/// Of the flags of trap 144: the priority of an SM has changed.
const PRIORITY_FLAG: u8 = 0x08;

/// Subscribers hear of it, if it is not repeated too often. Those of 64 to 67 are this SA's own.
///
/// A device that sends 64 to 67 (GID in and out of service, multicast groups) would put words into the SA's mouth.
pub const fn is_forwarded(notice: &Notice) -> bool {
    let number = notice.trap_number.get();
    let is_own = matches!(number, trap::GID_IN_SERVICE..=trap::MGID_DESTROYED);
    // OpenSM keeps errors of links from subscribers too: they come by the thousand, and no path changes with them.
    let is_of_link = matches!(number, trap::LINK_INTEGRITY..=trap::FLOW_CONTROL);
    !notice.is_generic() || !(is_own || is_of_link)
}

/// Which traps came how often lately. Time is the caller's.
///
/// Memory: at most 4,096 entries of some 32 bytes, whatever comes.
#[derive(Debug, Default)]
pub struct Repeats {
    /// By sender and content.
    /// By a hash of both: two that collide are counted as one, which costs a Report that is not sent.
    seen: HashMap<u64, Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Since the last pause.
    times: u32,
    /// On the caller's clock; it only has to go forward.
    last: Duration,
}

impl Repeats {
    /// Notes a trap of a LID. True from the tenth time on that the same comes without a pause of 5 s between two, and for new ones while
    /// more than 4,096 others come like that.
    pub fn is_too_often(&mut self, from: u16, notice: &Notice, now: Duration) -> bool {
        let key = key(from, notice);
        // Room is made only when it is needed: forgetting costs a look at all of them.
        if !self.seen.contains_key(&key) && self.seen.len() >= MOST {
            self.seen
                .retain(|_, seen| now.saturating_sub(seen.last) < FORGOTTEN);
            // Still full: somebody makes up new traps. They count as repeated, so that Reports stay bounded.
            if self.seen.len() >= MOST {
                return true;
            }
        }
        let seen = self.seen.entry(key).or_insert(Seen {
            times: 0,
            last: now,
        });
        if now.saturating_sub(seen.last) >= FORGOTTEN {
            seen.times = 0;
        }
        seen.times = seen.times.saturating_add(1);
        seen.last = now;
        seen.times >= TOO_OFTEN
    }
}

/// Without what counts repeats itself.
///
/// NoticeToggle and NoticeCount differ in each repetition of the same trap (IBA vol. 1, 13.4.8.1).
fn key(from: u16, notice: &Notice) -> u64 {
    let content = Notice {
        toggle_and_count: 0.into(),
        ..*notice
    };
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    // Without a seed: equal from run to run, and there is nothing to gain from a collision but silence about one's own traps.
    hasher.hash_one((from, content.as_bytes()))
}

/// How often the same may come.
const TOO_OFTEN: u32 = 10;
/// A trap that stayed out for so long is a new one.
const FORGOTTEN: Duration = Duration::from_secs(5);
/// Traps that are remembered.
const MOST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::Told;
    use crate::sm_info::SmInfo;

    fn own(state: SmState) -> Own {
        Own {
            info: SmInfo {
                guid: None,
                sm_key: 1,
                act_count: 0,
                priority: 0,
                state,
            },
            m_key: 77,
            protection: 0,
        }
    }

    /// A trap of a switch with LID 9.
    fn sent(number: u16) -> [u8; 256] {
        let mut smp = Smp::directed(method::TRAP, attribute::NOTICE, 5, &[]).unwrap();
        smp.header.mgmt_class = MGMT_CLASS_LID;
        smp.header.class_specific = 0.into();
        smp.data[..4].copy_from_slice(&[0x81, 0, 0, 2]);
        smp.data[4..6].copy_from_slice(&number.to_be_bytes());
        smp.data[6..8].copy_from_slice(&9_u16.to_be_bytes());
        smp.data[10..12].copy_from_slice(&9_u16.to_be_bytes());
        zerocopy::transmute!(smp)
    }

    #[test]
    fn a_trap_is_repressed_with_its_own_words_and_the_key_of_its_sender() {
        let bytes = sent(trap::LINK_STATE);
        let heard = Trap::parse(&bytes, &own(SmState::Master)).unwrap();
        let repress = Smp::read_from_bytes(&heard.repress).unwrap();
        let asked = Smp::read_from_bytes(&bytes).unwrap();
        assert_eq!(repress.header.method, method::TRAP_REPRESS);
        assert_eq!(repress.header.transaction_id, asked.header.transaction_id);
        assert_eq!((repress.data, repress.m_key.get()), (asked.data, 77));
        let notice = heard.notice;
        assert_eq!(
            (notice.trap_number.get(), notice.issuer_lid.get()),
            (128, 9)
        );
        assert_eq!(notice.details[..2], [0, 9]);
        for state in [SmState::Standby, SmState::Discovering] {
            assert_eq!(Trap::parse(&bytes, &own(state)), None);
        }
        let mut other = bytes;
        other[3] = method::TRAP_REPRESS;
        assert_eq!(Trap::parse(&other, &own(SmState::Master)), None);
    }

    #[test]
    fn a_priority_that_changed_is_told_as_a_trap() {
        let heard = Trap::parse(&priority_changed(0x1203, 9), &own(SmState::Master)).unwrap();
        let notice = heard.notice;
        assert_eq!(notice.trap_number.get(), trap::LOCAL_CHANGE);
        assert_eq!(notice.issuer_lid.get(), 0x1203);
        assert_eq!((notice.is_generic(), notice.notice_type()), (true, 4));
        // LID, OtherLocalChanges, flags.
        let details = notice.details;
        assert_eq!(
            (&details[2..4], details[5], &details[10..12]),
            (&[0x12, 3][..], 1, &[0, 8][..])
        );
    }

    #[test]
    fn what_follows_from_which_trap() {
        let follows = |number| {
            let heard = Trap::parse(&sent(number), &own(SmState::Master)).unwrap();
            (
                Told::default().hear(&heard.notice),
                is_forwarded(&heard.notice),
            )
        };
        assert_eq!(follows(128), (true, true));
        assert_eq!(follows(130), (false, false));
        assert_eq!(follows(144), (true, true));
        assert_eq!(follows(257), (false, true));
        assert_eq!(follows(64), (false, false), "ours to tell");
        assert_eq!(follows(300), (false, true));
    }

    #[test]
    fn the_same_is_told_nine_times_and_again_after_a_pause() {
        let second = Duration::from_secs(1);
        let mut repeats = Repeats::default();
        let notice = |number| {
            Trap::parse(&sent(number), &own(SmState::Master))
                .unwrap()
                .notice
        };
        let first = notice(128);
        let told = |repeats: &mut Repeats, now| !repeats.is_too_often(9, &first, now);
        let times = (0..20).filter(|_| told(&mut repeats, second)).count();
        assert_eq!(times, 9);
        assert!(
            !repeats.is_too_often(9, &notice(144), second),
            "another trap"
        );
        assert!(!repeats.is_too_often(8, &first, second), "another sender");
        assert!(!told(&mut repeats, 5 * second), "it never stopped");
        assert!(told(&mut repeats, 10 * second));
        // As many as there are LIDs take no more memory than that.
        let new = (1..u16::MAX).filter(|lid| !repeats.is_too_often(*lid, &first, 10 * second));
        assert!(new.count() <= MOST);
        assert!(repeats.seen.len() <= MOST);
    }
}
