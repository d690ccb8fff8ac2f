//! Engines, tables and the proof: against OpenSM's recorded tables, against written rules, and against
//! slow references that follow single packets.

mod cabled;
mod check;
mod common;
mod dfsssp_nue;
mod engines;
mod golden_torus;
mod group_proof;
mod group_trees;
mod incremental;
mod minhop;
mod mixture;
mod packets;
mod path_classes;
mod proof_twins;
mod proven;
mod quality;
mod share;
mod survivors;
mod torus_proved;
mod torus_proved_tables;
mod torus_refusals;
mod up_down;
