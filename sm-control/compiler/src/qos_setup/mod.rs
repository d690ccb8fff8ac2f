//! QoS set-up of ports: which SL2VL and VL arbitration tables OpenSM gives them, and where the
//! configured ones do not suit torus-2QoS.
//!
//! torus-2QoS spreads the paths of one QoS level over VLs 0 to 3 between switches, those of the
//! other over VLs 4 to 7, and uses VL 0 and VL 1 at end ports. The tables of VL arbitration come
//! from `opensm.conf`, as for any engine; only towards end ports the engine changes them.
//!
//! The scopes in the `qos-setup` of a policy take the place of the options at the ports they mean.
//!
//! ```text
//!  opensm.conf ─ options ─ QosTables (a class) ─ blocks: cut and fit ─┐
//!  policy: qos-setup ─ scopes: which ports, which scope wins ─────────┼─> tables: every port
//!  torus-2QoS ─ SL2VL of all ports, VL arbitration towards end ports ─┘
//! ```
//!
//! `tables` is what `sapphire setup` shows and what lints judge: tables as ports hold them, each
//! with the place that it comes from. Nothing is programmed from here; OpenSM programs its options,
//! and scopes are programmed by whoever takes the tables from `setup`. Only with `apply_setup`
//! answers follow scopes.
//!
//! `check` and `warning` are about options alone, as OpenSM warns when torus-2QoS has routed.

mod blocks;
mod check;
mod scopes;
mod tables;
mod warning;

pub use check::torus_warnings;
pub use scopes::{
    Finding, FindingKind, Places, ScopeFit, ScopeKind, Scopes, SetupContext, refused,
};
pub use tables::{
    PortTables, PortUse, SlToVlRow, TableSource, TablesByEnd, port_tables, port_tables_with,
};
pub use warning::{Origin, Priority, TorusWarning};
