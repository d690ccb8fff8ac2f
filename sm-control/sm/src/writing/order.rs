//! In which order switches get a block of 64 forwarding entries, so that no packet goes in a circle meanwhile.
//!
//! ```text
//!  LID at D    old  A ─> B ─> D        B must not send to A before A sends to D by itself:
//!              new  B ─> A ─> D        A first, acknowledged, then B
//! ```
//!
//! A switch takes its new entry for a LID when all switches on its new path have theirs. So whoever has the new entry
//! hands on to those that have it, down to the LID's port; whoever has the old one follows old entries until one that
//! has the new one, or to the end. No packet meets a switch twice, and none is lost that both tables deliver. Switches whose
//! new path leads nowhere are the last for that LID, in the same order among themselves: others that are to go another way still send to them.
//!
//! The LIDs of a block may ask for orders that contradict each other. Then a switch gets the new entries that nothing
//! stands against, with old ones between them, and the block once more later: only where nothing else is left to do.

mod member;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use self::member::Member;
use super::cables::Cables;
use super::ways::{Way, Ways};
use crate::model::attributes::Data;
use crate::wanted::linear::NO_PATH;

/// LIDs of a block.
const LIDS: usize = 64;

/// One block of all switches that change it, on its way from what they hold to what they should.
#[derive(Debug)]
pub(super) struct Order {
    /// By number of the switch.
    members: BTreeMap<u32, Member>,
    /// Those of which nothing waits, each once or more often.
    ready: VecDeque<u32>,
    /// Sets without an answer.
    open: usize,
    /// By place of the LID: switches that change it and are none of the last.
    early: [u32; LIDS],
}

/// What a switch holds and should hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    /// What it holds; `None` where nobody knows.
    pub(super) held: Option<Data>,
    /// What it should hold.
    pub(super) wanted: Data,
}

impl Change {
    /// Wants the entries of these LIDs, a bit each; the others as they are.
    pub(super) fn keep_others(&mut self, lids: u64) {
        let held = self.held.unwrap_or([NO_PATH; LIDS]);
        for (place, (wanted, held)) in self.wanted.iter_mut().zip(held).enumerate() {
            if lids >> place & 1 == 0 {
                *wanted = held;
            }
        }
    }
}

/// The block of every switch. Shape: by number of the switch; none where nobody knows.
pub(super) type Rows = Vec<Option<Data>>;

impl Order {
    /// For the LIDs of `mask`. `held`: the block of all switches now; `changes`: by number of the switch. With
    /// `is_careful` a LID stays as it is where its new path does not lead to its port by what is known: for what is left after some
    /// switch did not take its block.
    pub(super) fn new(
        cables: &Cables,
        held: &Rows,
        changes: &BTreeMap<u32, Change>,
        mask: u64,
        is_careful: bool,
    ) -> Self {
        let members = changes.iter().map(|(switch, change)| {
            let differs = |held: &Data| differing(held, &change.wanted);
            let known = change.held.as_ref().map(differs);
            // Of what nobody knows all is written.
            let left = known.map_or(u64::MAX, |differing| differing & mask);
            (*switch, Member::new(change, left))
        });
        let mut order = Self {
            members: members.filter(|(_, member)| member.left != 0).collect(),
            ready: VecDeque::new(),
            open: 0,
            early: [0; LIDS],
        };
        let mut ways = Ways::new(cables, held);
        let used = order.members.values().fold(0, |used, it| used | it.left);
        for place in (0..LIDS).filter(|place| used >> place & 1 == 1) {
            order.settle(&mut ways, place, is_careful);
        }
        order.members.retain(|_, member| member.left != 0);
        order.ready = order
            .members
            .iter()
            .filter(|(_, it)| it.waiting == 0)
            .map(|(at, _)| *at)
            .collect();
        order
    }

    /// Who waits for whom, for one LID.
    /// Cost: a look at each switch on the new ways of those that change.
    fn settle(&mut self, ways: &mut Ways<'_>, place: usize, is_careful: bool) {
        let bit = 1 << place;
        for switch in self.going(ways, place, is_careful) {
            let (way, before) = ways.of(switch);
            let Some(member) = self.members.get_mut(&switch) else {
                continue;
            };
            // Others may send to it yet, and are to go another way.
            if way != Way::Delivered {
                member.late |= bit;
                member.waiting |= bit;
                // Among these too: the next one's old entry may lead back here.
                member.chained |= before.map_or(0, |_| bit);
            } else if let Some(early) = self.early.get_mut(place) {
                *early += 1;
            }
            let Some(before) = before else {
                continue;
            };
            let Some(member) = self.members.get_mut(&switch) else {
                continue;
            };
            member.waiting |= bit;
            if let (Some(before), Ok(place)) = (self.members.get_mut(&before), u8::try_from(place))
            {
                before.behind.push((switch, place));
            }
        }
        // Where nobody has a way there is nobody to wait for.
        self.release_late(place);
    }

