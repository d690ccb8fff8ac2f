//! Pairs of ports whose two directions get different SLs.
//!
//! A connection whose two directions have different SLs is legal and mostly not meant: acknowledgements then
//! wait behind other traffic. Every request that gets to some rule is looked at in both directions, for all
//! kinds of ports that may talk at all.
//!
//! ```text
//! rule 1: destination storage -> bulk (SL 2)      h1 to s1: SL 2, by rule 1
//! default: SL 0                                   s1 to h1: SL 0, by the default
//! ```
//!
//! Requests come from the witnesses of `rules::shadow`, one for each rule that is alive; those that
//! fit the same rules are looked at once.
//!
//! SLs are compared by the bits that the routing engine keeps: on a torus SL 1 and SL 2 are the
//! same level, and a difference between them is none.

use std::collections::HashMap;

use sa_text::Severity;

use crate::lint::bits::Bits;
use crate::lint::finding::{Finding, LintId};
use crate::lint::pairs::{HeldSets, Kind, kinds, satisfied};
use crate::lint::rules::shadow::Life;
use crate::lint::{Analysis, Fabric};
use crate::model::criterion::Numbers;

/// For every rule: pairs that get it, with the numbers of a request that gets to it, and another
/// SL on the way back.
/// Info only: some mean it so.
pub(in crate::lint) fn findings(
    analysis: &Analysis<'_>,
    fabric: &Fabric<'_>,
    held: &HeldSets,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut left = BUDGET;
    let requests = requests(analysis);
    for (at, request) in requests.iter().enumerate() {
        let kinds = kinds(analysis, &request.fitting, held, |_| true);
        // Asked before the work is done, so that the rest can be named instead.
        let effort = kinds.len().saturating_mul(kinds.len());
        match left.checked_sub(effort.saturating_mul(1 + request.fitting.words())) {
            Some(rest) => left = rest,
            None => {
                // Said once, for all that was not looked at.
                found.push(given_up(analysis, &requests[at..]));
                break;
            }
        }
        let mut tally = Tally::new(analysis, fabric, request);
        for from in &kinds {
            for to in kinds.iter().filter(|to| held.share(from.held, to.held)) {
                tally.add(from, to);
            }
        }
        found.extend(tally.findings());
    }
    found
}

/// Comparisons of kinds of ports, by words.
/// About a second's worth; what is left then is told by [`given_up`].
const BUDGET: usize = 1 << 28;

/// Numbers that requests name, and the rules that are to be looked at with them.
/// Stands for all requests that fit the same rules by their numbers.
struct Request {
    /// Those of the first witness that fits these rules.
    values: Numbers,
    /// Rules that fit by their numbers.
    fitting: Bits,
    /// That requests of this kind get to.
    rules: Vec<usize>,
}

/// Those that get to a rule, equal ones put together.
fn requests(analysis: &Analysis<'_>) -> Vec<Request> {
    let mut places: HashMap<Bits, usize> = HashMap::new();
    let mut requests: Vec<Request> = Vec::new();
    for (rule, life) in analysis.lives.iter().enumerate() {
        let Life::Alive(witness) = life else { continue };
        let fitting = satisfied(analysis, &witness.values);
        let place = *places.entry(fitting.clone()).or_insert(requests.len());
        if place == requests.len() {
            requests.push(Request {
                values: witness.values,
                fitting,
                rules: Vec::new(),
            });
        }
        requests[place].rules.push(rule);
    }
    requests
}

/// What was found for a rule.
/// Of all pairs that a rule decides and that differ; the example is the first.
#[derive(Clone, Copy)]
struct Found {
    /// Ordered, so that both ways may count.
    pairs: u64,
    /// Source and destination of the first such pair, by port index.
    example: (usize, usize),
    /// The rule of the way back; none for the default level.
    back: Option<usize>,
}

