//! What is likely wrong with a policy: checks with numbers, a sentence and a remedy each.
//!
//! [`lint()`] makes all checks that a policy, and ports and partitions where they are known, are
//! enough for. Rules that no request gets to are found exactly, not by trying.
//!
//! Some checks see one part of the policy (`names`, `setup`, parts of `rules`), and need no more than the
//! file. Others ask what rules leave to each other: `rules::shadow` decides for every rule whether some
//! request gets to it, and gives a request that does, from which further checks go on (`levels`). What
//! parsers and the linker remarked already joins under its number (`remarks`, `notes`).
//!
//! Work is bounded: a policy can be written whose rules overlap so that deciding takes exponential time. Each
//! analysis has a budget of steps, and what is left open is said as a finding.
//!
//! Lint never refuses anything, and changes nothing: what a policy means is for [`crate::matching`]. Checks
//! that need routes or VLs are `sa-compiler`'s; they use the same numbers.
//!
//! # What a finding looks like
//!
//! ```text
//! policy.conf:31:5: warning[L10]: no request gets to this rule: the one on line 12 holds wherever
//!                   this one does
//!   = move it before the other, ask for less in the other, or remove it
//! ```
//!
//! # How the rooms depend
//!
//! ```text
//! classes   which ports rules can tell apart        pairs    the same for requests of one kind
//!    └─> rules::shadow   a life for each rule ──┬─> rules    dead rules, unreachable levels
//!                                               └─> levels   partitions, asymmetry, by witnesses
//! names, setup, rules::fields   need the policy alone
//! catalogue, finding            numbers, order, how many are shown
//! ```
//!
//! A rule's life is asked for twice: for any fabric, where a group may have any member, and for
//! this one. What is dead in any fabric is said so, since no change of ports will help it.

mod bits;
mod catalogue;
mod classes;
mod finding;
mod levels;
mod names;
pub mod notes;
mod pairs;
mod remarks;
mod rules;
mod setup;

pub use catalogue::{CATALOGUE, Check, Needs};
pub use classes::PortClasses;
pub use finding::{Finding, LintId, Related, UnknownLint, in_order};
pub use pairs::HeldSets;
pub use remarks::{diagnostic_of_error, id_of_error};
pub use rules::shadow::{Hopeless, Life, Witness};

use std::collections::BTreeMap;

use crate::error::Error;
use crate::facts::PortFacts;
use crate::matching::compile;
use crate::matching::groups::GroupResolver;
use crate::model::{Level, LevelIx, Policy};
use crate::partitions::Partitions;
use bits::Bits;
use classes::Ends;

/// What is known of a fabric.
/// Borrowed from whoever compiled or read the fabric.
#[derive(Debug, Clone, Copy)]
pub struct FabricView<'a> {
    /// The end ports of the fabric, by index.
    pub ports: &'a [PortFacts],
    /// Shape: belongs to the same `ports`.
    pub partitions: &'a Partitions,
    /// The bits of a level's SL that tell paths apart: [`Self::ALL_BITS`], or what the routing
    /// engine leaves of them.
    /// Findings about SLs that differ in other bits only would be about nothing.
    pub sl_bits: u8,
}

impl FabricView<'_> {
    /// All four bits of an SL: engines that take it as it is.
    pub const ALL_BITS: u8 = 0xf;
    /// torus-2QoS keeps bit 3.
    pub const TORUS_BITS: u8 = 0x8;
}

/// Everything that is to be said about a policy, in the order of the file.
///
/// Without `text`, what depends on how numbers and names are written is left out; without
/// `fabric`, the checks that need one.
/// Never fails. Cost: bounded, about a second for each analysis at worst.
pub fn lint(policy: &Policy, fabric: Option<&FabricView<'_>>, text: Option<&str>) -> Vec<Finding> {
    Analysis::new(policy, fabric.copied()).findings(text)
}

/// What becomes of the rules of a policy, and of which ports they can tell apart.
/// Made once, then asked by all checks; `sa-compiler` asks it for more.
#[derive(Debug)]
pub struct Analysis<'a> {
    policy: &'a Policy,
    fabric: Option<Fabric<'a>>,
    /// Of the fabric, where there is one.
    classes: PortClasses,
    /// Of `classes`, in this fabric or in any.
    ends: Ends,
    /// By rule, in this fabric.
    lives: Vec<Life>,
    /// By rule, in any fabric.
    /// The same as `lives` without a fabric.
    anywhere: Vec<Life>,
}

