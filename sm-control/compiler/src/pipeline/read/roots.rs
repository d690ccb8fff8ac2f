//! The roots of `updn` and `ftree`: a file of node GUIDs.
//!
//! OpenSM's option `root_guid_file` names the same file. As with `prefix-routes.conf`, only a path
//! beside the given `opensm.conf` is followed: one below `/etc` of this host need not be the SM's.

use std::path::{Path, PathBuf};

use sa_fabric::formats::roots;
use sa_fabric::intake::Kind;
use sa_fabric::options::OpenSmOptions;
use sa_wire::Guid;

use super::ReadProblem;
use super::reader::Reader;
use crate::pipeline::Inputs;

/// The roots; none without a file. Errors: it cannot be read or parsed.
pub(super) fn read(
    reader: &mut Reader,
    inputs: &Inputs,
    options: &OpenSmOptions,
) -> Result<Vec<Guid>, ReadProblem> {
    let Some(path) = file(reader, inputs, options) else {
        return Ok(Vec::new());
    };
    let text = reader.text(Kind::Options, "root-guids", &path)?;
    let roots = roots::read(&text).map_err(|error| ReadProblem::parse(&path, error))?;
    if roots.is_empty() {
        let text = "names no root; roots are found by their place in the fabric";
        reader.warn_of(&path, "roots-none", text);
    }
    Ok(roots)
}

/// The file that is named, or the one that `opensm.conf` names beside itself.
fn file(reader: &mut Reader, inputs: &Inputs, options: &OpenSmOptions) -> Option<PathBuf> {
    if inputs.root_guids.is_some() {
        return inputs.root_guids.clone();
    }
    let conf = inputs.opensm_conf.as_ref()?;
    let name = options.root_guid_file.as_ref()?;
    if Path::new(name).is_absolute() {
        let text = format!(
            "root_guid_file {name} is not read; name it with --root-guids, or as root_guids of \
             [routing]"
        );
        reader.warn_of(conf, "root-guids-not-read", text);
        return None;
    }
    // One that is missing is an error, as roots decide about every route.
    Some(conf.with_file_name(name))
}
