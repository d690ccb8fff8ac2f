//! Scopes of `qos-setup` that have no effect.
//!
//! A scope with a wrong number or an unknown group is skipped whole, and others go on: that is what OpenSM
//! would do if it acted upon them, and a part of a scope might do harm. In OpenSM's dialect nothing is told
//! here; lint does.
//!
//! ```text
//! vlarb-high: 0:300       weight over 255: this scope has no effect, told in the RFC dialects
//! group: storge           no such group: the same, with a hint where a group has such a partition
//! ```

use std::collections::HashSet;

use sa_text::{Span, Spanned};

use super::diagnostics::Diagnostics;
use super::holder;
use crate::error::Remark;
use crate::model::Group;
use crate::model::ranges::Ranges;
use crate::model::setup::{Setup, Skipped, Sl2VlScope, VlArbScope};

/// Marks the scopes that have no effect, and says why where there is someone to tell.
/// Devices are not looked at: whether a port has VL 7 is judged where ports are known.
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

/// What is known of groups, and where remarks go; nowhere for OpenSM's dialect.
/// Lower-case names are made once for a file, as every scope asks for some.
struct Checker<'a> {
    /// Names of groups in lower case.
    known: HashSet<String>,
    /// For the hint about a partition's name.
    groups: &'a [Group],
    diagnostics: Option<&'a mut Diagnostics>,
}

impl Checker<'_> {
    /// Why VL arbitration of a scope has no effect, if it has none.
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
        // Names are looked up only where all numbers are in range: one fault skips the scope.
        self.out_of_range(scope.span, over.into_iter().zip(limits))
            .or_else(|| self.unknown_group(names))
    }

    /// Why an SL to VL mapping has no effect, if it has none. Its table was checked when it was read.
    fn sl2vl(&mut self, scope: &Sl2VlScope) -> Option<Skipped> {
        let ports = [&scope.from, &scope.to].map(|ports| last_over(ports, LAST_PORT));
        let limits = [("port number", LAST_PORT); 2];
        self.out_of_range(scope.span, ports.into_iter().zip(limits))
            .or_else(|| self.unknown_group(scope.group_names()))
    }

    /// Every number that is too large is told, not only the first.
    /// None where every number fits; otherwise the scope is skipped whole.
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
                diagnostics.add(span, Remark::ScopeRange { what, value, most });
            }
        }
        skipped
    }

    /// Every group that does not exist is told, not only the first.
    /// None where every name is a group's.
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
                // What is not listed need not be looked for either.
                let look = !diagnostics.is_full();
                let found = look.then(|| holder(self.groups, name)).flatten();
                let remark = Remark::UnknownGroup {
                    name: name.value.clone(),
                    holder: found.map(String::from),
                };
                diagnostics.add(name.span, remark);
            }
        }
        skipped
    }
}

/// The largest number, if it is over `most`.
/// The last range is enough, as ranges ascend.
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