    /// The switches that take their new entry for a LID, and [`Ways`] by these. The others keep what they hold: their new way leads to
    /// one that is not asked, because it is mute or did not take its block, and whose old entry leads back here or nobody knows where.
    ///
    /// ```text
    ///  M is mute, and holds "to A"     A is to send to M: packets would go to and fro, until M answers
    ///  B is to send to A               B has the old way of A then, which may be another circle: so all are looked at again
    /// ```
    fn going(&mut self, ways: &mut Ways<'_>, place: usize, is_careful: bool) -> Vec<u32> {
        let bit = 1 << place;
        let members = self.members.iter();
        let members = members.filter(|(_, member)| member.left & bit != 0);
        let mut going: Vec<u32> = members.map(|(at, _)| *at).collect();
        loop {
            ways.begin(place);
            for switch in &going {
                if let Some(member) = self.members.get(switch) {
                    ways.change(*switch, &member.wanted);
                }
            }
            let before = going.len();
            going.retain(|switch| {
                let goes = match ways.of(*switch).0 {
                    Way::Delivered => true,
                    // Of what is lost nothing more is lost.
                    Way::Lost => !is_careful,
                    Way::Unsafe => false,
                };
                if let Some(member) = self.members.get_mut(switch).filter(|_| !goes) {
                    member.left &= !bit;
                }
                goes
            });
            // Each round has fewer, so there is a last one.
            if going.len() == before {
                return going;
            }
        }
    }

    /// The next block that may go out, with the number of its switch. The same switch comes again where its LIDs go in parts, but
    /// not before its answer. `None`: answers have to come first, or there is none.
    pub(super) fn next(&mut self) -> Option<(u32, Data)> {
        while let Some(switch) = self.ready.pop_front() {
            let member = self.members.get_mut(&switch)?;
            if let Some(data) = member.send() {
                self.open += 1;
                return Some((switch, data));
            }
        }
        if self.open > 0 {
            return None;
        }
        // Orders contradict each other: as many entries as can be.
        let free = |member: &Member| {
            (
                member.is_known,
                (member.left & !member.waiting).count_ones(),
            )
        };
        let members = self.members.iter_mut();
        let can_go = members.filter(|(_, member)| member.left & !member.waiting != 0);
        let (switch, member) = can_go.max_by_key(|(_, member)| free(member))?;
        // Without old entries there is nothing to wait with.
        if !member.is_known {
            member.waiting = 0;
        }
        let data = member.send()?;
        self.open += 1;
        Some((*switch, data))
    }

    /// What a switch holds after a Set: what it said, or `None` where nobody knows.
    /// Who waited for LIDs of it that are now as wanted need not any more; an answer that says something else, and none, leave them waiting.
    /// A switch that is none of these changes nothing.
    pub(super) fn answered(&mut self, switch: u32, held: Option<&Data>) {
        let Some(member) = self.members.get_mut(&switch) else {
            return;
        };
        self.open = self.open.saturating_sub(1);
        let sent = core::mem::take(&mut member.sent);
        let differs = held.map_or(u64::MAX, |held| differing(held, &member.wanted));
        let done = sent & !differs;
        // One that did not take it is not asked again before the next sweep: what it holds may be anything.
        member.left &= if done == sent { !sent } else { 0 };
        if let Some(held) = held {
            member.held = *held;
        }
        // Those that failed stay counted, so that nobody is the last before a second order.
        let early = done & !member.late;
        let behind = member.behind.clone();
        if member.left != 0 && member.waiting & member.left == 0 {
            self.ready.push_back(switch);
        }
        for (waits, place) in behind
            .into_iter()
            .filter(|(_, place)| done >> place & 1 == 1)
        {
            self.release(waits, 1 << place);
        }
        for place in (0..LIDS).filter(|place| early >> place & 1 == 1) {
            if let Some(count) = self.early.get_mut(place) {
                *count = count.saturating_sub(1);
            }
            self.release_late(place);
        }
    }

    /// LIDs of a switch need not wait any more.
    fn release(&mut self, switch: u32, lids: u64) {
        let Some(member) = self.members.get_mut(&switch) else {
            return;
        };
        let waited = member.waiting & member.left;
        member.waiting &= !lids;
        let is_free = member.waiting & member.left == 0;
        // One that is under way comes back with its answer.
        if waited != 0 && is_free && member.sent == 0 && member.left != 0 {
            self.ready.push_back(switch);
        }
    }

    /// Those that come last for a LID go when all others have gone.
    fn release_late(&mut self, place: usize) {
        if self.early.get(place) != Some(&0) {
            return;
        }
        let bit = 1 << place;
        let late = self
            .members
            .iter()
            .filter(|(_, it)| it.late & it.left & !it.chained & bit != 0);
        let late: Vec<u32> = late.map(|(at, _)| *at).collect();
        late.into_iter()
            .for_each(|switch| self.release(switch, bit));
    }

    /// Whether it is about this switch.
    pub(super) fn has(&self, switch: u32) -> bool {
        self.members.contains_key(&switch)
    }

    /// Nothing can go out and nothing is under way.
    pub(super) fn is_over(&self) -> bool {
        let can_go = |member: &Member| member.left & !member.waiting != 0;
        self.open == 0 && !self.members.values().any(can_go)
    }

    /// What waits for a switch that did not take its block, for an order anew: by switch, a bit for each LID. Empty where all
    /// were asked.
    pub(super) fn stuck(&self) -> BTreeMap<u32, u64> {
        let left = self.members.iter().filter(|(_, it)| it.left != 0);
        left.map(|(at, it)| (*at, it.left)).collect()
    }
}

/// Places at which two blocks differ, a bit each.
pub(super) fn differing(one: &Data, other: &Data) -> u64 {
    let pairs = one.iter().zip(other).enumerate();
    let differ = pairs.filter(|(_, (one, other))| one != other);
    differ.fold(0, |bits, (place, _)| bits | 1 << place)
}
