//! `sapphire fleet root sign`: a signature beside a root file.
//!
//! The name of its file is for people, since hosts read all of them: that of the key in the root
//! file, where it is there. A key of the root file before signs as well, and needs a name.
//!
//! What cannot be read is not signed: a signature under it would say that somebody has looked at
//! it.

use std::path::PathBuf;

use clap::Args;
use fleet_keys::{RootFiles, RootText, SecretKey, is_name};
use sa_fabric::outlet::{self, Readers};

use crate::failure::{Failure, Outcome};
use crate::fleet::{name, root_failure};
use crate::inputs::or_fail;

/// Signs a root file: writes FILE.NAME.minisig beside it.
///
/// A key with a password is minisign's to open: minisign -S -s KEY -m FILE -x FILE.NAME.minisig
/// writes the same.
#[derive(Debug, Args)]
pub(crate) struct Sign {
    /// Root file
    #[arg(value_name = "FILE")]
    root_file: PathBuf,
    /// Secret root key, without a password
    #[arg(long, value_name = "ROOTKEY")]
    key: PathBuf,
    /// NAME of the signature's file; for a key that the file does not name, as it is one of the
    /// root file before
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
}

/// Errors: the key cannot be read; the file is no root file.
pub(crate) fn run(verb: &Sign) -> Outcome {
    let key = or_fail(SecretKey::read(&verb.key))?;
    let files = RootFiles::read(&verb.root_file).map_err(root_failure)?;
    let Ok(root) = RootText::read(&files.text) else {
        // It says the same, with its place.
        return files.installed().map(drop).map_err(root_failure);
    };
    let own = root.roots.iter().find(|it| it.key == key.public());
    let own_name = own.map(|it| it.name.clone()).filter(|it| is_name(it));
    let name = verb.name.clone().or(own_name).ok_or_else(|| {
        Failure::usage(format!(
            "{}: {} names no root key {}; where it is one of the root file before, say by --name what the signature's file is to be called",
            verb.key.display(),
            files.path.display(),
            key.public()
        ))
    })?;
    let signature = RootText::sign(&files.text, &key);
    let signature = signature.map_err(|it| Failure::failed_in(&files.path, it))?;
    let path = PathBuf::from(format!("{}.{name}.minisig", files.path.display()));
    or_fail(outlet::write(&path, Readers::All, signature.as_bytes()))?;
    let now = RootFiles::read(&files.path).map_err(root_failure)?;
    let signed = root.roots.iter().filter(|it| now.is_signed_by(&it.key));
    outln!(
        "{}: written; {} of the file's own keys have signed it, and {} must",
        path.display(),
        signed.count(),
        root.threshold
    );
    Ok(())
}
