//! What is to be said, and when it may be.

use std::sync::Arc;

use super::reign::{Current, Publication, Reign, Step};
use super::{Leader, Role, Wish};
use crate::announcement::{Announcement, Content};
use crate::identity::Position;
use crate::offer::Offer;
use crate::rules::{Flaw, Rules};
use crate::time::Now;

impl<R: Rules> Leader<R> {
    /// Whether what is published is true as far as this host knows, and nothing else may be
    /// published meanwhile.
    pub(super) fn is_true(&self, reign: &Reign, current: &Current) -> bool {
        let in_force = current.content.in_force();
        let is_wished = match &self.wish {
            Wish::Nothing => true,
            Wish::Say(content) => in_force.is_none() || in_force == content.in_force(),
            Wish::Withdraw => in_force.is_none(),
        };
        let is_next = |it: &Publication| in_force.is_none() || in_force == it.content.in_force();
        let is_alone = reign.publication.as_ref().is_none_or(is_next);
        is_wished && is_alone || self.rules.has(Flaw::SpeaksWhilePublishing)
    }

    /// Makes a publication of the wish, where it is not what is said already.
    pub(super) fn begin_publication(&mut self, now: Now) {
        let Some(content) = self.unsaid() else { return };
        let Some(reign) = self.leading() else { return };
        if reign.publication.is_some() || !reign.holds(now.boot, &self.rules) {
            return;
        }
        let position = reign.next(self.settings.judge.trust.era);
        let offer = self.signed(position, content.clone(), now);
        self.known = Some(*content.generation());
        if let Role::Leading(reign) = &mut self.role {
            let (made, step) = (now.boot, Step::Due);
            reign.publication = Some(Publication {
                content,
                offer,
                made,
                step,
            });
        }
    }

    /// What is to be said and is not.
    pub(super) fn unsaid(&self) -> Option<Content> {
        let reign = self.leading()?;
        let said = reign.current.as_ref().map(|it| &it.content);
        match &self.wish {
            Wish::Nothing => None,
            Wish::Say(content) => (said != Some(content)).then(|| content.clone()),
            Wish::Withdraw if said.is_some_and(Content::is_withdrawn) => None,
            Wish::Withdraw => self.known.map(Content::withdrawal),
        }
    }

    /// Says again what is said, when it is time and this term may.
    pub(super) fn beat(&mut self, now: Now) {
        let Some(reign) = self.leading() else { return };
        let Some(current) = &reign.current else {
            return;
        };
        let may = self.is_true(reign, current) && reign.holds(now.boot, &self.rules);
        let is_due = now.boot >= current.next_beat;
        if !may || !is_due {
            if let Role::Leading(reign) = &mut self.role {
                let current = reign.current.iter_mut();
                current.for_each(|current| current.is_held_back = is_due);
            }
            return;
        }
        let mut position = current.offer.position;
        position.beat += 1;
        let offer = self.signed(position, current.content.clone(), now);
        let next_beat = now.boot.after(self.settings.beat);
        if let Role::Leading(reign) = &mut self.role {
            reign.current.iter_mut().for_each(|current| {
                current.offer = offer.clone();
                current.next_beat = next_beat;
                current.is_held_back = false;
            });
        }
    }

    /// Made now: its time begins with the look at the clock before this call.
    pub(super) fn signed(&self, position: Position, content: Content, now: Now) -> Offer {
        let settings = &self.settings;
        let announcement = Announcement {
            fleet: settings.judge.trust.fleet,
            subnet: settings.judge.subnet,
            position,
            root_version: settings.judge.trust.root_version,
            key: settings.key.id,
            issued: now.wall,
            ttl: settings.ttl,
            content,
        };
        let announcement = Arc::from(announcement.sign(&settings.key, &self.rules));
        Offer {
            announcement,
            position,
            until: now.boot.after(settings.ttl),
        }
    }
}
