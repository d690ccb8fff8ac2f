//! Records of paths from one port, where each can be told as for a common request: what tables and
//! MultiPathRecords are made of.
//!
//! A table of 10,000 destinations asks 10,000 times for a path from the same port. What depends on
//! the source alone is worked out once: its SGID and SLID, and by `levels_from` which rules it
//! satisfies. What is left for each destination is a class, a P_Key, one intersection of rule sets,
//! and 64 bytes.
//!
//! Made once a request by `pair`, `multi` and `open_ends`. Where it cannot tell (several LIDs,
//! wishes, a path that is not simply granted) it says none, and `judge` decides: refusals have no
//! short way.

use sa_snapshot::{LevelsFrom, PathClassIx, PortIx, PortRecord, Snapshot};
use sa_wire::path_record::{PathCompMask, PathRecord};

use super::query::{Enough, PathQuery};
use super::terms::{RequestPorts, both_ways, terms};

/// A request's source, and what all its paths have in common.
pub(crate) struct Origin<'a> {
    snapshot: &'a Snapshot,
    query: &'a PathQuery,
    requester: Option<&'a PortRecord>,
    source: &'a PortRecord,
    slid: u16,
    /// The SGID of its records: as it was asked for, else the port's own.
    sgid: [[u8; 8]; 2],
    levels: Option<LevelsFrom<'a>>,
}

impl<'a> Origin<'a> {
    /// None where paths have to be looked for one by one. `MANY`: it pays to prepare for many
    /// destinations.
    #[inline(always)]
    pub(crate) fn new<const MANY: bool>(
        snapshot: &'a Snapshot,
        query: &'a PathQuery,
        requester: PortIx,
        source: PortIx,
    ) -> Option<Self> {
        let port = snapshot.port(source);
        let is_named = query.mask.has(PathCompMask::SLID);
        // Several LIDs of the source mean several paths; `After(0)` means none at all.
        if !query.is_common || query.enough == Enough::After(0) || port.lmc() != 0 && !is_named {
            return None;
        }
        let own = [snapshot.subnet().prefix, port.guid];
        let asked = zerocopy::transmute!(query.record.sgid);
        let classes = query.classes.as_ref();
        Some(Self {
            snapshot,
            query,
            requester: Some(snapshot.port(requester)),
            source: port,
            slid: if is_named {
                query.record.slid.get()
            } else {
                port.lid
            },
            sgid: if query.mask.has(PathCompMask::SGID) {
                asked
            } else {
                own
            },
            levels: classes.map(|classes| snapshot.levels_from::<MANY>(port, classes)),
        })
    }

    /// The record of the path to this port; none where it cannot be told here, or there is none.
    #[inline(always)]
    pub(crate) fn record(&self, destination: PortIx) -> Option<PathRecord> {
        let (from, to) = (self.source, self.snapshot.port(destination));
        let mask = self.query.mask;
        // One LID each, so that there is one path.
        // A destination with several LIDs has several paths, in an order that `pair` knows.
        let dlid = match mask.has(PathCompMask::DLID) {
            true => self.query.record.dlid.get(),
            false if to.lmc() == 0 => to.lid,
            false => return None,
        };
        let ends = RequestPorts {
            requester: self.requester,
            source: from,
            destination: to,
            classes: self.classes(to, dlid),
        };
        let asked = self.query.record.pkey.get();
        let terms = |level| terms(self.snapshot, &ends, mask, asked, level);
        // Two copies, so that nothing is looked at for a policy where there is none.
        let terms = match &self.levels {
            Some(levels) => terms(Some(&levels.to(to)))?,
            None => terms(None)?,
        };
        let ([d, l], [s, i]) = (dlid.to_be_bytes(), self.slid.to_be_bytes());
        // The record as eight words of the wire: written at once and never field by field.
        let words: [[u8; 8]; 8] = [
            [0; 8],
            self.snapshot.subnet().prefix,
            to.guid,
            self.sgid[0],
            self.sgid[1],
            [d, l, s, i, 0, 0, 0, 0],
            terms.numbers,
            terms.rest,
        ];
        Some(zerocopy::transmute!(words))
    }

    /// Of the path and its way back, where pairs have classes of their own.
    #[inline(always)]
    fn classes(&self, to: &PortRecord, dlid: u16) -> [PathClassIx; 2] {
        if !self.snapshot.has_pair_table() {
            return [PathClassIx::NONE; 2];
        }
        both_ways(self.snapshot, (self.source, self.slid), (to, dlid))
    }
}
