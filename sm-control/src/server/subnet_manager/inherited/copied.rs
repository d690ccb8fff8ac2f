//! One reading of the master's SA, and what it is worth when the master is gone.

use std::time::{Duration, Instant};

use sa_wire::{Guid, Lid};
use tracing::{debug, info, warn};

use super::super::error::sm;
use super::super::standby::Standby;

/// A reading of the master's SA.
#[derive(Debug, Clone)]
pub(super) struct Copied {
    pub(super) of: Option<Guid>,
    pub(super) lid: Lid,
    pub(super) begun: Instant,
    /// What the SA did not tell, in words.
    pub(super) lacks: Vec<&'static str>,
    /// Members, services, subscriptions, blocks of GUIDs.
    pub(super) counts: [usize; 4],
}

impl Copied {
    /// True where it has what a sudden end of the master has left. Errors: why not, for a person.
    pub(super) fn is_all(&self, left: &Standby, interval: Duration) -> Result<(), String> {
        if self.of != left.guid {
            return Err("another SM was read".to_owned());
        }
        let later = left.answered.saturating_duration_since(self.begun);
        // One reading since may have failed: the master died meanwhile.
        if later >= interval * 2 {
            let seconds = later.as_secs_f32();
            return Err(format!("it went on for {seconds:.1} s after that"));
        }
        self.lacks_nothing()
    }

    pub(super) fn lacks_nothing(&self) -> Result<(), String> {
        match self.lacks.as_slice() {
            [] => Ok(()),
            lacks => Err(format!("its SA does not tell {}", lacks.join(", "))),
        }
    }

    /// Once in words, and each time for who looks closely.
    pub(super) fn tell(&self, is_new: bool) {
        let [members, services, subscriptions, guid_blocks] = self.counts;
        debug!(
            members,
            services, subscriptions, guid_blocks, "clients of the master"
        );
        if !is_new {
            return;
        }
        match self.lacks_nothing() {
            Ok(()) => info!(
                "what clients have set at {} is read with each poll, to go on with it",
                sm(&self.of)
            ),
            Err(why) => warn!(
                "what clients have set at {} is read with each poll, but {why}: all of them are to register again when this SM takes over",
                sm(&self.of)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use sa_fabric::options::ManagerOptions;
    use sa_sm::model::Route;
    use sa_sm::sm_info::{SmInfo, SmState};

    use super::*;

    const INTERVAL: Duration = Duration::from_secs(10);

    fn standby(guid: u64) -> Standby {
        let info = SmInfo {
            guid: Guid::new(guid).ok(),
            sm_key: 1,
            act_count: 0,
            priority: 1,
            state: SmState::Master,
        };
        let other = (&info, &Route::default(), 1);
        Standby::before(other, SmState::Standby, &ManagerOptions::default())
    }

    fn copied(of: u64, begun: Instant) -> Copied {
        Copied {
            of: Guid::new(of).ok(),
            lid: Lid::new(1).unwrap(),
            begun,
            lacks: Vec::new(),
            counts: [0; 4],
        }
    }

    #[test]
    fn a_copy_outlives_one_reading_that_fails_and_no_more() {
        let begun = Instant::now();
        let mut left = standby(5);
        let mut judged = |answered: Duration| {
            left.answered = begun + answered;
            copied(5, begun).is_all(&left, INTERVAL)
        };
        assert_eq!(judged(Duration::ZERO), Ok(()));
        // The poll after that may come late, and no other may be answered.
        assert_eq!(judged(INTERVAL + Duration::from_millis(100)), Ok(()));
        let late = judged(INTERVAL * 2).unwrap_err();
        assert_eq!(late, "it went on for 20.0 s after that");
    }

    #[test]
    fn a_copy_of_another_or_of_a_part_is_not_all() {
        let left = standby(5);
        let other = copied(6, left.answered).is_all(&left, INTERVAL);
        assert_eq!(other, Err("another SM was read".to_owned()));
        let part = Copied {
            lacks: vec!["services", "alias GUIDs"],
            ..copied(5, left.answered)
        };
        let part = part.is_all(&left, INTERVAL);
        assert_eq!(
            part,
            Err("its SA does not tell services, alias GUIDs".to_owned())
        );
    }
}
