//! Sections of a policy whose ends' classes have other numbers now.
//!
//! Rules stay as they are: they change when a person changes them.

use zerocopy::FromBytes;

use super::Moves;
use super::out::{Old, Out};
use super::runs::Runs;
use super::tables::{gather, renumber, square};
use crate::format::layout::SectionId;
use crate::format::policy_records::{ClassRecord, PolicyRecord, RuleWordRecord, criterion};

/// A policy as it is now.
pub(super) struct Policy {
    record: PolicyRecord,
    old: PolicyRecord,
    classes: Vec<ClassRecord>,
    rest: Vec<RuleWordRecord>,
    /// Rule sets of sources and of destinations.
    sets: [Runs; 2],
}

impl Policy {
    /// None outside: more than `most` bytes. None inside: there is no policy.
    #[expect(
        clippy::option_option,
        reason = "a policy that is not there is no fault"
    )]
    pub(super) fn of(old: &Old<'_>, moves: &Moves, most: usize) -> Option<Option<Self>> {
        let Ok(record) = PolicyRecord::read_from_bytes(old.section(SectionId::Policy)) else {
            return Some(None);
        };
        let mut policy = Self {
            record,
            old: record,
            classes: Vec::new(),
            rest: Vec::new(),
            sets: [moves.sources.clone(), moves.destinations.clone()],
        };
        let new = &mut policy.record;
        renumber(&moves.sources.by_old(), &mut new.unnamed_source);
        renumber(&moves.destinations.by_old(), &mut new.unnamed_destination);
        if new.pair_columns > 0 {
            new.pair_columns = u32::try_from(moves.destinations.total()).ok()?;
        }
        policy.index(old, moves, most)?;
        Some(Some(policy))
    }

    /// Classes with their lists, where rules are indexed.
    fn index(&mut self, old: &Old<'_>, moves: &Moves, most: usize) -> Option<()> {
        let olds: Vec<ClassRecord> = old.read(SectionId::PolicyClasses);
        let lists: Vec<RuleWordRecord> = old.read(SectionId::RuleWords);
        if olds.is_empty() {
            return Some(());
        }
        let starts = self
            .old
            .class_starts
            .map(|start| usize::try_from(start).ok());
        for (at, start) in starts.into_iter().enumerate() {
            let start = start?;
            // A criterion that no rule asks for has no classes, and starts at 0 as the first one does.
            if at != criterion::SOURCE && start == 0 {
                continue;
            }
            let ends = starts.iter().flatten().copied();
            let end = ends.filter(|end| *end > start).min();
            let of_this = olds.get(start..end.unwrap_or(olds.len()))?;
            *self.record.class_starts.get_mut(at)? = u32::try_from(self.classes.len()).ok()?;
            match at {
                criterion::SOURCE => self.end(of_this, &lists, (&moves.sources, at), most)?,
                criterion::DESTINATION => {
                    self.end(of_this, &lists, (&moves.destinations, at), most)?;
                }
                _ => {
                    for class in of_this {
                        self.put_class(Some(class), class.row, &lists, most)?;
                    }
                }
            }
        }
        Some(())
    }

    /// The classes of one end in their new order, and which rule sets they have.
    fn end(
        &mut self,
        olds: &[ClassRecord],
        lists: &[RuleWordRecord],
        (runs, at): (&Runs, usize),
        most: usize,
    ) -> Option<()> {
        // As the builder does it: each class its own set, or sets in the order in which classes first have them.
        let by_class = olds.iter().zip(0..).all(|(class, own)| class.row == own);
        let mut rows: Vec<u32> = Vec::new();
        let mut of_row: Vec<Option<u32>> = vec![None; olds.len()];
        for (old, own) in runs.olds().zip(0..) {
            let class = old.and_then(|old| olds.get(old));
            let row = match class {
                _ if by_class => own,
                None => 0,
                Some(class) => {
                    let known = of_row.get_mut(usize::try_from(class.row).ok()?)?;
                    *known.get_or_insert_with(|| {
                        rows.push(class.row);
                        u32::try_from(rows.len() - 1).unwrap_or(u32::MAX)
                    })
                }
            };
            self.put_class(class, row, lists, most)?;
        }
        if !by_class {
            *self.sets.get_mut(at)? = Runs::of(rows.into_iter().map(Some));
        }
        Some(())
    }

    fn put_class(
        &mut self,
        old: Option<&ClassRecord>,
        row: u32,
        lists: &[RuleWordRecord],
        most: usize,
    ) -> Option<()> {
        let start = u32::try_from(self.rest.len()).ok()?;
        let mut class = old.copied().unwrap_or_default();
        let from = usize::try_from(class.start).ok()?;
        let len = usize::try_from(class.len).ok()?;
        let list = lists.get(from..from.checked_add(len)?)?;
        let bytes = (self.rest.len() + len).checked_mul(size_of::<RuleWordRecord>())?;
        if bytes + self.classes.len() * size_of::<ClassRecord>() > most {
            return None;
        }
        self.rest.extend_from_slice(list);
        (class.start, class.row) = (start, row);
        self.classes.push(class);
        Some(())
    }

    /// One section.
    pub(super) fn put(
        &self,
        out: &mut Out,
        old: &Old<'_>,
        moves: &Moves,
        id: SectionId,
    ) -> Option<()> {
        let bytes = old.section(id);
        let set = usize::try_from(self.old.words)
            .ok()?
            .checked_mul(size_of::<u64>())?;
        let [sources, destinations] = &self.sets;
        match id {
            SectionId::Policy => out.put_all(&[self.record]),
            SectionId::SourceSets => gather(out, bytes, sources, set),
            SectionId::DestinationSets => gather(out, bytes, destinations, set),
            SectionId::PolicyClasses => out.put_all(&self.classes),
            SectionId::RuleWords => out.put_all(&self.rest),
            SectionId::FirstRules if !bytes.is_empty() => {
                let width = usize::try_from(self.old.pair_columns).ok()?;
                square(out, bytes, (&moves.sources, &moves.destinations), width)
            }
            _ => out.put(bytes),
        }
    }
}
