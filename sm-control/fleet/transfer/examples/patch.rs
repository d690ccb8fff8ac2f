//! How large the patch from one snapshot to another is, with and without what moved, and how long
//! both sides take.
//!
//! `cargo run -p fleet-transfer --example patch -- OLD.snap NEW.snap`

use std::time::Instant;

use fleet_transfer::packed::{Expected, digest, pack, unpack};
use sa_snapshot::moved::moves;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args().skip(1);
    let (Some(old), Some(new)) = (paths.next(), paths.next()) else {
        return Err("patch OLD.snap NEW.snap".into());
    };
    let (old, new) = (std::fs::read(old)?, std::fs::read(new)?);
    let moves = moves(&old, &new).map_or(0, |moves| moves.pack().len());
    let begun = Instant::now();
    let patch = pack(&new, Some(&old), 3)?;
    let packed = begun.elapsed();
    let expected = Expected {
        digest: digest(&new),
        size: new.len() as u64,
    };
    let begun = Instant::now();
    let mut out = Vec::with_capacity(new.len());
    unpack(&*patch, Some(&old), expected, &mut out)?;
    let unpacked = begun.elapsed();
    println!(
        "{} bytes ({moves} of moves before they are packed), made in {packed:.1?}, applied in {unpacked:.1?}",
        patch.len()
    );
    Ok(())
}
