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

use policy::diff::{
    Answers, Example, GroupChange, LevelChange, Transition, answers, group_changes, level_changes,
    offer_with,
};
use policy::model::{LevelIx, RuleIx};
use policy::{Policy, Semantics};
use sa_fabric::display::first_few;
use sa_snapshot::model::FlowLabels;
use sa_wire::ServiceId;
use serde::Serialize;

use super::file::{PolicyFile, Site};
use super::source::refused;
use crate::failure::Outcome;

/// Everything that differs.
///
/// Holds the old policy itself, and borrows the new one, which the verb goes on using.
pub(super) struct Changes<'a> {
    old: PolicyFile,
    new: &'a PolicyFile,
    site: Option<&'a Site>,
    levels: Vec<LevelChange>,
    groups: Vec<GroupChange>,
    /// None without a fabric.
    answers: Option<Answers>,
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
        old: PolicyFile,
        new: &'a PolicyFile,
        site: Option<&'a Site>,
    ) -> Outcome<Self> {
        let levels = level_changes(&old.policy, &new.policy);
        let (mut groups, mut found) = (Vec::new(), None);
        if let Some(site) = site {
            let (ports, partitions) = (&site.facts, &site.sources.partitions);
            let refused = |error: policy::Error| refused(&new.name, &new.text, &error);
            groups = group_changes(&old.policy, &new.policy, ports, partitions).map_err(refused)?;
            let compared = answers(&old.policy, &new.policy, ports, partitions);
            found = Some(compared.map_err(refused)?);
        }
        Ok(Self {
            old,
            new,
            site,
            levels,
            groups,
            answers: found,
        })
    }

    /// For machines.
    pub(super) fn report(&self) -> Report<'_> {
        let levels = self.levels.iter().map(|level| Level {
            name: &level.name,
            change: level.fate.word(),
            old: level.old.as_deref(),
            new: level.new.as_deref(),
        });
        let groups = self.groups.iter().map(|group| Group {
            name: &group.name,
            change: group.fate.word(),
            gained: self.names(&group.gained),
            lost: self.names(&group.lost),
        });
        let (old, new) = (&self.old.policy.rules, &self.new.policy.rules);
        let answers = self.answers.as_ref();
        Report {
            old: &self.old.name,
            old_dialect: self.old.policy.dialect.word(),
            semantics_changed: self.semantics().is_some(),
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
                source: self.name(query.source),
                destination: self.name(query.destination),
                qos_class: query.qos_class,
                tclass: query.tclass,
                service_id: query.service_id.map(|id| format!("0x{id:x}")),
                service: query.service_id.map(|id| self.service(id)),
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
        if let Some((old, new)) = self.semantics() {
            outln!("meant       otherwise: {old}");
            outln!("            now: {new}");
        }
        for level in &self.levels {
            let was = level.old.as_deref().unwrap_or("(none)");
            let is = level.new.as_deref().unwrap_or("(none)");
            outln!(
                "level       {} {}: {was} -> {is}",
                level.name,
                level.fate.word()
            );
        }
        for group in &self.groups {
            outln!(
                "group       {} {}{}",
                group.name,
                group.fate.word(),
                self.members(group)
            );
        }
        let (old, new) = (self.old.policy.rules.len(), self.new.policy.rules.len());
        outln!("rules       {old} -> {new}");
        match &self.answers {
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
                level(old, (transition.old, transition.labels.0)),
                level(new, (transition.new, transition.labels.1))
            );
            outln!("            {}", self.example(&transition.example));
        }
    }

    /// What the new policy's names say of an id.
    fn service(&self, id: u64) -> String {
        self.new.policy.ulp_names.describe(ServiceId(id))
    }

    /// A request in words, with the rules that it met and meets.
    fn example(&self, example: &Example) -> String {
        let query = &example.query;
        let fields = [
            query.qos_class.map(|class| format!("QoS class {class}")),
            query.tclass.map(|tclass| format!("TClass {tclass}")),
            query
                .service_id
                .map(|id| format!("service id 0x{id:x} ({})", self.service(id))),
            query.pkey.map(|pkey| format!("P_Key 0x{pkey:04x}")),
        ];
        let named: Vec<String> = fields.into_iter().flatten().collect();
        let with = match named.is_empty() {
            true => String::from("no further fields"),
            false => named.join(", "),
        };
        format!(
            "such as {} to {} with {with}: {} -> {}",
            self.name(query.source),
            self.name(query.destination),
            rule(&self.old, example.old),
            rule(self.new, example.new)
        )
    }

    /// How both are meant; none where that is the same.
    fn semantics(&self) -> Option<(Semantics, Semantics)> {
        let both = (self.old.policy.semantics, self.new.policy.semantics);
        (both.0 != both.1).then_some(both)
    }

    /// Those that were found; none without a fabric.
    fn transitions(&self) -> impl Iterator<Item = &Transition> {
        self.answers.iter().flat_map(|answers| &answers.transitions)
    }

    /// Who comes into a group and who goes.
    fn members(&self, group: &GroupChange) -> String {
        let side = |word: &str, ports: &[usize]| match ports.is_empty() {
            true => String::new(),
            false => format!(
                "; {} {word}: {}",
                ports.len(),
                first_few(&self.names(ports))
            ),
        };
        side("come", &group.gained) + &side("go", &group.lost)
    }

    /// In the same order.
    fn names(&self, ports: &[usize]) -> Vec<String> {
        ports.iter().map(|port| self.name(*port)).collect()
    }

    /// By its number where the fabric does not know the port; a subnet numbers its end ports as the
    /// facts of [`Site`] do.
    fn name(&self, port: usize) -> String {
        let subnet = self.site.map(|site| &site.sources.subnet);
        let named = subnet.and_then(|subnet| {
            let end = subnet.end_ports().get(port)?;
            Some(subnet.fabric().port_name(end.at))
        });
        named.unwrap_or_else(|| format!("port {port}"))
    }
}

/// A level, with what it gives.
fn level(policy: &Policy, (at, labels): (LevelIx, FlowLabels)) -> String {
    let level = policy.level(at);
    format!("{} ({})", level.title(), offer_with(level, labels))
}

/// Where a rule stands. `at`: none for the default level.
fn rule(file: &PolicyFile, at: Option<RuleIx>) -> String {
    match at {
        Some(rule) => format!("{}:{}", file.name, file.policy.rule(rule).span.start.line),
        None => format!("default level of {}", file.name),
    }
}
