//! What is odd or wrong in parts of a policy that is accepted as a whole.
//!
//! The languages of the RFCs are read with tolerance: what is odd but clear is read, what is wrong in one level
//! or scope concerns that one alone, and either is said by a [`Remark`]. It is a value, so that programs (lint
//! gives it a number) go by its kind; its sentence and its advice are made here. OpenSM's dialect has none:
//! OpenSM itself refuses a file or says nothing.

use std::borrow::Cow;
use std::fmt;

use sa_text::{Diagnostic, Severity, Spanned};

/// What is to be said about a piece of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// RFC 0.1: the order labels of rules do not ascend.
    SnOrder {
        /// The label of this rule.
        sn: u64,
        /// Of the rule before.
        before: u64,
    },
    /// A rule asks for a number that no request has room for.
    NoRequest {
        /// What the number is.
        what: &'static str,
        /// The largest that is asked for.
        value: u64,
        /// The largest that a request can name.
        most: u64,
    },
    /// A word processor's quotes, which quote nothing.
    CurlyQuotes,
    /// U+00A0, which other programs do not take for a blank.
    NoBreakBlanks,
    /// RFC 0.2 has comments on lines of their own only.
    CommentBehindValue,
    /// An SL that no path has.
    NoSuchSl(u64),
    /// A code that stands for no MTU.
    NoSuchMtu(u64),
    /// A code that stands for no rate; 0 and 1 are in the RFCs' own examples.
    NoSuchRate(u64),
    /// A value of a level that has too many bits.
    LevelValue {
        /// The keyword of the entry.
        what: &'static str,
        /// The number as the file has it.
        value: u64,
        /// The largest that there is.
        most: u64,
    },
    /// Path bits that no port has, and the largest of them.
    PathBits(u64),
    /// A range whose bounds stand the other way round.
    TurnedRange {
        /// The smaller bound, which the file has behind the dash.
        low: u64,
        /// The larger bound, which the file has before the dash.
        high: u64,
    },
    /// A decimal number with zeros before it, and what it is read as.
    LeadingZero(u64),
    /// A number over 2^64.
    TooLarge,
    /// A scope without ports or table.
    EmptyScope {
        /// Which kind of scope.
        scope: &'static str,
        /// The entry that it would need.
        lacks: &'static str,
    },
    /// A VL that there is not, in a table.
    NoSuchVl(u64),
    /// A table with more VLs than there are SLs.
    LongTable {
        /// How many it has.
        values: usize,
    },
    /// A table with fewer VLs than there are SLs.
    ShortTable {
        /// How many it has.
        values: usize,
        /// The RFC does not say what the others are.
        is_left_open: bool,
    },
    /// XML: an ampersand that begins no reference.
    BareAmpersand,
    /// XML: an opening tag where only the closing one makes sense.
    OpeningForClosing {
        /// The element, by its usual name.
        name: &'static str,
    },
    /// XML: a value is closed by the tag of something else.
    OtherClosing {
        /// The name as the file has it.
        name: String,
        /// What it is taken for.
        right: &'static str,
    },
    /// XML: names with underscores.
    Underscores {
        /// The first of them.
        name: String,
    },
    /// XML: a comment opened with a dash instead of hyphens.
    TypographicDash,
    /// XML: attributes, which RFC 0.1 does not have.
    Attributes {
        /// The element that has them.
        name: String,
    },
    /// RFC 0.1: two levels with one number.
    SameSn {
        /// The number that two levels have.
        sn: u64,
        /// Where the first of them is.
        line: u32,
    },
    /// RFC 0.1: one level has the number and another one the name of the default.
    TwoDefaults,
    /// RFC 0.2: two levels with one name.
    SameName {
        /// The name, as the second has it.
        name: String,
    },
    /// A number in a scope that is out of range.
    ScopeRange {
        /// What the number is.
        what: &'static str,
        /// The number as it was read.
        value: u64,
        /// The largest that is allowed.
        most: u64,
    },
    /// A scope for a group that does not exist.
    UnknownGroup {
        /// The name as the file has it.
        name: String,
        /// The group that holds the partition of that name.
        holder: Option<String>,
    },
    /// So many remarks that the rest is left out.
    More,
}

