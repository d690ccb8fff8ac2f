//! Files that were kept, in a folder of our own.
//!
//! They are read again by the readers that read them first, which go by paths and look for files
//! beside others. So each lies in the folder as it lay, below it: `/etc/opensm/opensm.conf` is
//! `FOLDER/_root_/etc/opensm/opensm.conf`. No path of a sidecar leads out of the folder.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use sa_compiler::pipeline::Inputs;
use sa_fabric::intake::{Intake, Seen};
use xxhash_rust::xxh3::xxh3_64;

use super::Problem;
use super::head::Head;

/// Writes all files below the folder, and has the inputs name them there. Errors: one is damaged;
/// the folder takes no more.
pub(super) fn unpack(
    sidecar: &File,
    head: &Head,
    folder: &Path,
    inputs: &mut Inputs,
) -> Result<(), Problem> {
    let mut at = head.files_at;
    let mut seen = Seen::new();
    for file in &head.text.files {
        // The sum of all is within the sidecar: that was judged with the head.
        let length = usize::try_from(file.bytes).map_err(|_| Problem::Damaged("its files"))?;
        let mut bytes = vec![0; length];
        sidecar.read_exact_at(&mut bytes, at)?;
        let digest = xxh3_64(&bytes);
        if format!("{digest:016x}") != file.digest {
            return Err(Problem::Damaged("its files"));
        }
        let place = below(folder, Path::new(&file.path));
        fs::create_dir_all(place.parent().unwrap_or(folder))?;
        // A second file of one name would be read in place of the first.
        let mut out = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&place)?;
        out.write_all(&bytes)?;
        seen.insert(place, digest);
        at += file.bytes;
    }
    // What else lies on this machine is not read in place of what was not kept.
    inputs.intake = Intake::default().expecting(seen);
    move_below(folder, inputs);
    Ok(())
}

/// Every path among the inputs.
fn move_below(folder: &Path, inputs: &mut Inputs) {
    inputs.fabric = below(folder, &inputs.fabric);
    let named = [
        &mut inputs.lids,
        &mut inputs.torus_conf,
        &mut inputs.root_guids,
        &mut inputs.policy,
        &mut inputs.ulp_names,
        &mut inputs.partitions,
        &mut inputs.opensm_conf,
        &mut inputs.prefix_routes,
        &mut inputs.aliases,
    ];
    for path in named.into_iter().flatten() {
        *path = below(folder, path);
    }
    // Named now, so that nobody is told once more that it was found beside the fabric.
    inputs.torus_conf = inputs.torus_conf();
}

/// Where a path lies in the folder. Two paths that lay beside each other do so there.
fn below(folder: &Path, path: &Path) -> PathBuf {
    let mut place = folder.to_owned();
    for component in path.components() {
        match component {
            Component::Normal(name) => place.push(name),
            Component::ParentDir => place.push("_up_"),
            Component::RootDir | Component::Prefix(_) => place.push("_root_"),
            Component::CurDir => {}
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_folder() {
        for (path, place) in [
            ("net", "f/net"),
            ("./t/net", "f/t/net"),
            ("../../etc/passwd", "f/_up_/_up_/etc/passwd"),
            ("/etc/passwd", "f/_root_/etc/passwd"),
            ("t/", "f/t"),
        ] {
            assert_eq!(below(Path::new("f"), Path::new(path)), Path::new(place));
        }
    }
}
