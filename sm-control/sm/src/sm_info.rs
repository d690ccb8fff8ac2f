//! SMInfo: what Subnet Managers say of themselves, and what this one answers when it is asked.
//!
//! ```text
//!  Get(SMInfo)          ──> GUID, SM_Key, ActCount, priority, state
//!  Set(SMInfo), command ──> the same, after it was followed; or status 0x1c
//!  anything else        ──> no answer
//! ```
//!
//! Who of several is the master, and which commands are followed, is in [`crate::mastership`].
//!
//! A request is answered from a value alone, so that nobody who asks waits for a sweep.
//!
//! Source: IBA vol. 1, 14.2.5.13 (layout), 14.4.1 (states), 14.2.4 (M_Key).
//!
//! What this file may not do: decide. `follow` is handed in, so that commands reach the mastership of the moment and nothing else is held.

use core::cmp::Reverse;

use sa_wire::Guid;
use sa_wire::mad::{BASE_VERSION, Status, method};
use sa_wire::smp::{CLASS_VERSION, MGMT_CLASS_DIRECTED, MGMT_CLASS_LID, Smp, attribute};
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// SMState, by its code.
///
/// The codes are those of the wire; others are reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SmState {
    /// It was told to do nothing.
    NotActive = 0,
    /// It has not found out yet whether another is the master.
    Discovering = 1,
    /// Another is the master; this one looks whether that one still is.
    Standby = 2,
    /// It manages the subnet.
    Master = 3,
}

/// What an SM says of itself.
///
/// Shape on the wire: 21 bytes, priority and state in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmInfo {
    /// GUID of its port; none before its own node has answered.
    pub guid: Option<Guid>,
    /// `sm_key`; 0 where it is hidden.
    /// Sent in clear: it keeps honest SMs of two subnets apart, and nobody else out.
    pub sm_key: u64,
    /// SMPs that it has sent.
    /// A standby may take a master for stuck whose count stays as it was (IBA vol. 1, 14.4.1).
    pub act_count: u32,
    /// 0 to 15: the highest is to be the master.
    pub priority: u8,
    /// What it is now.
    pub state: SmState,
}

/// This SM, to answer as.
///
/// A value of one moment: the state may change while the answer is made, and the answer then still agrees with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own {
    /// What is told.
    pub info: SmInfo,
    /// M_Key of its port; 0 for none.
    ///
    /// Source: IBA vol. 1, 14.2.4.
    pub m_key: u64,
    /// M_KeyProtectBits of its port.
    /// 0 and 1 let anybody read; from 2 on a Get without the key gets no answer.
    pub protection: u8,
}

impl Own {
    /// True for a request with the M_Key of this SM's port, and for all where it has none.
    ///
    /// A key of 0 checks nothing (IBA vol. 1, 14.2.4.1).
    pub fn has_key(&self, request: &Smp) -> bool {
        self.m_key == 0 || request.m_key.get() == self.m_key
    }
}

impl SmInfo {
    /// As it lies in an SMP. `None` for a state that there is not.
    ///
    /// A GUID of 0 is none: an SM that has not found its own port yet says so.
    pub fn parse(data: &[u8; 64]) -> Option<Self> {
        // 64 bytes hold the 21 of the layout, so this cannot fail; `ok` says so without a panic.
        let (layout, _) = Layout::read_from_prefix(data).ok()?;
        let state = match layout.priority_and_state & 0xf {
            0 => SmState::NotActive,
            1 => SmState::Discovering,
            2 => SmState::Standby,
            3 => SmState::Master,
            _ => return None,
        };
        Some(Self {
            guid: Guid::new(layout.guid.get()).ok(),
            sm_key: layout.sm_key.get(),
            act_count: layout.act_count.get(),
            priority: layout.priority_and_state >> 4,
            state,
        })
    }

    /// The attribute's 64 bytes.
    ///
    /// Zeros behind the layout, as the rest of the attribute is reserved.
    pub fn data(&self) -> [u8; 64] {
        let layout = Layout {
            guid: self.guid.map_or(0, Guid::get).into(),
            sm_key: self.sm_key.into(),
            act_count: self.act_count.into(),
            priority_and_state: (self.priority << 4) | self.state as u8,
        };
        let mut data = [0; 64];
        if let Some(place) = data.first_chunk_mut::<SIZE>() {
            *place = zerocopy::transmute!(layout);
        }
        data
    }
}

impl SmInfo {
    /// Who is to be the master of the two: the higher priority, and of equals the lower GUID.
    ///
    /// No two SMs are equal in a subnet where GUIDs are unique, so exactly one of them steps back.
    pub fn is_greater_than(&self, other: &Self) -> bool {
        self.rank() > other.rank()
    }

