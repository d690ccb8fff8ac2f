//! The routing engines: each makes the tables of a fabric.
//!
//! An engine is a type behind the trait [`Engine`]; [`by_kind`] is the one list of them. It takes
//! plain values (the topology, and the [`EngineInput`] that it says it needs) and returns
//! [`Routes`]: tables, and in [`crate::tables::EngineFacts`] what else is to be known about them.
//! Callers choose by [`EngineKind`], read what [`Engine::needs`] tells them to read, and know
//! nothing of the engine itself. So a new engine is its own file, a variant of [`EngineKind`] and a
//! line here.
//!
//! Each engine also has plain functions, for callers that want that one engine. No engine proves
//! its own tables: that is what [`crate::proof`] is for, which shares nothing with them.
//!
//! | engine | needs | free of deadlock | after a change |
//! |---|---|---|---|
//! | `torus-2qos` | torus-2QoS.conf | by its rules, and proved | keeps most tables |
//! | `torus-proved` | torus-2QoS.conf | by search in an acyclic graph, and proved | starts anew |
//! | `minhop` | nothing | on trees | starts anew |
//! | `dfsssp-nue` | nothing | by layers of VLs, and proved | keeps what is left |
//! | `updn` | roots, or nothing | by its rule, and proved | keeps most tables |
//! | `ftree` | roots, or nothing | by its rule, and proved | keeps most tables |
//! | `files` | tables | as what made them | takes the new ones |
//!
//! "Proved" is always said by [`crate::proof`] about the finished tables, never by the engine.

pub mod dfsssp_nue;
pub mod files;
pub mod ftree;
pub mod minhop;
mod order;
pub mod torus;
pub mod torus_proved;
pub mod updn;
mod updown;

use sa_wire::Guid;

use self::torus::TorusConfig;
use crate::error::{Reason, Refusal};
use crate::kind::EngineKind;
use crate::tables::{GivenSl2Vl, Qos, Routes};
use crate::topology::Topology;
use crate::watch::Watch;

/// What makes the tables of a fabric. Has no state: routes before are handed in.
/// One value for each engine, for the whole run of a program: [`by_kind`] hands out references to
/// constants.
pub trait Engine: Sync {
    /// What it needs besides the fabric.
    /// Asked before [`Self::route`], so that callers read that and no more.
    fn needs(&self) -> Needs;

    /// Routes a fabric.
    /// Errors: every reason why it cannot be; an input of another kind than [`Self::needs`].
    ///
    /// All or nothing for torus-2QoS; the others may leave pairs without a path, which is a
    /// warning.
    fn route(&self, request: &Request<'_>) -> Result<Routes, Refusal>;

    /// True where it makes tables from those before, so that most stay as they are when the fabric
    /// changes a little.
    /// Callers keep a proof to go on from only then: where tables change everywhere anyway, a proof
    /// from nothing is as quick.
    fn is_incremental(&self) -> bool {
        false
    }
}

/// What an engine needs besides the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: it makes paths of its own in any fabric.
    Nothing,
    /// A `torus-2QoS.conf`, read by [`TorusConfig::parse`].
    TorusConf,
    /// The roots of a tree, where they are named.
    Roots,
    /// The tables of all switches.
    Tables,
}

/// What an engine is given besides the fabric.
#[derive(Debug, Clone, Copy)]
pub enum EngineInput<'a> {
    /// For [`Needs::Nothing`]: the topology is enough.
    Nothing,
    /// For [`Needs::TorusConf`]: size, seeds and datelines of the torus.
    TorusConf(&'a TorusConfig),
    /// For [`Needs::Roots`]: node GUIDs of switches; empty, and the engine finds them.
    Roots(&'a [Guid]),
    /// For [`Needs::Tables`], see [`files::route`].
    Tables {
        /// Shape: by switch index, then by LID.
        lfts: &'a [Vec<u8>],
        /// Over the configured SL2VL tables.
        sl2vl: &'a GivenSl2Vl,
    },
}

/// A fabric to be routed.
/// Borrowed throughout: an engine copies what it keeps.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The fabric as it is now, LIDs assigned.
    pub topology: &'a Topology,
    /// Whether the subnet uses QoS.
    pub qos: Qos,
    /// As [`Engine::needs`] asks for.
    pub input: EngineInput<'a>,
    /// The last routes that an engine made. They save work; of torus-2QoS they change no result. Engines
    /// that keep what is left of them say so: dfsssp-nue, updn, ftree.
    /// Of any fabric and any engine; one that cannot use them starts anew.
    pub before: Option<Before<'a>>,
    /// Who is told how much is done; it changes no result.
    pub watch: Watch,
}

/// Routes, and the fabric that they were made for.
/// Both together, since indices and LIDs of routes mean something only in their own topology.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// The fabric when they were made.
    pub topology: &'a Topology,
    /// What an engine returned for that fabric.
    pub routes: &'a Routes,
}

/// The engine behind a name.
pub fn by_kind(kind: EngineKind) -> &'static dyn Engine {
    match kind {
        EngineKind::Torus2Qos => &torus::Torus2Qos,
        EngineKind::TorusProved => &torus_proved::TorusProved,
        EngineKind::MinHop => &minhop::MinHop,
        EngineKind::DfssspNue => &dfsssp_nue::DfssspNue,
        EngineKind::UpDown => &updn::UpDown,
        EngineKind::FatTree => &ftree::FatTree,
        EngineKind::Files => &files::Files,
    }
}

/// Routes by the engine of that name.
///
/// A subnet without switches is two ports with a cable, or one port: it has no tables, so an engine that makes them is not asked, not even
/// one that would refuse so small a fabric, and SLs are the policy's.
/// Errors: the engine's. Source: OpenSM `osm_ucast_mgr.c` (`osm_ucast_mgr_process`).
pub fn route(kind: EngineKind, request: &Request<'_>) -> Result<Routes, Refusal> {
    let engine = by_kind(kind);
    // Tables that are given are still to be held against the fabric.
    if request.topology.switches.is_empty() && engine.needs() != Needs::Tables {
        return Ok(Routes::without_switches(request.topology, kind));
    }
    engine.route(request)
}

/// What an engine says that was given an input of another kind than it needs.
/// A defect of the caller, told as a refusal all the same: a daemon must not end for it.
fn wrong_input(engine: EngineKind) -> Refusal {
    let text = format!("engine {} was not given what it needs", engine.name());
    Refusal::new(engine, vec![Reason::new("wrong-input", text)])
}
