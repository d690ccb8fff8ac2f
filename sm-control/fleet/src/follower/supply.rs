//! Bringing in the snapshot that is announced: from the own disk, by a patch, or whole.

use core::time::Duration;

use super::words::{Action, Alert, Outcome};
use crate::announcement::{Announcement, Blob, Delta};
use crate::chance::Chance;
use crate::identity::{Digest, Issue, Token};
use crate::time::Boot;

const FIRST_BACK_OFF: Duration = Duration::from_millis(200);
const LAST_BACK_OFF: Duration = Duration::from_secs(10);
/// After what cannot be put right by asking others.
const REST: Duration = Duration::from_secs(30);
/// Patches up to this are fetched at once by everybody. Units: bytes.
const SMALL_PATCH: u32 = 64 << 10;
/// Nobody waits longer, whatever the sender says.
const LONGEST_SPREAD: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Supply {
    /// Of snapshots, the one liked best first.
    formats: Vec<u32>,
    upstreams: usize,
    loaded: Option<(Digest, Token)>,
    target: Option<Target>,
    last_job: u64,
    misses_format: bool,
}

/// What is wanted and not loaded.
#[derive(Debug)]
struct Target {
    issue: Issue,
    blob: Blob,
    generation: Token,
    delta: Option<Delta>,
    spread: Duration,
    step: Step,
    upstream: usize,
    failures: u32,
    was_fetched: bool,
    /// Upstreams that gave other bytes than announced.
    bad: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Due(Boot, Task),
    Running(u64, Task),
    /// Given up for this issue, and tried once more then: what was wrong may have been put right.
    Resting(Boot, Task),
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Load,
    Patch(Delta),
    Whole,
}

impl Supply {
    /// Nothing is loaded and nothing wanted.
    pub(super) const fn new(formats: Vec<u32>, upstreams: usize) -> Self {
        Self {
            formats,
            upstreams,
            loaded: None,
            target: None,
            last_job: 0,
            misses_format: false,
        }
    }

    /// Of what workers answer from.
    pub(super) fn loaded(&self) -> Option<Token> {
        self.loaded.map(|(_, generation)| generation)
    }

    /// Makes what is announced the target, unless it is already.
    pub(super) fn aim(
        &mut self,
        announcement: &Announcement,
        spread: Duration,
        upstream: usize,
        actions: &mut Vec<Action>,
    ) {
        let Some(generation) = announcement.content.in_force() else {
            return self.drop_target(actions);
        };
        let blob = announcement.content.blob_of(&self.formats).copied();
        self.tell_format(blob.is_none(), actions);
        let Some(blob) = blob else {
            return self.drop_target(actions);
        };
        let (issue, wanted) = (
            announcement.position.issue,
            (blob.digest, generation.token()),
        );
        let is_same = |it: &Target| {
            let is_dead = matches!(it.step, Step::Resting(..)) && it.issue != issue;
            (it.blob.digest, it.generation) == wanted && !is_dead
        };
        if self.target.as_ref().is_some_and(is_same) {
            return;
        }
        self.drop_target(actions);
        if self.loaded == Some(wanted) {
            return;
        }
        let base = self.loaded.map(|(digest, _)| digest);
        let delta = base.and_then(|from| announcement.content.delta(from, blob.digest));
        self.target = Some(Target {
            issue,
            blob,
            generation: wanted.1,
            delta: delta.copied(),
            spread: spread.min(LONGEST_SPREAD),
            step: Step::Due(Boot::NEVER, Task::Load),
            upstream,
            failures: 0,
            was_fetched: false,
            bad: Vec::new(),
        });
    }

    /// Nothing is wanted any more.
    pub(super) fn drop_target(&mut self, actions: &mut Vec<Action>) {
        if let Some(Target {
            step: Step::Running(job, _),
            ..
        }) = self.target.take()
        {
            actions.push(Action::Cancel { job });
        }
    }

    /// A job to be begun now.
    pub(super) fn orders(&mut self, now: Boot, actions: &mut Vec<Action>) {
        let Some(target) = &mut self.target else {
            return;
        };
        let Step::Due(_, task) = target.step.due(now) else {
            return;
        };
        self.last_job += 1;
        let (job, upstream, blob) = (self.last_job, target.upstream, target.blob);
        target.step = Step::Running(job, task);
        actions.push(match task {
            Task::Load => Action::Load { job, blob },
            Task::Patch(delta) => Action::FetchPatch {
                job,
                upstream,
                delta,
                blob,
            },
            Task::Whole => Action::FetchWhole {
                job,
                upstream,
                blob,
            },
        });
    }

