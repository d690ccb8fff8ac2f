//! What becomes of each request of a worker's turn.
//!
//! A [`Turn`] has one snapshot for all requests of a batch, or none: then nobody is answered. It
//! answers them together where everybody may ask for everything, else one by one, and where more is
//! asked than can be answered it gives some up, as [`crate::overload`] says.
//!
//! Nothing here looks at the port: who calls gets a verdict for each slot.

use sa_answer::access::Access;
use sa_answer::rmpp::is_part;
use sa_answer::{DropReason, Outcome, answer, answer_all, finish_error};
use sa_port::Verdict;
use sa_wire::mad::{MGMT_CLASS_SA, Status};
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

use crate::overload::{Overload, Pressure};
use crate::publish::Published;
use crate::punt::PuntSender;
use crate::stats::WorkerStats;

/// What all requests of one turn share: snapshot, access rules, the way to the slow lane, counters.
pub(crate) struct Turn<'a> {
    /// What is answered from; none before the first, and while nobody is to be answered.
    pub(crate) published: Option<&'a Published>,
    /// Nobody is to be answered, by "busy" neither: another SA may.
    pub(crate) is_silent: bool,
    pub(crate) access: Access,
    pub(crate) punt: &'a PuntSender,
    pub(crate) stats: &'a WorkerStats,
}

impl Turn<'_> {
    /// Where everybody may ask for everything, requests are looked at together.
    #[inline(always)]
    pub(crate) fn answer_all(&mut self, slots: &mut [Slot], verdicts: &mut [Verdict]) {
        let mut verdicts = verdicts.iter_mut();
        match self.published {
            // Strict access judges each request before its answer, so it goes one by one; only the
            // open rule of OpenSM lets a batch through as a whole.
            Some(published) if self.access == Access::OpenSm => {
                answer_all(&published.snapshot, slots, |slot, outcome| {
                    if let Some(verdict) = verdicts.next() {
                        *verdict = settle(outcome, slot, self.punt, self.stats);
                    }
                });
            }
            _ => {
                for (slot, verdict) in slots.iter_mut().zip(verdicts) {
                    *verdict = self.answer(slot);
                }
            }
        }
    }

    /// One request by itself, where not everybody may ask for everything, or nothing is published.
    #[inline(always)]
    fn answer(&mut self, slot: &mut Slot) -> Verdict {
        let outcome = match self.published {
            None => Outcome::Dropped(DropReason::NotReady),
            Some(published) if self.access.admits(&published.snapshot, slot) => {
                answer(&published.snapshot, slot)
            }
            Some(_) => Outcome::Dropped(DropReason::Access),
        };
        settle(outcome, slot, self.punt, self.stats)
    }

    /// The same, unless the request is given up.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer_under(
        &mut self,
        overload: &mut Overload,
        pressure: Pressure,
        slot: &mut Slot,
    ) -> Verdict {
        let Some(reason) = overload.gives_up(pressure, slot) else {
            return self.answer(slot);
        };
        self.stats.count(Outcome::Dropped(reason));
        if self.is_silent {
            return Verdict::Silence;
        }
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        // Only a request gets "busy". A response, an acknowledgement or a part of a transfer has no
        // reply that its sender would understand, and answering a reply could go on for ever.
        let is_request = mad.mad.mgmt_class == MGMT_CLASS_SA && !mad.mad.is_response();
        if overload.says_busy() && is_request && !is_part(mad) {
            return Verdict::Reply(finish_error(mad, Status::BUSY));
        }
        Verdict::Silence
    }
}

/// Counts the outcome and says what the port shall do.
#[inline(always)]
fn settle(outcome: Outcome, slot: &Slot, punt: &PuntSender, stats: &WorkerStats) -> Verdict {
    match outcome {
        Outcome::Answered(length) | Outcome::Refused(length, _) => {
            stats.count(outcome);
            Verdict::Reply(length)
        }
        Outcome::Dropped(_) => {
            stats.count(outcome);
            Verdict::Silence
        }
        // A guard with an effect: the request is copied here, and this arm counts only if there was
        // room.
        Outcome::Punt(_) if punt.push(slot) => {
            stats.count(outcome);
            Verdict::Punted
        }
        Outcome::Punt(_) => {
            stats.count(Outcome::Dropped(DropReason::QueueFull));
            Verdict::Silence
        }
    }
}
