//! The words of OpenSM's policy language.
//!
//! The table of keywords is OpenSM's, read from its scanner: which words there are, which have a colon, which
//! go by any letter case. Keywords are looked up by their first letter, since the scanner tries at every
//! letter of a file.

use sa_text::Span;

use crate::model::criterion::Field;

/// A word of the language in its place.
/// Borrowed from the file, like all tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    /// What the grammar takes it for.
    pub(super) kind: Kind,
    /// Its text; of quoted text what is between the quotes.
    pub(super) text: &'a str,
    /// Where it stands, quotes and blanks around a colon included.
    pub(super) span: Span,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Opens a section or block.
    Start(Block),
    /// Closes a section or block, by its keyword with `end-` before it.
    End(Block),
    /// A keyword with its colon.
    Key(Key),
    /// The beginning of a line in `qos-ulps`.
    Ulp(Ulp),
    /// A node type, where node types are listed.
    NodeWord(NodeWord),
    /// Decimal, octal or hexadecimal, without a sign.
    Number,
    /// Between the two bounds of a range.
    Dash,
    /// Between VL and weight, and behind the criteria of a line in `qos-ulps`; that of a keyword
    /// belongs to the keyword.
    Colon,
    /// Between the items of a list.
    Comma,
    /// Any port, in a scope of `sl2vl-tables`.
    Asterisk,
    /// A piece of a name or description.
    Text,
    /// For ever behind the last token, so that no reader has to ask for an end.
    EndOfFile,
}

/// A section or block with an end keyword of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// The section of shorthand, whose lines are told apart by [`Ulp`].
    Ulps,
    PortGroups,
    PortGroup,
    Setup,
    /// Inside `qos-setup`, as is the other kind of tables.
    VlArbTables,
    VlArbScope,
    Sl2VlTables,
    Sl2VlScope,
    Levels,
    Level,
    Rules,
    Rule,
}

/// A keyword with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Name,
    /// What follows on its line is a description, keywords and all.
    Use,
    PortGuid,
    PortName,
    Partition,
    NodeType,
    Group,
    /// Neighbours of the scope's ports, on whichever side of them.
    Across,
    AcrossTo,
    AcrossFrom,
    From,
    To,
    VlArbHigh,
    VlArbLow,
    VlHighLimit,
    /// Sixteen VLs with commas between, that of SL 0 first.
    Sl2VlTable,
    Sl,
    MtuLimit,
    RateLimit,
    PacketLife,
    PathBits,
    QosClass,
    Source,
    Destination,
    ServiceId,
    /// In groups, levels and rules alike.
    Pkey,
    /// The only way in which rules of this language name their level.
    LevelName,
}

impl Key {
    /// The field of requests whose numbers follow in a rule.
    pub(super) const fn field(self) -> Option<Field> {
        Some(match self {
            Self::QosClass => Field::QosClass,
            Self::ServiceId => Field::ServiceId,
            Self::Pkey => Field::Pkey,
            _ => return None,
        })
    }
}

/// Which kind of traffic a line in `qos-ulps` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ulp {
    /// The default level, where none is called so.
    Default,
    /// `any, service-id`: any number of ids and ranges.
    AnyServiceId,
    AnyPkey,
    AnyTarget,
    AnySource,
    /// `any, source-target-port-guid`: both ends.
    AnySourceTarget,
    /// Every port of its port space.
    Sdp,
    /// With `port-num`: those ports of the space.
    SdpPort,
    /// Its one usual port, as iSER's.
    Rds,
    RdsPort,
    Iser,
    IserPort,
    /// By port GUID alone: SRP targets choose their own service ids.
    SrpTarget,
    /// The default partition, where no P_Key is given.
    Ipoib,
    IpoibPkey,
}

/// A word in a list of node types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeWord {
    Ca,
    Switch,
    Router,
    All,
    /// The port that the SM runs on.
    SelfPort,
}

/// A way to write one keyword.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern {
    /// In lower case; most words are taken in no other.
    word: &'static str,
    /// True for ULPs and node types.
    any_case: bool,
    /// A second word behind a comma.
    then: Option<&'static str>,
    /// A word without its colon is no keyword then, but text.
    colon: bool,
    /// What the lexer gives for it.
    pub(super) kind: Kind,
}

