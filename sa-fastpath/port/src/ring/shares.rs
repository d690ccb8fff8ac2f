//! Who gets how much of a socket: rings, places for strangers, memory of late replies.
//!
//! One rule: nobody takes more than is left for the others. So a user alone has half at most, two
//! have a third each, and something is always left for who comes next. Root and the daemon's own
//! user have places of their own, which others cannot take.
//!
//! With 64 rings of which 8 are kept, and users who take all they get: the first gets 28 (then 28
//! are left), the second 14, the third 7, the next 4, 2, 1. A number for each user would be too
//! small for one user alone or too large for many (ADR 10).

/// Whose a client is.
///
/// Users are told apart by number; groups do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) uid: u32,
    /// Root, or the daemon's own user.
    pub(super) is_trusted: bool,
}

/// How many rings there are for whom.
///
/// Counts nothing itself: the acceptor says who has a ring, so a count cannot be wrong after a
/// crash of a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct RingShares {
    most: usize,
    /// For root and the daemon's user alone.
    kept: usize,
    /// The most of a user; none: as many as are left.
    each: Option<usize>,
}

impl RingShares {
    /// Shape: `most` at least 1.
    pub(super) fn new(most: usize, each: Option<usize>) -> Self {
        Self {
            most,
            kept: kept_of(most),
            each,
        }
    }

    /// Whether one more may have a ring, beside those that have. Errors: in words for the client.
    pub(super) fn admit(
        &self,
        one: Owner,
        having: impl Iterator<Item = Owner> + Clone,
    ) -> Result<(), String> {
        let most = self.most;
        let all = having.clone().count();
        if all >= most {
            return Err(format!("all {most} rings of this socket are taken"));
        }
        if one.is_trusted {
            return Ok(());
        }
        let others = having.clone().filter(|owner| !owner.is_trusted).count();
        let open = most - self.kept;
        // Trusted clients beyond their own places take open ones too.
        let left = open.saturating_sub(others).min(most - all);
        if left == 0 {
            let kept = self.kept;
            return Err(format!(
                "all {open} rings of this socket for users are taken; {kept} more are kept for \
                 root and the daemon's user"
            ));
        }
        let uid = one.uid;
        let own = having.filter(|owner| owner.uid == uid).count();
        if own >= self.each.unwrap_or(left) {
            return Err(format!(
                "user {uid} has {own} rings of this socket, which is its share: {left} are left for \
                 others (clients_per_user)"
            ));
        }
        Ok(())
    }
}

/// Rings, of so many, that only root and the daemon's user get: an eighth, rounded up, but never the
/// only one.
pub(super) const fn kept_of(most: usize) -> usize {
    let eighth = most.div_ceil(8);
    if eighth < most { eighth } else { most - 1 }
}

/// Whether a user may leave so many bytes more unread, where `most` is for all users of a socket,
/// `all` is what they have left unread, and `own` what this user has of it.
///
/// Root and the daemon's user count apart, as one: they may have all, and one reply of any length.
pub(super) const fn may_keep(
    more: usize,
    most: usize,
    all: usize,
    own: usize,
    is_trusted: bool,
) -> bool {
    if is_trusted {
        return all == 0 || all + more <= most;
    }
    // The same rule, in bytes: what this user has must not exceed what is left.
    own + more <= most.saturating_sub(all + more)
}

/// Which stranger goes when there is no room for another: the oldest of the user that has the most.
/// Shape: the oldest first; gives a place in it.
pub(super) fn who_goes(strangers: &[Owner]) -> Option<usize> {
    let of = |owner: &Owner| strangers.iter().filter(|one| one.uid == owner.uid).count();
    let most = strangers.iter().map(of).max()?;
    strangers.iter().position(|owner| of(owner) == most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn user(uid: u32) -> Owner {
        Owner {
            uid,
            is_trusted: uid == 0,
        }
    }

    /// As many rings as each of these users gets, one after the other.
    fn taken(shares: RingShares, users: &[u32]) -> Vec<usize> {
        let mut having = Vec::new();
        let mut all = Vec::new();
        for uid in users {
            let before = having.len();
            while shares.admit(user(*uid), having.iter().copied()).is_ok() {
                having.push(user(*uid));
            }
            all.push(having.len() - before);
        }
        all
    }

    #[test]
    fn a_user_has_half_at_most_and_leaves_some_to_every_other() {
        let shares = RingShares::new(64, None);
        assert_eq!(taken(shares, &[1]), [28]);
        assert_eq!(taken(shares, &[1, 2, 3, 4]), [28, 14, 7, 4]);
        assert_eq!(
            taken(shares, &[1, 2, 3, 4, 5, 6, 7]),
            [28, 14, 7, 4, 2, 1, 0]
        );
        // Root has what is kept for it, whoever came before.
        let many: Vec<u32> = (1..100).chain([0]).collect();
        assert_eq!(taken(shares, &many).last(), Some(&8));
        // And may have all.
        assert_eq!(taken(shares, &[0, 1]), [64, 0]);
        assert_eq!(taken(RingShares::new(64, Some(40)), &[1, 2]), [40, 16]);
        assert_eq!(taken(RingShares::new(64, Some(2)), &[1, 2, 0]), [2, 2, 60]);
        for few in 1..9 {
            let shares = RingShares::new(few, None);
            assert!(taken(shares, &[1])[0] >= 1, "{few}");
            let root = taken(shares, &[1, 2, 3, 0])[3];
            assert!(root >= 1 || few == 1, "{few}");
        }
    }

    #[test]
    fn a_refusal_says_whose_share_it_is() {
        let shares = RingShares::new(8, None);
        let said = |having: &[u32], one: u32| {
            let having = having.iter().map(|uid| user(*uid));
            shares.admit(user(one), having).unwrap_err()
        };
        assert!(said(&[0; 8], 0).contains("all 8 rings of this socket are taken"));
        assert!(said(&[1, 1, 1, 1], 1).contains("user 1 has 4 rings"));
        let kept = said(&[1, 1, 1, 1, 2, 2, 3], 4);
        assert!(kept.contains("all 7 rings") && kept.contains("1 more are kept for root"));
    }

    #[test]
    fn nobody_keeps_more_memory_than_is_left() {
        assert!(may_keep(50, 100, 0, 0, false));
        assert!(!may_keep(51, 100, 0, 0, false));
        assert!(may_keep(25, 100, 50, 0, false) && !may_keep(26, 100, 50, 0, false));
        assert!(!may_keep(1, 100, 50, 50, false));
        assert!(may_keep(100, 100, 0, 0, true) && may_keep(1000, 100, 0, 0, true));
        assert!(!may_keep(51, 100, 50, 50, true));
    }

    #[test]
    fn the_oldest_of_who_has_the_most_strangers_goes() {
        assert_eq!(who_goes(&[]), None);
        let all = [1, 2, 3, 2].map(user);
        assert_eq!(who_goes(&all), Some(1));
        assert_eq!(who_goes(&[4, 5, 6].map(user)), Some(0));
    }
}