    /// One that does not know its GUID yet is the last of its priority.
    ///
    /// Shape: greater is better, so the GUID is reversed. Source: IBA vol. 1, 14.4.1.
    pub(crate) fn rank(&self) -> (u8, Reverse<u64>) {
        (
            self.priority,
            Reverse(self.guid.map_or(u64::MAX, Guid::get)),
        )
    }

    /// True for an SM of the same trust: an own `sm_key` must be the other's too.
    ///
    /// One without a key trusts everybody.
    pub const fn trusts(&self, other: &Self) -> bool {
        self.sm_key == 0 || self.sm_key == other.sm_key
    }
}

/// The answer of this SM to an SMP that came to it; `None` where there is none: no request about SMInfo, or one that
/// lacks the M_Key which it needs. `follow` is given a command (a Set), and says what this SM is afterwards; `None`: it is refused.
///
/// Shape: 256 bytes in, 256 out: MADs as they lie on the wire, without umad's header.
/// What is left unanswered looks to its sender like an SM that is not there, which is what a wrong M_Key is to see.
pub fn answer(
    request: &[u8; 256],
    own: &Own,
    follow: impl FnOnce(&Smp) -> Option<SmInfo>,
) -> Option<[u8; 256]> {
    let request = Smp::read_from_bytes(request).ok()?;
    let header = &request.header;
    // Versions too: a class version of another layout would be read at wrong places.
    let is_smp = [MGMT_CLASS_LID, MGMT_CLASS_DIRECTED].contains(&header.mgmt_class)
        && header.base_version == BASE_VERSION
        && header.class_version == CLASS_VERSION;
    // Everything else that an SM may be sent is somebody else's.
    if !is_smp || header.attribute_id.get() != attribute::SM_INFO {
        return None;
    }
    let has_key = own.has_key(&request);
    let (told, status) = match header.method {
        method::GET if has_key || own.protection < HIDDEN_BEHIND => (own.info, Status::OK),
        // A command that is not followed has an answer, so that its sender does not repeat it for ever.
        method::SET if has_key => match follow(&request) {
            Some(info) => (info, Status::OK),
            None => (own.info, Status::INVALID_FIELD),
        },
        _ => return None,
    };
    // Level 0 lets everybody read the M_Key, so there is nothing to hide from who does not send it.
    let sm_key = if has_key || own.protection == 0 {
        told.sm_key
    } else {
        0
    };
    Some(returned(&request, SmInfo { sm_key, ..told }.data(), status))
}

/// The request as its answer: along the way that it came.
///
/// A directed one goes back hop by hop: DR bit set, hop pointer as it came, return path as the switches filled it in.
fn returned(request: &Smp, data: [u8; 64], status: Status) -> [u8; 256] {
    // From the request, so that route, hops and transaction are those that lead back.
    let mut answer = *request;
    answer.header.method = method::GET_RESP;
    // D bit of the status: towards the requester. LID routed SMPs have none.
    let returning = if request.is_directed() {
        Smp::RETURNING
    } else {
        0
    };
    answer.header.status = (status.0 | returning).into();
    // Who answers shows no key.
    answer.m_key = 0.into();
    // The permissive LID at both ends, or the LIDs of a route that is directed in part only.
    answer.directed_slid = request.directed_dlid;
    answer.directed_dlid = request.directed_slid;
    answer.data = data;
    zerocopy::transmute!(answer)
}

/// SMInfo as it is in an SMP.
///
/// Source: IBA vol. 1, table of SMInfo (14.2.5.13). Big-endian, without padding.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    guid: U64,
    /// As it is shown to this requester: 0 where it may not see the key.
    sm_key: U64,
    act_count: U32,
    /// Priority in the upper four bits, state in the lower.
    priority_and_state: u8,
}

/// From this M_KeyProtectBits on a Get without the M_Key gets no answer.
///
/// IBA vol. 1, 14.2.4: level 1 still answers it, and hides the key alone.
const HIDDEN_BEHIND: u8 = 2;

/// Of the attribute. Units: bytes.
const SIZE: usize = 21;

