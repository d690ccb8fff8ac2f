//! How much a sweep reads, and when the next one is.

use std::time::{Duration, Instant};

use sa_fabric::options::ManagerOptions;
use sa_sm::discovery::Scope;
use sa_sm::model::Node;
use sa_sm::sm_info::SmState;
use sa_sm::sweep::Swept;
use sa_source::When;

use super::Manager;

impl Manager {
    /// When the next sweep is to begin, where this one has left something undone that soon may be
    /// done.
    pub(in crate::server) const fn again_in(&self) -> Option<Duration> {
        match self.owes_light {
            true => Some(Duration::ZERO),
            false => self.again_in,
        }
    }

    /// Only while each such sweep writes something: what is mute from then on gets no Sets, and
    /// waits for the light sweeps. Where Sets stayed without an answer: their devices are asked
    /// again soon, and later each time.
    pub(super) fn pause_after(&self, failed: u64) -> Option<Duration> {
        // Refused ones have a pace of their own: `Memory`.
        let is_silent = self.swept.subnet.nodes().iter().any(|node| node.is_mute);
        (failed > 0 && is_silent).then(|| (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE))
    }

    /// A sweep has found all, right before this one.
    pub(super) fn has_just_found(&self) -> bool {
        let just_found = self.just_found;
        just_found.is_some_and(|at| at.elapsed() < RIGHT_AFTER)
    }

    /// What was found so that another SM has the subnet counts no more, unless that was a moment
    /// ago.
    pub(super) fn forget_what_was_found(&mut self) {
        if self.just_found.is_some() && !self.has_just_found() {
            (self.just_found, self.swept) = (None, Swept::default());
        }
    }

    /// How much is to be read. What devices told is taken, whether it is followed or all is read
    /// anyway.
    ///
    /// | | |
    /// |---|---|
    /// | an order, changed files, `force_heavy_sweep` | anew |
    /// | this SM is not the master yet, or was not a moment ago | whole: what it knows is of another time |
    /// | the master has handed over while this SM found the whole, or right after | anew |
    /// | there is no switch | whole: nobody but a switch tells of links, and it is two nodes at most |
    /// | devices told something, all switches were asked less than `sweep_interval` ago | told |
    /// | devices told something, and a light sweep is due | told, and right after that light: what was told does not wait for all switches |
    /// | else | light, with what devices told |
    ///
    /// After a sweep that was given up while it looked the whole is found, whatever is said here.
    pub(super) fn scope(&mut self, options: &ManagerOptions, when: When) -> Scope {
        let told = self.traps.take();
        self.forget_what_was_found();
        let has_just_found = self.just_found.take().is_some();
        let is_master = self.identity.state() == SmState::Master;
        // None was found where this SM has not managed it yet, or another has since.
        let is_known = is_master && self.found.is_some();
        let has_switches = self.swept.subnet.nodes().iter().any(Node::is_switch);
        let is_whole =
            when == When::Always || options.sweeps.force_heavy || !is_known || !has_switches;
        // Traps all day must not keep out what nobody tells.
        let is_late = !is_whole && !told.is_empty() && self.is_late(options);
        // Whoever was put off once comes now.
        let is_light = told.is_empty() || core::mem::replace(&mut self.owes_light, is_late);
        if is_whole || is_light {
            (self.looked, self.owes_light) = (Some(Instant::now()), false);
        }
        // A trap of a device that is not known yet is part of the light sweep that finds it.
        match (is_whole, is_light) {
            (true, _) if (is_known || has_just_found) && has_switches => Scope::Anew,
            (true, _) => Scope::Whole,
            (false, true) => Scope::Light(told),
            (false, false) => Scope::Told(told),
        }
    }

    /// A light sweep is due. Never with `sweep_interval = 0`.
    fn is_late(&self, options: &ManagerOptions) -> bool {
        let interval = Duration::from_secs(options.sweeps.interval.into());
        let is_due = |at: Instant| !interval.is_zero() && at.elapsed() >= interval;
        self.looked.is_none_or(is_due)
    }
}

/// A master that hands over to who has just come up: it looks once, and tells it before it writes
/// anything.
const RIGHT_AFTER: Duration = Duration::from_secs(1);
/// After a sweep of which Sets were not answered. A device that reboots needs seconds, one that
/// lost a few SMPs nothing.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// It doubles up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
