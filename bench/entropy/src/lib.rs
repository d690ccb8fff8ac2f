//! How flow labels spread RoCE v2 flows over equal paths: switch hashes, ways to make labels, jobs,
//! and what comes of them, by simulation.
//!
//! Everything is drawn from a seed, so the same question has the same answer on every machine. The
//! switch hashes stand for kinds of hardware, not for a vendor's.
//!
//! Two hosts below different leaves have 16 QPs between them, and each leaf has 16 ways up. With one
//! source port for all QPs one way carries all; drawn at random, the ports reach the share of the
//! ways that 16 throws of a die with 16 faces show, 1 - (15/16)^16 or 64 %:
//!
//! ```
//! use sa_entropy::flows::{PortUse, QpnUse};
//! use sa_entropy::job::{Fabric, Job, Pattern, Seeds};
//! use sa_entropy::predict::predict;
//! use sa_entropy::{Address, HashKind, Method};
//!
//! let job = Job {
//!     hosts: vec![Address::v4(0x0a00_0001), Address::v4(0x0a00_0002)],
//!     qps: 16,
//!     pattern: Pattern::OnePair,
//!     qpns: QpnUse::Step(1),
//!     ports: PortUse::Step(1),
//!     service: 4420,
//! };
//! let fabric = Fabric {
//!     ways: vec![16],
//!     hosts_per_leaf: 1,
//!     rails: 1,
//!     hash: HashKind::Strong,
//!     seeds: Seeds::ByTier,
//!     known_seed: None,
//! };
//! // 500 trials from seed 1; the lowest tier.
//! let used = |method| predict(&job, &fabric, method, 500, 1).tiers[0].used.mean();
//! assert_eq!(used(Method::Constant), 1.0 / 16.0);
//! assert!((used(Method::Random) - 0.64).abs() < 0.02);
//! ```

pub mod dice;
pub mod figures;
pub mod flows;
pub mod job;
pub mod method;
pub mod one_pair;
pub mod port_use;
pub mod predict;
pub mod sample;
pub mod switch;

pub use dice::Dice;
pub use method::Method;
pub use sample::Sample;
pub use switch::{Address, HashKind, PortTable, Tuple};
