//! P_Key tables: of end ports, and of the switch ports that check for them.
//!
//! ```text
//!  end port     0: default or `indx0`   1: a   2: (was b)   3: c     a key keeps its index, freed ones are used last
//!  switch port  0: default              1: a   2: c                  the same keys without holes
//! ```
//!
//! Applications know P_Keys by their index in the port's table, so a key that stays keeps its index, and one that comes back
//! gets the index that it had ([`Places`]). A switch port has no such users.
//!
//! [`Wish`] comes of a partition file that was read to its end: one with an error has none, so tables stay as they are.
//! Source: OpenSM `osm_pkey_mgr.c`, `osm_pkey.c`.

use std::collections::BTreeMap;

use sa_wire::Pkey;
use sa_wire::smp::attribute;

use crate::model::attributes::Data;
use crate::model::{Block, Tables};

/// Keys that a port is to have.
///
/// One wish for each end port; [`end_port`] turns it into places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// In the order in which new ones get their indices: partitions by [`Pkey::map_order`], of each the limited key before the
    /// full one.
    pub keys: Vec<Pkey>,
    /// The key that is to be at index 0 (`indx0` of its partition). None: that of the default partition.
    pub first: Option<Pkey>,
}

/// Which key had which index, also after it was taken away: by key, full and limited apart. It grows by what partitions a port
/// was ever in, and is forgotten with the process.
///
/// Not in the model: it outlives what the port holds, which is the point of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places(BTreeMap<u16, usize>);

/// A table and what did not fit.
///
/// A 0 between keys is a hole: a key was taken away there, and nobody has come to use the place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Shape: up to the last key; 0: none.
    pub keys: Vec<u16>,
    /// Keys for which the table has no room.
    /// Told to a person, who has to put the port into fewer partitions.
    pub left_out: Vec<Pkey>,
}

/// The table of an end port. `held` is what it has, from index 0 on; `room` is PartitionCap. `both`: a port may have full and
/// limited key of one partition (`allow_both_pkeys`), so they are two keys; else one that changes keeps its place.
///
/// Order of claims: index 0, then keys that have a place, then new ones. So a new key pushes an old one from no index but 0, which
/// would silently change the partition of a QP in use.
pub fn end_port(held: &[u16], room: u16, wish: &Wish, both: bool, places: &mut Places) -> Table {
    let mut filling = Filling {
        keys: Vec::new(),
        room: usize::from(room),
        both,
    };
    let is_default = |key: &&Pkey| key.base() == DEFAULT_BASE;
    let first = wish.first.filter(|first| wish.keys.contains(first));
    // `rfind`: of both keys of the default partition the full one, which comes behind the limited one in a wish.
    let first = first.or_else(|| wish.keys.iter().rfind(is_default).copied());
    // Those with a place before those that look for one.
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for key in wish.keys.iter().filter(|key| Some(**key) != first) {
        match filling.find(held, *key) {
            // At index 0 and not wanted there: it has to move.
            Some(0) => {
                places.free(0);
                new.push(*key);
            }
            Some(at) => old.push((at, *key)),
            None => new.push(*key),
        }
    }
    let mut left_out = Vec::new();
    if let Some(first) = first {
        // It moves, so its place is as if nobody had had it.
        if let Some(at) = filling.find(held, first).filter(|at| *at > 0) {
            places.free(at);
        }
        match filling.put(0, first) {
            true => places.learn(first, 0),
            false => left_out.push(first),
        }
    }
    for (at, key) in old {
        match filling.put(at, key) {
            true => places.learn(key, at),
            // Two keys that count as one, and only one of them has the place.
            false => new.push(key),
        }
    }
    for key in new {
        match filling.put_new(key, places) {
            Some(at) => places.learn(key, at),
            None => left_out.push(key),
        }
    }
    Table {
        keys: filling.keys,
        left_out,
    }
}

/// The table of a switch port with an end port behind it: the end port's keys without holes, a limited key only where the
/// full one is not there. `None`: they do not fit into `room` (PartitionEnforcementCap), so nothing can be checked there.
///
/// Shape: room in entries, not in blocks. `None` turns checking off for that port: half of a table would drop packets of the other half.
pub fn switch_port(end_port: &[u16], room: u16) -> Option<Vec<u16>> {
    // A full key in the table accepts packets of limited members too, so the limited one adds nothing.
    let has_full = |key: u16| end_port.contains(&(key | Pkey::FULL_BIT));
    let counts = |key: &u16| *key != 0 && (key & Pkey::FULL_BIT != 0 || !has_full(*key));
    let keys: Vec<u16> = end_port.iter().copied().filter(counts).collect();
    (keys.len() <= usize::from(room)).then_some(keys)
}

