//! LIDs as OpenSM assigns them when it finds a subnet for the first time.
//!
//! The SM's own port comes first, then the others in the order of their port GUIDs'
//! [`Guid::map_order`](sa_wire::Guid::map_order). A port keeps the LID that it already has if that
//! is aligned to its number of LIDs and nobody before it took it. The others get the lowest free
//! range; only ranges of several LIDs are aligned, and what alignment leaves out stays unused.
//! Source: OpenSM `osm_lid_mgr.c`.
//!
//! Why OpenSM's way is followed to the number: a net file of a simulated fabric gives no LIDs, and
//! what is compiled from it is compared with what OpenSM answers there. In a running fabric the
//! LIDs are given, by a file or an SA, and this only checks that they can be kept.
//!
//! ```text
//!  claims (map order)      LMC 1 for the hosts, the SM on the second port
//!  port  known  lmc        gets
//!  A     none   1          4..5     the first gap behind the SM's that is aligned
//!  SM    none   1          2..3     first of all; 1 is left out: it is not a multiple of 2
//!  C     none   0          6        a switch: one LID, no alignment
//!  D     9      1          8..9     9 is no multiple of 2, so it is as if it had none; 7 is passed
//! over
//! ```
//!
//! Ports that nobody sees any more are not in it: OpenSM also keeps the LIDs of those in its file
//! `guid2lid`, which no dump has. A Subnet Manager has it, and says what is in it by [`Reserved`].

use sa_wire::{Lid, Lmc};
use thiserror::Error;

/// A port that needs LIDs: one that the SM found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The LID that it has already; none for a port that was never set up. One that is not aligned
    /// counts as none.
    pub known: Option<Lid>,
    /// The LID that it gets before any other: what the SM remembers of it. None where no SM does.
    pub remembered: Option<Lid>,
    /// It gets 2^lmc LIDs, the first of them a multiple of that.
    pub lmc: Lmc,
}

/// More ports than LIDs: LIDs 1 to 0xbfff are all there are for unicast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the subnet needs more than the 49151 unicast LIDs there are; use a smaller LMC, or divide the fabric into \
     subnets"
)]
pub struct OutOfLids;

/// LIDs that are somebody's without a claim, and where LIDs end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserved {
    /// LIDs that only the port that they are remembered for gets. Shape: first and last, both included.
    pub ranges: Vec<(u16, u16)>,
    /// The largest LID that switches forward to.
    pub last: Lid,
}

impl Default for Reserved {
    /// Nothing is remembered, and switches hold all LIDs.
    fn default() -> Self {
        Self {
            ranges: Vec::new(),
            last: Lid::MAX,
        }
    }
}

/// Base LIDs of ports. Shape: `claims` in the order of port GUIDs, the answer as `claims`; `sm` is
/// the index of the SM's port. Cost: O(LIDs), whatever the order of gaps. Errors: [`OutOfLids`].
pub fn assign(claims: &[Claim], sm: usize) -> Result<Vec<Lid>, OutOfLids> {
    let lids = assign_beside(claims, sm, &Reserved::default());
    // One failure ends it: a subnet in which some port has no LID is none that OpenSM would serve.
    lids.into_iter().map(|lid| lid.ok_or(OutOfLids)).collect()
}

/// Like [`assign`], beside LIDs that are remembered. `None`: there is no range left for this port, which
/// takes nothing from the others.
pub fn assign_beside(claims: &[Claim], sm: usize, reserved: &Reserved) -> Vec<Option<Lid>> {
    let mut pool = Pool::new(claims, reserved);
    let mut lids = vec![None; claims.len()];
    // The SM's port first, as its LID goes into the PortInfo of all others (MasterSMLID).
    let others = (0..claims.len()).filter(|index| *index != sm);
    for index in core::iter::once(sm).chain(others) {
        if let (Some(claim), Some(lid)) = (claims.get(index), lids.get_mut(index)) {
            *lid = pool.take(claim);
        }
    }
    lids
}

/// LIDs in use and LIDs to give away. OpenSM keeps two tables of its own for the same.
struct Pool {
    /// Index = LID.
    /// What has been given out so far.
    used: Vec<bool>,
    /// What is remembered. Shape: index = LID.
    reserved: Vec<bool>,
    /// Gaps between LIDs that somebody claims. Shape: first and last, both included, ascending.
    free: Vec<(u16, u16)>,
}

