//! Why a sweep puts nothing into service, in the words that operators get.
//!
//! | error | the subnet | what an operator does |
//! |---|---|---|
//! | port | as far as it was written | looks at the device |
//! | plan | as before | mends what the words name |
//! | standby, two masters, not active | the other SM's | nothing, or stops one |
//! | no link | out of reach | plugs a cable in |
//!
//! All are tried again by the loader; none ends the daemon.

use std::time::Duration;

use routing::EngineKind;
use sa_compiler::pipeline::ReadProblem;
use sa_port::PortError;
use sa_wire::Guid;
use sm_plan::PlanError;
use sm_port::RunError;
use thiserror::Error;

use super::way::WayError;

/// Why a sweep puts nothing into service.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(in crate::server) enum SweepError {
    /// No port for SMPs.
    #[error(transparent)]
    Way(#[from] WayError),
    /// The port failed on the way.
    #[error(transparent)]
    Port(#[from] RunError),
    /// The port failed while the master was asked.
    #[error("the SM's port: {0}")]
    Asking(PortError),
    /// Options of the SM cannot be read.
    #[error(transparent)]
    Options(#[from] ReadProblem),
    /// What was found cannot be planned; nothing was written.
    #[error("the subnet stays as it is: {0}")]
    Plan(#[from] PlanError),
    /// Another SM is the master.
    #[error("standing by: {} is the master of the subnet", sm(.guid))]
    Standby {
        /// Of its port.
        guid: Option<Guid>,
        /// When it is to be asked whether it still is.
        again_in: Duration,
    },
    /// This SM is the master, and so is another.
    #[error(
        "the subnet stays as it is: {} is a master of it too, and is to hand over; stop one of the two if it does not", sm(.guid)
    )]
    TwoMasters {
        /// Of its port.
        guid: Option<Guid>,
        /// When it is to be asked whether it still is.
        again_in: Duration,
    },
    /// Another SM has told this one to do nothing, or `sm_inactive` has.
    #[error("not active: it waits until a master tells it to stand by")]
    NotActive,
    /// The own port is Down: there is nobody to manage, and nobody who could ask.
    #[error(
        "the SM's port has no link, and waits for one: is a cable plugged in, and is the far end switched on?"
    )]
    NoLink,
    /// A greater SM does not take the subnet over, or one has handed over and is to be read first;
    /// nothing was written.
    #[error("the SM of higher priority does not take over, or this one has just got the subnet")]
    NotTaken,
    /// This SM is no master, or no sweep of it is over.
    #[error(
        "this SM does not manage the subnet now: no sweep of it is over yet, or it stands by for another"
    )]
    NotManaging,
    /// What would be written is not what was planned.
    #[error("this has changed since that plan was made: {what}; so nothing is written, plan again")]
    PlanIsOld {
        /// What it was made from, by its role.
        what: String,
    },
    /// To write all tables anew takes an order.
    #[error(
        "the engine would change from {before} to {now}, which writes every table, so nothing is written; \
         `sapphire plan --engine {now}` shows what it comes to, and `sapphire apply` does it"
    )]
    EngineChanges {
        /// In service.
        before: EngineKind,
        /// What the files ask for.
        now: EngineKind,
    },
    /// The daemon ends.
    #[error("the sweep was stopped")]
    Stopped,
}

impl SweepError {
    /// True where the SA of this process answers nobody from then on, until a sweep of it is over.
    pub(in crate::server) const fn is_silent(&self) -> bool {
        matches!(self, Self::Standby { .. } | Self::NotActive | Self::NoLink)
    }

    /// When it is to be tried again, where that is known.
    pub(in crate::server) const fn again_in(&self) -> Option<Duration> {
        match self {
            Self::Standby { again_in, .. } | Self::TwoMasters { again_in, .. } => Some(*again_in),
            // A command comes by itself.
            Self::NotActive => Some(Duration::from_secs(3600)),
            // Nobody tells of the link, and to look costs the subnet nothing: it is the own port that is asked.
            Self::NoLink => Some(Duration::from_secs(1)),
            _ => None,
        }
    }
}

/// Another SM, for a person.
pub(super) fn sm(guid: &Option<Guid>) -> String {
    guid.map_or_else(
        || "an SM".to_owned(),
        |guid| format!("the SM of port {guid}"),
    )
}