impl Pattern {
    /// How many bytes of `rest` it takes; blanks around its comma and colon belong to it.
    pub(super) fn length_in(&self, rest: &[u8]) -> Option<usize> {
        let mut at = word_length(rest, self.word, self.any_case)?;
        if let Some(word) = self.then {
            at = delimiter_end(rest, at, b',')?;
            at += word_length(&rest[at..], word, false)?;
        }
        if self.colon {
            at = delimiter_end(rest, at, b':')?;
        }
        Some(at)
    }
}

/// How many bytes the word takes here; none where something else stands.
fn word_length(rest: &[u8], word: &str, any_case: bool) -> Option<usize> {
    let head = rest.get(..word.len())?;
    let equal = if any_case {
        head.eq_ignore_ascii_case(word.as_bytes())
    } else {
        head == word.as_bytes()
    };
    equal.then_some(word.len())
}

/// Where the text goes on behind blanks, `delimiter` and blanks.
fn delimiter_end(rest: &[u8], at: usize, delimiter: u8) -> Option<usize> {
    let at = blanks_end(rest, at);
    (rest.get(at) == Some(&delimiter)).then(|| blanks_end(rest, at + 1))
}

/// Where blanks and tabs from `at` on end.
pub(super) fn blanks_end(rest: &[u8], at: usize) -> usize {
    let blanks = rest
        .iter()
        .skip(at)
        .take_while(|byte| matches!(byte, b' ' | b'\t'));
    at + blanks.count()
}

/// A word without colon.
const fn plain(word: &'static str, kind: Kind) -> Pattern {
    Pattern {
        word,
        any_case: false,
        then: None,
        colon: false,
        kind,
    }
}

/// A word with a colon and a value behind it.
const fn key(word: &'static str, key: Key) -> Pattern {
    Pattern {
        colon: true,
        ..plain(word, Kind::Key(key))
    }
}

/// A node type, in any letter case.
const fn node(word: &'static str, node: NodeWord) -> Pattern {
    Pattern {
        any_case: true,
        ..plain(word, Kind::NodeWord(node))
    }
}

/// The beginning of a line of `qos-ulps`, in any letter case.
const fn ulp(word: &'static str, ulp: Ulp) -> Pattern {
    Pattern {
        any_case: true,
        colon: true,
        ..plain(word, Kind::Ulp(ulp))
    }
}

/// The same with a comma and a second word, which tells what the numbers behind it are.
const fn ulp_by(word: &'static str, then: &'static str, ulp: Ulp) -> Pattern {
    Pattern {
        any_case: true,
        then: Some(then),
        ..plain(word, Kind::Ulp(ulp))
    }
}

/// The keywords that begin with this letter.
pub(super) fn patterns_with(first: u8) -> &'static [Pattern] {
    let letter = usize::from(first.to_ascii_lowercase().wrapping_sub(b'a'));
    match (STARTS.get(letter), STARTS.get(letter + 1)) {
        (Some(start), Some(end)) => &PATTERNS[*start..*end],
        _ => &[],
    }
}

/// By letter: where its keywords begin; one more for the end.
const STARTS: [usize; 27] = {
    let mut starts = [0; 27];
    let mut at = 0;
    while at < PATTERNS.len() {
        let letter = PATTERNS[at].word.as_bytes()[0] - b'a';
        at += 1;
        starts[letter as usize + 1] = at;
    }
    let mut letter = 1;
    while letter < 27 {
        if starts[letter] == 0 {
            starts[letter] = starts[letter - 1];
        }
        letter += 1;
    }
    starts
};

