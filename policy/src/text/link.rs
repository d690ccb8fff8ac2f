//! Finds what rules refer to. Source: OpenSM `osm_qos_policy_validate`.

use std::collections::HashMap;

use super::draft::{Draft, DraftGroup, DraftLevel, DraftRule};
use crate::error::{Error, Problem, Span, Spanned};
use crate::model::{Dialect, Group, GroupIx, Level, LevelIx, Origin, Policy, Rule, Selector};

/// Errors: no default level; a level or group that does not exist.
pub(super) fn link(draft: Draft) -> Result<Policy, Error> {
    let mut linker = Linker {
        levels_by_name: first_by_name(draft.levels.iter().map(|level| &level.name.value)),
        groups_by_name: first_by_name(draft.groups.iter().map(|group| &group.name.value)),
        levels: draft.levels,
        groups: draft.groups,
        level_by_sl: [None; 16],
    };
    let default_level = linker.default_level(draft.ulp_default)?;
    let drafts = draft.rules.into_iter().chain(draft.ulp_rules);
    let rules = drafts
        .map(|rule| linker.rule(rule))
        .collect::<Result<_, _>>()?;
    Ok(Policy {
        dialect: Dialect::OpenSm,
        groups: linker.groups,
        levels: linker.levels,
        rules,
        default_level,
        setup: draft.setup,
    })
}

struct Linker {
    levels: Vec<Level>,
    groups: Vec<Group>,
    levels_by_name: HashMap<String, usize>,
    groups_by_name: HashMap<String, usize>,
    level_by_sl: [Option<LevelIx>; 16],
}

/// Places by name in lower case (ASCII, as `strcasecmp` has it); the first of equal names counts.
fn first_by_name<'a>(names: impl Iterator<Item = &'a String>) -> HashMap<String, usize> {
    let mut places = HashMap::new();
    for (at, name) in names.enumerate() {
        places.entry(name.to_ascii_lowercase()).or_insert(at);
    }
    places
}

impl Linker {
    /// A level of that name wins over the default of `qos-ulps`.
    fn default_level(&mut self, from_ulps: Option<Spanned<u8>>) -> Result<LevelIx, Error> {
        if let Some(at) = self.levels_by_name.get("default") {
            return Ok(level_ix(*at));
        }
        match from_ulps {
            Some(sl) => Ok(self.add_level(String::from("SimpleQoSLevel_DEFAULT"), sl)),
            None => Err(Error::new(Span::START, Problem::NoDefaultLevel)),
        }
    }

    fn add_level(&mut self, name: String, sl: Spanned<u8>) -> LevelIx {
        self.levels.push(Level {
            name: Spanned::new(name, sl.span),
            purpose: None,
            sl,
            mtu_limit: None,
            rate_limit: None,
            packet_life: None,
            path_bits: None,
            pkeys: None,
            origin: Origin::Ulp,
            span: sl.span,
        });
        level_ix(self.levels.len() - 1)
    }

    fn rule(&mut self, draft: DraftRule) -> Result<Rule, Error> {
        let level = self.level(draft.level)?;
        let ends = [
            (draft.source, "_ULP_Sources_"),
            (draft.destination, "_ULP_Targets_"),
        ];
        let [source, destination] = ends.map(|(groups, made)| self.ends(groups, made));
        Ok(Rule {
            purpose: draft.purpose,
            source: source?,
            destination: destination?,
            qos_class: draft.qos_class,
            service_id: draft.service_id,
            pkey: draft.pkey,
            level,
            origin: draft.origin,
            span: draft.span,
        })
    }

    fn level(&mut self, draft: DraftLevel) -> Result<Spanned<LevelIx>, Error> {
        match draft {
            DraftLevel::Named(name) => match self.levels_by_name.get(&name.to_ascii_lowercase()) {
                Some(at) => Ok(Spanned::new(level_ix(*at), name.span)),
                None => {
                    let problem = Problem::UnknownLevel { name: name.value };
                    Err(Error::new(name.span, problem))
                }
            },
            DraftLevel::Sl(sl) => {
                let slot = usize::from(sl.value & 0xf);
                let known = self.level_by_sl[slot];
                let at = known
                    .unwrap_or_else(|| self.add_level(format!("SimpleQoSLevel_SL{}", *sl), sl));
                self.level_by_sl[slot] = Some(at);
                Ok(Spanned::new(at, sl.span))
            }
        }
    }

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

    fn end(&mut self, draft: DraftGroup, made: &'static str) -> Result<Spanned<GroupIx>, Error> {
        match draft {
            DraftGroup::Named(name) => match self.groups_by_name.get(&name.to_ascii_lowercase()) {
                Some(at) => Ok(Spanned::new(group_ix(*at), name.span)),
                None => {
                    let problem = Problem::UnknownGroup { name: name.value };
                    Err(Error::new(name.span, problem))
                }
            },
            DraftGroup::Guids(guids) => {
                let span = guids.span;
                self.groups.push(Group {
                    name: Spanned::new(String::from(made), span),
                    purpose: None,
                    selectors: vec![Spanned::new(Selector::Guids(guids.value), span)],
                    origin: Origin::Ulp,
                    span,
                });
                Ok(Spanned::new(group_ix(self.groups.len() - 1), span))
            }
        }
    }
}

/// The number of levels is limited to what fits.
fn level_ix(at: usize) -> LevelIx {
    LevelIx(u16::try_from(at).unwrap_or(u16::MAX))
}

/// A file of 16 MiB cannot hold more groups than fit.
fn group_ix(at: usize) -> GroupIx {
    GroupIx(u32::try_from(at).unwrap_or(u32::MAX))
}
