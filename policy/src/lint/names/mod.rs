//! Names that OpenSM reads otherwise than they look, and constructs it ignores or refuses.
//!
//! ```text
//! port-name: vs1 HCA-1/P1        L20: this looks for a node called 'vs1HCA-1'
//! rate-limit: 24                 L60: 3.3.23 refuses it, 3.3.24 reads it
//! port-guid: 0-0xffffffffffff    L61: OpenSM goes through all of them
//! ```
//!
//! OpenSM is the measure also for files of the RFC dialects: whoever keeps a fabric with both wants
//! to know what one of them would not read.

pub(in crate::lint) mod groups;
pub(in crate::lint) mod numbers;

use sa_text::Span;

use crate::lint::finding::{Finding, LintId};
use crate::model::criterion::Field;
use crate::model::dialect::Dialect;
use crate::model::{Origin, Policy, Selector};

/// Blanks that OpenSM leaves out of names of nodes and partitions, which then fit nothing.
/// By the text: the parsed name has lost its blanks already, and with them the hint.
pub(in crate::lint) fn blanks(policy: &Policy, text: &str) -> Vec<Finding> {
    let selectors = policy.groups.iter().flat_map(|group| &group.selectors);
    let names = selectors.filter_map(|selector| match &selector.value {
        Selector::PortName(_) => Some(("a node", selector.span)),
        Selector::Partition(_) => Some(("a partition", selector.span)),
        _ => None,
    });
    let odd = names.filter_map(|(what, span)| {
        let written = written(text, span)?;
        // Where there is a quote, the author has thought of blanks.
        let is_odd = !written.contains('"') && written.contains([' ', '\t']);
        let read: String = written.split([' ', '\t']).collect();
        let name = read
            .rsplit_once('/')
            .map_or(read.as_str(), |(node, _)| node);
        let sentence = format!(
            "blanks outside quotes are left out of names: this looks for {what} called '{name}'"
        );
        let remedy = format!("write it in quotes: \"{written}\"");
        is_odd.then(|| Finding::new(LintId::GROUP, span, sentence, remedy))
    });
    odd.collect()
}

/// The text of a place; none where the text is not the one that was parsed.
fn written(text: &str, span: Span) -> Option<&str> {
    let from = usize::try_from(span.offset).ok()?;
    let length = usize::try_from(span.length).ok()?;
    Some(text.get(from..from + length)?.trim())
}

/// What OpenSM 3.3 would make of the file, beyond what it cannot help.
/// Empty for most files of its own dialect.
pub(in crate::lint) fn opensm(policy: &Policy, text: Option<&str>) -> Vec<Finding> {
    let mut found = fast_rates(policy);
    if policy.dialect.is_rfc() {
        found.push(Finding::new(
            LintId::OPENSM,
            Span::START,
            format!("OpenSM does not read the {} dialect", policy.dialect),
            "`sapphire policy convert --to opensm` writes it anew, as far as it can be said there",
        ));
        found.extend(rfc_only(policy));
        // Its own dialect would not have been read with such lines.
        if text.is_some_and(|text| text.contains("\r\n")) {
            let sentence = "lines end with CR LF, which OpenSM takes for a syntax error";
            found.push(Finding::new(
                LintId::OPENSM,
                Span::START,
                sentence,
                "end lines with LF before OpenSM reads any of it",
            ));
        }
    }
    found
}

/// Path bits over what any LMC gives; the parsers of the RFCs tell of theirs.
/// What bits the fabric's own LMC has is not asked: ports may differ in it.
pub(in crate::lint) fn path_bits(policy: &Policy) -> Vec<Finding> {
    const MOST: u64 = 127;
    let bits = policy
        .levels
        .iter()
        .filter_map(|level| level.path_bits.as_ref());
    let over = bits.filter_map(|bits| {
        let (_, last) = bits.pairs().last().filter(|(_, last)| *last > MOST)?;
        let sentence = format!("path bits {last} are over 127, which no port has");
        let remedy = "name path bits under 2 to the power of the LMC";
        Some(Finding::new(LintId::PATH_BITS, bits.span, sentence, remedy))
    });
    over.collect()
}

