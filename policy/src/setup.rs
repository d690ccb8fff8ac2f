//! What `qos-setup` says, and which of its scopes can have an effect.

use std::collections::HashSet;

use sa_text::{Span, Spanned};

use crate::diagnostics::Diagnostics;
use crate::link::partition_hint;
use crate::model::Group;
use crate::ranges::Ranges;

/// What `qos-setup` says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setup {
    /// VL arbitration.
    pub vlarb: Vec<VlArbScope>,
    /// SL to VL mapping.
    pub sl2vl: Vec<Sl2VlScope>,
    /// The sections.
    pub spans: Vec<Span>,
}

/// VL arbitration of some ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VlArbScope {
    /// Names of groups.
    pub groups: Vec<Spanned<String>>,
    /// Names of groups whose far ends are meant.
    pub across: Vec<Spanned<String>>,
    /// Output ports of switches, RFC 0.1 only; empty for any.
    pub to: Ranges,
    /// VL and weight, high priority; not checked.
    pub high: Vec<(u64, u64)>,
    /// VL and weight, low priority; not checked.
    pub low: Vec<(u64, u64)>,
    /// Limit of the high priority table; not checked.
    pub high_limit: Option<u64>,
    /// Why it has no effect, if it has none.
    pub skipped: Option<Skipped>,
    /// The whole block.
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
    /// Names of groups.
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
    /// VL by SL.
    pub table: [u8; 16],
    /// Why it has no effect, if it has none.
    pub skipped: Option<Skipped>,
    /// The whole block.
    pub span: Span,
}

/// Why a scope has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Skipped {
    /// It names a group that does not exist.
    UnknownGroup,
    /// A number is outside its range.
    OutOfRange,
}

impl Setup {
    /// What an asterisk stands for. OpenSM has 0 to 127.
    pub const ANY_PORT: (u64, u64) = (0, 254);

    /// True for port numbers that leave none out.
    pub fn is_any_port(ports: &Ranges) -> bool {
        let covers = |(low, high): &(u64, u64)| *low == 0 && *high >= 127;
        ports.is_empty() || ports.pairs().first().is_some_and(covers)
    }
}

impl Setup {
    /// Names of groups in all scopes.
    pub fn group_names(&self) -> impl Iterator<Item = &Spanned<String>> {
        let vlarb = self.vlarb.iter();
        let of_vlarb = vlarb.flat_map(|scope| scope.groups.iter().chain(&scope.across));
        of_vlarb.chain(self.sl2vl.iter().flat_map(Sl2VlScope::group_names))
    }
}

impl Sl2VlScope {
    /// Names of groups.
    pub fn group_names(&self) -> impl Iterator<Item = &Spanned<String>> {
        let across = self.across.iter().chain(&self.across_from);
        self.groups.iter().chain(across).chain(&self.across_to)
    }
}

/// Marks the scopes that have no effect, and says why where there is someone to tell.
pub(crate) fn check(setup: &mut Setup, groups: &[Group], diagnostics: Option<&mut Diagnostics>) {
    let names = groups.iter().map(|group| group.name.to_ascii_lowercase());
    let mut checker = Checker {
        known: names.collect(),
        groups,
        diagnostics,
    };
    for scope in &mut setup.vlarb {
        scope.skipped = checker.vlarb(scope);
    }
    for scope in &mut setup.sl2vl {
        scope.skipped = checker.sl2vl(scope);
    }
}

struct Checker<'a> {
    known: HashSet<String>,
    groups: &'a [Group],
    diagnostics: Option<&'a mut Diagnostics>,
}

impl Checker<'_> {
    fn vlarb(&mut self, scope: &VlArbScope) -> Option<Skipped> {
        let pairs = || scope.high.iter().chain(&scope.low);
        let over = [
            pairs().map(|(vl, _)| *vl).find(|vl| *vl > LAST_DATA_VL),
            pairs().map(|(_, weight)| *weight).find(|w| *w > BYTE),
            scope.high_limit.filter(|limit| *limit > BYTE),
            last_over(&scope.to, LAST_PORT),
        ];
        let limits = [
            ("VL", LAST_DATA_VL),
            ("weight", BYTE),
            ("vl-high-limit", BYTE),
            ("port number", LAST_PORT),
        ];
        let names = scope.groups.iter().chain(&scope.across);
        self.out_of_range(scope.span, over.into_iter().zip(limits))
            .or_else(|| self.unknown_group(names))
    }

    fn sl2vl(&mut self, scope: &Sl2VlScope) -> Option<Skipped> {
        let ports = [&scope.from, &scope.to].map(|ports| last_over(ports, LAST_PORT));
        let limits = [("port number", LAST_PORT); 2];
        self.out_of_range(scope.span, ports.into_iter().zip(limits))
            .or_else(|| self.unknown_group(scope.group_names()))
    }

    fn out_of_range(
        &mut self,
        span: Span,
        values: impl Iterator<Item = (Option<u64>, (&'static str, u64))>,
    ) -> Option<Skipped> {
        let mut skipped = None;
        for (value, (what, most)) in values {
            let Some(value) = value else { continue };
            skipped = Some(Skipped::OutOfRange);
            if let Some(diagnostics) = &mut self.diagnostics {
                diagnostics.error(
                    span,
                    format!("{what} {value} is not within 0 to {most}; the scope is skipped"),
                    "correct the number",
                );
            }
        }
        skipped
    }

    fn unknown_group<'a>(
        &mut self,
        names: impl Iterator<Item = &'a Spanned<String>>,
    ) -> Option<Skipped> {
        let mut skipped = None;
        for name in names {
            if self.known.contains(&name.to_ascii_lowercase()) {
                continue;
            }
            skipped = Some(Skipped::UnknownGroup);
            if let Some(diagnostics) = &mut self.diagnostics {
                let look = !diagnostics.is_full();
                let hint = look.then(|| partition_hint(self.groups, name)).flatten();
                let text = format!(
                    "there is no port-group '{}'; the scope is skipped",
                    name.value
                );
                let remedy = hint.unwrap_or_else(|| String::from("define it in port-groups"));
                diagnostics.error(name.span, text, remedy);
            }
        }
        skipped
    }
}

/// The largest number, if it is over `most`.
fn last_over(numbers: &Ranges, most: u64) -> Option<u64> {
    let last = numbers.pairs().last().map(|(_, high)| *high);
    last.filter(|last| *last > most)
}

/// VL 15 is not arbitrated.
const LAST_DATA_VL: u64 = 14;
/// Weights and limits have 8 bits.
const BYTE: u64 = 255;
/// Port 255 is none.
const LAST_PORT: u64 = 254;
