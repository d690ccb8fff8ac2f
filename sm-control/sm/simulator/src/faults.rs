//! What goes wrong, by rule.
//!
//! A rule names SMPs by node, method, attribute and modifier, lets some of them pass, and then acts on so many: the third Set of a
//! switch's forwarding table is one rule, a switch that is mute for ever another. Rules are asked in their order and the first
//! that fits counts the SMP, so a narrow one goes before a wide one.
//!
//! Rules are the only thing here that goes wrong: without one every SMP that reaches a node is answered.

use std::time::Duration;

use sa_wire::Guid;
use sa_wire::mad::Status;
use sa_wire::smp::Smp;

use crate::device::Device;

/// What happens to an SMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is lost, and nothing is done.
    Lost,
    /// It is answered with this status, and nothing is done.
    Status(Status),
    /// It is done, and the answer comes later by this.
    Late(Duration),
}

/// Which SMPs something happens to. What is `None` fits all.
///
/// Counters go down as SMPs fit, so one value is one experiment: a test that wants it twice adds it twice.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// What happens.
    pub effect: Effect,
    /// Node GUID.
    pub node: Option<Guid>,
    /// [`sa_wire::mad::method`].
    pub method: Option<u8>,
    /// [`sa_wire::smp::attribute`].
    pub attribute: Option<u16>,
    /// Attribute modifier.
    pub modifier: Option<u32>,
    /// So many that fit are let through first.
    pub skip: u64,
    /// To how many it happens after that; `u64::MAX` for ever.
    pub count: u64,
}

impl Rule {
    /// To everything, for ever; to be narrowed down.
    pub const fn always(effect: Effect) -> Self {
        Self {
            effect,
            node: None,
            method: None,
            attribute: None,
            modifier: None,
            skip: 0,
            count: u64::MAX,
        }
    }

    /// It has some left, and names nothing that the SMP has otherwise.
    ///
    /// A rule that is used up fits nothing, so the one behind it comes to its turn.
    fn fits(&self, device: &Device, smp: &Smp) -> bool {
        let header = &smp.header;
        self.count > 0
            && self.node.is_none_or(|guid| guid == device.guid)
            && self.method.is_none_or(|method| method == header.method)
            && self
                .attribute
                .is_none_or(|it| it == header.attribute_id.get())
            && self
                .modifier
                .is_none_or(|it| it == header.attribute_modifier.get())
    }
}

/// The rules in force, in the order in which they were given.
///
/// Empty for a fabric where nothing goes wrong, which costs nothing per SMP.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// A narrow one before a wide one.
    rules: Vec<Rule>,
}

impl Faults {
    /// Behind all others.
    pub(crate) fn add(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// What happens to this SMP. The first rule that fits counts it, whether it acts yet or not.
    ///
    /// One that lets it pass still hides the rules behind it: else `skip` of two rules would both count the same SMP.
    pub(crate) fn take(&mut self, device: &Device, smp: &Smp) -> Option<Effect> {
        let rule = self.rules.iter_mut().find(|rule| rule.fits(device, smp))?;
        if rule.skip > 0 {
            rule.skip -= 1;
            return None;
        }
        // For ever is for ever.
        if rule.count != u64::MAX {
            rule.count -= 1;
        }
        Some(rule.effect)
    }
}
