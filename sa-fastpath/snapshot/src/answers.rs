//! What answers follow from, apart from what is told of a snapshot beside that.
//!
//! Two snapshots whose answers follow from the same bytes give the same answers, whenever and from
//! whatever files they were compiled, and whoever's key is in them. What is left out: provenance,
//! names of QoS levels, epoch, time, and the SA's key.

use core::mem::{offset_of, size_of};

use crate::error::LoadError;
use crate::format::layout::{SectionId, parse};
use crate::format::records::SubnetRecord;
use crate::read::Snapshot;

/// On which of two sides of an answer a piece has a say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerPart {
    /// Ports, LIDs, partitions, tables, groups.
    Paths,
    /// QoS policy: levels, rules, what finds them.
    Policy,
}

impl Snapshot {
    /// Gives each piece in file order, with its part and a word that no other piece begins with:
    /// the section's number and its length. A digest over all of them is one over what is answered.
    ///
    /// Reads the whole snapshot, and compares its digest once more. Errors: its memory is not what
    /// it was.
    pub fn answer_pieces(
        &self,
        mut piece: impl FnMut(AnswerPart, [u8; 16], &[u8]),
    ) -> Result<(), LoadError> {
        let bytes = self.as_bytes();
        let ranges = parse(bytes)?;
        for (id, range) in SectionId::ALL.iter().zip(ranges) {
            let Some(section) = bytes.get(range.start..range.end) else {
                continue;
            };
            let word = (u128::from(*id as u32) << 64) | section.len() as u128;
            let word = word.to_le_bytes();
            match part_of(*id) {
                None => {}
                Some(part) if *id == SectionId::Subnet => piece(part, word, &masked(section)),
                Some(part) => piece(part, word, section),
            }
        }
        Ok(())
    }
}

/// None: no answer depends on it.
const fn part_of(id: SectionId) -> Option<AnswerPart> {
    use SectionId as Id;
    match id {
        Id::Provenance | Id::LevelNames => None,
        Id::Policy
        | Id::Levels
        | Id::LevelPkeys
        | Id::LevelPathBits
        | Id::Rules
        | Id::SourceSets
        | Id::DestinationSets
        | Id::QosClassMap
        | Id::QosClassSets
        | Id::TclassMap
        | Id::TclassSets
        | Id::PkeyMap
        | Id::PkeySetsOfRules
        | Id::ServiceStarts
        | Id::ServiceClasses
        | Id::ServiceSets
        | Id::RuleOrder
        | Id::PolicyClasses
        | Id::RuleWords
        | Id::FirstRules
        | Id::FlowLabels => Some(AnswerPart::Policy),
        _ => Some(AnswerPart::Paths),
    }
}

/// The subnet's record with zeros for what is of one publication or of one daemon.
fn masked(section: &[u8]) -> Vec<u8> {
    let mut record = section.to_vec();
    let places = [
        offset_of!(SubnetRecord, sa_key),
        offset_of!(SubnetRecord, epoch),
        offset_of!(SubnetRecord, built_unix),
    ];
    for place in places {
        if let Some(field) = record.get_mut(place..place + size_of::<u64>()) {
            field.fill(0);
        }
    }
    record
}
