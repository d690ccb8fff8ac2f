//! Which of several Subnet Managers is the master: states, what happens to them, and what they do then.
//!
//! ```text
//!               Found: nobody before it, HANDOVER
//!  Discovering ───────────────────────────────────> Master ──┐ Found: a greater one, which takes over
//!     │  ^  ^                                          ^     │
//!     │  │  └── DISCOVER, Silent, the master's end ──┐ │ HANDOVER
//!     │  └──────────── the port is down ──────────┐  │ │     │
//!     │                                           │  │ │     v
//!     └── Found: a master, or a greater one ─────>  Standby <┘
//!                                          STANDBY ^     │ DISABLE
//!                                                  │     v
//!                                                 NotActive
//! ```
//!
//! Greater is the higher priority, and of equals the lower GUID. Who has another `sm_key` does not count, and neither does one that is not active.
//!
//! | state | event | then |
//! |---|---|---|
//! | Discovering | the subnet is found, with a master in it, whatever its priority | Standby, and polls it |
//! | Discovering | with a greater one and no master | the same |
//! | Discovering | with neither | Master |
//! | Standby | polled: a master that is greater | waits |
//! | Standby | polled: a master that is smaller | waits, and reminds it of the priority by trap 144 |
//! | Standby | polled: no master, and greater | waits for it to become the master |
//! | Standby | polled: no master, and not greater | Discovering |
//! | Standby | too many polls without an answer | Discovering |
//! | Master | the subnet is found, with greater ones that can manage it | hands over to the greatest; Standby once that has taken it |
//! | Master | with a master that is smaller, or cannot manage | waits until that one has handed over or is gone: nothing is written |
//! | Master | with neither | manages |
//! | Master | it is about to end, and another has taken over | NotActive, so that it is not handed the subnet back |
//! | any | the own port is down | Discovering |
//!
//! Commands of others are in [`command`]; whether they come from who they say, in [`senders`]. Nothing here asks or sends.
//!
//! Source: IBA vol. 1, 14.4.1; where OpenSM is slower or trusts more, `docs/sm.md` says so.

pub mod command;
pub mod senders;

use crate::sm_info::{SmInfo, SmState};

pub use self::command::{Command, Refusal, Verdict};
pub use self::senders::{Sender, Senders};

/// Another Subnet Manager, as a sweep has found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Other {
    /// What it says of itself.
    pub info: SmInfo,
    /// It has the M_Key, or none is needed: to one without it the subnet cannot be handed over.
    pub can_manage: bool,
}

/// What happens to an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The subnet is found, with these other SMs in it.
    Found(&'a [Other]),
    /// The SM that is polled says this of itself.
    Polled(&'a SmInfo),
    /// It has left too many polls unanswered.
    Silent,
    /// A command that was judged ([`command::judge`]).
    Commanded(Command),
    /// The subnet is handed over to another.
    TakenOver,
    /// The same, and this SM is about to end: a greater one that stands by would be handed it back.
    Left,
    /// The subnet is found, and the own port is down: there are no others.
    Cut,
}

/// What is to be done then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing but what is done anyway.
    Nothing,
    /// Plan, and write what differs.
    Manage,
    /// Write nothing; poll this one of those that were found.
    StandBy(usize),
    /// Write nothing; tell this one to take over.
    HandOver(usize),
    /// Write nothing; poll this one until it has handed over, or is gone.
    Wait(usize),
    /// Find the subnet, at once.
    Discover,
    /// Tell the master that there is a greater one, by trap 144.
    Remind,
}

/// The state after an event, and what is to be done. `own` is this SM with the state that it has now.
pub fn step(own: &SmInfo, event: Event<'_>) -> (SmState, Action) {
    match event {
        Event::Found(others) => found(own, others),
        Event::Polled(other) => polled(own, other),
        Event::Silent => silent(own.state),
        Event::Commanded(command) => commanded(own.state, command),
        Event::TakenOver if own.state == SmState::Master => (SmState::Standby, Action::Nothing),
        Event::Left if own.state == SmState::Master => (SmState::NotActive, Action::Nothing),
        Event::Cut if own.state != SmState::NotActive => (SmState::Discovering, Action::Manage),
        Event::TakenOver | Event::Left | Event::Cut => (own.state, Action::Nothing),
    }
}

