//! The level of a common request where rules are told apart by service id, then by a short pass
//! over the rest: policies of some hundred rules, most of them about a protocol.
//!
//! Rule sets have one of a few lengths that are known when this is compiled, so that a set is one
//! or two cache lines, taken whole.
//!
//! What makes it short: lengths known when compiled (no loop over a variable count), rows by class
//! (no class record to read), and no branch on what a request names. Of 16 or 32 words a set has,
//! six are scanned; of the rest one word is looked at, the first of the list of the request's
//! service.
//!
//! ```text
//!  set    [ 6 words: scanned rules | words of rules in lists of services | filled up ]
//!                                      ^ one word, named by the service's class record
//! ```
//!
//! The first rule is the lesser of both. Chosen by the builder for 256 to 1,535 rules;
//! `Sections::is_by_service` looks whether a snapshot keeps to it.

use core::array;
use core::hint::select_unpredictable;

use super::matching::{AskedClasses, RequestClasses};
use crate::Snapshot;
use crate::derived::PackedLevel;
use crate::first_rule::SHORT_PASS_WORDS;
use crate::format::policy_records::{ClassRecord, PKEY_ABSENT, QOS_CLASS_ABSENT, criterion};
use crate::format::records::PortRecord;

/// Lengths of rule sets that there is a match for. Units: words.
pub(crate) const WIDTHS: [usize; 2] = [16, 32];

/// The tables of such a policy, with rule sets of `W` words.
///
/// Borrowed for one batch, from sections and derived tables that live as long as the snapshot.
pub struct ByService<'a, const W: usize> {
    /// For what is no rule set: order of rules, lists, levels.
    snapshot: &'a Snapshot,
    /// By class of the source port.
    source: &'a [[u64; W]],
    /// By class of the destination port.
    destination: &'a [[u64; W]],
    /// By class of the QoS class.
    qos_class: &'a [[u64; W]],
    /// By class of the P_Key.
    pkey: &'a [[u64; W]],
    /// Class by QoS class, the last for none.
    qos_class_map: &'a [u16; QOS_CLASS_ABSENT as usize + 1],
    /// Class by P_Key base, the last for none.
    pkey_map: &'a [u16; PKEY_ABSENT as usize + 1],
    /// By class of the service id: of these records the lists count, and not the rows.
    services: &'a [ClassRecord],
    /// The class of a request without a service id.
    absent: u16,
    /// How many rules there are, which also stands for "no rule".
    rules: u32,
}

impl Snapshot {
    /// The tables, where the policy is such a one and its rule sets have `W` words.
    pub fn by_service<const W: usize>(&self) -> Option<ByService<'_, W>> {
        let policy = self.policy.as_ref()?;
        // Another width is asked for next, by the same caller.
        if self.derived.by_service != Some(W) {
            return None;
        }
        let start = *policy.class_starts.get(criterion::SERVICE)?;
        let sections = &self.sections;
        // Whole arrays: an index into one is a multiplication by a constant.
        Some(ByService {
            snapshot: self,
            source: sections.source_sets.as_chunks().0,
            destination: sections.destination_sets.as_chunks().0,
            qos_class: sections.qos_class_sets.as_chunks().0,
            pkey: sections.pkey_rule_sets.as_chunks().0,
            qos_class_map: sections.qos_class_map.first_chunk()?,
            pkey_map: sections.pkey_map.first_chunk()?,
            services: sections
                .policy_classes
                .get(usize::try_from(start).ok()?..)?,
            absent: policy.service_absent,
            rules: policy.rules,
        })
    }
}