    /// A job has ended.
    pub(super) fn ended(
        &mut self,
        job: u64,
        outcome: Outcome,
        now: Boot,
        chance: &mut Chance,
        actions: &mut Vec<Action>,
    ) {
        let Some(target) = &mut self.target else {
            return;
        };
        let Step::Running(number, task) = target.step else {
            return;
        };
        if number != job {
            return;
        }
        target.step = match (task, outcome) {
            (Task::Load, Outcome::Done) => {
                let generation = target.generation;
                self.loaded = Some((target.blob.digest, generation));
                self.target = None;
                return actions.push(Action::Swap { job, generation });
            }
            (Task::Load, Outcome::Missing) if !target.was_fetched => target.fetch(now, chance),
            // The bytes are right: others would be no better.
            (Task::Load, Outcome::Bad) => {
                actions.push(Action::Alert(Alert::Unfit(target.blob.digest)));
                target.rest(Task::Load, now, chance)
            }
            (Task::Patch(_) | Task::Whole, Outcome::Done) => {
                target.was_fetched = true;
                Step::Due(now, Task::Load)
            }
            (Task::Patch(_), Outcome::Bad | Outcome::Missing) => Step::Due(now, Task::Whole),
            (Task::Whole, Outcome::Bad) => {
                let step = target.got_bad(now, self.upstreams, chance);
                if matches!(step, Step::Resting(..)) {
                    actions.push(Action::Alert(Alert::WrongBytes(target.blob.digest)));
                }
                step
            }
            (task, Outcome::Failed | Outcome::Missing) => {
                target.try_again(task, now, self.upstreams, chance)
            }
        };
    }

    /// When to look again.
    pub(super) fn timer(&self) -> Option<Boot> {
        match self.target.as_ref()?.step {
            Step::Due(at, _) | Step::Resting(at, _) => Some(at),
            Step::Running(..) | Step::Idle => None,
        }
    }

    /// Once, until there is one again.
    fn tell_format(&mut self, misses: bool, actions: &mut Vec<Action>) {
        if misses && !self.misses_format {
            actions.push(Action::Alert(Alert::NoFormat));
        }
        self.misses_format = misses;
    }
}

impl Target {
    /// What is not on the disk: by a patch if there is one, and small ones at once.
    fn fetch(&self, now: Boot, chance: &mut Chance) -> Step {
        let task = self.delta.map_or(Task::Whole, Task::Patch);
        let is_small = self.delta.is_some_and(|delta| delta.size <= SMALL_PATCH);
        let spread = if is_small {
            Duration::ZERO
        } else {
            self.spread
        };
        Step::Due(now.after(chance.within(spread)), task)
    }

    /// Two upstreams, or the only one twice, have other bytes: the leader has announced what is not
    /// there.
    fn got_bad(&mut self, now: Boot, upstreams: usize, chance: &mut Chance) -> Step {
        let is_new = !self.bad.contains(&self.upstream);
        if upstreams < 2 || is_new {
            self.bad.push(self.upstream);
        }
        if self.bad.len() >= 2 {
            return self.rest(Task::Whole, now, chance);
        }
        self.try_again(Task::Whole, now, upstreams, chance)
    }

    /// Others have the same, or bytes make no difference: after a while everything is tried anew.
    fn rest(&mut self, task: Task, now: Boot, chance: &mut Chance) -> Step {
        self.bad.clear();
        self.was_fetched = false;
        Step::Resting(now.after(REST / 2 + chance.within(REST / 2)), task)
    }

    /// With the next upstream, after a while that grows.
    fn try_again(&mut self, task: Task, now: Boot, upstreams: usize, chance: &mut Chance) -> Step {
        // What was fetched and is gone, or cannot be read, is fetched again.
        self.was_fetched = false;
        self.failures = self.failures.saturating_add(1);
        self.upstream = (self.upstream + 1) % upstreams.max(1);
        let wait = chance.back_off(self.failures, FIRST_BACK_OFF, LAST_BACK_OFF);
        Step::Due(now.after(wait), task)
    }
}

impl Step {
    /// This step if it is due, else one with nothing to do.
    fn due(self, now: Boot) -> Self {
        match self {
            Self::Due(at, task) | Self::Resting(at, task) if at <= now => Self::Due(at, task),
            _ => Self::Idle,
        }
    }
}