/// After a discovery. `others`: all SMs that it has found, those that do not count among them.
/// A master keeps the subnet until a greater one can be handed it.
fn found(own: &SmInfo, others: &[Other]) -> (SmState, Action) {
    let state = own.state;
    let counting = || {
        let all = others.iter().enumerate();
        all.filter(|(_, other)| own.trusts(&other.info) && other.info.state != SmState::NotActive)
    };
    let first_master = || {
        let masters = counting().filter(|(_, other)| other.info.state == SmState::Master);
        masters.max_by_key(|(_, other)| other.info.rank())
    };
    let greatest = |all_may: bool| {
        let greater = counting().filter(move |(_, other)| {
            other.info.is_greater_than(own) && (all_may || other.can_manage)
        });
        greater.max_by_key(|(_, other)| other.info.rank())
    };
    match state {
        SmState::NotActive => (state, Action::Nothing),
        SmState::Discovering | SmState::Standby => {
            match first_master().or_else(|| greatest(true)) {
                Some((place, _)) => (SmState::Standby, Action::StandBy(place)),
                None => (SmState::Master, Action::Manage),
            }
        }
        SmState::Master => {
            let action = match (greatest(false), first_master()) {
                (Some((place, _)), _) => Action::HandOver(place),
                (None, Some((place, _))) => Action::Wait(place),
                (None, None) => Action::Manage,
            };
            (state, action)
        }
    }
}

/// The SM that is waited for has answered.
fn polled(own: &SmInfo, other: &SmInfo) -> (SmState, Action) {
    let is_master = own.trusts(other) && other.state == SmState::Master;
    let is_greater =
        own.trusts(other) && other.state != SmState::NotActive && other.is_greater_than(own);
    match (own.state, is_master, is_greater) {
        // It is to hand over, as smaller than this one.
        (SmState::Standby | SmState::Master, true, false) => (own.state, Action::Remind),
        (SmState::Standby, _, true) => (own.state, Action::Nothing),
        (SmState::Standby, false, false) => (SmState::Discovering, Action::Discover),
        // It has handed over, or has become the greater one.
        (SmState::Master, _, _) => (own.state, Action::Discover),
        (SmState::NotActive | SmState::Discovering, _, _) => (own.state, Action::Nothing),
    }
}

/// It has not answered so often that it counts as gone: who is there now is found out anew.
const fn silent(state: SmState) -> (SmState, Action) {
    match state {
        SmState::Standby => (SmState::Discovering, Action::Discover),
        SmState::Master => (state, Action::Discover),
        SmState::NotActive | SmState::Discovering => (state, Action::Nothing),
    }
}

/// Commands that are not for a state change nothing; who judges refuses them.
const fn commanded(state: SmState, command: Command) -> (SmState, Action) {
    if !command.is_for(state) {
        return (state, Action::Nothing);
    }
    match command {
        Command::HandOver => (SmState::Master, Action::Discover),
        Command::Acknowledge => (state, Action::Nothing),
        Command::Disable => (SmState::NotActive, Action::Nothing),
        Command::Standby => (SmState::Standby, Action::Discover),
        Command::Discover => (SmState::Discovering, Action::Discover),
    }
}

#[cfg(test)]
mod tests {
    use SmState::{Discovering, Master, NotActive, Standby};
    use sa_wire::Guid;

    use super::*;

    fn sm(priority: u8, guid: u64, state: SmState) -> SmInfo {
        SmInfo {
            guid: Guid::new(guid).ok(),
            sm_key: 1,
            act_count: 0,
            priority,
            state,
        }
    }

    fn other(priority: u8, state: SmState) -> Other {
        Other {
            info: sm(priority, 6, state),
            can_manage: true,
        }
    }

    const STATES: [SmState; 4] = [NotActive, Discovering, Standby, Master];

    /// Each state with one other SM, greater (9) or smaller (0), in each state.
    #[test]
    fn what_one_other_sm_comes_to() {
        use Action::{HandOver, Manage, Nothing, StandBy, Wait};
        let rows = [
            // own, other's priority: its state NotActive, Discovering, Standby, Master
            (NotActive, 9, [(NotActive, Nothing); 4]),
            (NotActive, 0, [(NotActive, Nothing); 4]),
            (
                Discovering,
                9,
                [
                    (Master, Manage),
                    (Standby, StandBy(0)),
                    (Standby, StandBy(0)),
                    (Standby, StandBy(0)),
                ],
            ),
            (
                Discovering,
                0,
                [
                    (Master, Manage),
                    (Master, Manage),
                    (Master, Manage),
                    (Standby, StandBy(0)),
                ],
            ),
            (
                Master,
                9,
                [
                    (Master, Manage),
                    (Master, HandOver(0)),
                    (Master, HandOver(0)),
                    (Master, HandOver(0)),
                ],
            ),
            (
                Master,
                0,
                [
                    (Master, Manage),
                    (Master, Manage),
                    (Master, Manage),
                    (Master, Wait(0)),
                ],
            ),
        ];
        for (own, priority, outcomes) in rows {
            for (theirs, expected) in STATES.into_iter().zip(outcomes) {
                let others = [other(priority, theirs)];
                let got = step(&sm(5, 5, own), Event::Found(&others));
                assert_eq!(got, expected, "{own:?} finds {theirs:?} of {priority}");
            }
        }
    }

