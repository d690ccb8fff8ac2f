//! What the engine says, and what follows from it.

use super::reign::{Reign, Step};
use super::words::{Call, LeaderAction, LeaderAlert, Returned, Why};
use super::{FIRST_BACK_OFF, LAST_BACK_OFF, Leader, Role, Wish};
use crate::rules::{Flaw, Rules};
use crate::time::{Boot, Now};

impl<R: Rules> Leader<R> {
    /// The end of a call. One that nobody waits for any more says nothing.
    pub(super) fn returned(
        &mut self,
        call: u64,
        returned: Returned<'_>,
        now: Now,
        actions: &mut Vec<LeaderAction>,
    ) {
        match &mut self.role {
            Role::Candidate(_, sent) => {
                if let Some((_, begun)) = sent.take_if(|(number, _)| *number == call) {
                    self.campaigned(&returned, begun, now, actions);
                }
            }
            Role::Leading(reign) => {
                if let Some(sent) = reign.renewal(call) {
                    match returned {
                        Returned::Alive => reign.renewed(sent, now.boot, &self.rules),
                        Returned::Lost => self.step_down(Why::LeaseLost, now, actions),
                        _ => reign.not_renewed(now.boot),
                    }
                    return;
                }
                match reign.publication.as_ref().map(|it| it.step) {
                    Some(Step::Sent(number)) if number == call => self.answered(&returned, now),
                    Some(Step::Reading(number)) if number == call => {
                        self.read(&returned, now, actions);
                    }
                    _ => {}
                }
            }
            Role::Idle => {}
        }
    }

    /// A term counts if it is above all that were seen, and somebody wants it still.
    pub(super) fn campaigned(
        &mut self,
        returned: &Returned<'_>,
        begun: Boot,
        now: Now,
        actions: &mut Vec<LeaderAction>,
    ) {
        let Returned::Led {
            term,
            lease,
            published,
        } = returned
        else {
            return self.stand_again(now);
        };
        self.note(published.announcement, now);
        let is_above = *term > self.seen.issue.term;
        if !is_above || !self.is_wanted {
            if !is_above {
                let (term, seen) = (*term, self.seen);
                actions.push(LeaderAction::Alert(LeaderAlert::TermWentBack {
                    term,
                    seen,
                }));
            }
            self.call(Call::Resign { term: *term }, actions);
            return self.stand_again(now);
        }
        self.failures = 0;
        self.role = Role::Leading(Box::new(Reign::new(*term, *lease, published, begun)));
    }

    /// A candidate again, after a while; or idle, where nobody wants it to lead.
    pub(super) fn stand_again(&mut self, now: Now) {
        self.failures = self.failures.saturating_add(1);
        let wait = self
            .chance
            .back_off(self.failures, FIRST_BACK_OFF, LAST_BACK_OFF);
        self.role = if self.is_wanted {
            Role::Candidate(now.boot.after(wait), None)
        } else {
            Role::Idle
        };
    }

    /// The engine's answer to a publication.
    pub(super) fn answered(&mut self, returned: &Returned<'_>, now: Now) {
        let beat = self.settings.beat;
        let Role::Leading(reign) = &mut self.role else {
            return;
        };
        let is_taken_for_done = match returned {
            Returned::Published(revision) => return reign.published(*revision, beat),
            Returned::Fenced => self.rules.has(Flaw::IgnoresFence),
            _ if self.rules.has(Flaw::UnknownIsNo) => {
                reign.publication = None;
                let before = reign.current.as_ref().map(|it| it.content.clone());
                self.wish = before.map_or(Wish::Nothing, Wish::Say);
                return;
            }
            _ => self.rules.has(Flaw::UnknownIsYes),
        };
        if is_taken_for_done {
            return reign.published(reign.revision, beat);
        }
        // Fenced, too: an earlier attempt of the same may have been done.
        reign.doubt(now.boot);
    }

    /// What the engine holds, after a publication of which nobody knew.
    pub(super) fn read(
        &mut self,
        returned: &Returned<'_>,
        now: Now,
        actions: &mut Vec<LeaderAction>,
    ) {
        let beat = self.settings.beat;
        let Role::Leading(reign) = &mut self.role else {
            return;
        };
        let Returned::Read { leader, published } = returned else {
            return reign.doubt_again(now.boot);
        };
        if *leader != Some(reign.term) {
            return self.step_down(Why::LeaseLost, now, actions);
        }
        let Some(publication) = &mut reign.publication else {
            return;
        };
        if *publication.offer.announcement == *published.announcement {
            return reign.published(published.revision, beat);
        }
        reign.revision = published.revision;
        publication.step = Step::Due;
    }
}
