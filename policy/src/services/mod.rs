//! Service ids by name: which ids the upper-layer protocols (ULPs) use.
//!
//! [`PortSpace`] and [`ipoib_cm`] build ids and take them apart. [`UlpNames`] is the table of
//! names, which a file may extend: [`UlpNames::describe`] names an id, [`UlpNames::criteria`] and
//! [`UlpNames::service`] read what people write, [`UlpNames::extend`] reads a file.
//!
//! Source: Linux `include/rdma/rdma_cm.h`, `include/rdma/ib_cm.h`, OpenSM `osm_qos_policy.h`;
//! `docs/ulps.md` says where each number was found.
//!
//! Why a table of our own: policies match 64-bit numbers that nobody can read, and OpenSM knows five names.
//! Names are an extension of the policy languages, and every tool that shows an id shows its name.
//!
//! It knows no fabric: which SRP targets there are, and what ids they chose, is for tools that ask them.
//!
//! ```text
//! id            0000 0000 0106 1144        0x0106: the port space of RDMA CM's TCP, 0x1144: port 4420
//! names         nvmeof, nvme, tcp:4420     all three are read; the first is shown
//! requests      nfs: a service id   ipoib: a P_Key   srp: the target's own   mpi: nothing
//! ```
//!
//! The last line is why a name is more than a number: what a rule can match depends on what the
//! protocol's requests say ([`Meaning`]).

mod builtin;
mod criteria;
mod describe;
mod file;
mod names;
mod scan;
mod service;
mod space;

pub use criteria::Criteria;
pub use names::{Meaning, Ulp, UlpNames};
pub(crate) use scan::Scan;
pub use service::Service;
pub use space::{Assigner, PortSpace, ipoib_cm, ipoib_cm_qpn};
