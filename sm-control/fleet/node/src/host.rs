//! What a follower needs of the program that it is part of.

use std::fs::File;

use sa_fleet::announcement::Blob;
use sa_fleet::identity::Token;
use sa_fleet::verdict::{Gate, Ports};

/// The program around a follower: it verifies, publishes and answers.
///
/// [`Self::load`] is called by a thread of its own; the others by the one that follows, and must
/// not wait for longer than a publication takes.
pub trait Host: Send + Sync + 'static {
    /// A snapshot that was verified and is ready to be put into service.
    type Loaded: Send + 'static;

    /// Maps and verifies a file whose digest is right: structure, subnet, own ports. Errors:
    /// [`Unusable`].
    fn load(&self, file: File, blob: Blob) -> Result<Self::Loaded, Unusable>;

    /// Puts it into service as of this generation, both at once for whoever answers. It may be a
    /// moment later that it is there: until then what answers has another generation in its hands
    /// than the gate, and is silent.
    fn swap(&self, loaded: Self::Loaded, generation: Token);

    /// Whoever answers goes by this from the moment on that it returns.
    fn gate(&self, gate: Gate);

    /// Whether own ports are as the snapshot in service has them. `said`: something was announced
    /// since it was asked last, so an SM that changed before that is known to who announced it.
    fn ports(&self, said: bool) -> Ports;
}

/// A file that is what was announced, and cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// Nothing is wrong with it that another try would not mend: no memory, an error of the disk.
    #[error("{0}")]
    Now(String),
    /// It is damaged, of another format, or of another fabric than this host is in.
    #[error("{0}")]
    Ever(String),
}
