//! One numbering against another: which old number each new one had.
//!
//! Numbers that lie side by side before and after are one run, so what a failed switch does to
//! 12,288 ports is said in a dozen bytes.

/// No index of a snapshot has more values: they are two bytes.
pub(super) const MOST: usize = 1 << 16;

/// Old numbers by new numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Runs {
    runs: Vec<Run>,
    total: usize,
}

/// New numbers one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// The first of the old numbers, which follow each other too; none where these are new.
    from: Option<u32>,
    len: u32,
}

impl Runs {
    /// By new number: its old one, none where it had none.
    pub(super) fn of(olds: impl IntoIterator<Item = Option<u32>>) -> Self {
        let mut all = Self::default();
        for old in olds {
            all.total += 1;
            match all.runs.last_mut() {
                Some(last) if last.next() == old => last.len += 1,
                _ => all.runs.push(Run { from: old, len: 1 }),
            }
        }
        all
    }

    /// How many new numbers there are.
    pub(super) const fn total(&self) -> usize {
        self.total
    }

    /// Every number is as it was, of so many.
    pub(super) fn is_same(&self, olds: usize) -> bool {
        let is_whole = match self.runs.as_slice() {
            [] => true,
            [run] => run.from == Some(0),
            _ => false,
        };
        is_whole && self.total == olds
    }

    /// Every number that stayed is as it was; there may be more at the end than before, or fewer.
    pub(super) fn is_still(&self) -> bool {
        match self.runs.as_slice() {
            [] => true,
            [first, rest @ ..] => {
                first.from == Some(0) && rest.iter().all(|run| run.from.is_none())
            }
        }
    }

    /// Old numbers in the order of the new ones.
    pub(super) fn olds(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        self.spans().flat_map(|(from, len)| {
            (0..len).map(move |at| from.map(|from: usize| from.saturating_add(at)))
        })
    }

    /// Whole runs in the order of the new numbers: the first old number, and how many follow.
    pub(super) fn spans(&self) -> impl Iterator<Item = (Option<usize>, usize)> + '_ {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let runs = self.runs.iter();
        runs.map(move |run| (run.from.map(number), number(run.len)))
    }

    /// The way back: new numbers by old ones, none for what is gone.
    pub(super) fn by_old(&self) -> Vec<Option<u16>> {
        let ends = self.spans().filter_map(|(from, len)| Some(from? + len));
        let mut news = vec![None; ends.max().unwrap_or_default().min(MOST)];
        for (old, new) in self.olds().zip(0..) {
            // Where two say that they were the same, the first is it.
            if let Some(place @ None) = old.and_then(|old| news.get_mut(old)) {
                *place = Some(new);
            }
        }
        news
    }

    /// Writes them: how many runs, then of each twice its length and 1 where it is old, and how far
    /// on its first old number is.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.runs.len() as u64);
        let mut expected = 0;
        for run in &self.runs {
            put_number(out, u64::from(run.len) << 1 | u64::from(run.from.is_some()));
            if let Some(from) = run.from {
                let by = i64::from(from) - expected;
                // Zigzag: small steps back are small numbers, too.
                put_number(out, (by << 1 ^ by >> 63).cast_unsigned());
                expected = i64::from(from) + i64::from(run.len);
            }
        }
    }

    /// Reads what [`Self::put`] wrote. None: it is something else, or has more than `most` new
    /// numbers, or old ones of `olds` and beyond.
    pub(super) fn take(bytes: &mut &[u8], most: usize, olds: usize) -> Option<Self> {
        let count = take_number(bytes)?;
        let mut all = Self::default();
        let mut expected = 0i64;
        for _ in 0..count {
            let word = take_number(bytes)?;
            let len = usize::try_from(word >> 1).ok().filter(|len| *len > 0)?;
            all.total = all.total.checked_add(len)?;
            if all.total > most.min(MOST) {
                return None;
            }
            let from = match word & 1 {
                0 => None,
                _ => {
                    let by = take_number(bytes)?;
                    let by = (by >> 1).cast_signed() ^ -(by & 1).cast_signed();
                    let from = u32::try_from(expected.checked_add(by)?).ok()?;
                    let end = usize::try_from(from).ok()?.checked_add(len)?;
                    if end > olds.min(MOST) {
                        return None;
                    }
                    expected = i64::try_from(end).ok()?;
                    Some(from)
                }
            };
            let len = u32::try_from(len).ok()?;
            all.runs.push(Run { from, len });
        }
        Some(all)
    }
}

impl Run {
    /// The old number of the new one behind it, if that is to belong to it.
    fn next(&self) -> Option<u32> {
        self.from.map(|from| from.saturating_add(self.len))
    }
}

/// Seven bits a byte, the lowest first.
fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    // Numbers here have 35 bits at most.
    for shift in (0..42).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let olds = [Some(5), Some(6), None, None, Some(2), Some(0), Some(1)];
        let runs = Runs::of(olds);
        let mut bytes = Vec::new();
        runs.put(&mut bytes);
        let read = |most, olds| Runs::take(&mut bytes.as_slice(), most, olds);
        assert_eq!(read(7, 7), Some(runs.clone()));
        assert_eq!(read(6, 7), None, "too many");
        assert_eq!(read(7, 6), None, "old number 6 of 6");
        let olds = olds.map(|old| old.map(|old| old as usize));
        assert_eq!(runs.olds().collect::<Vec<_>>(), olds);
        assert_eq!(
            runs.by_old(),
            [Some(5), Some(6), Some(4), None, None, Some(0), Some(1)]
        );
    }

    #[test]
    fn what_did_not_move_is_one_run() {
        let runs = Runs::of((0..1000).map(Some));
        assert!(runs.is_same(1000) && !runs.is_same(1001));
        let mut bytes = Vec::new();
        runs.put(&mut bytes);
        assert_eq!(bytes.len(), 4);
    }
}
