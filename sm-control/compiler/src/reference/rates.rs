//! Rates by their codes. Source: OpenSM `osm_helper.c`.
//!
//! Codes were given out over the years and are in no order; OpenSM compares by the place in a list
//! that follows signalling: 30 (8b/10b) is below 25 (64b/66b), 60 below 50, 120 below 100. The fast
//! path has the same list in `sa_wire::Rate`; a test compares both.

use core::cmp::Ordering;

use sa_snapshot::model::RateCaps;

/// Place of each code in the order of signalling rates; codes 0 and 1 are no rates.
const ORDER: [u8; 25] = [
    0, 0, 1, 3, 6, 2, 5, 9, 10, 13, 14, 4, 12, 16, 17, 7, 15, 18, 19, 8, 11, 20, 21, 22, 23,
];

/// Which of two rates is faster.
///
/// A code that is no rate is slower than all.
pub(super) fn compare(one: u8, other: u8) -> Ordering {
    order(one).cmp(&order(other))
}

/// The slower of two.
pub(super) fn slower(one: u8, other: u8) -> u8 {
    if compare(one, other).is_gt() {
        other
    } else {
        one
    }
}

/// The next slower rate, whether any port has it or not; none below the slowest.
pub(super) fn previous(code: u8) -> Option<u8> {
    (2..=24).find(|slower| order(*slower) + 1 == order(code))
}

/// The rate that a port is told, which must know the code: those from 28 Gb/s on are newer than
/// some ports.
///
/// Judged by one port; a reversible path is judged by both.
pub(super) const fn fixed_up(code: u8, caps: RateCaps) -> u8 {
    match code {
        // 28 Gb/s exists with links of width 2 only; 25 needs extended speeds, 20 does not.
        19 if !caps.width_2x => {
            if caps.extended_speeds {
                15
            } else {
                6
            }
        }
        // 50 Gb/s to 40.
        20 if !caps.width_2x && !caps.hdr => 7,
        // 400 and 600 Gb/s to 300.
        21 | 22 if !caps.hdr && !caps.ndr => 18,
        // 800 and 1200 Gb/s to 600 or 300.
        23 | 24 if !caps.ndr => {
            if caps.hdr {
                22
            } else {
                18
            }
        }
        _ => code,
    }
}

/// The rate that an answer has by the options of the SM; none where they leave it to the ports.
///
/// `newest`: `max_rate_enum`, 63 and anything above 24 for "all". A code above it becomes the next
/// slower rate whose code and speed are both allowed.
pub(super) fn by_options(code: u8, newest: Option<u8>, original_only: bool) -> Option<u8> {
    const LAST_ORIGINAL: u8 = 18;
    let newest = newest.map(|newest| match original_only {
        true => newest.min(LAST_ORIGINAL),
        false => newest,
    });
    match newest {
        None if original_only => Some(match code {
            0..=LAST_ORIGINAL => code,
            19 => 15,
            20 => 7,
            _ => LAST_ORIGINAL,
        }),
        None | Some(25..) => None,
        Some(newest) if code <= newest => Some(code),
        Some(newest) => {
            // Some codes above the limit are slower than it, so that both are asked.
            let mut slower = previous(code)?;
            while slower > 2 && (compare(slower, newest).is_gt() || slower > newest) {
                slower = previous(slower)?;
            }
            Some(slower)
        }
    }
}

fn order(code: u8) -> u8 {
    ORDER.get(usize::from(code)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_40_comes_28_and_below_25_comes_30() {
        assert_eq!(previous(7), Some(19));
        assert_eq!(previous(15), Some(4));
        assert_eq!(previous(2), None);
    }

    #[test]
    fn the_order_is_that_of_the_vocabulary() {
        for code in 2..=24 {
            let rate = sa_wire::Rate::from_code(code).unwrap();
            assert_eq!(order(code), rate.rank().get(), "code {code}");
        }
    }

    #[test]
    fn options_limit_what_answers_say() {
        let original = |code| by_options(code, None, true);
        assert_eq!([18, 19, 20, 24].map(original), [18, 15, 7, 18].map(Some));
        assert_eq!(by_options(24, Some(63), false), None);
        // 112 is faster than 100, of a smaller code; 60 is the next below both.
        assert_eq!(by_options(16, Some(12), false), Some(12));
        assert_eq!(by_options(20, Some(18), true), Some(8));
        assert_eq!(by_options(24, Some(2), false), Some(2));
        for (code, newest) in (2..=24).flat_map(|code| (2..=24).map(move |limit| (code, limit))) {
            let limit = sa_snapshot::model::RateLimit::Code(newest);
            assert_eq!(
                by_options(code, Some(newest), false),
                Some(limit.apply(code))
            );
        }
    }

    #[test]
    fn ports_that_know_nothing_new_get_old_rates() {
        let fixed = [18, 19, 20, 21, 22, 23, 24].map(|code| fixed_up(code, RateCaps::default()));
        assert_eq!(fixed, [18, 6, 7, 18, 18, 18, 18]);
    }
}
