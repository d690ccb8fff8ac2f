//! What a generation is: a digest over what answers follow from.

use sa_fleet::identity::{Digest, Generation};
use sa_snapshot::{AnswerPart, LoadError, Snapshot};

/// Of a snapshot: the same for two that give the same answers by the same bytes, whenever they were
/// compiled.
///
/// Reads it through once. Errors: its memory is not what it was.
pub fn of(snapshot: &Snapshot) -> Result<Generation, LoadError> {
    let mut paths = blake3::Hasher::new_derive_key("sapphire generation of paths v1");
    let mut policy = blake3::Hasher::new_derive_key("sapphire generation of policy v1");
    snapshot.answer_pieces(|part, word, bytes| {
        let hasher = match part {
            AnswerPart::Paths => &mut paths,
            AnswerPart::Policy => &mut policy,
        };
        hasher.update(&word).update(bytes);
    })?;
    Ok(Generation {
        paths: Digest(*paths.finalize().as_bytes()),
        policy: Digest(*policy.finalize().as_bytes()),
    })
}
