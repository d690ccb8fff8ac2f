//! The service that is asked about, by its name.
//!
//! Services are known by names (`docs/ulps.md`), and these say what a client's request carries: a
//! service id, a P_Key, or nothing. MPI libraries are of the third kind: they are told an SL in
//! their configuration and never ask. For them the answer is which SL to write there, and on a
//! torus that none is safe, since each path has its own.
//!
//! ```text
//! Service::Id          the request names a service id        rules ask for it
//! Service::Partition   the request names a P_Key             the partition decides
//! Service::Silent      nothing is asked                      the job is told an SL
//! ```

use policy::services::Service;
use sa_wire::ServiceId;

use crate::failure::Outcome;
use crate::services;

/// What a service makes a request name.
/// At most one of the three is there.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// By which rules and clients know it.
    pub(super) service_id: Option<u64>,
    /// For services that go by their partition.
    pub(super) pkey: Option<u16>,
    /// The name of one that names nothing.
    pub(super) silent: Option<String>,
}

/// Errors: no service is called so.
pub(super) fn named(names: &policy::UlpNames, word: &str) -> Outcome<Named> {
    let none = Named::default();
    Ok(match services::service(names, word)? {
        Service::Id(ServiceId(id)) => Named {
            service_id: Some(id),
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