impl Remark {
    /// A warning where it is clear what is meant, an error where a part has no effect.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::NoRequest { .. } | Self::NoSuchSl(_) | Self::NoSuchMtu(_) => Severity::Error,
            Self::NoSuchRate(code) if *code > 1 => Severity::Error,
            Self::LevelValue { .. } | Self::PathBits(_) | Self::TooLarge => Severity::Error,
            Self::EmptyScope { .. } | Self::NoSuchVl(_) => Severity::Error,
            Self::LongTable { .. } | Self::SameSn { .. } => Severity::Error,
            Self::ScopeRange { .. } | Self::UnknownGroup { .. } => Severity::Error,
            _ => Severity::Warning,
        }
    }

    /// What to do about it; none where there is nothing to say.
    pub fn remedy(&self) -> Option<Cow<'static, str>> {
        let remedy = match self {
            Self::UnknownGroup { holder, .. } => {
                let holder = holder.as_deref().map(partition_hint);
                return Some(holder.map_or(Cow::Borrowed("define it in port-groups"), Cow::Owned));
            }
            Self::OpeningForClosing { name } | Self::OtherClosing { right: name, .. } => {
                return Some(Cow::Owned(format!("write </{name}>")));
            }
            Self::More => return None,
            Self::SnOrder { .. } => "number the rules in ascending order",
            Self::NoRequest { .. } | Self::TooLarge | Self::ScopeRange { .. } => {
                "correct the number"
            }
            Self::CurlyQuotes => "leave them out, here and where the name is used",
            Self::NoBreakBlanks => "write plain blanks",
            Self::CommentBehindValue => "put it on a line of its own",
            Self::NoSuchSl(_) => "choose an SL from 0 to 15",
            Self::NoSuchMtu(_) => {
                "MTU codes are 1 = 256, 2 = 512, 3 = 1024, 4 = 2048, 5 = 4096 bytes"
            }
            Self::NoSuchRate(_) => "rate codes are 2 to 22 in OpenSM 3.3.23 and 2 to 24 in 3.3.24",
            Self::LevelValue { most: 255, .. } => "choose a traffic class from 0 to 255",
            Self::LevelValue { .. } => {
                "choose 0 to 63 for 4.096 microseconds times 2 to that power"
            }
            Self::PathBits(_) => "name path bits under 2 to the power of the LMC",
            Self::TurnedRange { .. } => "put the smaller number first",
            Self::LeadingZero(_) => "leave the zeros at its beginning out",
            Self::EmptyScope { scope, .. } if *scope == VLARB_SCOPE => {
                "name the ports that it is for"
            }
            Self::EmptyScope { .. } => "name the ports that it is for, and the VL of each SL",
            Self::NoSuchVl(_) => "choose VLs from 0 to 14, or 15 to drop packets",
            Self::LongTable { .. } | Self::ShortTable { .. } => "give the VL of each SL, 0 to 15",
            Self::BareAmpersand => "write &amp;",
            Self::Underscores { .. } => "write '-' in all names",
            Self::TypographicDash => "open comments with <!--",
            Self::Attributes { .. } => "RFC 0.1 has none: leave them out",
            Self::SameSn { .. } => "give every level a number of its own",
            Self::TwoDefaults => "call the other one 'default'",
            Self::SameName { .. } => "give it another name, or refer to it by qos-level-sn",
        };
        Some(Cow::Borrowed(remedy))
    }

    /// The remark with its place, as compilers say it.
    pub fn diagnostic(spanned: &Spanned<Self>) -> Diagnostic {
        let Spanned { value, span } = spanned;
        Diagnostic {
            code: None,
            severity: value.severity(),
            place: Some(*span),
            message: value.to_string(),
            help: value.remedy().into_iter().collect(),
        }
    }
}

