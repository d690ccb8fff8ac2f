//! GUIDInfo: GUIDs that a port has besides its own.
//!
//! Eight GUIDs are a block. The first of block 0 is the port's own, which it keeps whatever is written; it is written back as it is.
//! Source: IBA vol. 1, 14.2.5.5; OpenSM `osm_sa_guidinfo_record.c`.

use std::collections::BTreeMap;

use sa_wire::Guid;
use sa_wire::smp::attribute;

use crate::model::Block;
use crate::model::attributes::Data;

/// Blocks of a port with aliases by their place, and aliases for which it has no room. `own` is the port's GUID, `room`
/// is GUIDCap: how many GUIDs it holds. Blocks reach to the last place that has or had (`held`, in places) an alias;
/// places without one are 0. Shape: `end_port` as in [`Block`].
///
/// Aliases that are left out are for a person to hear of: the SA that granted them took a GUIDCap which the port no longer has.
pub fn blocks(
    own: Guid,
    aliases: &BTreeMap<u8, Guid>,
    held: u8,
    room: u8,
    end_port: u8,
) -> (Vec<(Block, Data)>, Vec<Guid>) {
    let fits = |place: u8| place > 0 && place < room;
    let left_out = aliases.iter().filter(|(place, _)| !fits(**place));
    let left_out = left_out.map(|(_, alias)| *alias).collect();
    let last = aliases.keys().copied().filter(|place| fits(*place)).max();
    let count = last.map_or(0, |last| usize::from(last) + 1);
    // What was held is written over with 0: an alias that stays in a port would still answer to its GID.
    let count = count.max(held.min(room).into()).div_ceil(GUIDS);
    let block = |number: usize| {
        let mut data = [0; 64];
        let places = number * GUIDS..;
        for (place, to) in places.zip(data.chunks_exact_mut(8)) {
            // Blocks are whole: places behind GUIDCap in the last one are 0.
            let place = u8::try_from(place).ok().filter(|place| *place < room);
            let guid = match place {
                // The port keeps it whatever is written; written as it is, the block reads back as wanted.
                Some(0) => Some(own),
                Some(place) => aliases.get(&place).copied(),
                None => None,
            };
            to.copy_from_slice(&guid.map_or(0, Guid::get).to_be_bytes());
        }
        let block = Block {
            attribute: attribute::GUID_INFO,
            end_port,
            modifier: u32::try_from(number).unwrap_or_default(),
        };
        (block, data)
    };
    ((0..count).map(block).collect(), left_out)
}

/// GUIDs of a block.
const GUIDS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_guid_stays_and_what_does_not_fit_is_told() {
        let guid = |raw| Guid::new(raw).unwrap();
        let aliases = BTreeMap::from([(0, guid(5)), (1, guid(6)), (9, guid(7)), (10, guid(8))]);
        let (written, left_out) = blocks(guid(1), &aliases, 0, 10, 1);
        assert_eq!(left_out, [guid(5), guid(8)]);
        assert_eq!(written.len(), 2);
        let at = |block: usize, place: usize| written[block].1[place * 8 + 7];
        assert_eq!(
            [at(0, 0), at(0, 1), at(0, 2), at(1, 1), at(1, 2)],
            [1, 6, 0, 7, 0]
        );
        assert_eq!(written[1].0.modifier, 1);
    }

    #[test]
    fn an_alias_that_is_taken_away_is_overwritten() {
        let own = Guid::new(1).unwrap();
        let (written, _) = blocks(own, &BTreeMap::new(), 9, 32, 1);
        assert_eq!(
            (written.len(), written[0].1[7], written[1].1),
            (2, 1, [0; 64])
        );
        let all = BTreeMap::from([(255, own)]);
        assert_eq!(blocks(own, &all, 255, 255, 1).0.len(), 32);
        assert!(blocks(own, &all, 255, 0, 1).0.is_empty(), "no room at all");
    }
}
