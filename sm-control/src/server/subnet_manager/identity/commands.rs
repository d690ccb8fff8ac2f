//! What other SMs command, and what they prove by the way.

use std::time::{Duration, Instant};

use sa_sm::mastership::{Action, Command, Event, Verdict, command, senders};
use sa_sm::sm_info::{SmInfo, SmState};
use sa_wire::smp::{Smp, attribute};
use tracing::{info, warn};

use super::super::error::sm;
use super::{Identity, Inner};

/// How long a stranger's command stands as a finding.
const REMEMBERED: Duration = Duration::from_secs(600);

/// How often strangers' commands are a reason to look at the subnet.
const LOOKS: Duration = Duration::from_secs(10);

/// Requests of unknown senders, and words about strangers, that are kept. Each SM of the subnet
/// asks again and again.
pub(super) const MOST_KEPT: usize = 8;

impl Identity {
    /// An SMP from an SM: what it proves is noted.
    pub(in super::super) fn hears(&self, lid: u16, request: &Smp) {
        let inner = &mut *self.inner();
        let is_about_us = request.header.attribute_id.get() == attribute::SM_INFO;
        if inner.own.m_key != 0 && is_about_us && inner.own.has_key(request) {
            inner.note_proof(lid, request);
        }
    }

    /// A command. Gives what this SM is afterwards; none where it is refused.
    pub(in super::super) fn command(&self, lid: u16, request: &Smp) -> Option<SmInfo> {
        let sender = SmInfo::parse(&request.data)?;
        let modifier = request.header.attribute_modifier.get();
        let inner = &mut *self.inner();
        let from = inner.senders.of_request(lid, request);
        match command::judge(&inner.own.info, modifier, &sender, from) {
            Verdict::Follow(command) => {
                info!("{command} from {}", sm(&sender.guid));
                if command == Command::HandOver {
                    inner.has_yielded = sender.guid;
                    // It is not polled: this SM has only just found it.
                    let is_late = inner.own.info.state == SmState::Discovering;
                    inner.has_yielded_late = sender.guid.filter(|_| is_late);
                }
                if self.take(inner, Event::Commanded(command)) == Action::Discover {
                    self.call();
                }
            }
            Verdict::Later(_) => inner.unjudged = Some((sender, lid, *request)),
            Verdict::Refuse(why) => {
                // It may be an SM that is new here.
                if why.is_suspicious() && inner.refuse(modifier, &sender) {
                    self.call();
                }
                return None;
            }
        }
        Some(inner.own.info)
    }

    /// Findings: commands that came from where no SM is, in the last ten minutes.
    pub(in super::super) fn refused(&self) -> Vec<String> {
        let refused = &mut self.inner().refused;
        refused.retain(|(_, last)| last.elapsed() < REMEMBERED);
        refused.iter().map(|(words, _)| words.clone()).collect()
    }
}

impl Inner {
    /// A HANDOVER that came before anybody was known counts if its sender was found where it came
    /// from.
    pub(super) fn judge_late(&mut self) {
        let Some((sender, lid, request)) = self.unjudged.take() else {
            return;
        };
        let from = self.senders.of_request(lid, &request);
        let modifier = request.header.attribute_modifier.get();
        match command::judge(&self.own.info, modifier, &sender, from) {
            Verdict::Follow(command) => {
                info!("{command} from {}", sm(&sender.guid));
                (self.has_yielded, self.has_yielded_late) = (sender.guid, sender.guid);
            }
            Verdict::Later(_) | Verdict::Refuse(_) => {
                self.refuse(modifier, &sender);
            }
        }
    }

    /// A request with the M_Key.
    pub(super) fn note_proof(&mut self, lid: u16, request: &Smp) {
        match self.senders.of_request(lid, request) {
            senders::Sender::Known(guid) if !self.proven.contains(&guid) => self.proven.push(guid),
            senders::Sender::Known(_) => {}
            senders::Sender::Unknown => {
                self.unplaced.push_back((lid, *request));
                if self.unplaced.len() > MOST_KEPT {
                    self.unplaced.pop_front();
                }
            }
        }
    }

    /// Told once, as long as it is remembered. True where it is time to look at the subnet: whoever
    /// floods this SM with commands does not keep it looking.
    fn refuse(&mut self, modifier: u32, sender: &SmInfo) -> bool {
        let what =
            Command::of(modifier).map_or_else(|| "a command".to_owned(), |it| it.to_string());
        let words = format!(
            "{what} was refused: who sent it says that it is {}, and no SM of that GUID and sm_key was found where it came from; \
             look for a host that sends SMPs",
            sm(&sender.guid)
        );
        let last = self.refused.iter().map(|(_, last)| *last).max();
        let is_time = last.is_none_or(|last| last.elapsed() >= LOOKS);
        let now = Instant::now();
        if let Some(known) = self.refused.iter_mut().find(|(known, _)| *known == words) {
            known.1 = now;
            return is_time;
        }
        warn!("{words}");
        self.refused.push_back((words, now));
        if self.refused.len() > MOST_KEPT {
            self.refused.pop_front();
        }
        is_time
    }
}