/// Each construct at each place, as an operator would have to go through them.
fn rfc_only(policy: &Policy) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut note = |span: Span, sentence: String, remedy: &'static str| {
        found.push(Finding::new(LintId::OPENSM, span, sentence, remedy));
    };
    for level in &policy.levels {
        if let Some(tclass) = &level.tclass {
            let sentence = "OpenSM has no tclass: its answers carry TClass 0";
            note(
                tclass.span,
                sentence.into(),
                "do not rely on it under OpenSM",
            );
        }
        if let Some(bits) = &level.path_bits {
            let sentence = "OpenSM reads path-bits and does nothing with it";
            note(bits.span, sentence.into(), "do not rely on it under OpenSM");
        }
        if level.origin == Origin::BuiltIn {
            let sentence = "there is no default level: requests that no rule fits get the SL of \
                            their partition, where OpenSM would refuse the file";
            note(level.span, sentence.into(), "add a level named 'default'");
        }
    }
    let is_unknown = |field: &Field| field.keyword(Dialect::OpenSm).is_none();
    for rule in &policy.rules {
        for field in Field::ALL.into_iter().filter(is_unknown) {
            if let Some(numbers) = &rule.fields[field] {
                let sentence = format!("OpenSM has no rules by {}", field.name());
                note(numbers.span, sentence, "match by QoS class or Service-ID");
            }
        }
    }
    for span in &policy.setup.spans {
        let sentence = "OpenSM reads qos-setup and does nothing with it";
        note(
            *span,
            sentence.into(),
            "set qos_*_sl2vl and qos_*_vlarb_* in opensm.conf",
        );
    }
    // A conversion quotes such names; who copies by hand forgets it.
    for (name, span) in keyword_names(policy) {
        let sentence = format!("'{name}' contains a keyword, a syntax error in OpenSM's dialect");
        note(span, sentence, "write the name in quotes there");
    }
    found
}

/// Codes that 3.3.23 refuses, wherever they are read.
/// One for each level that has such a code.
fn fast_rates(policy: &Policy) -> Vec<Finding> {
    let rates = policy.levels.iter().filter_map(|level| level.rate_limit);
    let new = rates.filter(|rate| rate.code() > LAST_OLD_RATE);
    let note = |rate: sa_text::Spanned<sa_wire::Rate>| {
        let sentence = format!(
            "OpenSM 3.3.23 refuses rate code {}; 3.3.24 reads it",
            rate.code()
        );
        let remedy = "use code 22 or less while such versions are about";
        Finding::new(LintId::OPENSM, rate.span, sentence, remedy)
    };
    new.map(note).collect()
}

/// Codes 23 and 24 came with 3.3.24.
const LAST_OLD_RATE: u8 = 22;

/// Names that OpenSM's scanner would find a keyword in. Its own dialect has them in quotes.
/// Those of groups and levels; partitions and nodes are named by others.
fn keyword_names(policy: &Policy) -> impl Iterator<Item = (&str, Span)> {
    const KEYWORDS: [&str; 12] = [
        "qos-ulps",
        "port-group",
        "qos-setup",
        "vlarb-tables",
        "vlarb-scope",
        "sl2vl-tables",
        "sl2vl-scope",
        "qos-level",
        "qos-match-rule",
        "port-guid",
        "service-id",
        "qos-class",
    ];
    let has_keyword = |name: &str| KEYWORDS.iter().any(|keyword| name.contains(keyword));
    let groups = policy
        .groups
        .iter()
        .filter(|group| group.origin == Origin::Written);
    let groups = groups.map(|group| (group.name.value.as_str(), group.name.span));
    let levels = policy.levels.iter();
    let levels = levels.filter_map(|level| Some((level.key.name()?, level.key.span)));
    groups
        .chain(levels)
        .filter(move |(name, _)| policy.dialect != Dialect::OpenSm && has_keyword(name))
}

/// Ranges that OpenSM steps through number by number.
/// One for each entry, with its widest range.
pub(in crate::lint) fn wide_guids(policy: &Policy) -> Vec<Finding> {
    const STALLS: u64 = 1 << 20;
    let selectors = policy.groups.iter().flat_map(|group| &group.selectors);
    let wide = selectors.filter_map(|selector| {
        let Selector::Guids(guids) = &selector.value else {
            return None;
        };
        let widest = guids.pairs().iter().max_by_key(|(low, high)| high - low)?;
        let width = (widest.1 - widest.0).saturating_add(1);
        (width > STALLS).then(|| {
            let (low, high) = widest;
            let sentence = format!(
                "the range 0x{low:x}-0x{high:x} has {width} GUIDs; OpenSM goes through them one by \
                 one and stalls"
            );
            let remedy = "name the ranges that hold your ports, or use node-type or partition";
            Finding::new(LintId::WIDE_GUIDS, selector.span, sentence, remedy)
        })
    });
    wide.collect()
}
