//! What each attribute of each node should be.
//!
//! ```text
//!  model, options, LIDs, routes ──> one function for each attribute ──> its wanted value ──> writing
//! ```
//!
//! All functions are pure, and take values that were parsed: a partition file or an `opensm.conf` with an error never comes
//! so far, so what was written by the last good one stays.
//!
//! A value begins with what the device holds ([`crate::model`]); fields that an SM has no say in are written back as
//! they were read. Nothing is wanted of a port or switch whose own value was not read.
//!
//! | file | attribute |
//! |---|---|
//! | `port_info` | PortInfo of CA and router ports, base and enhanced ports 0, external ports of switches |
//! | `switch_info` | SwitchInfo: LinearFDBTop, LifeTimeValue |
//! | `guid_info` | GUIDInfo: alias GUIDs |
//! | `linear` | LinearForwardingTable |
//! | `multicast` | MulticastForwardingTable |
//! | `pkeys` | P_KeyTable of end ports and of the switch ports before them |
//! | `qos` | SLtoVLMappingTable, VLArbitrationTable |
//!
//! Source: OpenSM `osm_lid_mgr.c`, `osm_link_mgr.c`, `osm_ucast_mgr.c`.

pub mod guid_info;
pub mod linear;
pub mod multicast;
pub mod pkeys;
pub mod port_info;
pub mod qos;
pub mod switch_info;
