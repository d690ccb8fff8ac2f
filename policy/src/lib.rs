//! QoS policy and partitions: parse, interpret, compile to match tables. Pure.
//!
//! The way of a policy file: [`sa_text::decode`] its bytes, [`parse_as`] its dialect the text to a
//! [`Policy`], [`compile()`] that against the ports and partitions of a fabric. [`interpret()`]
//! answers the same questions slowly, straight from the written rules, and [`explain()`] says
//! why. [`convert()`] writes a policy in another dialect.
//!
//! `partitions.conf` goes its own way: [`PartitionsConfig::parse`], then [`Partitions::new`].
//!
//! ```text
//!  bytes ─> text ─┬─ dialect::opensm ─┐
//!                 ├─ dialect::rfc     ├─> Draft ─ link ─> Policy ─┬─ interpret, explain   slow, one query
//!                 └─ (detect)         ┘  (names)        (places)  ├─ compile ─> PolicyTables in a snapshot
//!  partitions.conf ─> PartitionsConfig ─> Partitions ─────────────┤  with PortFacts
//!                                                                 └─ lint, diff, convert
//! ```
//!
//! Left of [`Policy`] there is no fabric, right of it no file: a policy can be read, converted and
//! half of it linted before anybody knows where it will be used.
//!
//! # What it does not do
//!
//! It reads no file, knows no cables and gives no answer to a client: whether a path can have what
//! its level wants is for the compiler of snapshots (sa-compiler). It never mends a policy: what
//! OpenSM refuses is refused, what OpenSM takes is taken as OpenSM takes it, however odd, as long
//! as the deviations in `docs/deviations.md` do not say otherwise.

//! What nobody guesses from the signatures: a policy is meant for a fabric, so that all but parsing takes the ports and
//! their partitions, by one index. OpenSM's behaviour is the measure, its oddities included; where a policy is likely
//! not meant so, [`lint`](mod@lint) says it, and nothing else.
//!
//! ```
//! use policy::{ParseOptions, Partitions, PortFacts, Query, compile, interpret, parse};
//! use sa_wire::{Guid, NodeType};
//!
//! let text = "qos-levels\n\
//!     qos-level\n name: default\n sl: 0\n end-qos-level\n\
//!     qos-level\n name: storage\n sl: 3\n end-qos-level\n\
//!     end-qos-levels\n\
//!     qos-match-rules\n\
//!     qos-match-rule\n service-id: nfs\n qos-level-name: storage\n end-qos-match-rule\n\
//!     end-qos-match-rules\n";
//! let read = parse(text, &ParseOptions::default())?;
//! let port = |guid, description: &str| PortFacts {
//!     guid: Guid::new(guid).unwrap(),
//!     node_guid: Guid::new(guid).unwrap(),
//!     node_type: NodeType::Ca,
//!     description: description.into(),
//!     port_number: 1,
//!     node_ports: 1,
//!     is_sm: false,
//! };
//! let ports = [port(1, "client HCA-1"), port(2, "server HCA-1")];
//! let partitions = Partitions::without_file(&ports);
//! let query = Query {
//!     source: 0,
//!     destination: 1,
//!     service_id: Some(0x0106_4e51), // NFS over RDMA
//!     ..Query::default()
//! };
//! let chosen = interpret(&read, &ports, &partitions, &query);
//! assert_eq!(read.level(chosen.level).title(), "storage");
//! // The same for the workers, as tables of a snapshot.
//! let tables = compile(&read, &ports, &partitions)?;
//! assert_eq!(tables.rules[0].level, chosen.level.0);
//! # Ok::<(), policy::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod convert;
pub mod dialect;
pub mod diff;
pub mod error;
pub mod facts;
mod link;
pub mod lint;
pub mod matching;
pub mod model;
pub mod partitions;
pub mod services;

pub use convert::{Converted, Loss, LossKind, Lost, convert};
pub use dialect::opensm::parse;
pub use dialect::parse_as;
pub use error::{Error, Problem, Remark};
pub use facts::PortFacts;
pub use matching::compile::{check, compile};
pub use matching::explain::{Explanation, explain};
pub use matching::groups::GroupResolver;
pub use matching::interpret::{Chosen, interpret};
pub use model::Policy;
pub use model::criterion::Query;
pub use model::dialect::Dialect;
pub use model::options::ParseOptions;
pub use model::ranges::Ranges;
pub use model::semantics::{Echo, ScopePrecedence, Semantics, ServiceIdEncoding};
pub use partitions::{Membership, PartitionOptions, Partitions, PartitionsConfig};
pub use services::UlpNames;
