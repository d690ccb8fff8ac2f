//! Fabrics by name, and the engine with which one of some shape is measured.

use routing::EngineKind;
use sa_fabric::generate::{self, GenerateError, NameError, TorusSpec, plan};
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_wire::NodeType;
use thiserror::Error;

/// Cables, and how they are routed.
#[derive(Debug)]
pub struct Shape {
    /// As ibsim and `ibnetdiscover` have it.
    pub net: String,
    /// For torus-2QoS; none where another engine routes.
    pub torus_conf: Option<String>,
    /// One that routes it without a credit loop, within eight VLs.
    pub engine: EngineKind,
}

/// Why a name is none of a fabric.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// It is spelled like none.
    #[error("expected torus:XxYxZxHOSTS, or a shape as fat-tree:16")]
    Unknown,
    /// A torus that cannot be.
    #[error(transparent)]
    Torus(#[from] GenerateError),
    /// Numbers of another shape.
    #[error(transparent)]
    Numbers(#[from] NameError),
}

impl Shape {
    /// By name: `torus:8x8x8x1` (the last number: hosts on each switch), by torus-2QoS, or a shape
    /// by its word, as `fat-tree:16` (`sa_fabric::generate::named`). Errors: another name.
    pub fn named(name: &str) -> Result<Self, ShapeError> {
        // Cables first: a shape's word may have a colon in it as well.
        let Some(numbers) = name.strip_prefix("torus:") else {
            let made = generate::named(name)?.ok_or(ShapeError::Unknown)?;
            return Ok(Self {
                net: made.net(),
                torus_conf: None,
                engine: engine(name),
            });
        };
        let numbers: Result<Vec<u8>, _> = numbers.split('x').map(str::parse).collect();
        let Ok(&[x, y, z, hosts]) = numbers.as_deref() else {
            return Err(ShapeError::Unknown);
        };
        let plan = plan(&TorusSpec::new([x, y, z], hosts))?;
        Ok(Self {
            net: plan.net(),
            torus_conf: Some(plan.torus_conf()),
            engine: EngineKind::Torus2Qos,
        })
    }
}

/// The engine for a word of `sa_fabric::generate::named`: one that routes this shape without a
/// credit loop, within eight VLs.
// By the word alone: sizes do not change which engine is free of loops.
pub fn engine(word: &str) -> EngineKind {
    match word.split(':').next() {
        Some("fat-tree") => EngineKind::FatTree,
        _ => EngineKind::DfssspNue,
    }
}

/// Where the Subnet Manager of a measurement is: the first CA, its port 1. None without a CA.
pub fn first_host(fabric: &Fabric) -> Option<PortRef> {
    let mut nodes = fabric.nodes().iter();
    // Found by position, as an index is what names a node.
    let first = nodes.position(|node| node.kind == NodeType::Ca)?;
    let node = NodeIx::nth(first);
    Some(PortRef { node, port: 1 })
}
