//! Which QoS level a request gets.
//!
//! Each criterion maps the request's value to a class with a set of rules that it satisfies; the
//! lowest rule in the intersection is the first match. A guard bit behind the last rule, set
//! everywhere, stands for "no rule". Source: reference on QoS policy, rule bitsets by equivalence
//! class.

use core::hint::select_unpredictable;

use crate::Snapshot;
use crate::flow_labels::FlowLabels;
use crate::format::policy_records::{
    LevelRecord, PKEY_ABSENT, PkeyRangeRecord, PolicyRecord, QOS_CLASS_ABSENT, dimension, semantics,
};
use crate::format::rare_fields::{NONE_ASKED, RareField};
use crate::format::records::{PortIx, PortRecord};
use crate::model::Echo;

/// What a request says that rules ask about; `None` where its component mask leaves it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MatchInput {
    /// The QoS class, 12 bits.
    pub qos_class: Option<u16>,
    /// As requested; rules compare the base.
    pub pkey: Option<u16>,
    /// The service id, all 64 bits.
    pub service_id: Option<u64>,
}

/// The same as places in the maps of classes. What a request names is as good as random, so it is
/// told apart without a branch.
#[derive(Debug, Clone, Copy)]
pub struct AskedClasses {
    /// Place in the map of QoS classes.
    pub(crate) qos_class: u16,
    /// Place in the map of P_Keys.
    pub(crate) pkey: u16,
    /// 0 where none is named.
    pub(crate) service_id: u64,
    /// False: `service_id` is a place holder, and the class of "none named" counts.
    pub(crate) names_service: bool,
}

impl AskedClasses {
    /// Each with whether the request names it.
    #[inline(always)]
    pub fn new(qos_class: (bool, u16), pkey: (bool, u16), service_id: (bool, u64)) -> Self {
        let (names_class, class) = qos_class;
        let (names_pkey, pkey) = pkey;
        let (names_service, id) = service_id;
        Self {
            qos_class: select_unpredictable(names_class, class & 0xfff, QOS_CLASS_ABSENT),
            pkey: select_unpredictable(names_pkey, pkey & 0x7fff, PKEY_ABSENT),
            service_id: select_unpredictable(names_service, id, 0),
            names_service,
        }
    }
}

/// What OpenSM's dialect does not ask about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RareInput {
    /// By [`RareField`]; none where the component mask leaves it out.
    pub numbers: [Option<u16>; RareField::COUNT],
    /// The request names the port where the path starts, by GID or LID.
    pub names_source: bool,
    /// The request names the port where the path ends, by GID or LID.
    pub names_destination: bool,
}

/// A level, and which rule gave it.
#[derive(Debug, Clone, Copy)]
pub struct Matched<'a> {
    /// Place of the rule from 0; none for the default level.
    pub rule: Option<u32>,
    /// Place of the level.
    pub level_index: u32,
    /// The level that it gives.
    pub level: &'a LevelRecord,
}

/// The classes of what a request says; the same for every pair of ports.
///
/// Made once a request, whatever the number of pairs that it asks about. Where no rule tells values
/// apart, all of them are of class 0.
#[derive(Debug, Clone, Copy)]
pub struct RequestClasses {
    /// Among the sets of QoS classes.
    qos_class: u16,
    /// Among the sets of P_Keys.
    pkey: u16,
    /// Among the sets of service ids.
    service: u16,
}

impl RequestClasses {
    /// The classes of all five dimensions, in their order.
    #[inline(always)]
    pub(crate) const fn with_ends(&self, (source, destination): (u16, u16)) -> [u16; 5] {
        [source, destination, self.qos_class, self.pkey, self.service]
    }
}

impl Snapshot {
    /// True when a policy is in force.
    #[inline(always)]
    pub const fn has_policy(&self) -> bool {
        self.policy.is_some()
    }

    /// Classifies what the request says, once per request. None without a policy.
    #[inline(always)]
    pub fn classify(&self, input: &MatchInput) -> Option<RequestClasses> {
        let policy = self.policy.as_ref()?;
        Some(RequestClasses {
            qos_class: self.qos_class_class(policy, input.qos_class),
            pkey: self.pkey_class(policy, input.pkey),
            service: self.service_class(policy, input.service_id),
        })
    }