const _: () = assert!(size_of::<Layout>() == SIZE);

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: u64 = 0x1234;

    fn own(m_key: u64, protection: u8) -> Own {
        let info = SmInfo {
            guid: Guid::new(0x10_0001).ok(),
            sm_key: 7,
            act_count: 90,
            priority: 5,
            state: SmState::Master,
        };
        Own {
            info,
            m_key,
            protection,
        }
    }

    fn asked(method: u8, m_key: u64, own: &Own) -> Option<Smp> {
        let mut request = Smp::directed(method, attribute::SM_INFO, 3, &[1, 2]).unwrap();
        request.m_key = m_key.into();
        request.header.class_specific = 0x0202.into();
        let answer = answer(&zerocopy::transmute!(request), own, |_| None)?;
        Some(zerocopy::transmute!(answer))
    }

    #[test]
    fn a_get_is_answered_the_way_it_came() {
        let own = own(0, 0);
        let answer = asked(method::GET, 0, &own).unwrap();
        assert_eq!(SmInfo::parse(&answer.data), Some(own.info));
        assert_eq!(answer.header.method, method::GET_RESP);
        assert_eq!(answer.header.status.get(), Smp::RETURNING);
        assert_eq!(answer.header.class_specific.get(), 0x0202);
        assert_eq!(answer.header.transaction_id.get(), 3);
        assert_eq!(answer.path(), Some(&[1, 2][..]));
    }

    #[test]
    fn by_lid_there_is_no_direction() {
        let mut request = Smp::directed(method::GET, attribute::SM_INFO, 3, &[]).unwrap();
        request.header.mgmt_class = MGMT_CLASS_LID;
        let answer = answer(&zerocopy::transmute!(request), &own(0, 0), |_| None).unwrap();
        let answer: Smp = zerocopy::transmute!(answer);
        assert_eq!(answer.header.status.get(), 0);
    }

    /// SM_Key shown, hidden, or no answer: by M_KeyProtectBits, for who lacks the M_Key and for who has it.
    #[test]
    fn the_m_key_decides_what_is_shown() {
        let shown = |method, key, protection| {
            let answer = asked(method, key, &own(KEY, protection))?;
            Some(SmInfo::parse(&answer.data)?.sm_key)
        };
        let without = [0, 1, 2, 3].map(|protection| shown(method::GET, 0, protection));
        assert_eq!(without, [Some(7), Some(0), None, None]);
        let with = [0, 1, 2, 3].map(|protection| shown(method::GET, KEY, protection));
        assert_eq!(with, [Some(7); 4]);
        assert_eq!(shown(method::SET, 0, 0), None);
    }

    fn other(priority: u8, guid: u64, state: SmState) -> SmInfo {
        SmInfo {
            guid: Guid::new(guid).ok(),
            priority,
            state,
            ..own(0, 0).info
        }
    }

    fn discovering(priority: u8, guid: u64) -> SmInfo {
        other(priority, guid, SmState::Discovering)
    }

    #[test]
    fn the_higher_priority_is_greater_then_the_lower_guid() {
        let ascending = [
            discovering(0, 1),
            discovering(3, 9),
            discovering(3, 2),
            discovering(15, 7),
        ];
        for (nth, one) in ascending.iter().enumerate() {
            for (other_nth, other) in ascending.iter().enumerate() {
                assert_eq!(
                    one.is_greater_than(other),
                    nth > other_nth,
                    "{nth} {other_nth}"
                );
            }
        }
    }

    /// A command without the M_Key is not even looked at.
    #[test]
    fn a_command_is_refused_or_followed() {
        let refused = asked(method::SET, 0, &own(0, 0)).unwrap();
        assert_eq!(refused.status(), Status::INVALID_FIELD);
        assert_eq!(SmInfo::parse(&refused.data), Some(own(0, 0).info));

        let mut request = Smp::directed(method::SET, attribute::SM_INFO, 3, &[1]).unwrap();
        request.header.attribute_modifier = 1.into();
        let after = SmInfo {
            state: SmState::Master,
            ..own(0, 0).info
        };
        let follow = |smp: &Smp| (smp.header.attribute_modifier.get() == 1).then_some(after);
        let bytes: [u8; 256] = zerocopy::transmute!(request);
        let followed: Smp = zerocopy::transmute!(answer(&bytes, &own(0, 0), follow).unwrap());
        assert_eq!(followed.status(), Status::OK);
        assert_eq!(SmInfo::parse(&followed.data), Some(after));
        assert_eq!(answer(&bytes, &own(KEY, 0), |_| unreachable!()), None);
    }

    #[test]
    fn what_is_no_question_about_sm_info_gets_no_answer() {
        for method in [method::GET_RESP, method::TRAP, method::TRAP_REPRESS, 0] {
            assert_eq!(asked(method, 0, &own(0, 0)), None, "{method:#x}");
        }
        let other = Smp::directed(method::GET, attribute::NODE_INFO, 3, &[]).unwrap();
        assert_eq!(
            answer(&zerocopy::transmute!(other), &own(0, 0), |_| None),
            None
        );
        let mut odd = Smp::directed(method::GET, attribute::SM_INFO, 3, &[]).unwrap();
        odd.header.class_version = 2;
        assert_eq!(
            answer(&zerocopy::transmute!(odd), &own(0, 0), |_| None),
            None
        );
    }

    #[test]
    fn a_state_that_there_is_not_is_none() {
        let mut data = own(0, 0).info.data();
        data[20] = 0x54;
        assert_eq!(SmInfo::parse(&data), None);
    }
}
