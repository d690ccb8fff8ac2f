//! What the writing would send, without sending it.
//!
//! ```text
//!  a copy of the subnet ──> Writing ──> Set ──> answered as a device that takes everything answers ──┐
//!                              ^──────────────────────────────────────────────────────────────────┘
//! ```
//!
//! | what is counted | what is not |
//! |---|---|
//! | each Set that would be sent, once | tries after a lost answer |
//! | one block twice, where an order asks for it | Gets that look whether a port has come up |
//! | Sets that were refused before, where they would be tried again | Sets to nodes that are mute |
//!
//! It is [`Writing`] itself that runs, stages and orders included, so the numbers are those of the real run where all devices
//! take what they are sent. One that refuses, is mute or changes meanwhile makes them others. The tables that are wanted and not
//! known have to be read before, or they count as Sets.

use core::hash::{Hash, Hasher};
use std::collections::BTreeMap;
use std::hash::DefaultHasher;
use std::sync::Arc;
use std::time::Duration;

use super::set::{Kind, Memory, Set};
use super::wanted::without_change;
use super::{Transition, Wanted, Writing};
use crate::executor::Outcome;
use crate::model::attributes::{Data, port_info, port_info_data, switch_info, switch_info_data};
use crate::model::{PortState, Subnet};

/// Sets that were counted and not sent.
#[derive(Debug, Clone, Default)]
pub struct Rehearsal {
    /// How many, by attribute.
    pub sets: BTreeMap<u16, u64>,
    /// Never seen outside but as a number, which is of one process: hashes of another build may differ.
    /// Of all of them, in their order: place, attribute and value.
    digest: DefaultHasher,
}

impl Rehearsal {
    /// Runs a writing over `subnet`, which afterwards has what devices would hold. Shape: with `has_links` links come up, too.
    pub fn run(
        &mut self,
        subnet: &mut Subnet,
        (wanted, transition): (Arc<Wanted>, Transition),
        memory: Memory,
        has_links: bool,
    ) {
        let mut writing = match has_links {
            true => Writing::new(subnet, wanted, transition, memory),
            false => Writing::without_links(subnet, wanted, memory),
        };
        // Nothing is under way at any time, so whatever waits for an answer goes on at once. Time passes where it waits for that.
        let mut now = Duration::ZERO;
        loop {
            let Some((request, set)) = writing.next_set(subnet, now, |_| false) else {
                match writing.wakes_at() {
                    Some(wakes) if wakes > now => now = wakes,
                    _ => break,
                }
                continue;
            };
            // Looks whether a port has come up are Gets.
            if request.set.is_some() {
                self.note(&set, subnet);
            }
            let data = answer(&set, subnet);
            writing.answered(&set, Outcome::Answered(data), subnet);
        }
    }

    /// All Sets together.
    pub fn total(&self) -> u64 {
        self.sets.values().sum()
    }

    /// Two rehearsals with the same would send the same Sets.
    pub fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// Counts a Set. Nodes go by GUID: their numbers are of one sweep.
    fn note(&mut self, set: &Set, subnet: &Subnet) {
        let (attribute, modifier) = set.attribute(subnet);
        *self.sets.entry(attribute).or_default() += 1;
        let node = subnet.node(set.at.node).map(|node| node.guid().get());
        (node, set.at.port, attribute, modifier, set.data).hash(&mut self.digest);
    }
}

/// What a device that takes all of it answers.
fn answer(set: &Set, subnet: &Subnet) -> Data {
    match set.kind {
        Kind::Table(_) => set.data,
        // PortStateChange that is written is cleared.
        Kind::Switch => switch_info_data(&without_change(&switch_info(&set.data))),
        Kind::Port => in_state(set, subnet, None),
        Kind::State(state) | Kind::Look(state) => in_state(set, subnet, Some(state)),
    }
}

/// PortInfo as sent, with what a Set does not write as it was. `state`: none where the Set leaves it.
fn in_state(set: &Set, subnet: &Subnet, state: Option<PortState>) -> Data {
    let mut info = port_info(&set.data);
    let Some(held) = subnet.port(set.at).and_then(|port| port.info) else {
        return set.data;
    };
    let code = state.map_or(held.speed_supported_and_state & 0xf, |state| state as u8);
    info.speed_supported_and_state = info.speed_supported_and_state & 0xf0 | code;
    info.physical_state_and_down_default =
        info.physical_state_and_down_default & 0x0f | held.physical_state_and_down_default & 0xf0;
    info.local_port_num = held.local_port_num;
    info.m_key_violations = held.m_key_violations;
    info.p_key_violations = held.p_key_violations;
    info.q_key_violations = held.q_key_violations;
    port_info_data(&info)
}