    /// 0 where no rule tells QoS classes apart.
    #[inline(always)]
    fn qos_class_class(&self, policy: &PolicyRecord, qos_class: Option<u16>) -> u16 {
        // A bit of the policy's record spares the map, which may be a cache miss.
        if policy.dimensions & dimension::QOS_CLASS == 0 {
            return 0;
        }
        let at = qos_class.map_or(QOS_CLASS_ABSENT, |class| class & 0xfff);
        self.sections
            .qos_class_map
            .get(usize::from(at))
            .copied()
            .unwrap_or(0)
    }

    /// 0 where no rule tells P_Keys apart.
    #[inline(always)]
    fn pkey_class(&self, policy: &PolicyRecord, pkey: Option<u16>) -> u16 {
        if policy.dimensions & dimension::PKEY == 0 {
            return 0;
        }
        let at = pkey.map_or(PKEY_ABSENT, |pkey| pkey & 0x7fff);
        self.sections
            .pkey_map
            .get(usize::from(at))
            .copied()
            .unwrap_or(0)
    }

    /// 0 where no rule tells service ids apart.
    #[inline(always)]
    fn service_class(&self, policy: &PolicyRecord, service_id: Option<u64>) -> u16 {
        if policy.dimensions & dimension::SERVICE == 0 {
            return 0;
        }
        // Not naming a service is a class of its own: rules may hold for requests without one.
        let Some(service_id) = service_id else {
            return policy.service_absent;
        };
        let starts = &self.sections.service_starts;
        let after = self.derived.services.starts_up_to(starts, service_id);
        self.sections
            .service_classes
            .get(after.wrapping_sub(1))
            .copied()
            .unwrap_or(0)
    }

