//! A question about a pair, in the words of whoever asks it.
//!
//! `sapphire explain` makes it from its options. With files it becomes a [`Pair`] there; of a running daemon it goes over the
//! control socket and becomes one in the daemon, by the names that ports and services have in what is in force.
//!
//! ```text
//! {"source":"H0","destination":"H5","service":"nfs"} ──names of ports, names of services──> Pair
//! ```

use policy::services::Service;
use policy::{Query, UlpNames};
use sa_fabric::LookupError;
use sa_fabric::subnet::Subnet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Pair;

/// Highest QoS class: 12 bits of a PathRecord.
const MOST_QOS_CLASS: u16 = 0xfff;

/// What is asked, unresolved. Shape: as a request on the control socket; what is not asked for is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Node name, `NAME:PORT`, GUID or LID.
    pub source: String,
    /// The same of the other end.
    pub destination: String,
    /// Of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_id: Option<u64>,
    /// A service by name, which stands for what its requests carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos_class: Option<u16>,
    /// Of the request, with the bit of membership.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pkey: Option<u16>,
    /// Of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tclass: Option<u8>,
}

/// Why a question is about no pair.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QuestionError {
    /// No port is called so, or several are.
    #[error(transparent)]
    Port(#[from] LookupError),
    /// No service is called so.
    #[error("service {word:?}: {why}")]
    Service {
        /// What was said.
        word: String,
        /// Why not, and what it could have meant.
        why: String,
    },
    /// More than a PathRecord has room for.
    #[error("QoS class {0}: the largest is {MOST_QOS_CLASS}")]
    QosClass(u16),
}

/// What a service makes a request name. At most one of the three is there.
#[derive(Default)]
struct Named {
    service_id: Option<u64>,
    /// For services that go by their partition.
    pkey: Option<u16>,
    /// The name of one that names nothing.
    silent: Option<String>,
}

impl Question {
    /// The pair, in this subnet. What is written out wins over what a service's name stands for.
    ///
    /// Errors: [`QuestionError`].
    pub fn pair(&self, subnet: &Subnet, names: UlpNames) -> Result<Pair, QuestionError> {
        let named = match &self.service {
            Some(word) => named(&names, word)?,
            None => Named::default(),
        };
        if let Some(class) = self.qos_class.filter(|class| *class > MOST_QOS_CLASS) {
            return Err(QuestionError::QosClass(class));
        }
        let asked = Query {
            service_id: self.service_id.or(named.service_id),
            qos_class: self.qos_class,
            pkey: self.pkey.or(named.pkey),
            tclass: self.tclass,
            ..Query::default()
        };
        Ok(Pair {
            source: subnet.find(&self.source)?,
            destination: subnet.find(&self.destination)?,
            numbers: asked.numbers(),
            sl: None,
            silent: named.silent,
            names,
        })
    }
}

/// Services are of three kinds: known by an id, by their partition, or by nothing, as MPI libraries are told an SL and never ask.
/// Errors: no service is called so.
fn named(names: &UlpNames, word: &str) -> Result<Named, QuestionError> {
    let none = Named::default();
    let service = names.service(word).map_err(|error| {
        let advice = error.problem.advice();
        let advice = advice.map(|advice| format!(" ({advice})"));
        QuestionError::Service {
            word: word.to_owned(),
            why: format!("{error}{}", advice.unwrap_or_default()),
        }
    })?;
    Ok(match service {
        Service::Id(id) => Named {
            service_id: Some(id.0),
            ..none
        },
        Service::Partition { pkey } => Named {
            pkey: Some(pkey),
            ..none
        },
        Service::Silent(name) => Named {
            silent: Some(name),
            ..none
        },
    })
}
