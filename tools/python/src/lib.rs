//! Sapphire for Python: the part in Rust of the package `sapphire_sa`.
//!
//! ```text
//!  python/sapphire_sa   what people import: NumPy arrays, keyword arguments, documents
//!        │ bytes, numbers, text
//!  this module          fabric ── compiler        snapshot ── its file       policy ── parser, lint
//!                       client ── ring            picture ── layout, SVG     errors ── exceptions
//! ```
//!
//! Arrays cross as bytes that NumPy looks at where they lie, so that this module needs neither NumPy nor
//! its headers, and one build serves every Python from 3.9 on (abi3). Nothing here is computed: every
//! answer is that of the crate which the tool `sapphire` has it from.
//!
//! Whatever takes long runs without the interpreter's lock; what waits for a daemon looks for Ctrl-C.

mod client;
mod errors;
mod fabric;
mod hops;
mod lengths;
mod picture;
mod policies;
mod snapshot;

use pyo3::prelude::*;

/// The module `sapphire_sa._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<fabric::Fabric>()?;
    module.add_class::<snapshot::Snapshot>()?;
    module.add_class::<policies::Policy>()?;
    module.add_class::<client::Client>()?;
    errors::add(module)
}
