//! `prefix-routes.conf`: by which routers other subnets are reached.
//!
//! OpenSM takes the path from `opensm.conf`, by default one below `/etc/opensm`. That file of
//! *this* host need not be the SM's, so only a path beside the given `opensm.conf` is followed; an
//! absolute one has to be named (deviation 26).

use std::path::{Path, PathBuf};

use sa_fabric::intake::Kind;
use sa_fabric::mistaken::FileKind;
use sa_fabric::options::OpenSmOptions;
use sa_fabric::subnet::Subnet;

use super::ReadProblem;
use super::reader::{Reader, or_mistaken};
use crate::off_subnet;
use crate::pipeline::Inputs;
use crate::prefix_routes::{self, PrefixRoute};

/// The routes; none without a file. Errors: it cannot be read or parsed.
///
/// Routes to routers that are not there are remarks and no errors, as one may be down.
pub(super) fn read(
    reader: &mut Reader,
    inputs: &Inputs,
    options: &OpenSmOptions,
    subnet: &Subnet,
) -> Result<Vec<PrefixRoute>, ReadProblem> {
    // Without routes DGIDs of other subnets have no paths, as in OpenSM.
    let Some(path) = file(reader, inputs, options) else {
        return Ok(Vec::new());
    };
    let text = reader.text(Kind::Options, "prefix-routes.conf", &path)?;
    let routes = prefix_routes::parse(&text).map_err(|error| {
        let problem = ReadProblem::parse(&path, error);
        or_mistaken(&path, &text, FileKind::PrefixRoutes, problem)
    })?;
    let remarks = off_subnet::remarks(&path, &routes, subnet);
    reader.remarks.extend(remarks);
    Ok(routes)
}

/// The file that is named, or the one that `opensm.conf` names beside itself.
fn file(reader: &mut Reader, inputs: &Inputs, options: &OpenSmOptions) -> Option<PathBuf> {
    if let Some(path) = &inputs.prefix_routes {
        return Some(path.clone());
    }
    let conf = inputs.opensm_conf.as_ref()?;
    let name = options.prefix_routes_file.as_ref()?;
    // Files of the SM's host may be there on this one, and say something else.
    if Path::new(name).is_absolute() {
        // `opensm -c` writes the default into every file, so it says nothing.
        if name != DEFAULT {
            let text = format!(
                "prefix_routes_file {name} is not read; name it with --prefix-routes, or as \
                 prefix_routes of [fabric]"
            );
            reader.warn_of(conf, "prefix-routes-not-read", text);
        }
        return None;
    }
    let path = conf.with_file_name(name);
    // OpenSM goes on without it, too; it says so in its log only.
    if !path.exists() {
        let text =
            format!("prefix_routes_file {name} is not there; DGIDs of other subnets have no paths");
        reader.warn_of(conf, "prefix-routes-missing", text);
        return None;
    }
    Some(path)
}

/// What `opensm -c` writes.
const DEFAULT: &str = "/etc/opensm/prefix-routes.conf";
