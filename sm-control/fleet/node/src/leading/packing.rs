//! What is published, made in a thread of its own: a public copy, its generation, and what
//! followers fetch.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Sender, bounded};
use fleet_transfer::packed::{self, Expected};
use fleet_transfer::shelf::{Shelf, put_new};
use sa_fleet::announcement::{Blob, Content, Delta};
use sa_fleet::identity::{Digest, Generation};
use sa_snapshot::{FORMAT_VERSION, Snapshot};
use sa_wire::SubnetPrefix;

use super::{Input, TOLD_BEFORE};
use crate::generation;
use crate::jobs::LEVEL;

/// Patches are made from so many before it: each costs as much time as the whole, before anybody
/// hears.
const PATCHES: usize = 2;
/// Files that stay, with the newest.
const KEPT: usize = 4;

/// To be packed.
pub(super) struct Packs {
    pub(super) number: u64,
    pub(super) snapshot: Arc<dyn AsRef<Snapshot> + Send + Sync>,
}

/// Ready to be announced.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) number: u64,
    pub(super) content: Content,
    /// What most who follow will fetch. Units: bytes.
    pub(super) fetched: u64,
}

/// The thread; it ends with this.
pub(super) struct Packing {
    packs: Sender<Packs>,
}

impl Packing {
    /// Errors: no thread.
    pub(super) fn start(
        shelf: Arc<Shelf>,
        subnet: SubnetPrefix,
        told: &Sender<Input>,
    ) -> io::Result<Self> {
        // Nothing waits: whoever looks again has the newest.
        let (packs, packed) = bounded::<Packs>(0);
        let told = told.clone();
        let thread = thread::Builder::new().name("sa-fleet-pack".into());
        thread.spawn(move || {
            let mut before = Before::of(subnet);
            for Packs { number, snapshot } in packed {
                let made = before.pack(&shelf, number, (*snapshot).as_ref(), &told);
                drop(snapshot);
                let input = made.map_or_else(Input::NotPacked, Input::Packed);
                if told.send(input).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { packs })
    }

    /// False: it is still at the one before.
    pub(super) fn begin(&self, packs: Packs) -> bool {
        self.packs.try_send(packs).is_ok()
    }
}

/// What was packed.
struct Before {
    subnet: SubnetPrefix,
    generation: Option<Generation>,
    /// The newest first.
    files: VecDeque<Expected>,
}

impl Before {
    fn of(subnet: SubnetPrefix) -> Self {
        Self {
            subnet,
            generation: None,
            files: VecDeque::new(),
        }
    }

    /// Errors: for people.
    fn pack(
        &mut self,
        shelf: &Shelf,
        number: u64,
        snapshot: &Snapshot,
        told: &Sender<Input>,
    ) -> Result<Packed, String> {
        let failed = |why: &dyn std::error::Error| why.to_string();
        let prefix = SubnetPrefix(u64::from_be_bytes(snapshot.subnet().prefix));
        if prefix != self.subnet {
            return Err(format!(
                "it is of subnet {prefix}, and [fleet] is of {}; say `subnet = \"{prefix}\"` there, and on every host",
                self.subnet
            ));
        }
        // Whoever may read the file on a host must not become a trusted requester by it.
        let public = snapshot.without_key().map_err(|why| failed(&why))?;
        let generation = generation::of(&public).map_err(|why| failed(&why))?;
        let bytes = public.as_bytes();
        let size = bytes.len() as u64;
        if self.generation.is_some_and(|it| it != generation) && size > TOLD_BEFORE {
            let _ = told.send(Input::Differs);
        }
        let olds: Vec<Expected> = self.files.iter().take(PATCHES).copied().collect();
        let patches = put_new(shelf, bytes, &olds, LEVEL).map_err(|why| failed(&why))?;
        let digest = packed::digest(bytes);
        self.keep(shelf, Expected { digest, size });
        let fetched = patches.first().map_or(size, |(_, patch)| *patch);
        let content = content(generation, (digest, size), shelf, patches)?;
        self.generation = Some(generation);
        Ok(Packed {
            number,
            content,
            fetched,
        })
    }

    /// Files that nobody will ask for any more go.
    fn keep(&mut self, shelf: &Shelf, file: Expected) {
        self.files.retain(|it| it.digest != file.digest);
        self.files.push_front(file);
        self.files.truncate(KEPT);
        // Where the directory cannot be listed now, the next one tidies up.
        let _ = shelf.keep_only(&self.files.iter().map(|it| it.digest).collect());
    }
}

fn content(
    generation: Generation,
    (digest, size): (Digest, u64),
    shelf: &Shelf,
    patches: Vec<(Digest, u64)>,
) -> Result<Content, String> {
    let format = FORMAT_VERSION;
    let blob = Blob {
        format,
        digest,
        size,
    };
    let delta = |(from, size): (Digest, u64)| {
        let item = fleet_transfer::shelf::Item::Patch { to: digest, from };
        let bytes = shelf.read(item, size).ok()?;
        Some(Delta {
            to: 0,
            from,
            patch: packed::digest(&bytes),
            size: u32::try_from(size).ok()?,
        })
    };
    let deltas = patches.into_iter().filter_map(delta).collect();
    Content::new(generation, vec![blob], deltas).map_err(|why| why.to_string())
}
