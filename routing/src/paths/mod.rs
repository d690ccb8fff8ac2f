//! What the tables make of paths: which LIDs are reached from where, and with what.
//!
//! A *column* is what all switches hold for one LID. Columns are followed, not paths: a column is a
//! tree towards its LID, so that one pass over the switches answers for all sources at once.
//! [`crate::Survey`] keeps what that gave, [`classes`] makes of it the tables from which queries
//! are answered. Equal columns, and LIDs of one switch that all are sent a shortest way, are
//! followed once.
//!
//! Deadlock is no matter of this module ([`crate::proof`]), and it must not be asked for a single
//! pair: [`crate::reference`] does that, hop by hop, and is what this is compared with.

pub mod classes;
pub(crate) mod columns;
pub(crate) mod survey;