/// A fabric, and what the policy makes of it.
#[derive(Debug)]
struct Fabric<'a> {
    view: FabricView<'a>,
    /// Port names whose node lacks the port.
    /// Such groups count as empty in what follows.
    errors: Vec<Error>,
}

impl Fabric<'_> {
    /// Node and port of an end port.
    fn port_name(&self, port: usize) -> String {
        self.view.ports[port].title()
    }
}

impl<'a> Analysis<'a> {
    /// Judges every rule, first for any fabric, then for this one where it is known.
    /// Cost: the search of `rules::shadow`, once or twice.
    pub fn new(policy: &'a Policy, fabric: Option<FabricView<'a>>) -> Self {
        Self::within(policy, fabric, rules::shadow::BUDGET)
    }

    /// With so many steps for judging. Units: words of rule sets.
    fn within(policy: &'a Policy, fabric: Option<FabricView<'a>>, budget: u64) -> Self {
        let classes = PortClasses::any_fabric(policy);
        let ends = Ends::new(policy, &classes);
        let anywhere = rules::shadow::lives(policy, &ends, budget);
        // The first judgement is all there is.
        let Some(view) = fabric else {
            return Self {
                policy,
                fabric: None,
                classes,
                ends,
                lives: anywhere.clone(),
                anywhere,
            };
        };
        let resolver = GroupResolver::new(view.ports, view.partitions);
        let mut errors = Vec::new();
        // One wrong port name would refuse the policy; lint goes on and tells of the rest, too.
        let members = policy.groups.iter().map(|group| {
            resolver.members(group).unwrap_or_else(|error| {
                errors.push(error);
                Vec::new()
            })
        });
        let members: Vec<_> = members.collect();
        let classes = PortClasses::of_fabric(policy, view.ports.len(), &members);
        let ends = Ends::new(policy, &classes);
        let mut lives = rules::shadow::lives(policy, &ends, budget);
        // What holds in any fabric holds here, and is the clearer reason.
        for (here, anywhere) in lives.iter_mut().zip(&anywhere) {
            if matches!(anywhere, Life::Dead(_)) && !matches!(here, Life::Never(_)) {
                here.clone_from(anywhere);
            }
        }
        Self {
            policy,
            fabric: Some(Fabric { view, errors }),
            classes,
            ends,
            lives,
            anywhere,
        }
    }

    /// What becomes of each rule. Shape: by rule.
    pub fn lives(&self) -> &[Life] {
        &self.lives
    }

    /// Kinds of ports: those of the fabric, or those that matter in any.
    pub const fn classes(&self) -> &PortClasses {
        &self.classes
    }

    /// Levels that some request may get. Shape: ascending.
    pub fn levels_in_use(&self) -> Vec<LevelIx> {
        rules::levels_in_use(self)
    }

    /// The classes of destinations that paths from a class of sources can get each level to: by a
    /// rule that a request may get to, or as the default. Shape: by level, then by class.
    /// What `sa-compiler` needs to look for levels whose SL is dropped on the way: more may be
    /// named than get it, never fewer.
    pub fn targets(&self, source: usize) -> BTreeMap<LevelIx, Vec<bool>> {
        let count = self.classes.count();
        let mut targets = BTreeMap::from([(self.policy.default_level, Bits::all(count))]);
        let from_here = &self.ends.source.rules[source];
        for at in from_here
            .iter()
            .filter(|rule| self.lives[*rule].may_be_alive())
        {
            let level = self.policy.rules[at].level.value;
            let of_level = targets.entry(level).or_insert_with(|| Bits::none(count));
            of_level.add(&self.ends.destination.classes[at]);
        }
        let spread = |set: Bits| (0..count).map(|class| set.contains(class)).collect();
        targets
            .into_iter()
            .map(|(level, set)| (level, spread(set)))
            .collect()
    }

    /// The level that a rule gives; without rule, the default.
    fn level_of(&self, rule: Option<usize>) -> &Level {
        let level = rule.map(|rule| self.policy.rules[rule].level.value);
        self.policy
            .level(level.unwrap_or(self.policy.default_level))
    }

