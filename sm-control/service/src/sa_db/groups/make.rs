//! Making a group.
//!
//! A client that makes a group must say P_Key, Q_Key, SL, flow label and traffic class; MTU and
//! rate it may leave to the SA, or ask for "more than", "less than" or "the best". What it asks is
//! answered by what the *joining port* can do, because the maker is the first member. MLID and MGID
//! are found here: those asked for if they are free, else the next ones.
//!
//! ```text
//!  the port: MTU 2048 (4), 40 Gb/s           asked for                     the group gets
//!  MTU selector "more than" 1024 (3)         > 3                           4: the port's own
//!  MTU "more than" 2048 (4)                  > 4                           refused
//!  MTU "less than" 1024 (3)                  < 3                           2: 512
//!  rate "less than" 10 Gb/s (3)              slower than 10                5: 5 Gb/s, the next slower
//!  no MTU pair                               nothing                       4
//! ```

use sa_wire::mad::Status;
use sa_wire::path_record::SelectedValue;
use sa_wire::records::{McMemberCompMask, McMemberRecord, join_state};
use sa_wire::{Mlid, Mtu, Selector};

use super::super::Asked;
use super::port::Port;
use super::request::{Rates, Request};
use super::{Groups, mgid};

/// Groups that a subnet's switches can hold where they were not asked: MulticastFDBCap, as ibsim's
/// switches have it. Without switches no table bounds them, and the MLIDs do.
const MOST_GROUPS: u16 = 0x0400;
/// 0xffff is the permissive LID.
const LAST_MLID: u16 = 0xfffe;

impl Groups {
    /// The record of a new group, which is not added. May count up the number of MGIDs that are
    /// made up. Errors: the status of the refusal, by the first check that fails.
    pub(super) fn make(
        &mut self,
        asked: &Asked<'_>,
        request: &Request,
        port: &Port,
    ) -> Result<McMemberRecord, Status> {
        // A group that nobody would keep alive is not begun.
        let keeps = join_state::FULL | join_state::SEND_ONLY_FULL;
        if request.record.join_state() & keeps == 0 {
            return Err(Status::REQ_INVALID);
        }
        if !request.mask.has_all(McMemberCompMask::CREATE) {
            return Err(Status::REQ_INSUFFICIENT_COMPONENTS);
        }
        // A refusal below leaves the number of a made-up MGID unused, and nothing else.
        let address = self.address(asked, request)?;
        let invalid = Status::REQ_INVALID;
        let mtu = mtu(request, port).ok_or(invalid)?;
        let rate = rate(request, port).ok_or(invalid)?;
        let mlid = self.free_mlid(asked, request.record.mlid.get());
        Ok(McMemberRecord {
            mgid: address,
            mlid: mlid.ok_or(Status::NO_RESOURCES)?.into(),
            mtu: SelectedValue::exactly(mtu),
            rate: SelectedValue::exactly(rate),
            packet_life: SelectedValue::exactly(request.record.packet_life.value()),
            ..request.record
        })
    }

    /// The MGID asked for, or one made up where it is 0. Errors: it may not be chosen, or not like
    /// this: an IP group unlike its broadcast group.
    fn address(&mut self, asked: &Asked<'_>, request: &Request) -> Result<[u8; 16], Status> {
        let wanted = request.record.mgid;
        if wanted == [0; 16] {
            let scope = mgid::scope(&request.record, request.mask.has(McMemberCompMask::SCOPE));
            let prefix = asked.parts.options.subnet_prefix.0;
            return Ok(mgid::made_up(self, prefix, scope));
        }
        match mgid::may_be_chosen(&wanted) && mgid::suits_broadcast(self, request) {
            true => Ok(wanted),
            false => Err(Status::REQ_INVALID),
        }
    }

    /// The MLID asked for if nobody has it, else the first that nobody has. Each group has one of
    /// its own. O(n log n) in the number of groups.
    fn free_mlid(&self, asked: &Asked<'_>, wanted: u16) -> Option<u16> {
        let first = Mlid::MIN.get();
        // A group that some switch has no place for would have no tree there.
        let room = asked.parts.off_subnet.multicast_cap.unwrap_or(MOST_GROUPS);
        let last = match asked.parts.subnet.switches().is_empty() {
            true => LAST_MLID,
            false => first.saturating_add(room.saturating_sub(1)).min(LAST_MLID),
        };
        let mut taken: Vec<u16> = self
            .all
            .values()
            .map(|group| group.record.mlid.get())
            .collect();
        // Sorted once instead of going over all groups for each MLID.
        taken.sort_unstable();
        let is_free = |mlid: &u16| taken.binary_search(mlid).is_err();
        let is_asked_for = (first..=last).contains(&wanted) && is_free(&wanted);
        match is_asked_for {
            true => Some(wanted),
            false => (first..=last).find(is_free),
        }
    }
}

/// The MTU of a new group: the port's where nothing else is asked for. None where it has none such.
/// Units: code, 1 to 5 for 256 to 4096 bytes.
fn mtu(request: &Request, port: &Port) -> Option<u8> {
    let wanted = request.record.mtu;
    if !request.mask.has_all(McMemberCompMask::MTU_PAIR) {
        return Some(port.mtu);
    }
    let mtu = match wanted.selector() {
        Selector::Best => port.mtu,
        Selector::Greater if wanted.value() >= port.mtu => return None,
        Selector::Greater => port.mtu,
        Selector::Less if wanted.value() > port.mtu => port.mtu,
        // MTU codes go up by one; rate codes do not follow the speeds, so the other function asks
        // for the rank.
        Selector::Less => wanted.value().checked_sub(1)?,
        Selector::Exactly => wanted.value(),
    };
    Mtu::from_code(mtu).ok().map(Mtu::code)
}

/// The rate of a new group: the port's where nothing else is asked for. None where it has none such.
fn rate(request: &Request, port: &Port) -> Option<u8> {
    let wanted = request.record.rate;
    let order = Rates::rank(wanted.value()).cmp(&Rates::rank(port.rate));
    let rate = match wanted.selector() {
        _ if !request.mask.has_all(McMemberCompMask::RATE_PAIR) => port.rate,
        Selector::Best => port.rate,
        Selector::Greater if order.is_ge() => return None,
        Selector::Greater => port.rate,
        Selector::Less if order.is_gt() => port.rate,
        Selector::Less => Rates::previous(wanted.value())?,
        Selector::Exactly => wanted.value(),
    };
    Some(request.rates.granted(rate))
}
