//! The engine with which a fabric of some shape is measured.

use routing::EngineKind;

/// The engine for a word of `sa_fabric::generate::named`: one that routes this shape without a credit loop,
/// within eight VLs.
pub fn engine(word: &str) -> EngineKind {
    match word.split(':').next() {
        Some("fat-tree") => EngineKind::FatTree,
        _ => EngineKind::DfssspNue,
    }
}