impl Pool {
    /// Works out the gaps once. What is claimed but cannot be kept in the end stays out of them, as
    /// in OpenSM.
    fn new(claims: &[Claim], rest: &Reserved) -> Self {
        let last = rest.last.get();
        let mut reserved = vec![false; usize::from(last) + 1];
        let ranges = rest.ranges.iter().flat_map(|(first, last)| *first..=*last);
        ranges.for_each(|lid| mark(&mut reserved, lid));
        // What a port claims is never given to another one, even if in the end it cannot keep it.
        let mut claimed = reserved.clone();
        for claim in claims {
            for lid in claim.kept() {
                mark(&mut claimed, lid);
            }
        }
        let mut free: Vec<(u16, u16)> = Vec::new();
        // LID 0 is nobody's; 0xbfff is the last of unicast.
        let unclaimed = (1..=last).filter(|lid| !is_marked(&claimed, *lid));
        for lid in unclaimed {
            match free.last_mut() {
                Some((_, end)) if *end == lid - 1 => *end = lid,
                _ => free.push((lid, lid)),
            }
        }
        Self {
            used: vec![false; usize::from(last) + 1],
            reserved,
            free,
        }
    }

    /// The LIDs of the next port, in the order of assignment. `None`: no gap is large enough.
    fn take(&mut self, claim: &Claim) -> Option<Lid> {
        let is_free = |lid| !is_marked(&self.used, lid);
        let remembered = claim
            .remembered
            .filter(|first| claim.range(*first).all(is_free));
        // What it had may be somebody's who came before, or who is remembered, or not aligned.
        let known = claim.known.filter(|_| {
            let is_nobodys = |lid| is_free(lid) && !is_marked(&self.reserved, lid);
            claim.is_aligned() && claim.kept().all(is_nobodys)
        });
        let first = remembered
            .or(known)
            .or_else(|| self.lowest(claim.lmc.lids()))?;
        for lid in claim.range(first) {
            mark(&mut self.used, lid);
        }
        Some(first)
    }

    /// The lowest free range; what lies before it in the same gap is lost.
    fn lowest(&mut self, count: u16) -> Option<Lid> {
        for gap in &mut self.free {
            // As OpenSM does it: what alignment passes over is not looked at again, also for one
            // LID.
            let first = gap.0.next_multiple_of(count);
            if first <= gap.1 && gap.1 - first >= count - 1 {
                // Also what lies before `first` is gone now.
                gap.0 = first + count;
                return Lid::new(first).ok();
            }
        }
        None
    }
}

impl Claim {
    /// False without a known LID.
    fn is_aligned(&self) -> bool {
        self.known
            .is_some_and(|lid| lid.get().is_multiple_of(self.lmc.lids()))
    }

    /// The LIDs that it would keep; none where it has none or they are not aligned.
    fn kept(&self) -> impl Iterator<Item = u16> + use<> {
        let aligned = self.known.filter(|_| self.is_aligned());
        let claim = *self;
        aligned
            .into_iter()
            .flat_map(move |first| claim.range(first))
    }

    /// Cut at the end of the numbers and not of unicast LIDs: `mark` leaves out what lies beyond.
    fn range(&self, first: Lid) -> impl Iterator<Item = u16> + use<> {
        let first = first.get();
        first..first.saturating_add(self.lmc.lids())
    }
}

fn mark(marks: &mut [bool], lid: u16) {
    if let Some(mark) = marks.get_mut(usize::from(lid)) {
        *mark = true;
    }
}

/// A LID beyond the table counts as taken.
fn is_marked(marks: &[bool], lid: u16) -> bool {
    marks.get(usize::from(lid)).copied().unwrap_or(true)
}

/// The LMC behind LIDs that a file lists without one. Shape: `claims` as for [`assign`], with
/// LMC 0 for ports that cannot have more and any other value for the rest.
///
/// The smallest LMC with which a fresh subnet gets exactly these LIDs; else, from two CA or router
/// ports on, the largest that fits: all their LIDs aligned and nobody within their ranges. 0 when
/// neither tells.
///
/// Worked example: hosts at 40 and 16, a switch at 9. No fresh subnet comes out so. 40 and 16 are
/// multiples of 8, and 9 lies in neither of 40..47 and 16..23, so LMC 3 fits; LMC 4 does not, as 40
/// is no multiple of 16. It is 3.
pub fn infer_lmc(claims: &[Claim], sm: usize) -> Lmc {
    let all = (0..=7).filter_map(|raw| Lmc::new(raw).ok());
    // One that fits may be chance; it is only the upper bound for the search.
    let largest = all
        .clone()
        .rfind(|lmc| fits(claims, *lmc))
        .unwrap_or_default();
    let fresh = |lmc: &Lmc| {
        // As if the subnet had never been up: what comes out is compared with what the file has.
        let unknown: Vec<_> = claims
            .iter()
            .map(|claim| Claim {
                known: None,
                ..with_lmc(claim, *lmc)
            })
            .collect();
        let known = claims.iter().map(|claim| claim.known);
        assign(&unknown, sm).is_ok_and(|lids| lids.into_iter().map(Some).eq(known))
    };
    // One port may be aligned by chance; with two on there is something to see.
    let multiple = claims.iter().filter(|claim| claim.lmc.get() > 0).count();
    let guess = if multiple >= 2 {
        largest
    } else {
        Lmc::default()
    };
    // The smallest first: with few ports several LMCs can give the same LIDs.
    all.take_while(|lmc| *lmc <= largest)
        .find(fresh)
        .unwrap_or(guess)
}

