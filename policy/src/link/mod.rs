//! Finds what rules refer to. Source: OpenSM `osm_qos_policy_validate`.
//!
//! Parsers leave names where a policy has places (`draft`). Linking finds what they mean: levels by name,
//! position or `sn`, groups by name without regard to letter case, the default level. What `qos-ulps` says in
//! shorthand becomes levels, groups and rules like any others, behind all that are written. After this
//! nothing refers to a name any more.
//!
//! Why here and not in the parsers: all three dialects refer alike, and the first of equal names counts in
//! each. What an unknown group in `qos-setup` means differs from one in a rule: there the scope is skipped
//! (`setup`), here the file is refused.
//!
//! # An example
//!
//! ```text
//! draft   rule: level "Bulk", destination "STORAGE"         sdp : 1        rds : 1
//! linked  rule 0: LevelIx(1), [GroupIx(0)]                  rules 1, 2: both LevelIx(2), SL 1
//! ```
//!
//! Names compare as `strcasecmp` does, and lines of `qos-ulps` with one SL share a level, as in
//! OpenSM.

pub(crate) mod diagnostics;
pub(crate) mod draft;
mod setup;

use std::collections::HashMap;

use sa_text::{Span, Spanned};

use crate::error::{Error, Problem, Remark, partition_hint};
use crate::link::diagnostics::Diagnostics;
use crate::link::draft::{Draft, DraftGroup, DraftLevel, DraftRule};
use crate::model::dialect::Dialect;
use crate::model::options::ParseOptions;
use crate::model::{Group, GroupIx, Level, LevelIx, LevelKey, Origin, Policy, Rule, Selector};

/// Errors: no default level where the dialect wants one; a level or group that does not exist.
/// Cost: O(parts), by maps of names.
pub(crate) fn link(
    draft: Draft,
    dialect: Dialect,
    options: &ParseOptions,
) -> Result<Policy, Error> {
    let Draft {
        groups,
        levels,
        rules,
        ulp_rules,
        ulp_default,
        mut setup,
        mut diagnostics,
        reserved_sls,
        mut extensions,
        ..
    } = draft;
    let mut linker = Linker {
        levels_by_name: first_by_name(levels.iter().map(|level| level.key.name())),
        levels_by_sn: first_by_sn(&levels, &mut diagnostics),
        groups_by_name: first_by_name(groups.iter().map(|group| Some(group.name.value.as_str()))),
        written_levels: levels.len(),
        levels,
        groups,
        level_by_sl: [None; 16],
        implicit_groups: dialect.is_rfc() && options.partitions_as_groups,
    };
    if dialect == Dialect::Rfc02Text {
        linker.note_equal_names(&mut diagnostics);
    }
    let default_level = match dialect {
        Dialect::OpenSm => linker.default_level(ulp_default)?,
        Dialect::Rfc02Text | Dialect::Rfc01Xml => linker.rfc_default_level(&mut diagnostics),
    };
    // Shorthand behind all written rules, wherever its section stands: so OpenSM joins its lists.
    let drafts = rules.into_iter().chain(ulp_rules);
    let rules = drafts
        .map(|rule| linker.rule(rule))
        .collect::<Result<_, _>>()?;
    // Before scopes are checked, which then know these groups.
    linker.add_groups_of_scopes(&setup);
    // Sections may stand in any order and repeat; messages follow the file.
    extensions.sort_by_key(|extension| extension.span.offset);
    let remarks = dialect.is_rfc().then_some(&mut diagnostics);
    setup::check(&mut setup, &linker.groups, remarks);
    Ok(Policy {
        dialect,
        semantics: options.semantics(dialect),
        groups: linker.groups,
        levels: linker.levels,
        rules,
        default_level,
        setup,
        remarks: diagnostics.into_list(),
        reserved_sls,
        extensions,
        ulp_names: options.ulp_names.clone(),
    })
}

/// What has been linked so far, and indexes of it by name. Made levels and groups are added behind the
/// written ones, so that places of these do not move.
struct Linker {
    levels: Vec<Level>,
    groups: Vec<Group>,
    levels_by_name: HashMap<String, usize>,
    levels_by_sn: HashMap<u64, usize>,
    groups_by_name: HashMap<String, usize>,
    /// Positions of RFC 0.2 count these, and not the levels that linking makes.
    written_levels: usize,
    /// By SL, so that the second line with one finds the level of the first.
    level_by_sl: [Option<LevelIx>; 16],
    /// Unknown groups are made of the partition of that name.
    implicit_groups: bool,
}

/// Places by name in lower case (ASCII, as `strcasecmp` has it); the first of equal names counts.
/// Later ones are unreachable, which lint tells.
fn first_by_name<'a>(names: impl Iterator<Item = Option<&'a str>>) -> HashMap<String, usize> {
    let mut places = HashMap::new();
    for (at, name) in names.enumerate() {
        if let Some(name) = name {
            places.entry(name.to_ascii_lowercase()).or_insert(at);
        }
    }
    places
}

