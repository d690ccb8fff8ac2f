//! Set(SMInfo): what one Subnet Manager orders another to do.
//!
//! The command is in the attribute modifier, and the data is the sender's own SMInfo.
//!
//! | command | the sender is | followed in |
//! |---|---|---|
//! | 1 HANDOVER | Master | Discovering, Standby, Master |
//! | 2 ACKNOWLEDGE | Standby | Standby, Master |
//! | 3 DISABLE | Master | Standby |
//! | 4 STANDBY | Master | NotActive |
//! | 5 DISCOVER | Master | Standby |
//!
//! Whoever may send SMPs could end a standby, or make two masters, if what a command says of its sender were believed. So its SM_Key must be
//! the own one, it must come from the port where an SM of that GUID was found, and else it is refused like one that is not for the
//! state: status 0x1c. The one exception is a HANDOVER before the subnet is found, when no SM is known yet: it is judged when the
//! subnet is ([`Verdict::Later`]), and changes nothing until then.
//!
//! Source: IBA vol. 1, 14.4.1.

use core::fmt;

use super::senders::Sender;
use crate::sm_info::{SmInfo, SmState};

/// A command, by its attribute modifier.
///
/// Codes of the wire; others are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Command {
    /// Be the master from now on.
    HandOver = 1,
    /// The subnet was taken over.
    Acknowledge = 2,
    /// Do nothing any more.
    Disable = 3,
    /// Be a standby again.
    Standby = 4,
    /// Find out anew who is the master.
    Discover = 5,
}

/// What becomes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is followed.
    Follow(Command),
    /// It counts if the sender is found where it came from.
    Later(Command),
    /// It is not followed.
    Refuse(Refusal),
}

/// Why a command is not followed.
///
/// All of them are answered alike, so that the sender learns nothing but that it was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such command, or it is for another state.
    NotNow,
    /// The sender says itself that it is not in the state for it.
    SenderState,
    /// The sender has another `sm_key`.
    Key,
    /// No SM of the sender's GUID was found where the command came from.
    Stranger,
}

// Tables of the specification as functions: which command in which state, from which.
impl Command {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::HandOver,
        Self::Acknowledge,
        Self::Disable,
        Self::Standby,
        Self::Discover,
    ];

    /// `None` for a modifier that is no command.
    pub fn of(modifier: u32) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|command| u32::from(*command as u8) == modifier)
    }

    /// Whether an SM in that state follows it.
    pub const fn is_for(self, state: SmState) -> bool {
        use SmState::{Discovering, Master, NotActive, Standby};
        match self {
            Self::HandOver => matches!(state, Discovering | Standby | Master),
            Self::Acknowledge => matches!(state, Standby | Master),
            Self::Disable | Self::Discover => matches!(state, Standby),
            Self::Standby => matches!(state, NotActive),
        }
    }

    /// Whether an SM in that state may give it.
    const fn is_from(self, state: SmState) -> bool {
        match self {
            Self::Acknowledge => matches!(state, SmState::Standby),
            _ => matches!(state, SmState::Master),
        }
    }
}

impl Refusal {
    /// True for what no SM of this subnet sends: somebody else does.
    ///
    /// Worth a line of the log, as it may be an attack or a second subnet on the same cables.
    pub const fn is_suspicious(self) -> bool {
        matches!(self, Self::Key | Self::Stranger)
    }
}

/// Judges a Set(SMInfo) with this modifier. `sender` is what its data says, `from` who it comes from.
///
/// Order: state before key before sender, so that a command that is for nobody costs no look at who sent it.
pub fn judge(own: &SmInfo, modifier: u32, sender: &SmInfo, from: Sender) -> Verdict {
    let Some(command) = Command::of(modifier).filter(|command| command.is_for(own.state)) else {
        return Verdict::Refuse(Refusal::NotNow);
    };
    if !own.trusts(sender) {
        return Verdict::Refuse(Refusal::Key);
    }
    if !command.is_from(sender.state) {
        return Verdict::Refuse(Refusal::SenderState);
    }
    match from {
        Sender::Known(guid) if sender.guid == Some(guid) => Verdict::Follow(command),
        // A master that has just found this one does not wait until it is found itself.
        Sender::Unknown if command == Command::HandOver && own.state == SmState::Discovering => {
            Verdict::Later(command)
        }
        Sender::Known(_) | Sender::Unknown => Verdict::Refuse(Refusal::Stranger),
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HandOver => "HANDOVER",
            Self::Acknowledge => "ACKNOWLEDGE",
            Self::Disable => "DISABLE",
            Self::Standby => "STANDBY",
            Self::Discover => "DISCOVER",
        })
    }
}

#[cfg(test)]
mod tests {
    use sa_wire::Guid;

    use super::*;

    fn sm(guid: u64, state: SmState) -> SmInfo {
        SmInfo {
            guid: Guid::new(guid).ok(),
            sm_key: 1,
            act_count: 0,
            priority: 3,
            state,
        }
    }

    fn known(guid: u64) -> Sender {
        Sender::Known(Guid::new(guid).unwrap())
    }

    #[test]
    fn a_command_comes_from_a_master_that_is_known_and_has_the_key() {
        let own = sm(5, SmState::Standby);
        let master = sm(6, SmState::Master);
        let judged = |modifier, sender: &SmInfo, from| judge(&own, modifier, sender, from);
        let follow = Verdict::Follow(Command::Disable);
        assert_eq!(judged(3, &master, known(6)), follow);
        let refused = |why| Verdict::Refuse(why);
        let no_master = sm(6, SmState::Standby);
        assert_eq!(
            judged(3, &no_master, known(6)),
            refused(Refusal::SenderState)
        );
        let no_key = SmInfo {
            sm_key: 9,
            ..master
        };
        assert_eq!(judged(3, &no_key, known(6)), refused(Refusal::Key));
        assert_eq!(judged(3, &master, known(7)), refused(Refusal::Stranger));
        assert_eq!(
            judged(3, &master, Sender::Unknown),
            refused(Refusal::Stranger)
        );
        assert_eq!(
            judged(1, &master, Sender::Unknown),
            refused(Refusal::Stranger)
        );
        for modifier in [0, 6, 0x103] {
            assert_eq!(
                judged(modifier, &master, known(6)),
                refused(Refusal::NotNow)
            );
        }
    }

    #[test]
    fn an_acknowledgement_comes_from_a_standby() {
        let own = sm(5, SmState::Master);
        let from = |state| judge(&own, 2, &sm(6, state), known(6));
        let follow = Verdict::Follow(Command::Acknowledge);
        assert_eq!(from(SmState::Standby), follow);
        assert_eq!(from(SmState::Master), Verdict::Refuse(Refusal::SenderState));
    }

    #[test]
    fn a_handover_before_anybody_is_known_waits() {
        let own = sm(5, SmState::Discovering);
        let master = sm(6, SmState::Master);
        let later = Verdict::Later(Command::HandOver);
        assert_eq!(judge(&own, 1, &master, Sender::Unknown), later);
        let refused = Verdict::Refuse(Refusal::Stranger);
        assert_eq!(judge(&own, 1, &master, known(7)), refused);
    }
}
