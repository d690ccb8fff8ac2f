//! Which kinds of answers were compared, so that a test that asks nothing of interest fails.

use std::collections::BTreeMap;
use std::fmt;

use sa_wire::mad::{Status, method};
use sa_wire::umad::Slot;

use sa_tests::random::options::ELSEWHERE;

/// An answer that both gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Seen {
    /// Not the reference's to judge.
    Elsewhere,
    Silence,
    Error(u16, Lane),
    /// A table without records.
    Empty(Lane),
    One(Lane),
    /// Two or three: still one MAD.
    Few(Lane),
    Many,
    /// Alternate paths, but those that are longer.
    Longer,
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// A worker, in place.
    Fast,
    Slow,
}

/// What sets a request for one path apart from what is common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Nearly {
    /// It asks for a table.
    Table,
    /// It names an end by GID and by LID.
    TwoNames,
    /// It carries a key.
    Key,
    /// It wishes for an SL.
    Sl,
    Mtu,
    Rate,
    PacketLife,
    /// The way back does not meet its wishes.
    OneWay,
}

impl Nearly {
    pub(crate) const ALL: [Self; 8] = [
        Self::Table,
        Self::TwoNames,
        Self::Key,
        Self::Sl,
        Self::Mtu,
        Self::Rate,
        Self::PacketLife,
        Self::OneWay,
    ];

    fn of(slot: &Slot, reply: &Slot) -> impl Iterator<Item = Self> {
        let mad = &slot.mad;
        let mask = u64::from_be_bytes(std::array::from_fn(|at| mad[48 + at]));
        let has = move |bits| mask & bits == bits;
        let holds = [
            mad[3] == method::GET_TABLE,
            has(0b1_0100) || has(0b10_1000),
            mad[36..44] != [0; 8],
            has(1 << 15),
            has(0b11 << 16),
            has(0b11 << 18),
            has(0b11 << 20),
            reply.mad[105] & 0x80 == 0,
        ];
        let is_single = mad[17] == 0x35;
        let all = Self::ALL.into_iter().zip(holds);
        all.filter_map(move |(nearly, holds)| (is_single && holds).then_some(nearly))
    }
}

impl Lane {
    const fn of(is_inline: bool) -> Self {
        if is_inline { Self::Fast } else { Self::Slow }
    }
}

impl Seen {
    pub(crate) const fn refused(status: Status, is_inline: bool) -> Self {
        Self::Error(status.get(), Lane::of(is_inline))
    }

    pub(crate) const fn records(count: usize, is_inline: bool) -> Self {
        match count {
            0 => Self::Empty(Lane::of(is_inline)),
            1 => Self::One(Lane::of(is_inline)),
            2 | 3 => Self::Few(Lane::of(is_inline)),
            _ => Self::Many,
        }
    }
}

/// How often each was seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) worlds: usize,
    pub(crate) refused: usize,
    pub(crate) with_policy: usize,
    /// With a policy that says what OpenSM's cannot.
    pub(crate) of_rfc: usize,
    /// With a policy that gives flow labels.
    pub(crate) of_labels: usize,
    /// With nothing that sets a common request apart.
    pub(crate) of_common: usize,
    pub(crate) seen: BTreeMap<Seen, usize>,
    /// One record from a worker, where requests may be taken together.
    pub(crate) nearly: BTreeMap<Nearly, usize>,
    /// Those to MultiPathRecord.
    pub(crate) multi: BTreeMap<Seen, usize>,
    /// Paths to groups.
    pub(crate) to_groups: usize,
    /// Paths to other subnets.
    pub(crate) to_elsewhere: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.refused += other.refused;
        self.with_policy += other.with_policy;
        self.of_rfc += other.of_rfc;
        self.of_labels += other.of_labels;
        self.of_common += other.of_common;
        self.to_groups += other.to_groups;
        self.to_elsewhere += other.to_elsewhere;
        for (seen, count) in &other.seen {
            *self.seen.entry(*seen).or_default() += count;
        }
        for (nearly, count) in &other.nearly {
            *self.nearly.entry(*nearly).or_default() += count;
        }
        for (seen, count) in &other.multi {
            *self.multi.entry(*seen).or_default() += count;
        }
    }

    pub(crate) fn note(&mut self, slot: &Slot, seen: Seen) {
        let kind = if slot.mad[17] == 0x3a {
            &mut self.multi
        } else {
            if matches!(seen, Seen::One(_) | Seen::Few(_) | Seen::Many) {
                self.note_destination(slot);
            }
            &mut self.seen
        };
        *kind.entry(seen).or_default() += 1;
    }

    /// Of a request and its reply, where requests may be taken together.
    pub(crate) fn note_nearly(&mut self, slot: &Slot, reply: &Slot, seen: Seen) {
        if seen == Seen::One(Lane::Fast) {
            for nearly in Nearly::of(slot, reply) {
                *self.nearly.entry(nearly).or_default() += 1;
            }
        }
    }

    /// Of a request for paths that got some.
    fn note_destination(&mut self, slot: &Slot) {
        const DGID: u8 = 1 << 2;
        let (mask, dgid) = (slot.mad[55], &slot.mad[64..72]);
        let elsewhere = ELSEWHERE.map(u64::to_be_bytes);
        if mask & DGID != 0 {
            self.to_groups += usize::from(dgid[0] == 0xff);
            self.to_elsewhere += usize::from(elsewhere[..2].iter().any(|prefix| prefix == dgid));
        }
    }

    pub(crate) fn count(&self, seen: Seen) -> usize {
        self.seen.get(&seen).copied().unwrap_or(0)
    }

    pub(crate) fn requests(&self) -> usize {
        self.seen.values().chain(self.multi.values()).sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            worlds,
            refused,
            with_policy,
            of_rfc,
            of_common,
            to_groups,
            to_elsewhere,
            ..
        } = self;
        let requests = self.requests();
        writeln!(
            f,
            "{worlds} fabrics ({with_policy} with a policy in force, {of_rfc} with more in it than \
             OpenSM can say, {of_common} with nothing uncommon, {refused} more were refused), {requests} requests; {to_groups} got \
             paths to groups, {to_elsewhere} to other subnets"
        )?;
        list(f, &self.seen)?;
        writeln!(f, "one record each though {:?}", self.nearly)?;
        writeln!(f, "and for MultiPathRecord")?;
        list(f, &self.multi)
    }
}

fn list(f: &mut fmt::Formatter<'_>, seen: &BTreeMap<Seen, usize>) -> fmt::Result {
    for (seen, count) in seen {
        match seen {
            Seen::Error(status, lane) => writeln!(f, "{count:>8} error 0x{status:04x}, {lane:?}"),
            other => writeln!(f, "{count:>8} {other:?}"),
        }?;
    }
    Ok(())
}