/// The blocks of a table. `held`: how many entries the port is known to have; those behind the table become 0.
/// Shape: `end_port` and `port` as in [`Block`]: 0 and its number for ports of switches, its number and 0 for others.
///
/// Source: IBA vol. 1, 14.2.5.7: the upper sixteen bits of the modifier name the switch port, the lower the block.
pub fn blocks(keys: &[u16], held: usize, end_port: u8, port: u8) -> Vec<(Block, Data)> {
    // Longer than the table where more is held: what is left behind it would still let packets through.
    let entries = keys.len().max(held).div_ceil(BLOCK) * BLOCK;
    let mut padded = keys.to_vec();
    padded.resize(entries, 0);
    let blocks = (0..).zip(padded.chunks(BLOCK));
    blocks
        .map(|(number, keys)| {
            let mut data = [0; 64];
            for (to, key) in data.chunks_exact_mut(2).zip(keys) {
                to.copy_from_slice(&key.to_be_bytes());
            }
            (block(number, end_port, port), data)
        })
        .collect()
}

/// The table that a port is known to have, block after block from the first; `None` where that was not read.
///
/// Shape: index as in the port. Reading stops at the first gap, as what follows it has no known index.
pub fn known(tables: &Tables, room: u16, end_port: u8, port: u8) -> Option<Vec<u16>> {
    let count = u32::from(room).div_ceil(32);
    let mut keys = Vec::new();
    for number in 0..count {
        let Some(data) = tables.get(block(number, end_port, port)) else {
            break;
        };
        let entries = data.chunks_exact(2).map(|key| match key {
            [high, low] => u16::from_be_bytes([*high, *low]),
            _ => 0,
        });
        keys.extend(entries);
    }
    (!keys.is_empty() || count == 0).then_some(keys)
}

const fn block(number: u32, end_port: u8, port: u8) -> Block {
    Block {
        attribute: attribute::PKEY_TABLE,
        end_port,
        modifier: ((port as u32) << 16) | number,
    }
}

/// A table that is being filled.
/// Two keys never share a place, and a place is never given up once taken: order of calls is priority.
struct Filling {
    /// 0 where nobody is yet.
    keys: Vec<u16>,
    /// PartitionCap: entries of the port.
    room: usize,
    /// `allow_both_pkeys`.
    both: bool,
}

impl Filling {
    /// False where the place is taken, or not there.
    fn put(&mut self, at: usize, key: Pkey) -> bool {
        if at >= self.room {
            return false;
        }
        if self.keys.len() <= at {
            self.keys.resize(at + 1, 0);
        }
        match self.keys.get_mut(at) {
            Some(place) if *place == 0 => {
                *place = key.get();
                true
            }
            _ => false,
        }
    }

    /// A place for a key that has none: the one that it had, one behind all that were ever used, else the first that is free.
    fn put_new(&mut self, key: Pkey, places: &Places) -> Option<usize> {
        let had = places.0.get(&key.get()).copied().filter(|at| *at > 0);
        let mut candidates = had.into_iter().chain([places.next()]).chain(1..self.room);
        candidates.find(|at| self.put(*at, key))
    }

    /// The place of a key in a table.
    ///
    /// Without `both` a change of membership is the same key: it keeps its index.
    fn find(&self, table: &[u16], key: Pkey) -> Option<usize> {
        let mask = if self.both { 0xffff } else { !Pkey::FULL_BIT };
        let same = |other: &u16| *other != 0 && other & mask == key.get() & mask;
        table.iter().position(same)
    }
}

impl Places {
    /// A key was given a place.
    /// Of an earlier place of it nothing is kept.
    fn learn(&mut self, key: Pkey, at: usize) {
        self.0.insert(key.get(), at);
    }

    /// Who had a place lost it to another key: it is not kept for it.
    /// Else it would come back to a place where another one is, and find the next free one each time.
    fn free(&mut self, at: usize) {
        self.0.retain(|_, place| *place != at);
    }

    /// Behind the last place that a key has had. 0 is not for keys that come.
    fn next(&self) -> usize {
        self.0.values().max().map_or(1, |last| last + 1)
    }
}