    /// Everything that is to be said, in the order of the file. See [`lint()`].
    pub fn findings(&self, text: Option<&str>) -> Vec<Finding> {
        let policy = self.policy;
        let mut found = Vec::new();
        // In the RFC dialects the parsers have told of numbers already.
        if let Some(text) = text.filter(|_| !policy.dialect.is_rfc()) {
            found.extend(names::numbers::findings(policy, text));
            found.extend(names::blanks(policy, text));
        }
        found.extend(policy.remarks.iter().map(remarks::from_parser));
        if !policy.dialect.is_rfc() {
            found.extend(notes::notes(policy).iter().map(remarks::of_note));
            found.extend(names::path_bits(policy));
        } else {
            let notes = notes::notes(policy);
            let told =
                |note: &&notes::Note| !matches!(note.kind, notes::NoteKind::SetupWithoutEffect);
            found.extend(notes.iter().filter(told).map(remarks::of_note));
        }
        found.extend(names::opensm(policy, text));
        found.extend(names::wide_guids(policy));
        found.extend(setup::findings(policy));
        found.extend(levels::reserved::given_out(policy));
        found.extend(levels::reserved::extensions(policy));
        found.extend(rules::fields::findings(policy));
        found.extend(rules::dead(self));
        found.extend(rules::unreachable_levels(self));
        match &self.fabric {
            Some(fabric) => found.extend(self.in_fabric(fabric)),
            // With a fabric the empty groups are among the notes.
            None => found.extend(names::groups::without_members(policy)),
        }
        finding::finished(found)
    }

    /// What the checks find that need ports and partitions.
    fn in_fabric(&self, fabric: &Fabric<'_>) -> Vec<Finding> {
        let FabricView {
            ports, partitions, ..
        } = fabric.view;
        let mut found: Vec<_> = fabric.errors.iter().map(remarks::of_error).collect();
        // What would refuse the policy at a load.
        if let Err(error) = compile::check(self.policy, ports, partitions) {
            found.push(remarks::of_error(&error));
        }
        let notes = notes::fabric_notes(self.policy, ports, partitions);
        found.extend(notes.iter().map(remarks::of_note));
        found.extend(rules::contradictions(self));
        found.extend(names::groups::overlaps(self, fabric));
        let held = HeldSets::new(ports.len(), partitions);
        found.extend(levels::partitions(self, fabric, &held));
        found.extend(levels::asymmetry::findings(self, fabric, &held));
        found.extend(levels::reserved::on_torus(self, &fabric.view));
        found
    }
}

#[cfg(test)]
mod tests {
    use sa_text::Severity;

    use super::*;
    use crate::{ParseOptions, parse};

    /// Rules whose overlaps no single earlier rule explains.
    fn tangled() -> Policy {
        let mut text = String::from(
            "qos-levels\nqos-level\nname: default\nsl: 0\nend-qos-level\nend-qos-levels\n\
             qos-match-rules\n",
        );
        for at in 0..60 {
            let (class, id, pkey) = (at * 7 % 40, at * 11 % 40, at * 13 % 40);
            text += &format!(
                "qos-match-rule\nqos-class: {class}-{}\nservice-id: {id}-{}\npkey: {pkey}-{}\n\
                 qos-level-name: default\nend-qos-match-rule\n",
                class + 25,
                id + 25,
                pkey + 25
            );
        }
        parse(&(text + "end-qos-match-rules\n"), &ParseOptions::default()).unwrap()
    }

    #[test]
    fn work_is_bounded_and_what_is_left_open_is_told() {
        let policy = tangled();
        let whole = Analysis::new(&policy, None);
        assert!(!whole.lives().contains(&Life::Undecided));
        let short = Analysis::within(&policy, None, 1 << 12);
        let open = short
            .lives()
            .iter()
            .filter(|life| **life == Life::Undecided)
            .count();
        assert!(open > 0);
        for (short, whole) in short.lives().iter().zip(whole.lives()) {
            assert!(*short == Life::Undecided || short.may_be_alive() == whole.may_be_alive());
        }
        let told = short.findings(None);
        let told = told
            .iter()
            .filter(|it| it.id == LintId::SHADOWED && it.severity == Severity::Info);
        let told: Vec<_> = told.map(|it| it.sentence.as_str()).collect();
        let expected = format!("{open} rules, this one the first, have too many combinations");
        assert!(
            matches!(told.as_slice(), [one] if one.starts_with(&expected)),
            "{told:?}"
        );
    }
}
