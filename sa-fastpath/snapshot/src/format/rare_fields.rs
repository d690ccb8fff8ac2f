//! The fields that rules of few policies ask for, as one table.
//!
//! OpenSM's dialect has no word for them, so that they are no part of the match by five sets: a
//! policy that asks for one has a map and rule sets more, and its requests take the way that looks
//! at all criteria ([`crate::Snapshot::match_rare`]). Any other policy pays nothing, because its
//! semantics say that nothing rare is asked.
//!
//! A new one is a variant and a line here, its two sections in `layout`, and in `policy_records`
//! its bit of `semantics` and one criterion more.

use sa_wire::path_component::PathComponent;
use sa_wire::path_record::{PathCompMask, PathRecord};

use super::layout::SectionId;
use super::policy_records::{criterion, semantics};

/// A field of a request that rules of few policies ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RareField {
    /// The traffic class.
    TClass,
}

/// What is known of a field.
///
/// One for each field, known when this is compiled: asking costs an index.
struct Row {
    /// Which component of a request it is.
    component: PathComponent,
    /// How many numbers there are; also the place of "names none" in its map.
    values: u16,
    /// Its classes, for errors of the builder.
    classes: &'static str,
    /// The bit of the policy's semantics.
    asks: u32,
    /// The section with the class of each number.
    map: SectionId,
    /// The section with the rule set of each class.
    sets: SectionId,
}

/// By [`RareField`].
const ROWS: [Row; RareField::COUNT] = [Row {
    component: PathComponent::TClass,
    values: 256,
    classes: "traffic classes",
    asks: semantics::ASKS_TCLASS,
    map: SectionId::TclassMap,
    sets: SectionId::TclassSets,
}];

/// A request's class by [`RareField`]; none where the policy does not ask for it.
pub(crate) type RareClasses = [Option<u16>; RareField::COUNT];

/// The classes of a request where the policy asks for nothing rare.
pub(crate) const NONE_ASKED: RareClasses = [None; RareField::COUNT];

const _: () = assert!(criterion::COUNT == criterion::RARE + RareField::COUNT);

impl RareField {
    /// How many there are.
    pub const COUNT: usize = 1;

    /// Every field, in the order of the policy's dimensions.
    pub const ALL: [Self; Self::COUNT] = [Self::TClass];

    /// What is known of this field.
    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// How many numbers a request can name; its map has one class more, for requests that name
    /// none.
    pub const fn values(self) -> u16 {
        self.row().values
    }

    /// The number that a request names.
    pub fn asked(self, mask: PathCompMask, record: &PathRecord) -> Option<u16> {
        let component = self.row().component;
        if !mask.has(component.mask()) {
            return None;
        }
        u16::try_from(component.number(record)).ok()
    }

    /// Its classes, for errors of the builder.
    pub(crate) const fn classes(self) -> &'static str {
        self.row().classes
    }

    /// The bit of the policy's semantics that says that some rule asks for it.
    pub(crate) const fn asks(self) -> u32 {
        self.row().asks
    }

    /// Class by number.
    pub(crate) const fn map(self) -> SectionId {
        self.row().map
    }

    /// Rule bitsets by class.
    pub(crate) const fn sets(self) -> SectionId {
        self.row().sets
    }
}
