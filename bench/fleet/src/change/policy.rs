//! Rules over groups of hosts, the same every time, in OpenSM's dialect.
//!
//! ```text
//! qos-match-rule
//! source: g7                          four ranges of hosts, which overlap with those of others
//! destination: g50
//! service-id: 0x100001c0-0x100001c7   each rule has a range of its own
//! qos-level-name: L2                  one of three in turn: what changes is this line of one rule
//! end-qos-match-rule
//! ```
//!
//! No text of a site is known that is as large: what counts here is that the compiler, the proof of
//! samples and the patch have as much to do as with a large policy.

use std::fmt::Write as _;

/// Ranges of GUIDs in a group.
const RANGES: usize = 4;
/// Which levels the rules give in turn. Torus-2QoS takes the upper bit of an SL alone, so the
/// others differ by their MTU.
const LEVELS: [&str; 4] = [
    "sl: 0",
    "sl: 8",
    "sl: 0\nmtu-limit: 3",
    "sl: 8\nmtu-limit: 3",
];

/// Rules, and a fifth as many groups of these port GUIDs.
///
/// `guids`: of all hosts, ascending. `changed`: which of the rules gives another level than else,
/// by number; one that is not there changes nothing.
pub(super) fn text(rules: u16, guids: &[u64], changed: Option<usize>) -> String {
    let mut text = "qos-levels\n".to_owned();
    // Writing to a string does not fail.
    for (nth, level) in LEVELS.iter().enumerate() {
        let _ = write!(
            text,
            "qos-level\nname: {}\n{level}\nend-qos-level\n",
            name(nth)
        );
    }
    text += "end-qos-levels\nport-groups\n";
    let groups = usize::from(rules).div_ceil(5).max(2);
    for group in 0..groups {
        add_group(&mut text, group, guids);
    }
    text += "end-port-groups\nqos-match-rules\n";
    for rule in 0..usize::from(rules) {
        let turn = if changed == Some(rule) {
            rule + 1
        } else {
            rule
        };
        let _ = write!(
            text,
            "qos-match-rule\nsource: g{}\ndestination: g{}\nservice-id: {:#x}-{:#x}\nqos-level-name: {}\nend-qos-match-rule\n",
            rule % groups,
            (rule * 7 + 1) % groups,
            0x1000_0000 + rule * 64,
            0x1000_0000 + rule * 64 + rule % 200,
            // Not the default, which a request gets without a rule.
            name(1 + turn % (LEVELS.len() - 1)),
        );
    }
    text + "end-qos-match-rules\n"
}

/// The default is for requests that no rule takes.
fn name(level: usize) -> String {
    match level {
        0 => "default".to_owned(),
        level => format!("L{level}"),
    }
}

/// Some hosts here and there; groups overlap.
fn add_group(text: &mut String, group: usize, guids: &[u64]) {
    let _ = writeln!(text, "port-group\nname: g{group}");
    let wide = (guids.len() / 200).max(1);
    for range in 0..RANGES {
        let first = (group * 131 + range * 977) % guids.len().max(1);
        let last = (first + wide).min(guids.len().saturating_sub(1));
        if let (Some(first), Some(last)) = (guids.get(first), guids.get(last)) {
            let _ = writeln!(text, "port-guid: {first:#x}-{last:#x}");
        }
    }
    *text += "end-port-group\n";
}