/// The same claim for another LMC of the subnet.
fn with_lmc(claim: &Claim, lmc: Lmc) -> Claim {
    Claim {
        lmc: if claim.lmc.get() > 0 { lmc } else { claim.lmc },
        ..*claim
    }
}

/// True when every port could have its LIDs under this LMC.
fn fits(claims: &[Claim], lmc: Lmc) -> bool {
    let mut used = vec![false; usize::from(Lid::MAX.get()) + 1];
    claims
        .iter()
        .filter(|claim| claim.known.is_some())
        .all(|claim| {
            let claim = with_lmc(claim, lmc);
            let is_free = claim.is_aligned() && !claim.kept().any(|lid| is_marked(&used, lid));
            claim.kept().for_each(|lid| mark(&mut used, lid));
            is_free
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(known: u16, lmc: u8) -> Claim {
        Claim {
            known: Lid::new(known).ok(),
            remembered: None,
            lmc: Lmc::new(lmc).unwrap(),
        }
    }

    fn assigned(claims: &[Claim], sm: usize) -> Vec<u16> {
        assign(claims, sm)
            .unwrap()
            .into_iter()
            .map(Lid::get)
            .collect()
    }

    #[test]
    fn a_fresh_subnet_is_numbered_from_the_sm_on() {
        let (one, two) = (claim(0, 0), claim(0, 1));
        assert_eq!(assigned(&[one, one, one], 1), [2, 1, 3]);
        assert_eq!(assigned(&[one, two, one, one, two], 1), [4, 2, 5, 6, 8]);
    }

    #[test]
    fn known_lids_are_kept_unless_misaligned_or_taken() {
        assert_eq!(
            assigned(&[claim(0, 0), claim(9, 0), claim(1, 0), claim(0, 0)], 0),
            [2, 9, 1, 3]
        );
        assert_eq!(assigned(&[claim(5, 1), claim(0, 0)], 1), [2, 1], "5 is odd");
        assert_eq!(
            assigned(&[claim(8, 2), claim(10, 0)], 0),
            [8, 1],
            "10 lies in 8 to 11"
        );
        assert_eq!(assigned(&[claim(8, 2), claim(10, 0)], 1), [4, 10]);
    }

    #[test]
    fn there_is_an_end_to_lids() {
        let many = vec![claim(0, 7); 384];
        assert_eq!(assign(&many, 0), Err(OutOfLids));
        assert_eq!(assigned(&many[..383], 0).last(), Some(&(128 * 383)));
    }

    #[test]
    fn what_is_remembered_goes_before_what_is_known() {
        let reserved = Reserved {
            ranges: vec![(1, 1), (4, 4), (9, 9)],
            last: Lid::new(10).unwrap(),
        };
        let beside = |claims: &[Claim]| {
            let lids = assign_beside(claims, 0, &reserved);
            lids.into_iter()
                .map(|lid| lid.map_or(0, Lid::get))
                .collect::<Vec<_>>()
        };
        let remembered = Claim {
            remembered: Lid::new(9).ok(),
            ..claim(3, 0)
        };
        assert_eq!(beside(&[claim(0, 0), remembered, claim(4, 0)]), [2, 9, 5]);
        assert_eq!(beside(&[claim(4, 0), claim(3, 0), claim(11, 0)]), [2, 3, 5]);
        assert_eq!(beside(&[claim(0, 2), claim(0, 0)]), [0, 2], "no four left");
    }

    #[test]
    fn lmc_shows_in_the_gaps() {
        let infer = |lids: &[(u16, u8)]| {
            let claims: Vec<_> = lids.iter().map(|(lid, lmc)| claim(*lid, *lmc)).collect();
            infer_lmc(&claims, 0).get()
        };
        assert_eq!(infer(&[(1, 7), (2, 0), (3, 7)]), 0);
        assert_eq!(
            infer(&[(2, 7), (4, 0), (6, 7), (8, 7)]),
            1,
            "as a fresh subnet"
        );
        assert_eq!(infer(&[(4, 7), (8, 7)]), 2, "as a fresh subnet of LMC 2");
        assert_eq!(infer(&[(40, 7), (9, 0), (16, 7)]), 3);
        assert_eq!(infer(&[(40, 7), (9, 0)]), 0, "one port tells nothing");
    }
}
