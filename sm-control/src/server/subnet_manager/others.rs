//! The other Subnet Managers that a sweep has found, each with the way to it.
//!
//! Only those to which there is a way count: they were asked by it a moment ago, and can be polled
//! and told by it.

use core::cmp::Reverse;

use sa_sm::mastership::Other;
use sa_sm::model::{Route, Subnet};
use sa_sm::sm_info::{SmInfo, SmState};
use sa_wire::Guid;

use super::identity::Heir;

/// In the order of their places in the subnet.
#[derive(Debug, Default)]
pub(super) struct Others {
    infos: Vec<Other>,
    /// Of each: the way, and the number of its port (0 for a switch).
    ways: Vec<(Route, u8)>,
}

impl Others {
    /// All of them; none where they are to be ignored.
    pub(super) fn of(found: &Subnet, are_ignored: bool) -> Self {
        let managers = found.managers().filter(|_| !are_ignored);
        let all = managers.filter_map(|(at, info)| {
            let other = Other {
                info: *info,
                can_manage: true,
            };
            Some((other, (found.route(at)?.clone(), at.port)))
        });
        let (infos, ways) = all.unzip();
        Self { infos, ways }
    }

    /// What they say of themselves.
    pub(super) fn infos(&self) -> &[Other] {
        &self.infos
    }

    /// The one at that place, the way to it, and its port.
    pub(super) fn get(&self, place: usize) -> Option<(&SmInfo, &Route, u8)> {
        let (route, port) = self.ways.get(place)?;
        Some((&self.infos.get(place)?.info, route, *port))
    }

    /// The place of the one with that GUID.
    pub(super) fn place(&self, guid: Guid) -> Option<usize> {
        let mut infos = self.infos.iter();
        infos.position(|other| other.info.guid == Some(guid))
    }

    /// One that this SM comes before stands by.
    pub(super) fn has_lesser_standby(&self, own: &SmInfo) -> bool {
        let mut infos = self.infos.iter().map(|other| &other.info);
        infos.any(|info| {
            info.state == SmState::Standby && own.trusts(info) && own.is_greater_than(info)
        })
    }

    /// Whether one has that GUID.
    pub(super) fn has(&self, guid: Guid) -> bool {
        self.place(guid).is_some()
    }

    /// That one was asked to take over, and did not.
    pub(super) fn is_unfit(&mut self, guid: Option<Guid>) {
        for other in &mut self.infos {
            other.can_manage &= other.info.guid != guid;
        }
    }

    /// One that has handed over is no master any more, whatever it said before. `can_manage`:
    /// whether a GUID has the M_Key.
    pub(super) fn judge(&mut self, has_yielded: Option<Guid>, can_manage: impl Fn(Guid) -> bool) {
        for other in &mut self.infos {
            let info = &mut other.info;
            other.can_manage &= info.guid.is_some_and(&can_manage);
            if info.state == SmState::Master && has_yielded.is_some() && info.guid == has_yielded {
                info.state = SmState::Standby;
            }
        }
    }

    /// Those to whom the subnet can be handed over, the greatest first.
    pub(super) fn heirs(&self, own: &SmInfo) -> Vec<Heir> {
        let fit = |other: &Other| {
            let waits = matches!(other.info.state, SmState::Standby | SmState::Discovering);
            waits && other.can_manage && own.trusts(&other.info)
        };
        let all = self.infos.iter().zip(&self.ways);
        let mut fit: Vec<_> = all.filter(|(other, _)| fit(other)).collect();
        fit.sort_by_key(|(other, _)| {
            let Other { info, .. } = other;
            (Reverse(info.priority), info.guid)
        });
        let heirs = fit.into_iter().map(|(other, (route, _))| Heir {
            guid: other.info.guid,
            route: route.clone(),
        });
        heirs.collect()
    }
}
