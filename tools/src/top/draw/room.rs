//! How many lines each row of panes gets.
//!
//! Rows have a rank: the one with the keys first. In three rounds each gets, by rank, a title and a
//! line; what it usually needs; all that it has. A row for which there is no line left is not
//! shown.
//!
//! ```text
//!  24 lines     head 3 | Workers 3 | Answers, Attributes 6 | Subnet 4 | Findings 4 | Events 3 | keys 1
//! ```

/// What a row could do with. Units: lines, its title included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wish {
    /// What it usually needs.
    pub(super) usual: u16,
    /// All that it has.
    pub(super) all: u16,
    /// 0 comes first.
    pub(super) rank: u8,
}

/// A title and one line.
const LEAST: u16 = 2;

/// Shape: as `wishes`; 0 for a row that is not shown. The sum is at most `total`.
pub(super) fn shares(total: u16, wishes: &[Wish]) -> Vec<u16> {
    let mut shares = vec![0; wishes.len()];
    let mut order: Vec<(usize, Wish)> = wishes.iter().copied().enumerate().collect();
    order.sort_by_key(|(_, wish)| wish.rank);
    let mut left = total;
    for (at, wish) in &order {
        let least = LEAST.min(wish.all);
        if let Some(share) = shares.get_mut(*at).filter(|_| least <= left) {
            *share = least;
            left -= least;
        }
    }
    for goal in [
        |wish: &Wish| wish.usual.min(wish.all),
        |wish: &Wish| wish.all,
    ] {
        for (at, wish) in &order {
            // A row that had no room for its title has none for the rest.
            let Some(share) = shares.get_mut(*at).filter(|share| **share > 0) else {
                continue;
            };
            let more = goal(wish).saturating_sub(*share).min(left);
            *share += more;
            left -= more;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn wish(usual: u16, all: u16, rank: u8) -> Wish {
        Wish { usual, all, rank }
    }

    #[test]
    fn each_has_a_line_before_any_has_more() {
        let wishes = [wish(3, 3, 0), wish(6, 9, 2), wish(4, 40, 1)];
        assert_eq!(shares(6, &wishes), [2, 2, 2]);
        assert_eq!(shares(13, &wishes), [3, 6, 4]);
        // What is left goes by rank, and no row gets more than it has.
        assert_eq!(shares(20, &wishes), [3, 6, 11]);
        assert_eq!(shares(1000, &wishes), [3, 9, 40]);
    }

    #[test]
    fn where_there_is_no_room_the_first_ranks_are_shown() {
        let wishes = [wish(3, 3, 2), wish(6, 9, 0), wish(4, 40, 1)];
        assert_eq!(shares(5, &wishes), [0, 3, 2]);
        assert_eq!(shares(2, &wishes), [0, 2, 0]);
        assert_eq!(shares(1, &wishes), [0, 0, 0]);
        assert_eq!(shares(0, &wishes), [0, 0, 0]);
    }
}