    #[test]
    fn the_master_comes_before_the_greater_and_of_several_the_greatest() {
        let all = [
            other(7, Standby),
            other(2, Master),
            other(3, Master),
            other(9, Discovering),
        ];
        let own = sm(5, 5, Discovering);
        let found = |own: &SmInfo, others: &[Other]| step(own, Event::Found(others)).1;
        assert_eq!(found(&own, &all), Action::StandBy(2));
        let own = sm(5, 5, Master);
        assert_eq!(found(&own, &all), Action::HandOver(3));
        assert_eq!(found(&sm(9, 1, Master), &all), Action::Wait(2));
        assert_eq!(found(&sm(9, 1, Master), &[]), Action::Manage);
    }

    #[test]
    fn another_key_counts_for_nothing_unless_the_own_one_is_open() {
        let mut strange = other(9, Master);
        strange.info.sm_key = 8;
        for own in [Discovering, Master] {
            let got = step(&sm(5, 5, own), Event::Found(&[strange]));
            assert_eq!(got, (Master, Action::Manage));
        }
        let open = SmInfo {
            sm_key: 0,
            ..sm(5, 5, Discovering)
        };
        let got = step(&open, Event::Found(&[strange]));
        assert_eq!(got, (Standby, Action::StandBy(0)));
    }

    /// One without the M_Key is stood by for, as it is the master already, but gets nothing from this one.
    #[test]
    fn who_cannot_manage_is_handed_nothing() {
        let helpless = |state| Other {
            can_manage: false,
            ..other(9, state)
        };
        let own = sm(5, 5, Master);
        let got = |state| step(&own, Event::Found(&[helpless(state)])).1;
        assert_eq!(got(Standby), Action::Manage);
        assert_eq!(got(Master), Action::Wait(0));
    }

    #[test]
    fn what_a_poll_says() {
        use Action::{Discover, Nothing, Remind};
        let rows = [
            (
                9,
                [
                    (Discovering, Discover),
                    (Standby, Nothing),
                    (Standby, Nothing),
                    (Standby, Nothing),
                ],
            ),
            (
                0,
                [
                    (Discovering, Discover),
                    (Discovering, Discover),
                    (Discovering, Discover),
                    (Standby, Remind),
                ],
            ),
        ];
        for (priority, outcomes) in rows {
            for (theirs, expected) in STATES.into_iter().zip(outcomes) {
                let told = sm(priority, 6, theirs);
                let got = step(&sm(5, 5, Standby), Event::Polled(&told));
                assert_eq!(got, expected, "{theirs:?} of {priority}");
            }
        }
        // A master that waits for another: until that one is none any more.
        let waits = |theirs| step(&sm(5, 5, Master), Event::Polled(&sm(0, 6, theirs)));
        assert_eq!(waits(Master), (Master, Remind));
        assert_eq!(waits(Standby), (Master, Discover));
        let stranger = SmInfo {
            sm_key: 8,
            ..sm(9, 6, Master)
        };
        let got = step(&sm(5, 5, Standby), Event::Polled(&stranger));
        assert_eq!(got, (Discovering, Discover));
    }

    #[test]
    fn silence_the_port_and_a_handover() {
        let after = |state, event| step(&sm(5, 5, state), event);
        assert_eq!(
            after(Standby, Event::Silent),
            (Discovering, Action::Discover)
        );
        assert_eq!(after(Master, Event::Silent), (Master, Action::Discover));
        assert_eq!(after(Master, Event::TakenOver), (Standby, Action::Nothing));
        assert_eq!(after(Master, Event::Left), (NotActive, Action::Nothing));
        for state in [Discovering, Standby, Master] {
            assert_eq!(after(state, Event::Cut), (Discovering, Action::Manage));
        }
        assert_eq!(after(NotActive, Event::Cut), (NotActive, Action::Nothing));
        for state in [NotActive, Discovering] {
            assert_eq!(after(state, Event::Silent), (state, Action::Nothing));
            assert_eq!(after(state, Event::TakenOver), (state, Action::Nothing));
        }
    }

    /// Every command in every state; the rest is refused, and changes nothing.
    #[test]
    fn commands_in_each_state() {
        use Action::{Discover, Nothing};
        let followed = [
            (Discovering, Command::HandOver, (Master, Discover)),
            (Standby, Command::HandOver, (Master, Discover)),
            (Master, Command::HandOver, (Master, Discover)),
            (Standby, Command::Acknowledge, (Standby, Nothing)),
            (Master, Command::Acknowledge, (Master, Nothing)),
            (Standby, Command::Disable, (NotActive, Nothing)),
            (NotActive, Command::Standby, (Standby, Discover)),
            (Standby, Command::Discover, (Discovering, Discover)),
        ];
        for state in STATES {
            for command in Command::ALL {
                let got = step(&sm(5, 5, state), Event::Commanded(command));
                let row = followed
                    .iter()
                    .find(|row| (row.0, row.1) == (state, command));
                assert_eq!(
                    command.is_for(state),
                    row.is_some(),
                    "{state:?} {command:?}"
                );
                let expected = row.map_or((state, Nothing), |row| row.2);
                assert_eq!(got, expected, "{state:?} {command:?}");
            }
        }
    }
}