    /// True when the policy says nothing that OpenSM's dialect cannot, so that
    /// [`Self::match_level`] does; also without a policy.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.semantics() == 0
    }

    /// The level for a path from `source` to `destination` by the criteria of OpenSM's dialect,
    /// which is right if [`Self::is_plain`]. None without a policy.
    #[inline(always)]
    pub fn match_level(
        &self,
        source: PortIx,
        destination: PortIx,
        classes: &RequestClasses,
    ) -> Option<Matched<'_>> {
        self.match_level_between(self.port(source), self.port(destination), classes)
    }

    /// As [`Self::match_level`], for ports that were looked up.
    #[inline(always)]
    fn match_level_between(
        &self,
        from: &PortRecord,
        to: &PortRecord,
        classes: &RequestClasses,
    ) -> Option<Matched<'_>> {
        let policy = self.policy.as_ref()?;
        self.matched(policy, self.first_rule(from, to, classes)?)
    }

    /// The first rule that holds by the criteria of OpenSM's dialect, the number of rules for none.
    #[inline(always)]
    pub(crate) fn first_rule(
        &self,
        from: &PortRecord,
        to: &PortRecord,
        classes: &RequestClasses,
    ) -> Option<u32> {
        let policy = self.policy.as_ref()?;
        let by_dimension = classes.with_ends((from.source_class, to.destination_class));
        Some(self.sections.first_rule(policy, by_dimension, NONE_ASKED))
    }

    /// The level for a path from `source` to a LID of `destination` by all criteria. None without
    /// a policy, and when the level's path bits leave the LID out.
    pub fn match_rare(
        &self,
        source: PortIx,
        (destination, lid): (PortIx, u16),
        classes: &RequestClasses,
        rare: &RareInput,
    ) -> Option<Matched<'_>> {
        // Wrapping: a LID before the first gives an offset that no level allows.
        let offset = lid.wrapping_sub(self.port(destination).lid);
        let matched = self.match_ports(source, destination, classes, rare)?;
        self.allows_path_bits(&matched, offset).then_some(matched)
    }

    /// As [`Self::match_rare`], whichever LID the path ends at. None without a policy.
    fn match_ports(
        &self,
        source: PortIx,
        destination: PortIx,
        classes: &RequestClasses,
        rare: &RareInput,
    ) -> Option<Matched<'_>> {
        let policy = self.policy.as_ref()?;
        let must_be_named = policy.semantics & semantics::ENDPOINT_MASK != 0;
        let (source, destination) = (self.port(source), self.port(destination));
        let source = match must_be_named && !rare.names_source {
            true => policy.unnamed_source,
            false => source.source_class,
        };
        let destination = match must_be_named && !rare.names_destination {
            true => policy.unnamed_destination,
            false => destination.destination_class,
        };
        let asked = self.sections.rare_classes(&rare.numbers);
        let by_dimension = classes.with_ends((source, destination));
        let first = self.sections.first_rule(policy, by_dimension, asked);
        self.matched(policy, first)
    }

    /// True when some answer carries a flow label.
    #[inline]
    pub fn gives_flow_labels(&self) -> bool {
        self.semantics() & semantics::FLOW_LABELS != 0
    }

    /// The flow labels of paths from `source` to `destination`, by all criteria.
    pub fn flow_labels(
        &self,
        source: PortIx,
        destination: PortIx,
        classes: &RequestClasses,
        rare: &RareInput,
    ) -> FlowLabels {
        let labels_of = |matched: Matched<'_>| {
            let guard = self.policy.as_ref().map(|policy| policy.rules);
            let at = usize::try_from(matched.rule.or(guard)?).ok()?;
            let word = self.sections.flow_labels.get(at).copied()?;
            FlowLabels::from_word(word)
        };
        let matched = self.match_ports(source, destination, classes, rare);
        matched.and_then(labels_of).unwrap_or_default()
    }

    /// What the rule with this number gives, the guard's number included.
    #[inline(always)]
    fn matched(&self, policy: &PolicyRecord, first: u32) -> Option<Matched<'_>> {
        let record = self.sections.rules.get(usize::try_from(first).ok()?)?;
        Some(Matched {
            rule: (first < policy.rules).then_some(first),
            level_index: record.level,
            level: self
                .sections
                .levels
                .get(usize::try_from(record.level).ok()?)?,
        })
    }

    /// The P_Key ranges a level allows; empty for any.
    #[inline(always)]
    pub fn level_pkeys(&self, level: &LevelRecord) -> &[PkeyRangeRecord] {
        let start = usize::try_from(level.pkeys_start).unwrap_or(usize::MAX);
        let len = usize::try_from(level.pkeys_len).unwrap_or(usize::MAX);
        self.sections
            .level_pkeys
            .get(start..start.saturating_add(len))
            .unwrap_or_default()
    }

    /// True when the level allows paths to the destination's LID at this offset from its first.
    fn allows_path_bits(&self, matched: &Matched<'_>, offset: u16) -> bool {
        let place = usize::try_from(matched.level_index).unwrap_or(usize::MAX);
        let Some(bits) = self.sections.level_path_bits.get(place) else {
            return true;
        };
        match offset {
            0..64 => bits.low >> offset & 1 == 1,
            // A range of 128 LIDs is the largest that an LMC gives.
            64..128 => bits.high >> (offset - 64) & 1 == 1,
            _ => false,
        }
    }

    /// True when the upper half of a service id in the component mask stands for all of it.
    #[inline]
    pub fn takes_legacy_service_id(&self) -> bool {
        self.semantics() & semantics::LEGACY_SERVICE_ID != 0
    }

    /// True when the SM_Key of a request is its service id.
    #[inline]
    pub fn takes_service_id_in_key(&self) -> bool {
        self.semantics() & semantics::SERVICE_ID_IN_KEY != 0
    }

    /// True when some level has a traffic class of its own.
    #[inline]
    pub fn levels_have_tclass(&self) -> bool {
        self.semantics() & semantics::LEVEL_TCLASS != 0
    }

    /// What of a request comes back in its answers.
    #[inline]
    pub fn echo(&self) -> Echo {
        match self.semantics() & (semantics::ECHO_QOS_CLASS | semantics::ECHO_TCLASS) {
            0 => Echo::None,
            semantics::ECHO_QOS_CLASS => Echo::QosClass,
            _ => Echo::TClass,
        }
    }

    /// 0 without a policy, so that one test tells whether anything unusual is about.
    #[inline(always)]
    fn semantics(&self) -> u32 {
        self.policy.as_ref().map_or(0, |policy| policy.semantics)
    }

    /// The line of the policy file where a rule starts.
    pub fn rule_line(&self, rule: u32) -> Option<u32> {
        self.sections
            .rules
            .get(usize::try_from(rule).ok()?)
            .map(|record| record.line)
    }

    /// The name of a level.
    pub fn level_name(&self, level: u32) -> Option<&str> {
        let names = core::str::from_utf8(&self.sections.level_names).ok()?;
        names.lines().nth(usize::try_from(level).ok()?)
    }
}
