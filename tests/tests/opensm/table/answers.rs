//! What OpenSM answered, and ours beside it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use sa_answer::{asks_for_unknown_sl, whole};
use sa_snapshot::Snapshot;
use sa_wire::path_record::{PathCompMask, PathRecord, QosClassSl};
use sa_wire::request;
use sa_wire::sa::{DATA_OFFSET, SaMad};
use sa_wire::umad::Slot;
use sa_wire::{Lid, Sl};

use super::questions::Questions;
use crate::beside::Socket;

/// OpenSM's answers on one fabric.
pub(super) struct Recorded {
    paths: Vec<(Slot, Answer)>,
    multi: Vec<(Slot, Answer)>,
    /// By source and destination LID, all SLs that were seen. DFSSSP gives several in turn where it has VLs to
    /// spare.
    sls: BTreeMap<(u16, u16), BTreeSet<u8>>,
}

/// A reply, without what the transport fills in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    method: u8,
    status: u16,
    records: Vec<PathRecord>,
}

impl Answer {
    fn of(reply: &[u8]) -> Result<Self> {
        let (status, records) = request::parse(reply)?;
        Ok(Self {
            method: *reply.get(3).context("a method")?,
            status,
            records,
        })
    }

    /// The same but for SLs, which are taken out.
    fn without_sls(mut self) -> Self {
        for record in &mut self.records {
            let class = record.qos_class_sl.qos_class();
            record.qos_class_sl = QosClassSl::new(class, Sl::from_low_bits(0));
        }
        self
    }
}

/// How much was compared, in records.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) paths: usize,
    pub(super) multi: usize,
    /// Requests that are OpenSM's to answer, as the SL of a path is not known here.
    pub(super) handed: usize,
}

impl Recorded {
    /// Asks OpenSM everything.
    pub(super) fn ask(socket: &mut Socket, mut questions: Questions) -> Result<Self> {
        let requester = socket.requester();
        let mut ask = |slots: Vec<Slot>| -> Result<Vec<(Slot, Answer)>> {
            let as_sm = |mut slot: Slot| {
                slot.header.lid = requester.into();
                slot
            };
            let slots: Vec<Slot> = slots.into_iter().map(as_sm).collect();
            let replies = socket.ask_all(&slots)?;
            let answers = replies.iter().map(|reply| Answer::of(reply));
            let answers = answers.collect::<Result<Vec<_>>>()?;
            Ok(slots.into_iter().zip(answers).collect())
        };
        let mut paths = ask(questions.pairs())?;
        let again = ask(questions.pairs())?;
        let is_in_turn = paths
            .iter()
            .zip(&again)
            .any(|(one, other)| one.1 != other.1);
        paths.extend(again);
        if is_in_turn {
            questions = questions.without_sls();
        }
        paths.extend(ask(questions.varied())?);
        let multi = ask(questions.multi())?;
        let mut sls: BTreeMap<_, BTreeSet<u8>> = BTreeMap::new();
        // Where a request names an SL a path has that one, if it may.
        let names_none = |slot: &Slot| {
            let mask = SaMad::from_bytes(&slot.mad).sa.component_mask.get();
            mask & PathCompMask::SL.0 == 0
        };
        let unnamed = paths.iter().filter(|(slot, _)| names_none(slot));
        for record in unnamed.flat_map(|(_, answer)| &answer.records) {
            let pair = (record.slid.get(), record.dlid.get());
            let sl = record.qos_class_sl.sl().get();
            sls.entry(pair).or_default().insert(sl);
        }
        Ok(Self { paths, multi, sls })
    }

    /// True where some path has one SL and then another.
    pub(super) fn gives_in_turn(&self) -> bool {
        self.sls.values().any(|sls| sls.len() > 1)
    }

    /// Compares all. `plain` knows nothing of SLs of pairs, as OpenSM's MultiPathRecords do not (deviation 19).
    pub(super) fn compare(&self, ours: &Snapshot, plain: &Snapshot) -> Result<Counts> {
        let mut counts = Counts::default();
        for (slot, theirs) in &self.paths {
            if asks_for_unknown_sl(ours, slot) {
                counts.handed += 1;
                continue;
            }
            self.is_same(theirs, &answer(ours, slot)?)
                .with_context(|| shown(slot))?;
            counts.paths += theirs.records.len();
        }
        for (slot, theirs) in &self.multi {
            if asks_for_unknown_sl(ours, slot) {
                counts.handed += 1;
                continue;
            }
            self.is_same_multi(theirs, &answer(ours, slot)?, &answer(plain, slot)?)
                .with_context(|| shown(slot))?;
            counts.multi += theirs.records.len();
        }
        Ok(counts)
    }

    /// Byte for byte, but for SLs of paths that have several in turn: there ours is one of them.
    fn is_same(&self, theirs: &Answer, ours: &Answer) -> Result<()> {
        ensure!(
            theirs == ours || self.is_same_by_pair(theirs, ours),
            "OpenSM {theirs:?}\nours {ours:?}"
        );
        Ok(())
    }

    /// OpenSM leaves the engine's SLs out of MultiPathRecords: without these ours are OpenSM's, and with them
    /// each record has the SL that OpenSM gives in a PathRecord.
    fn is_same_multi(&self, theirs: &Answer, ours: &Answer, plain: &Answer) -> Result<()> {
        ensure!(theirs == plain, "OpenSM {theirs:?}\nplain {plain:?}");
        self.is_same(theirs, ours)
    }

    /// Equal but for SLs, and each of ours is one that OpenSM gave this pair.
    fn is_same_by_pair(&self, theirs: &Answer, ours: &Answer) -> bool {
        let is_given = |record: &PathRecord| {
            let sls = self.sls.get(&(record.slid.get(), record.dlid.get()));
            sls.is_some_and(|sls| sls.contains(&record.qos_class_sl.sl().get()))
        };
        let are_alike = theirs.clone().without_sls() == ours.clone().without_sls();
        are_alike && ours.records.iter().all(is_given)
    }

    /// As a file `psl`: by source and destination LID, the least of the SLs that were seen.
    pub(super) fn sls(&self) -> impl Iterator<Item = (Lid, Lid, Sl)> + '_ {
        self.sls.iter().filter_map(|((from, to), sls)| {
            let ends = Lid::new(*from).ok().zip(Lid::new(*to).ok())?;
            Some((ends.0, ends.1, Sl::from_low_bits(*sls.first()?)))
        })
    }
}

fn answer(snapshot: &Snapshot, slot: &Slot) -> Result<Answer> {
    Answer::of(&whole::respond(snapshot, slot).context("silence")?)
}

/// The request, for whoever reads a failure.
fn shown(slot: &Slot) -> String {
    let bytes = &slot.mad[..DATA_OFFSET + PathRecord::SIZE];
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("request {hex}")
}