/// Entries of a block.
const BLOCK: usize = 32;
/// Of the default partition, without the bit of full members.
///
/// Partition 0x7fff: 0xffff for full members, 0x7fff for limited ones (IBA vol. 1, 10.9.1.2).
const DEFAULT_BASE: u16 = 0x7fff;

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(keys: &[u16]) -> Wish {
        let keys = keys.iter().map(|key| Pkey::new(*key).unwrap());
        Wish {
            keys: keys.collect(),
            first: None,
        }
    }

    fn table(held: &[u16], room: u16, keys: &[u16]) -> Vec<u16> {
        end_port(held, room, &wish(keys), false, &mut Places::default()).keys
    }

    #[test]
    fn keys_keep_their_place() {
        assert_eq!(
            table(&[0xffff], 8, &[0x8001, 0x8002, 0xffff]),
            [0xffff, 0x8001, 0x8002]
        );
        assert_eq!(
            table(&[0xffff, 0, 0x8002], 8, &[0x8001, 0x0002, 0xffff]),
            [0xffff, 0, 0x0002, 0x8001]
        );
        assert_eq!(
            table(&[0x8001, 0xffff], 8, &[0x8001, 0xffff]),
            [0xffff, 0x8001],
            "0 is the default's, and each loses its place"
        );
    }

    #[test]
    fn a_key_that_comes_back_finds_its_place() {
        let mut places = Places::default();
        let mut keys = vec![0xffff];
        for (wanted, expected) in [
            (&[0x8001, 0x0002, 0xffff][..], &[0xffff, 0x8001, 0x0002][..]),
            (&[0x0002, 0x8005, 0xffff], &[0xffff, 0, 0x0002, 0x8005]),
            (&[0x8001, 0x0002, 0xffff], &[0xffff, 0x8001, 0x0002]),
        ] {
            keys = end_port(&keys, 32, &wish(wanted), false, &mut places).keys;
            assert_eq!(keys, expected);
        }
    }

    /// As OpenSM did it, file after file.
    #[test]
    fn a_key_that_moves_leaves_its_place_to_others() {
        let mut places = Places::default();
        let mut keys = vec![0xffff];
        for (first, wanted, expected) in [
            (Some(0x8003), &[0x8003, 0xffff][..], &[0x8003, 0xffff][..]),
            (None, &[0x8003, 0xffff], &[0xffff, 0x8003]),
            (Some(0x8003), &[0x8003, 0xffff], &[0x8003, 0xffff]),
            (Some(0xffff), &[0x8003, 0xffff], &[0xffff, 0x8003]),
        ] {
            let first = first.map(|key| Pkey::new(key).unwrap());
            let wish = Wish {
                first,
                ..wish(wanted)
            };
            keys = end_port(&keys, 64, &wish, false, &mut places).keys;
            assert_eq!(keys, expected);
        }
    }

    #[test]
    fn keys_of_an_earlier_process_that_are_not_wanted_keep_no_place() {
        assert_eq!(
            table(&[0xffff, 0x8001, 0x8002], 8, &[0x8005, 0xffff]),
            [0xffff, 0x8005]
        );
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let mut places = Places::default();
        let full = end_port(&[], 2, &wish(&[0x8001, 0x8002, 0xffff]), false, &mut places);
        assert_eq!(full.keys, [0xffff, 0x8001]);
        assert_eq!(full.left_out, [Pkey::new(0x8002).unwrap()]);
        let freed = end_port(&full.keys, 2, &wish(&[0x8002, 0xffff]), false, &mut places);
        assert_eq!(
            freed.keys,
            [0xffff, 0x8002],
            "a full table uses freed places"
        );
        let none = end_port(&[], 0, &wish(&[0xffff]), false, &mut Places::default());
        assert_eq!((none.keys.len(), none.left_out.len()), (0, 1));
    }

    #[test]
    fn switch_ports_have_the_keys_without_holes() {
        assert_eq!(
            switch_port(&[0x7fff, 0, 0x0002, 0x8005], 4),
            Some(vec![0x7fff, 0x0002, 0x8005])
        );
        assert_eq!(
            switch_port(&[0xffff, 0x0002, 0x8002], 2),
            Some(vec![0xffff, 0x8002])
        );
        assert_eq!(switch_port(&[0xffff, 0x8002], 1), None);
    }

    #[test]
    fn blocks_reach_as_far_as_the_port_has_keys() {
        let written = blocks(&[0xffff, 0x8001], 40, 0, 3);
        assert_eq!(written.len(), 2);
        assert_eq!((written[1].0.modifier, written[1].1), (0x3_0001, [0; 64]));
        let mut tables = Tables::default();
        for (block, data) in written {
            tables.set(block, data);
        }
        let found = known(&tables, 64, 0, 3).unwrap();
        assert_eq!((found.len(), &found[..3]), (64, &[0xffff, 0x8001, 0][..]));
        assert_eq!(known(&tables, 64, 0, 4), None, "not read");
    }
}
