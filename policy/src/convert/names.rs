//! What groups and levels are called in the other dialect.
//!
//! Names have to differ where rules refer to them, without regard to letter case, and have to be free of what
//! the dialect reads otherwise: quotes, line ends, in RFC 0.2 what begins a comment. A name is kept wherever
//! that is possible; one that is taken gets a number behind it.
//!
//! ```text
//! groups "a b", "A B" of OpenSM        the second is hidden and keeps its name
//! level "default" that is not the default, in RFC 0.1     default-2 elsewhere, a loss
//! group `x "y"` into OpenSM's          x 'y', a loss: a quote cannot be quoted
//! ```

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use sa_text::Span;

use super::{Loss, Lost};
use crate::model::dialect::Dialect;
use crate::model::limits::MAX_NAME_BYTES;
use crate::model::{Level, LevelKey, Origin, Policy};

/// Names in the new file. Shape: by place in the policy.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Cleaned, and different where rules need to tell them apart.
    pub(super) groups: Vec<String>,
    /// Also of levels that are not written.
    pub(super) levels: Vec<LevelName>,
    /// By name in lower case: the first group of that name.
    known: HashMap<String, usize>,
}

/// What a level is called.
/// Each dialect uses the part that it has.
#[derive(Debug, Default)]
pub(super) struct LevelName {
    /// None where the dialect goes by number or position alone.
    pub(super) name: Option<String>,
    /// RFC 0.1: its number.
    pub(super) sn: Option<u64>,
    /// False where the dialect has this level without a word.
    pub(super) is_written: bool,
}

impl Names {
    /// Names everything once, before any section is written. Names that change are told as losses.
    pub(super) fn new(policy: &Policy, to: Dialect, losses: &mut Vec<Loss>) -> Self {
        let mut known = HashMap::new();
        for (at, group) in policy.groups.iter().enumerate() {
            if group.origin != Origin::Ulp {
                // Of equal names the first, as rules see it.
                known.entry(group.name.to_ascii_lowercase()).or_insert(at);
            }
        }
        Self {
            groups: group_names(policy, to, &known, losses),
            levels: level_names(policy, to, losses),
            known,
        }
    }

    /// What a scope has to say for the group that it named.
    pub(super) fn of_scope(&self, to: Dialect, name: &str) -> String {
        let known = self.known.get(&name.to_ascii_lowercase());
        match known.and_then(|at| self.groups.get(*at)) {
            Some(name) => name.clone(),
            None => clean(to, name),
        }
    }
}

/// By place in the policy. Of written groups with one name rules mean the first, so that the others may keep
/// the name.
fn group_names(
    policy: &Policy,
    to: Dialect,
    known: &HashMap<String, usize>,
    losses: &mut Vec<Loss>,
) -> Vec<String> {
    let mut taken = Taken::new();
    let mut names = Vec::with_capacity(policy.groups.len());
    for (at, group) in policy.groups.iter().enumerate() {
        let cleaned = clean(to, &group.name);
        // A group that nothing can refer to stays behind the one that has its name.
        let first = known.get(&group.name.to_ascii_lowercase());
        let is_hidden = group.origin != Origin::Ulp && first.is_some_and(|first| *first != at);
        let name = if is_hidden {
            cleaned
        } else {
            unique(&mut taken, cleaned)
        };
        if name != group.name.value && group.origin != Origin::Ulp {
            losses.push(renamed("group", &group.name, &name, group.name.span));
        }
        names.push(name);
    }
    names
}

/// By place in the policy. The name `default` is kept free for the level that applies when no rule does,
/// except in RFC 0.1, where `sn` 0 says so.
fn level_names(policy: &Policy, to: Dialect, losses: &mut Vec<Loss>) -> Vec<LevelName> {
    let default = usize::from(policy.default_level.0);
    let mut taken = Taken::new();
    if to != Dialect::Rfc01Xml {
        // A level that merely happens to be called so would become the default.
        taken.insert(String::from(DEFAULT), 2);
    }
    let levels = policy.levels.iter().enumerate();
    levels
        .map(|(at, level)| {
            let is_default = at == default;
            let name = match to {
                Dialect::OpenSm => Some(opensm_name(policy, level, is_default, &mut taken)),
                Dialect::Rfc02Text => text_name(policy, level, is_default, &mut taken),
                Dialect::Rfc01Xml => xml_name(level, is_default),
            };
            note_level_name(level, name.as_deref(), losses);
            LevelName {
                name,
                sn: sn(policy, level, at),
                is_written: match level.origin {
                    Origin::Written => true,
                    Origin::Ulp => to != Dialect::OpenSm,
                    Origin::BuiltIn => to == Dialect::OpenSm,
                },
            }
        })
        .collect()
}

/// Every level has one of its own, but for those that no rule of OpenSM's can refer to.
/// Made of number or position where the RFCs had none.
fn opensm_name(policy: &Policy, level: &Level, is_default: bool, taken: &mut Taken) -> String {
    if is_default {
        return default_name(policy, level, Dialect::OpenSm);
    }
    let name = match level.key.name() {
        Some(name) => clean(Dialect::OpenSm, name),
        None => match level.key.value {
            LevelKey::Sn { sn, .. } => format!("sn-{sn}"),
            LevelKey::Position(position) => format!("level-{position}"),
            LevelKey::Name(_) => String::new(),
        },
    };
    match policy.dialect {
        // Later ones of equal names stay: no rule could mean them in the old file either.
        Dialect::OpenSm => name,
        _ => unique(taken, name),
    }
}

