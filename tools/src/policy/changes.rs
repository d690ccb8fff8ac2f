//! What a new policy changes, as JSON and for people.
//!
//! Three layers, from what is written to what it does. Levels and groups are compared by name.
//! Rules are only counted: rules have no names, and a list of inserted lines is what `diff` is for.
//! Answers are compared by asking: both policies decide every kind of request between every pair of
//! ports, and the pairs that change are counted by the levels that they leave and get (a
//! transition).
//!
//! ```text
//! pairs       12: L1 (SL 1) -> default (SL 0)
//!             such as H1/P1 to H2/P1 with service id 0x.. (nfs): old.txt:14 -> default level of new.txt
//! ```
//!
//! How many kinds of requests there are depends on the rules; where there are too many, not all are
//! asked, `complete` is false and the counts say "at least".

use policy::diff::{Answers, Example, GroupChange, Transition, offer_with};
use policy::model::RuleIx;
use sa_compiler::policy_change::{Ground, PolicyChange, level_in_words};
use sa_fabric::display::first_few;
use serde::Serialize;

use super::file::{PolicyFile, Site};
use super::source::refused;
use crate::failure::Outcome;

/// Everything that differs, and the files that it is told of.
pub(super) struct Changes<'a> {
    old: &'a PolicyFile,
    new: &'a PolicyFile,
    change: PolicyChange<'a>,
}

/// The same for programs.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    old: &'a str,
    old_dialect: &'static str,
    /// The policies are meant in different ways.
    semantics_changed: bool,
    levels: Vec<Level<'a>>,
    groups: Vec<Group<'a>>,
    rules: Rules,
    /// Ordered pairs of ports; none without a fabric, as the three after it.
    pairs: Option<u64>,
    /// Those for which some request gets another level.
    pairs_changed: Option<u64>,
    /// Kinds of requests that were looked at.
    requests: Option<usize>,
    /// These are all kinds; else the counts are lower bounds.
    complete: Option<bool>,
    transitions: Vec<Other>,
}

/// A level that differs.
#[derive(Debug, Serialize)]
struct Level<'a> {
    name: &'a str,
    /// `added`, `removed` or `changed`.
    change: &'static str,
    /// What it gave.
    old: Option<&'a str>,
    /// What it gives.
    new: Option<&'a str>,
}

/// A group that differs, and names of ports.
#[derive(Debug, Serialize)]
struct Group<'a> {
    name: &'a str,
    /// As of a level.
    change: &'static str,
    /// Ports that are in it now.
    gained: Vec<String>,
    /// Ports that were.
    lost: Vec<String>,
}

/// How many there are.
#[derive(Debug, Serialize)]
struct Rules {
    old: usize,
    new: usize,
}

/// Pairs of ports that get one level instead of another.
#[derive(Debug, Serialize)]
struct Other {
    old_level: String,
    new_level: String,
    old_gives: String,
    new_gives: String,
    pairs: u64,
    example: Request,
}

/// A request that gets another level; what it does not name is none.
#[derive(Debug, Serialize)]
struct Request {
    source: String,
    destination: String,
    qos_class: Option<u16>,
    tclass: Option<u8>,
    service_id: Option<String>,
    /// The name of that id.
    service: Option<String>,
    pkey: Option<String>,
    /// None for the default level.
    old_rule_line: Option<u32>,
    new_rule_line: Option<u32>,
}

impl<'a> Changes<'a> {
    pub(super) fn new(
        old: &'a PolicyFile,
        new: &'a PolicyFile,
        site: Option<&'a Site>,
    ) -> Outcome<Self> {
        let ground = site.map(|site| Ground {
            ports: &site.facts,
            partitions: &site.sources.partitions,
            subnet: &site.sources.subnet,
        });
        let change = PolicyChange::between(&old.policy, &new.policy, ground)
            .map_err(|error| refused(&new.name, &new.text, &error))?;
        Ok(Self { old, new, change })
    }