/// Places by RFC 0.1's number; of equal ones the first counts, and the others are told.
fn first_by_sn(levels: &[Level], diagnostics: &mut Diagnostics) -> HashMap<u64, usize> {
    let mut places = HashMap::new();
    for (at, level) in levels.iter().enumerate() {
        let LevelKey::Sn { sn, .. } = level.key.value else {
            continue;
        };
        let first = *places.entry(sn).or_insert(at);
        if first != at {
            let line = levels[first].span.start.line;
            diagnostics.add(level.key.span, Remark::SameSn { sn, line });
        }
    }
    places
}

impl Linker {
    /// A level of that name wins over the default of `qos-ulps`.
    fn default_level(&mut self, from_ulps: Option<Spanned<u8>>) -> Result<LevelIx, Error> {
        // As OpenSM: `default : 3` in `qos-ulps` is passed over where a level is called so.
        if let Some(at) = self.levels_by_name.get(DEFAULT) {
            return Ok(level_ix(*at));
        }
        match from_ulps {
            Some(sl) => Ok(self.add_ulp_level(String::from("SimpleQoSLevel_DEFAULT"), sl)),
            None => Err(Error::new(Span::START, Problem::NoDefaultLevel)),
        }
    }

    /// RFC 0.1 wants a default level and does not say how it is written: `sn` 0 or that name.
    /// Without one paths are as without policy.
    /// `sn` 0 goes before the name, with a remark where both are there and differ.
    fn rfc_default_level(&mut self, diagnostics: &mut Diagnostics) -> LevelIx {
        let by_sn = self.levels_by_sn.get(&0).copied();
        let by_name = self.levels_by_name.get(DEFAULT).copied();
        if let (Some(by_sn), Some(by_name)) = (by_sn, by_name)
            && by_sn != by_name
        {
            diagnostics.add(self.levels[by_name].key.span, Remark::TwoDefaults);
        }
        match by_sn.or(by_name) {
            Some(at) => level_ix(at),
            None => self.add_level(LevelKey::Name(DEFAULT.into()), None, Origin::BuiltIn),
        }
    }

    /// Rules can still refer to the later ones by number.
    fn note_equal_names(&self, diagnostics: &mut Diagnostics) {
        for (at, level) in self.levels.iter().enumerate() {
            let Some(name) = level.key.name() else {
                continue;
            };
            if self.levels_by_name.get(&name.to_ascii_lowercase()) != Some(&at) {
                let name = String::from(name);
                diagnostics.add(level.key.span, Remark::SameName { name });
            }
        }
    }

    /// A level that a line of `qos-ulps` makes. Its name is OpenSM's, which shows it in its own dumps.
    fn add_ulp_level(&mut self, name: String, sl: Spanned<u8>) -> LevelIx {
        self.add_level(LevelKey::Name(name), Some(sl), Origin::Ulp)
    }

    /// A level that nobody wrote as such.
    fn add_level(&mut self, key: LevelKey, sl: Option<Spanned<u8>>, origin: Origin) -> LevelIx {
        let span = sl.map_or(Span::START, |sl| sl.span);
        self.levels.push(Level {
            sl,
            ..Level::new(Spanned::new(key, span), origin, span)
        });
        level_ix(self.levels.len() - 1)
    }

    /// Errors: a level or group that does not exist.
    fn rule(&mut self, draft: DraftRule) -> Result<Rule, Error> {
        let level = self.level(draft.level)?;
        let ends = [
            (draft.source, "_ULP_Sources_"),
            (draft.destination, "_ULP_Targets_"),
        ];
        // The names are OpenSM's, for the groups that it makes of GUIDs in `qos-ulps`.
        let [source, destination] = ends.map(|(groups, made)| self.ends(groups, made));
        Ok(Rule {
            purpose: draft.purpose,
            source: source?,
            destination: destination?,
            fields: draft.fields,
            level,
            flow_label: draft.flow_label,
            origin: draft.origin,
            span: draft.span,
        })
    }