/// Counts for one kind of request.
struct Tally<'a> {
    analysis: &'a Analysis<'a>,
    fabric: &'a Fabric<'a>,
    request: &'a Request,
    /// By rule: what was found of the pairs that it decides.
    found: HashMap<usize, Found>,
}

impl<'a> Tally<'a> {
    /// Nothing counted yet.
    fn new(analysis: &'a Analysis<'a>, fabric: &'a Fabric<'a>, request: &'a Request) -> Self {
        Self {
            analysis,
            fabric,
            request,
            found: HashMap::new(),
        }
    }

    /// Counts the pairs of two kinds of ports, if their SLs differ.
    fn add(&mut self, from: &Kind, to: &Kind) {
        let (there, back) = (from.first(to), to.first(from));
        // The default has no line to point at; and the same rule both ways gives the same SL.
        let Some(rule) = there.filter(|_| there != back) else {
            return;
        };
        // An SL that the partition decides is the same both ways.
        let differ = match (self.sl(there), self.sl(back)) {
            (Some(one), Some(other)) => (one ^ other) & self.fabric.view.sl_bits != 0,
            (one, other) => one != other,
        };
        let Some(example) = from.example(to).filter(|_| differ) else {
            return;
        };
        let pairs = from.pairs(to);
        let found = self.found.entry(rule).or_insert(Found {
            pairs: 0,
            example,
            back,
        });
        found.pairs += pairs;
    }

    /// The SL that a rule gives; none where the partition decides.
    fn sl(&self, rule: Option<usize>) -> Option<u8> {
        self.analysis.level_of(rule).sl.map(|sl| *sl)
    }

    /// One finding for each rule that the request gets to.
    fn findings(self) -> Vec<Finding> {
        let rules = self.request.rules.iter();
        // Only rules that this request was made for: others have requests of their own.
        let found = rules.filter_map(|rule| Some(self.finding(*rule, *self.found.get(rule)?)));
        found.collect()
    }

    /// How many pairs, with an example and the rule of the way back.
    fn finding(&self, rule: usize, found: Found) -> Finding {
        let Found {
            pairs,
            example,
            back,
        } = found;
        let policy = self.analysis.policy;
        let words = |sl: Option<u8>| match sl {
            Some(sl) => format!("SL {sl}"),
            None => String::from("the partition's SL"),
        };
        let by = match back {
            Some(back) => format!("the rule on line {}", policy.rules[back].span.start.line),
            None => String::from("the default level"),
        };
        let sentence = format!(
            "{pairs} pairs of ports get {} by this rule and another SL on the way back, e.g. {} to \
             {}{}: {} back by {by}",
            words(self.sl(Some(rule))),
            self.fabric.port_name(example.0),
            self.fabric.port_name(example.1),
            in_words(&self.request.values),
            words(self.sl(back)),
        );
        let remedy = "if both ways should be alike, add a rule with source and destination swapped";
        let finding = Finding::new(
            LintId::ASYMMETRIC,
            policy.rules[rule].span,
            sentence,
            remedy,
        );
        match back {
            Some(back) => finding.and(policy.rules[back].span, "the way back"),
            None => finding,
        }
    }
}

/// The numbers that a request names.
fn in_words(values: &Numbers) -> String {
    let named = values.named();
    let words: Vec<String> = named
        .map(|(field, number)| field.with(number).to_string())
        .collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(" with {}", words.join(", "))
    }
}

/// Says what was not looked at when there is too much of it.
fn given_up(analysis: &Analysis<'_>, requests: &[Request]) -> Finding {
    let rules = requests.iter().flat_map(|request| &request.rules);
    let mut rules: Vec<_> = rules.copied().collect();
    rules.sort_unstable();
    let span = rules.first().map(|rule| analysis.policy.rules[*rule].span);
    let sentence = format!(
        "for {} rules, this one the first, there are too many kinds of ports to compare both \
         directions",
        rules.len()
    );
    let remedy = "use fewer groups that overlap";
    Finding::new(LintId::ASYMMETRIC, span, sentence, remedy).with(Severity::Info)
}