impl<const W: usize> ByService<'_, W> {
    /// The level, as [`Snapshot::common_level`] gives it.
    #[inline(always)]
    pub fn level(&self, from: &PortRecord, to: &PortRecord, asked: &AskedClasses) -> PackedLevel {
        self.snapshot.level_of_rule(self.first(from, to, asked))
    }

    /// By what a request names, which is looked up without branches.
    #[inline(always)]
    fn first(&self, from: &PortRecord, to: &PortRecord, asked: &AskedClasses) -> Option<u32> {
        let qos_class = self.qos_class_map.get(usize::from(asked.qos_class));
        let pkey = self.pkey_map.get(usize::from(asked.pkey));
        // An id of 0 stands for none here; the class is set aside below.
        // Looked up in any case, as for a request that names one.
        let service = self.service(asked.service_id);
        let service = select_unpredictable(asked.names_service, service, self.absent);
        self.first_of_classes(from, to, [*qos_class?, *pkey?, service])
    }

    /// The first rule for a request of these classes.
    #[inline(always)]
    pub(crate) fn first_of(
        &self,
        from: &PortRecord,
        to: &PortRecord,
        classes: &RequestClasses,
    ) -> Option<u32> {
        let [_, _, asked @ ..] = classes.with_ends((0, 0));
        self.first_of_classes(from, to, asked)
    }

    /// The first rule for these classes; the number of rules for none.
    #[inline(always)]
    fn first_of_classes(
        &self,
        from: &PortRecord,
        to: &PortRecord,
        [qos_class, pkey, service]: [u16; 3],
    ) -> Option<u32> {
        let sets = [
            self.source.get(usize::from(from.source_class))?,
            self.destination.get(usize::from(to.destination_class))?,
            self.qos_class.get(usize::from(qos_class))?,
            self.pkey.get(usize::from(pkey))?,
        ];
        let scanned = self.scan_at_once(sets);
        let list = self.services.get(usize::from(service))?;
        // The first word of the list lies in the class record itself: most lists have no more.
        let hits = list.bits & common(sets, list.word);
        let best = scanned.min(self.rule_of(index(list.word), hits));
        match list.len {
            0 => Some(best),
            _ => Some(self.rest(list, (from, to, qos_class, pkey), best)),
        }
    }

    /// The class of a service id, the first for one that the table does not have.
    #[inline(always)]
    fn service(&self, id: u64) -> u16 {
        let sections = &self.snapshot.sections;
        let after = self
            .snapshot
            .derived
            .services
            .starts_up_to(&sections.service_starts, id);
        let class = sections.service_classes.get(after.wrapping_sub(1));
        class.copied().unwrap_or(0)
    }

    /// As [`Self::scan`], without a branch on what is found: between any two requests that is as
    /// good as random.
    #[inline(always)]
    fn scan_at_once(&self, [a, b, c, d]: [&[u64; W]; 4]) -> u32 {
        let (mut word, mut hits) = (0, 0);
        // From the last word to the first: what is found last is the first rule, and nothing is
        // skipped.
        for nth in (0..SHORT_PASS_WORDS).rev() {
            let found = a[nth] & b[nth] & c[nth] & d[nth];
            word = select_unpredictable(found != 0, nth, word);
            hits = select_unpredictable(found != 0, found, hits);
        }
        self.rule_of(word, hits)
    }

    /// The first of the scanned rules; the number of rules for none.
    #[inline(always)]
    fn scan(&self, [a, b, c, d]: [&[u64; W]; 4]) -> u32 {
        let hits: [u64; SHORT_PASS_WORDS] = array::from_fn(|n| a[n] & b[n] & c[n] & d[n]);
        if hits.iter().fold(0, |some, word| some | word) == 0 {
            // One test for all six words.
            return self.rules;
        }
        let mut words = (0..).zip(hits).filter(|(_, hits)| *hits != 0);
        words
            .next()
            .map_or(self.rules, |(word, hits)| self.rule_of(word, hits))
    }

    /// Among the rules of a list that its first word does not hold, if it comes before `best`.
    #[cold]
    #[inline(never)]
    fn rest(
        &self,
        list: &ClassRecord,
        (from, to, qos_class, pkey): (&PortRecord, &PortRecord, u16, u16),
        best: u32,
    ) -> u32 {
        let set = |sets: &[[u64; W]], class: u16| sets.get(usize::from(class)).copied();
        let sets = [
            set(self.source, from.source_class),
            set(self.destination, to.destination_class),
            set(self.qos_class, qos_class),
            set(self.pkey, pkey),
        ];
        let sets = sets.map(|set| set.unwrap_or([0; W]));
        self.rest_of(list, sets.each_ref(), best)
    }

    /// In the rest of a list, where that comes before `best`.
    fn rest_of(&self, list: &ClassRecord, sets: [&[u64; W]; 4], best: u32) -> u32 {
        let sections = &self.snapshot.sections;
        sections.first_in_rest(list, |word| common(sets, word), best)
    }

    /// The first of some rules of a word; the number of rules for none.
    #[inline(always)]
    fn rule_of(&self, word: usize, hits: u64) -> u32 {
        // `% W` and `& 63` keep both numbers in range, so that no check remains.
        let place = (word % W) * 64 + (hits.trailing_zeros() & 63) as usize;
        let rule = self.snapshot.sections.rule_order.get(place);
        let rule = rule.map_or(self.rules, |rule| u32::from(*rule));
        select_unpredictable(hits == 0, self.rules, rule)
    }
}

/// The same for many destinations of one source and one request.
///
/// Made once for a table or a MultiPathRecord; it copies one set (128 or 256 bytes) and one class
/// record.
pub(crate) struct FromSource<'a, const W: usize> {
    /// Where the sets of destinations are.
    rules: ByService<'a, W>,
    /// The rules that hold but for the destination.
    held: [u64; W],
    /// Of the request's service.
    list: ClassRecord,
}

impl<'a, const W: usize> ByService<'a, W> {
    /// None for classes that are not of the policy.
    pub(crate) fn from(
        self,
        from: &PortRecord,
        classes: &RequestClasses,
    ) -> Option<FromSource<'a, W>> {
        let [source, _, qos_class, pkey, service] = classes.with_ends((from.source_class, 0));
        let (a, b, c) = (
            self.source.get(usize::from(source))?,
            self.qos_class.get(usize::from(qos_class))?,
            self.pkey.get(usize::from(pkey))?,
        );
        Some(FromSource {
            held: array::from_fn(|n| a[n] & b[n] & c[n]),
            list: *self.services.get(usize::from(service))?,
            rules: self,
        })
    }
}

impl<const W: usize> FromSource<'_, W> {
    /// The first rule that holds.
    #[inline(always)]
    pub(crate) fn first(&self, to: &PortRecord) -> Option<u32> {
        let set = self
            .rules
            .destination
            .get(usize::from(to.destination_class))?;
        // The destination's set three times: those of the others are in `held` already.
        let sets = [&self.held, set, set, set];
        let scanned = self.rules.scan(sets);
        let hits = self.list.bits & common(sets, self.list.word);
        let best = scanned.min(self.rules.rule_of(index(self.list.word), hits));
        match self.list.len {
            0 => Some(best),
            _ => Some(self.rules.rest_of(&self.list, sets, best)),
        }
    }
}

/// A number of the file as an index of words.
#[inline(always)]
fn index(word: u32) -> usize {
    usize::try_from(word).unwrap_or(0)
}

/// The rules of a word that are in all sets.
#[inline(always)]
fn common<const W: usize>([a, b, c, d]: [&[u64; W]; 4], word: u32) -> u64 {
    // No word lies beyond; said so that nothing is checked.
    let at = index(word) % W;
    a[at] & b[at] & c[at] & d[at]
}
