//! What `qos-setup` says, and which of its scopes can have an effect.
//!
//! `qos-setup` says how ports should be programmed: VL arbitration and SL to VL tables by scopes. OpenSM
//! reads and ignores it, and answers of the SA do not depend on it; `sa-compiler` shows the tables that would
//! follow, and takes them for what ports do where an operator says so.
//!
//! ```text
//! vlarb-scope
//!     group: storage          the ports of the group themselves
//!     across: storage         the ports at the other end of their cables
//!     vlarb-high: 0:64,2:128
//! end-vlarb-scope
//! ```
//!
//! Groups stay names here, since a scope with an unknown one is skipped while a rule with one
//! refuses the file. Which ports are meant, and whether devices can do it, is judged where cables
//! are known (sa-compiler).

use sa_text::{Span, Spanned};

use crate::model::ranges::Ranges;

/// What the sections `qos-setup` of a file say together.
/// Empty where a file has no `qos-setup`, as most have none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setup {
    /// Scopes of VL arbitration, in the order of the file.
    pub vlarb: Vec<VlArbScope>,
    /// SL to VL mapping.
    pub sl2vl: Vec<Sl2VlScope>,
    /// Where the sections stand: remarks inside them belong to set-up.
    /// One for each `qos-setup`, which may stand in a file several times.
    pub spans: Vec<Span>,
}

/// VL arbitration of some ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VlArbScope {
    /// Names of groups whose ports are meant.
    pub groups: Vec<Spanned<String>>,
    /// Names of groups whose far ends are meant.
    pub across: Vec<Spanned<String>>,
    /// Output ports of switches, RFC 0.1 only; empty for any.
    pub to: Ranges,
    /// VL and weight, high priority; not checked.
    /// As wide as they are written; a value out of range marks the scope as skipped.
    pub high: Vec<(u64, u64)>,
    /// VL and weight, low priority; not checked.
    pub low: Vec<(u64, u64)>,
    /// Limit of the high priority table; not checked.
    /// Units: 4 KiB of data, 255 for no limit.
    pub high_limit: Option<u64>,
    /// Why it has no effect, if it has none.
    /// Kept in the list, so that it can be shown and explained.
    pub skipped: Option<Skipped>,
    /// The whole block, from its opening to its closing word.
    pub span: Span,
}

impl VlArbScope {
    /// One that says nothing yet.
    pub(crate) fn new(span: Span) -> Self {
        Self {
            groups: Vec::new(),
            across: Vec::new(),
            to: Ranges::default(),
            high: Vec::new(),
            low: Vec::new(),
            high_limit: None,
            skipped: None,
            span,
        }
    }
}

/// SL to VL mapping of some ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sl2VlScope {
    /// Names of groups whose ports are meant.
    pub groups: Vec<Spanned<String>>,
    /// Names of groups whose far ends send or receive.
    pub across: Vec<Spanned<String>>,
    /// Names of groups whose far ends are the input.
    pub across_from: Vec<Spanned<String>>,
    /// Names of groups whose far ends are the output.
    pub across_to: Vec<Spanned<String>>,
    /// Input ports; empty for any, as is an asterisk ([`Setup::ANY_PORT`]).
    pub from: Ranges,
    /// Output ports; empty for any, as is an asterisk ([`Setup::ANY_PORT`]).
    pub to: Ranges,
    /// VL by SL, 16 entries, each up to 15.
    /// 15 drops the SL. Always complete: what a file leaves out is filled in when it is read.
    pub table: [u8; 16],
    /// Why it has no effect, if it has none.
    pub skipped: Option<Skipped>,
    /// The whole block, from its opening to its closing word.
    pub span: Span,
}

/// Why a scope has no effect.
/// The first that is found; remarks tell all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Skipped {
    /// It names a group that does not exist.
    UnknownGroup,
    /// A number is outside its range.
    OutOfRange,
}

impl Setup {
    /// What an asterisk stands for. OpenSM has 0 to 127.
    // 254, as 255 is no port; OpenSM's own grammar ends at 127.
    pub const ANY_PORT: (u64, u64) = (0, 254);

    /// True for port numbers that leave none out.
    /// 0-127 counts as well, as that is what OpenSM makes of an asterisk.
    pub fn is_any_port(ports: &Ranges) -> bool {
        let covers = |(low, high): &(u64, u64)| *low == 0 && *high >= 127;
        ports.is_empty() || ports.pairs().first().is_some_and(covers)
    }
}

impl Setup {
    /// Names of groups in all scopes.
    /// With repetitions, in the order of scopes.
    pub fn group_names(&self) -> impl Iterator<Item = &Spanned<String>> {
        let vlarb = self.vlarb.iter();
        let of_vlarb = vlarb.flat_map(|scope| scope.groups.iter().chain(&scope.across));
        of_vlarb.chain(self.sl2vl.iter().flat_map(Sl2VlScope::group_names))
    }
}

impl Sl2VlScope {
    /// All names of groups in the scope, in whatever part of it.
    pub fn group_names(&self) -> impl Iterator<Item = &Spanned<String>> {
        let across = self.across.iter().chain(&self.across_from);
        self.groups.iter().chain(across).chain(&self.across_to)
    }
}