    /// For machines.
    pub(super) fn report(&self) -> Report<'_> {
        let levels = self.change.levels.iter().map(|level| Level {
            name: &level.name,
            change: level.fate.word(),
            old: level.old.as_deref(),
            new: level.new.as_deref(),
        });
        let groups = self.change.groups.iter().map(|group| Group {
            name: &group.name,
            change: group.fate.word(),
            gained: self.change.names(&group.gained),
            lost: self.change.names(&group.lost),
        });
        let (old, new) = (&self.old.policy.rules, &self.new.policy.rules);
        let answers = self.change.answers.as_ref();
        Report {
            old: &self.old.name,
            old_dialect: self.old.policy.dialect.word(),
            semantics_changed: self.change.semantics().is_some(),
            levels: levels.collect(),
            groups: groups.collect(),
            rules: Rules {
                old: old.len(),
                new: new.len(),
            },
            pairs: answers.map(|answers| answers.pairs),
            pairs_changed: answers.map(|answers| answers.changed),
            requests: answers.map(|answers| answers.requests),
            complete: answers.map(|answers| answers.complete),
            transitions: self.transitions().map(|one| self.reported(one)).collect(),
        }
    }

    /// For programs.
    fn reported(&self, transition: &Transition) -> Other {
        let (old, new) = (&self.old.policy, &self.new.policy);
        let (from, to) = (old.level(transition.old), new.level(transition.new));
        let example = &transition.example;
        let query = &example.query;
        Other {
            old_level: from.title(),
            new_level: to.title(),
            old_gives: offer_with(from, transition.labels.0),
            new_gives: offer_with(to, transition.labels.1),
            pairs: transition.pairs,
            example: Request {
                source: self.change.name(query.source),
                destination: self.change.name(query.destination),
                qos_class: query.qos_class,
                tclass: query.tclass,
                service_id: query.service_id.map(|id| format!("0x{id:x}")),
                service: query.service_id.map(|id| self.change.service(id)),
                pkey: query.pkey.map(|pkey| format!("0x{pkey:x}")),
                old_rule_line: example.old.map(|rule| old.rule(rule).span.start.line),
                new_rule_line: example.new.map(|rule| new.rule(rule).span.start.line),
            },
        }
    }

    /// For people.
    pub(super) fn print(&self) {
        outln!();
        outln!("changes from {}", self.old.name);
        if let Some((old, new)) = self.change.semantics() {
            outln!("meant       otherwise: {old}");
            outln!("            now: {new}");
        }
        for level in &self.change.levels {
            let was = level.old.as_deref().unwrap_or("(none)");
            let is = level.new.as_deref().unwrap_or("(none)");
            outln!(
                "level       {} {}: {was} -> {is}",
                level.name,
                level.fate.word()
            );
        }
        for group in &self.change.groups {
            outln!(
                "group       {} {}{}",
                group.name,
                group.fate.word(),
                self.members(group)
            );
        }
        let (old, new) = (self.old.policy.rules.len(), self.new.policy.rules.len());
        outln!("rules       {old} -> {new}");
        match &self.change.answers {
            Some(answers) => self.print_answers(answers),
            None => outln!("pairs       not counted; give --fabric"),
        }
    }

    /// Who gets what instead of what, each with a request that shows it.
    fn print_answers(&self, answers: &Answers) {
        let Answers {
            pairs,
            changed,
            requests,
            ..
        } = answers;
        let (least, extent) = match answers.complete {
            true => ("", "all there are"),
            false => ("at least ", "of too many"),
        };
        outln!(
            "pairs       {least}{changed} of {pairs} pairs of ports get another level for some \
             request ({requests} kinds of requests looked at, {extent})"
        );
        for transition in &answers.transitions {
            let (old, new) = (&self.old.policy, &self.new.policy);
            outln!(
                "pairs       {least}{}: {} -> {}",
                transition.pairs,
                level_in_words(old, transition.old, transition.labels.0),
                level_in_words(new, transition.new, transition.labels.1)
            );
            outln!("            {}", self.example(&transition.example));
        }
    }

    /// A request in words, with the rules that it met and meets.
    fn example(&self, example: &Example) -> String {
        let query = &example.query;
        let with = self.change.asked(query);
        format!(
            "such as {} to {} with {with}: {} -> {}",
            self.change.name(query.source),
            self.change.name(query.destination),
            rule(self.old, example.old),
            rule(self.new, example.new)
        )
    }

    /// Those that were found; none without a fabric.
    fn transitions(&self) -> impl Iterator<Item = &Transition> {
        self.change
            .answers
            .iter()
            .flat_map(|answers| &answers.transitions)
    }

    /// Who comes into a group and who goes.
    fn members(&self, group: &GroupChange) -> String {
        let side = |word: &str, ports: &[usize]| match ports.is_empty() {
            true => String::new(),
            false => format!(
                "; {} {word}: {}",
                ports.len(),
                first_few(&self.change.names(ports))
            ),
        };
        side("come", &group.gained) + &side("go", &group.lost)
    }
}

/// Where a rule stands. `at`: none for the default level.
fn rule(file: &PolicyFile, at: Option<RuleIx>) -> String {
    match at {
        Some(rule) => format!("{}:{}", file.name, file.policy.rule(rule).span.start.line),
        None => format!("default level of {}", file.name),
    }
}