/// Rules refer to positions, so that only the name of the default matters.
/// None for a level that had no name: its position will do.
fn text_name(
    policy: &Policy,
    level: &Level,
    is_default: bool,
    taken: &mut Taken,
) -> Option<String> {
    if is_default {
        return Some(default_name(policy, level, Dialect::Rfc02Text));
    }
    let name = clean(Dialect::Rfc02Text, level.key.name()?);
    let is_hidden = policy.dialect != Dialect::Rfc01Xml;
    if name.eq_ignore_ascii_case(DEFAULT) && !is_hidden {
        Some(unique(taken, name))
    } else {
        Some(name)
    }
}

/// The default is the one with `sn` 0 or that name.
fn xml_name(level: &Level, is_default: bool) -> Option<String> {
    if is_default && level.origin == Origin::Ulp {
        return Some(String::from(DEFAULT));
    }
    level.key.name().map(|name| clean(Dialect::Rfc01Xml, name))
}

/// As it is written, if that says that it is the default.
fn default_name(policy: &Policy, level: &Level, to: Dialect) -> String {
    let from_ulps = level.origin == Origin::Ulp && to == policy.dialect;
    match level.key.name() {
        Some(name) if from_ulps || name.eq_ignore_ascii_case(DEFAULT) => String::from(name),
        _ => String::from(DEFAULT),
    }
}

/// RFC 0.1's number of a level: its own, or its position from 1, so that 0 stays the default's.
const fn sn(policy: &Policy, level: &Level, at: usize) -> Option<u64> {
    match (policy.dialect, &level.key.value) {
        (_, LevelKey::Sn { sn, .. }) => Some(*sn),
        (Dialect::Rfc01Xml, _) => None,
        _ => Some(at as u64 + 1),
    }
}

/// Tells of a level that was written under another name; made ones had none that anybody wrote.
/// A level that loses its name altogether is no loss: rules find it by number.
fn note_level_name(level: &Level, name: Option<&str>, losses: &mut Vec<Loss>) {
    let is_own = level.origin == Origin::Written;
    if let (Some(had), Some(gets), true) = (level.key.name(), name, is_own)
        && had != gets
    {
        losses.push(renamed("level", had, gets, level.key.span));
    }
}

/// The loss of a name.
fn renamed(what: &'static str, had: &str, gets: &str, span: Span) -> Loss {
    let (had, gets) = (String::from(had), String::from(gets));
    let what = Lost::Renamed { what, had, gets };
    Loss { span, what }
}

/// Names that are given, in lower case, and the number to try next with each.
/// Kept so that a thousand equal names do not try each number from 2 on.
type Taken = HashMap<String, u64>;

/// The name, or that with a number that makes it another one than those before. Letter case does
/// not matter.
fn unique(taken: &mut Taken, name: String) -> String {
    let key = name.to_ascii_lowercase();
    let Some(mut number) = taken.get(&key).copied() else {
        taken.insert(key, 2);
        return name;
    };
    // Names have a longest length, which the number must not exceed.
    let kept = shortened(&name);
    loop {
        let other = format!("{kept}-{number}");
        number += 1;
        if let Entry::Vacant(free) = taken.entry(other.to_ascii_lowercase()) {
            free.insert(2);
            taken.insert(key, number);
            return other;
        }
    }
}

/// Leaves room for a number.
fn shortened(name: &str) -> &str {
    // A dash and the twenty digits of the largest number.
    let longest = MAX_NAME_BYTES - 21;
    let boundaries = name.char_indices().map(|(at, _)| at);
    let end = boundaries.take_while(|at| *at <= longest).last();
    if name.len() > longest {
        &name[..end.unwrap_or(0)]
    } else {
        name
    }
}

/// A name or description as the dialect can say it.
pub(super) fn clean(to: Dialect, name: &str) -> String {
    const NO_BREAK: char = '\u{a0}';
    let plain = match to {
        Dialect::OpenSm => String::from(name),
        Dialect::Rfc01Xml => name.replace(NO_BREAK, " "),
        Dialect::Rfc02Text => name.replace([NO_BREAK, '\n', '\r'], " "),
    };
    let plain = plain.trim_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    // A quote cannot be written inside quotes, in either language of lines.
    let no_quote = to == Dialect::OpenSm || needs_quotes(to, plain);
    if no_quote && plain.contains('"') {
        plain.replace('"', "'")
    } else {
        String::from(plain)
    }
}

/// The same for a description.
/// Descriptions may hold commas, so less has to go.
pub(super) fn clean_text(to: Dialect, text: &str) -> String {
    let cleaned = match to {
        Dialect::OpenSm => text.replace('"', "'"),
        Dialect::Rfc01Xml => text.replace('\u{a0}', " "),
        Dialect::Rfc02Text => text.replace(['\u{a0}', '\n', '\r'], " "),
    };
    String::from(cleaned.trim_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']))
}

/// True for names that would be read as something else without quotes.
/// When in doubt yes: quotes around a plain name do no harm.
pub(super) fn needs_quotes(to: Dialect, name: &str) -> bool {
    let has_comma = name.is_empty() || name.contains(',') || name.starts_with('"');
    match to {
        Dialect::Rfc01Xml => has_comma,
        Dialect::Rfc02Text => has_comma || name.contains('#'),
        Dialect::OpenSm => {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
            // What begins section keywords.
            let keywords = ["qos-", "port-group", "vlarb-", "sl2vl-"];
            name.is_empty()
                || !name.bytes().all(is_plain)
                || keywords.iter().any(|keyword| name.contains(keyword))
        }
    }
}

/// The name of the level that applies when no rule does.
const DEFAULT: &str = "default";