/// The kind of scope whose table may be empty.
pub(crate) const VLARB_SCOPE: &str = "vlarb-scope";

/// Advice where a partition is named in place of the group that holds it.
pub(crate) fn partition_hint(holder: &str) -> String {
    format!("a partition is called so; the group that holds it is '{holder}'")
}

impl fmt::Display for Remark {
    /// What is wrong and what is made of it, in one sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SnOrder { sn, before } => {
                write!(
                    f,
                    "sn {sn} follows {before}; rules go by their order in the file"
                )
            }
            Self::NoRequest { what, value, most } => {
                write!(f, "{what} {value} is over {most}; no request can name it")
            }
            Self::CurlyQuotes => f.write_str("the curly quotes are part of the name"),
            Self::NoBreakBlanks => {
                f.write_str("no-break blanks (U+00A0), here and elsewhere, are taken for blanks")
            }
            Self::CommentBehindValue => f.write_str(
                "a comment behind a value is passed over, though RFC 0.2 does not have it",
            ),
            Self::NoSuchSl(sl) => write!(
                f,
                "there is no SL {sl}; queries that get this level find no path"
            ),
            Self::NoSuchMtu(code) => {
                write!(f, "there is no MTU code {code}; the level has no MTU limit")
            }
            Self::NoSuchRate(code) => {
                write!(
                    f,
                    "there is no rate code {code}; the level has no rate limit"
                )
            }
            Self::LevelValue { what, value, most } => {
                write!(f, "{what} {value} is over {most}; the level sets none")
            }
            Self::PathBits(last) => write!(f, "path bits {last} are over 127, which no port has"),
            Self::TurnedRange { low, high } => write!(f, "the range is read as {low}-{high}"),
            Self::LeadingZero(number) => {
                write!(
                    f,
                    "the number is read as {number}, not as octal as OpenSM does"
                )
            }
            Self::TooLarge => {
                write!(f, "the number has more than 64 bits; {} is taken", u64::MAX)
            }
            _ => self.fmt_structure(f),
        }
    }
}

impl Remark {
    /// Sentences about tables, elements and references.
    fn fmt_structure(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyScope { scope, lacks } => {
                write!(f, "{scope} has no {lacks}; it is skipped")
            }
            Self::NoSuchVl(vl) => write!(f, "there is no VL {vl}; the scope is skipped"),
            Self::LongTable { values } => {
                write!(f, "sl2vl-table has {values} values; the scope is skipped")
            }
            Self::ShortTable {
                values,
                is_left_open,
            } => {
                let source = if *is_left_open {
                    ", which RFC 0.1 leaves open"
                } else {
                    ""
                };
                write!(
                    f,
                    "sl2vl-table has {values} values; the other SLs get VL 0{source}"
                )
            }
            Self::BareAmpersand => f.write_str("a bare '&' is taken as it is"),
            Self::OpeningForClosing { name } => {
                write!(f, "<{name}> inside <{name}> is taken for </{name}>")
            }
            Self::OtherClosing { name, right } => write!(f, "</{name}> is taken for </{right}>"),
            Self::Underscores { name } => {
                write!(f, "<{name}> and others with '_' are read as if it were '-'")
            }
            Self::TypographicDash => f.write_str("a typographic dash opens this comment"),
            Self::Attributes { name } => write!(f, "attributes of <{name}> are passed over"),
            Self::SameSn { sn, line } => write!(
                f,
                "sn {sn} is that of the level on line {line}, which rules mean by it"
            ),
            Self::TwoDefaults => {
                f.write_str("the level with sn 0 is the default, not this one by its name")
            }
            Self::SameName { name } => write!(
                f,
                "level {name:?} was defined before, and qos-level-name means that"
            ),
            Self::ScopeRange { what, value, most } => write!(
                f,
                "{what} {value} is not within 0 to {most}; the scope is skipped"
            ),
            Self::UnknownGroup { name, .. } => {
                write!(f, "there is no port-group '{name}'; the scope is skipped")
            }
            _ => f.write_str("there is more like this, which is not listed"),
        }
    }
}