    /// The level that a rule gives. Errors: there is none of that name or number.
    fn level(&mut self, draft: DraftLevel) -> Result<Spanned<LevelIx>, Error> {
        let (found, problem, span) = match draft {
            DraftLevel::Sl(sl) => return Ok(Spanned::new(self.level_of_sl(sl), sl.span)),
            DraftLevel::Named(name) => (
                self.levels_by_name.get(&name.to_ascii_lowercase()).copied(),
                Problem::UnknownLevel { name: name.value },
                name.span,
            ),
            DraftLevel::Position(number) => (
                usize::try_from(*number)
                    .ok()
                    // Levels are counted from 1; 0 is none.
                    .and_then(|number| number.checked_sub(1))
                    .filter(|at| *at < self.written_levels),
                Problem::UnknownPosition {
                    number: *number,
                    levels: self.written_levels,
                },
                number.span,
            ),
            DraftLevel::Sn(sn) => (
                self.levels_by_sn.get(&*sn).copied(),
                Problem::UnknownSn { sn: *sn },
                sn.span,
            ),
        };
        match found {
            Some(at) => Ok(Spanned::new(level_ix(at), span)),
            None => Err(Error::new(span, problem)),
        }
    }

    /// Lines of `qos-ulps` with one SL share a level.
    fn level_of_sl(&mut self, sl: Spanned<u8>) -> LevelIx {
        // `qos-ulps` takes no SL over 15, so nothing is lost by the mask.
        let slot = usize::from(sl.value & 0xf);
        let known = self.level_by_sl[slot];
        let at =
            known.unwrap_or_else(|| self.add_ulp_level(format!("SimpleQoSLevel_SL{}", *sl), sl));
        self.level_by_sl[slot] = Some(at);
        at
    }

    /// The groups of one end. Shape: `made` is what a group of GUIDs is called that `qos-ulps` makes for it.
    fn ends(
        &mut self,
        drafts: Vec<DraftGroup>,
        made: &'static str,
    ) -> Result<Vec<Spanned<GroupIx>>, Error> {
        drafts
            .into_iter()
            .map(|draft| self.end(draft, made))
            .collect()
    }

    /// A group by name, or one made of the GUIDs that a line lists. Errors: no such group; the hint names the
    /// group that holds the partition of that name, the commonest slip.
    fn end(&mut self, draft: DraftGroup, made: &'static str) -> Result<Spanned<GroupIx>, Error> {
        match draft {
            DraftGroup::Named(name) => match self.group(&name) {
                Some(at) => Ok(Spanned::new(group_ix(at), name.span)),
                None => {
                    let hint = holder(&self.groups, &name.value).map(partition_hint);
                    let problem = Problem::UnknownGroup { name: name.value };
                    Err(Error {
                        hint,
                        ..Error::new(name.span, problem)
                    })
                }
            },
            DraftGroup::Guids(guids) => {
                let span = guids.span;
                let selector = Spanned::new(Selector::Guids(guids.value), span);
                let name = Spanned::new(String::from(made), span);
                let at = self.add_group(name, selector, Origin::Ulp);
                Ok(Spanned::new(group_ix(at), span))
            }
        }
    }

    /// Place of a group, which is made of a partition first where that is allowed.
    /// Made groups are found by name from then on, so each partition becomes one group.
    fn group(&mut self, name: &Spanned<String>) -> Option<usize> {
        let key = name.to_ascii_lowercase();
        let known = self.groups_by_name.get(&key).copied();
        if known.is_some() || !self.implicit_groups {
            return known;
        }
        let selector = Spanned::new(Selector::Partition(name.value.clone()), name.span);
        let at = self.add_group(name.clone(), selector, Origin::BuiltIn);
        self.groups_by_name.insert(key, at);
        Some(at)
    }

    /// A group with one selector that nobody wrote as a group.
    fn add_group(
        &mut self,
        name: Spanned<String>,
        selector: Spanned<Selector>,
        origin: Origin,
    ) -> usize {
        let span = name.span;
        self.groups.push(Group {
            name,
            purpose: None,
            selectors: vec![selector],
            origin,
            span,
        });
        self.groups.len() - 1
    }

    /// Groups of partitions that scopes name.
    fn add_groups_of_scopes(&mut self, setup: &crate::model::Setup) {
        if self.implicit_groups {
            for name in setup.group_names() {
                self.group(name);
            }
        }
    }
}

/// The group that holds the partition of this name, which is likely what was meant.
/// RFC 0.1's own example uses a partition's name where a group is wanted.
pub(crate) fn holder<'a>(groups: &'a [Group], name: &str) -> Option<&'a str> {
    let holds = |group: &&Group| {
        group.selectors.iter().any(
            |selector| matches!(&selector.value, Selector::Partition(partition) if partition == name),
        )
    };
    let group = groups.iter().find(holds)?;
    Some(&group.name.value)
}

/// The name of the level that applies when no rule does.
const DEFAULT: &str = "default";

/// The number of levels is limited to what fits.
fn level_ix(at: usize) -> LevelIx {
    LevelIx(u16::try_from(at).unwrap_or(u16::MAX))
}

/// A file of 16 MiB cannot hold more groups than fit.
/// Each takes some bytes of text.
fn group_ix(at: usize) -> GroupIx {
    GroupIx(u32::try_from(at).unwrap_or(u32::MAX))
}
