//! A comparison for people: of two files, and of what a daemon serves with what a reload would put
//! there.

use std::fmt::Write;

use sa_compiler::snapshot_change::{ByLevel, Comparison, LISTED, Transition, Words};
use sa_fabric::display::{at_most, count, first_few, first_few_of};

/// Lists are cut. `but`: where not all pairs were asked about, what to do.
pub(crate) fn text(found: &Comparison, but: &str) -> String {
    let mut text = String::new();
    for (name, ports) in found.lists() {
        if ports.count > 0 {
            line(
                &mut text,
                name,
                &format!(
                    "{}: {}",
                    ports.count,
                    first_few_of(&ports.names, ports.count)
                ),
            );
        }
    }
    lids(&mut text, found);
    for (name, levels) in [
        ("levels_removed", &found.levels_removed),
        ("levels_added", &found.levels_added),
    ] {
        if !levels.is_empty() {
            line(&mut text, name, &first_few(levels));
        }
    }
    pairs(&mut text, found, but);
    text
}

/// A line with its heading; without one it goes on with the line before.
fn line(text: &mut String, heading: &str, words: &str) {
    let _ = writeln!(text, "{heading:<18} {words}");
}

/// Lines of a list that is cut in the document already, where it is long.
fn some(lines: Vec<String>, one: &str, many: &str) -> Vec<String> {
    let is_cut = lines.len() >= LISTED;
    let mut shown = at_most(lines, one, many);
    if let Some(last) = shown.last_mut().filter(|_| is_cut) {
        *last = format!("and more {many}");
    }
    shown
}

fn lids(text: &mut String, found: &Comparison) {
    if found.lid_changes == 0 {
        return;
    }
    line(text, "lid_changes", &found.lid_changes.to_string());
    let words = found.lids_changed.iter();
    let words = words.map(|it| format!("{}: LID {}, {} now", it.port, it.old, it.new));
    for words in some(words.collect(), "port", "ports") {
        line(text, "", &words);
    }
}

fn pairs(text: &mut String, found: &Comparison, but: &str) {
    let counts = &found.pairs;
    let asked = counts.asked;
    line(
        text,
        "pairs",
        &format!("{} of {asked} get another answer", counts.changed),
    );
    if !counts.complete {
        line(
            text,
            "",
            &format!("asked about {asked} of {}{but}", counts.all),
        );
    }
    for (what, number) in [
        ("no path any more", counts.lost),
        ("a path now", counts.gained),
        ("another SL", counts.sl),
        ("another MTU", counts.mtu),
        ("another rate", counts.rate),
        ("another packet life", counts.packet_life),
        ("another P_Key", counts.pkey),
        ("another traffic class", counts.traffic_class),
        ("another flow label", counts.flow_label),
        ("another QoS level", counts.level),
        ("a longer or shorter way", counts.hops.unwrap_or_default()),
    ] {
        if number > 0 {
            line(text, "", &format!("{number}: {what}"));
        }
    }
    let ways = found.transitions.iter().map(transition);
    for words in some(ways.collect(), "change", "changes") {
        let _ = writeln!(text, "{words}");
    }
    // Who keeps a level has its change of answer above.
    let levels = found.by_level.iter().filter(|it| it.old != it.new);
    for words in some(
        levels.map(level).collect(),
        "change of level",
        "changes of level",
    ) {
        let _ = writeln!(text, "{words}");
    }
}

/// Two lines: what changes, and for whom, for example.
fn transition(it: &Transition) -> String {
    let words = |terms: &Option<Words>| {
        let words = terms.as_ref().map(ToString::to_string);
        words.unwrap_or_else(|| "no path".to_owned())
    };
    two_lines(
        it.pairs,
        (&words(&it.old), &words(&it.new)),
        (&it.source, &it.destination),
    )
}

fn level(it: &ByLevel) -> String {
    let words = |name: &Option<String>| match name {
        Some(name) => format!("level {name}"),
        None => "no level".to_owned(),
    };
    two_lines(
        it.pairs,
        (&words(&it.old), &words(&it.new)),
        (&it.source, &it.destination),
    )
}

fn two_lines(pairs: u64, (old, new): (&str, &str), (from, to): (&str, &str)) -> String {
    let pairs = count(pairs, "pair", "pairs");
    format!(
        "{pairs:<18} {old} -> {new}\n{:<18} such as {from} to {to}",
        ""
    )
}
