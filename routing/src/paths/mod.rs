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
//!
//! ```text
//!              LID 7   LID 8   LID 9          a column: output ports of all switches for one LID
//! switch 0       2       2       1            LIDs 7 and 8 sit on switch 2, and the others send them
//! switch 1       1       1      255           alike: they are followed once
//! switch 2       4       5       3
//! ```
//!
//! For 16x16x16 with one host a switch there are 8,192 columns of 4,096 entries, half as many
//! different ones. Following paths instead would visit 33 million pairs hop by hop.

pub mod classes;
pub(crate) mod columns;
pub(crate) mod survey;
