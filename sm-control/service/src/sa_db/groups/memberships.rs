//! Who is in which MLID: what multicast forwarding tables follow from.
//!
//! A port counts once for an MLID, by whichever GUID it joined and in whichever state: members that only send are in the
//! tree too, as with OpenSM. Groups that share an MLID share their members.
//!
//! ```text
//!  a join, a leave, another fabric ──> the MLID is noted ──> memberships(): that MLID's list is made anew, others are shared
//! ```
//!
//! Why lists by MLID and not changes: whoever programs switches makes the whole tree of an MLID anew, and may have missed
//! what came before. A list that did not change is the same memory as before, so telling costs what changed.
//!
//! # An example
//!
//! ```text
//!  group A: MLID 0xc000, ports 1 and 2     group B: MLID 0xc001, port 3     group C: shares 0xc001, ports 3 and 4
//!  told:   0xc000 ──> 1, 2                 0xc001 ──> 3, 4
//!  port 2 leaves A, and 1 with it: 0xc000 is not in the list any more, and 0xc001 is the list of before
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sa_wire::{Guid, Mlid, SlVlMask};

use super::Groups;

/// The SLs of the groups of each MLID that has members, and the ports in them. Shape: port GUIDs, ascending, each once.
pub type Memberships = BTreeMap<Mlid, (SlVlMask, Arc<[Guid]>)>;

/// What was told last, and what is to be told anew.
#[derive(Debug, Default)]
pub(super) struct Told {
    last: Arc<Memberships>,
    changed: BTreeSet<u16>,
    /// Everything is to be looked at: records of groups may be others.
    all: bool,
}

impl Told {
    /// Members of this MLID came or went. Units: raw, as in the group's record.
    pub(super) fn note(&mut self, mlid: u16) {
        self.changed.insert(mlid);
    }

    /// Groups may have other MLIDs.
    pub(super) const fn note_all(&mut self) {
        self.all = true;
    }
}

impl Groups {
    /// Who is in which MLID now; the same value as before where nothing changed. O(members of what changed, groups).
    pub(crate) fn memberships(&mut self) -> Arc<Memberships> {
        // Taken, as the walk below borrows all groups.
        let Told { last, changed, all } = core::mem::take(&mut self.told);
        let is_same = !all && changed.is_empty();
        // Most calls: the lane asks at every turn.
        let now = match is_same {
            true => last,
            false => {
                let wanted = |mlid: u16| all || changed.contains(&mlid);
                let mut now = Memberships::clone(&last);
                now.retain(|mlid, _| !wanted(mlid.get()));
                now.extend(self.listed(wanted));
                // A fabric that changed notes all groups, and mostly nothing of them is other.
                match *last == now {
                    true => last,
                    false => Arc::new(now),
                }
            }
        };
        self.told.last = Arc::clone(&now);
        now
    }

    /// The ports of MLIDs, without those that have none. Goes over all groups, as several may share an MLID; there are
    /// some thousands at most.
    fn listed(&self, wanted: impl Fn(u16) -> bool) -> Memberships {
        let mut found: BTreeMap<Mlid, (u16, BTreeSet<Guid>)> = BTreeMap::new();
        let groups = self.all.values();
        for group in groups.filter(|group| wanted(group.record.mlid.get())) {
            // One that waits for `partitions.conf` has none yet.
            let Ok(mlid) = Mlid::new(group.record.mlid.get()) else {
                continue;
            };
            let members = group.members();
            let guids = members.filter_map(|member| Guid::new(member.base.get()).ok());
            let (sls, ports) = found.entry(mlid).or_default();
            ports.extend(guids);
            // A group without members has no packets.
            if group.members().next().is_some() {
                *sls |= 1 << group.record.sl();
            }
        }
        // Without members an MLID is none of anybody's.
        let found = found
            .into_iter()
            .filter(|(_, (_, ports))| !ports.is_empty());
        found
            .map(|(mlid, (sls, ports))| (mlid, (SlVlMask(sls), ports.into_iter().collect())))
            .collect()
    }
}