/// Every keyword, ascending by first letter. The longest that fits counts, and no two of equal
/// length fit at one place.
const PATTERNS: &[Pattern] = &[
    key("across", Key::Across),
    key("across-to", Key::AcrossTo),
    key("across-from", Key::AcrossFrom),
    node("all", NodeWord::All),
    ulp_by("any", "service-id", Ulp::AnyServiceId),
    ulp_by("any", "pkey", Ulp::AnyPkey),
    ulp_by("any", "target-port-guid", Ulp::AnyTarget),
    ulp_by("any", "source-port-guid", Ulp::AnySource),
    ulp_by("any", "source-target-port-guid", Ulp::AnySourceTarget),
    node("ca", NodeWord::Ca),
    key("destination", Key::Destination),
    ulp("default", Ulp::Default),
    plain("end-qos-ulps", Kind::End(Block::Ulps)),
    plain("end-port-groups", Kind::End(Block::PortGroups)),
    plain("end-port-group", Kind::End(Block::PortGroup)),
    plain("end-qos-setup", Kind::End(Block::Setup)),
    plain("end-vlarb-tables", Kind::End(Block::VlArbTables)),
    plain("end-vlarb-scope", Kind::End(Block::VlArbScope)),
    plain("end-sl2vl-tables", Kind::End(Block::Sl2VlTables)),
    plain("end-sl2vl-scope", Kind::End(Block::Sl2VlScope)),
    plain("end-qos-levels", Kind::End(Block::Levels)),
    plain("end-qos-level", Kind::End(Block::Level)),
    plain("end-qos-match-rules", Kind::End(Block::Rules)),
    plain("end-qos-match-rule", Kind::End(Block::Rule)),
    key("from", Key::From),
    key("group", Key::Group),
    ulp("iser", Ulp::Iser),
    ulp_by("iser", "port-num", Ulp::IserPort),
    ulp("ipoib", Ulp::Ipoib),
    ulp_by("ipoib", "pkey", Ulp::IpoibPkey),
    key("mtu-limit", Key::MtuLimit),
    key("name", Key::Name),
    key("node-type", Key::NodeType),
    plain("port-groups", Kind::Start(Block::PortGroups)),
    plain("port-group", Kind::Start(Block::PortGroup)),
    key("port-guid", Key::PortGuid),
    key("port-name", Key::PortName),
    key("partition", Key::Partition),
    key("packet-life", Key::PacketLife),
    key("path-bits", Key::PathBits),
    key("pkey", Key::Pkey),
    plain("qos-ulps", Kind::Start(Block::Ulps)),
    plain("qos-setup", Kind::Start(Block::Setup)),
    plain("qos-levels", Kind::Start(Block::Levels)),
    plain("qos-level", Kind::Start(Block::Level)),
    plain("qos-match-rules", Kind::Start(Block::Rules)),
    plain("qos-match-rule", Kind::Start(Block::Rule)),
    key("qos-class", Key::QosClass),
    key("qos-level-name", Key::LevelName),
    key("rate-limit", Key::RateLimit),
    node("router", NodeWord::Router),
    ulp("rds", Ulp::Rds),
    ulp_by("rds", "port-num", Ulp::RdsPort),
    plain("sl2vl-tables", Kind::Start(Block::Sl2VlTables)),
    plain("sl2vl-scope", Kind::Start(Block::Sl2VlScope)),
    key("sl2vl-table", Key::Sl2VlTable),
    key("sl", Key::Sl),
    key("source", Key::Source),
    key("service-id", Key::ServiceId),
    node("switch", NodeWord::Switch),
    node("self", NodeWord::SelfPort),
    ulp("sdp", Ulp::Sdp),
    ulp_by("sdp", "port-num", Ulp::SdpPort),
    ulp_by("srp", "target-port-guid", Ulp::SrpTarget),
    key("to", Key::To),
    key("use", Key::Use),
    plain("vlarb-tables", Kind::Start(Block::VlArbTables)),
    plain("vlarb-scope", Kind::Start(Block::VlArbScope)),
    key("vlarb-high", Key::VlArbHigh),
    key("vlarb-low", Key::VlArbLow),
    key("vl-high-limit", Key::VlHighLimit),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_by_its_letter() {
        assert!(PATTERNS.is_sorted_by_key(|pattern| pattern.word.as_bytes()[0]));
        for letter in 0..=u8::MAX {
            let letters = patterns_with(letter)
                .iter()
                .map(|pattern| pattern.word.as_bytes()[0]);
            let expected = PATTERNS.iter().map(|pattern| pattern.word.as_bytes()[0]);
            assert!(letters.eq(expected.filter(|first| *first == letter.to_ascii_lowercase())));
        }
    }
}
