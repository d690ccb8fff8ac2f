//! Options of the SM: `opensm.conf`, what the configuration sets one by one over it (`[sm]`), what the command line says
//! over both, what an SA says over all.
//!
//! | option | by the SA | by command line or configuration | by the file | else |
//! |---|---|---|---|---|
//! | QoS | third | first | second | on without a file, off with one |
//! | LMC | always | second | third | from the fabric |
//! | subnet prefix | always | | second | link-local |
//! | `guid`, `reassign_lids` | never needed | | from files only | |
//!
//! An SA's word is what runs; where it differs from the files in something that answers show, the
//! operator is told.

use std::path::Path;

use sa_fabric::intake::Kind;
use sa_fabric::mistaken::{FileKind, mistaken};
use sa_fabric::options::{ManagerOptions, OpenSmOptions};
use sa_fabric::sa_records::{self, SaFabric};
use sa_text::Remark;

use super::ReadProblem;
use super::reader::Reader;
use crate::pipeline::Inputs;

/// The options in force. Errors: `opensm.conf` cannot be read or parsed.
pub(super) fn read(reader: &mut Reader, inputs: &Inputs) -> Result<OpenSmOptions, ReadProblem> {
    let mut options = match &inputs.opensm_conf {
        Some(path) => file(reader, path, inputs.is_manager)?,
        None => OpenSmOptions::default(),
    };
    assign(reader, inputs, &mut options)?;
    options.qos = qos(reader, inputs, &options);
    options.lmc = inputs.lmc.or(options.lmc);
    if let Some(from_sa) = &inputs.from_sa {
        follow(reader, from_sa, &mut options);
    }
    Ok(options)
}

/// Those that only a Subnet Manager follows. Errors: `opensm.conf` cannot be read or parsed.
pub(super) fn manager(reader: &mut Reader, inputs: &Inputs) -> Result<ManagerOptions, ReadProblem> {
    let mut options = ManagerOptions::default();
    if let Some(path) = &inputs.opensm_conf {
        let bytes = reader.bytes(Kind::Options, "opensm.conf", path)?;
        options = ManagerOptions::parse(&bytes).map_err(|error| ReadProblem::parse(path, error))?;
    }
    for setting in &inputs.settings {
        options
            .apply(setting)
            .map_err(|error| ReadProblem::parse(Path::new("[sm]"), error))?;
    }
    Ok(options)
}

/// Unknown options are no errors: a newer OpenSM may know them.
fn file(reader: &mut Reader, path: &Path, is_manager: bool) -> Result<OpenSmOptions, ReadProblem> {
    let bytes = reader.bytes(Kind::Options, "opensm.conf", path)?;
    // Nearly any text is an opensm.conf with options that OpenSM does not know.
    if let Some(other) = mistaken(path, &bytes, FileKind::OpenSmConf) {
        return Err(other.into());
    }
    let options = OpenSmOptions::parse(&bytes).map_err(|error| ReadProblem::parse(path, error))?;
    let notes = options.notes.iter().map(|note| note.remark(path));
    reader.remarks.extend(notes);
    // Two codes, since one is a fact and the other most likely a slip.
    let not_used = options.not_used.iter();
    let unused = not_used.filter(|it| !(is_manager && ManagerOptions::has(&it.key)));
    let unused = unused.map(|unused| {
        let (code, why) = match unused.is_known {
            true => ("option-without-effect", "has no effect here"),
            false => ("option-unknown", "is no option of OpenSM's"),
        };
        Remark::warning(code, format!("{} {why}", unused.key)).at(path, unused.at)
    });
    reader.remarks.extend(unused);
    Ok(options)
}

/// Takes options that were given one by one. What only an SM follows is told, as for lines of a file. Errors: a value that is not
/// what its key needs; who parsed a configuration has refused it already, with its place.
fn assign(
    reader: &mut Reader,
    inputs: &Inputs,
    options: &mut OpenSmOptions,
) -> Result<(), ReadProblem> {
    for setting in &inputs.settings {
        let is_used = options
            .apply(setting)
            .map_err(|error| ReadProblem::parse(Path::new("[sm]"), error))?;
        let key = &setting.key;
        let is_followed = is_used || inputs.is_manager && ManagerOptions::has(key);
        // Of a sweep they were told at the start.
        if !is_followed && inputs.swept.is_none() {
            reader.warn(
                "option-without-effect",
                format!("[sm] {key} has no effect here"),
            );
        }
    }
    Ok(())
}

/// Whether the SM uses QoS: what the operator says, the file, the SA, OpenSM's default.
///
/// With a file but without a line for `qos` it is off, which surprises those who run OpenSM with
/// -Q; so it is told.
fn qos(reader: &mut Reader, inputs: &Inputs, options: &OpenSmOptions) -> bool {
    let given = options.qos_given.then_some(options.qos);
    let told = inputs.from_sa.as_ref().map(|from_sa| from_sa.qos());
    if let Some(qos) = inputs.qos.or(given).or(told) {
        return qos;
    }
    // What a file of OpenSM's does not mention is as OpenSM has it: off. Without any, nobody has
    // said that OpenSM's defaults are wanted.
    let Some(path) = inputs.opensm_conf.as_ref().filter(|_| !inputs.is_q_given) else {
        return true;
    };
    reader.warn_of(
        path,
        "qos-unsaid",
        "no line for qos: QoS is off, which is OpenSM's default; where OpenSM runs with -Q, say \
         qos = true in [fabric]",
    );
    OpenSmOptions::default().qos
}

/// What the SA says counts, whatever the file of options says.
///
/// It does not override QoS, as an operator may want answers as if it were on; only the difference
/// is told.
fn follow(reader: &mut Reader, from_sa: &SaFabric, options: &mut OpenSmOptions) {
    options.lmc = Some(from_sa.lmc());
    options.lmc_esp0 = from_sa.lmc_esp0();
    // LIDs are in force, and the SM is where the SA says.
    (options.reassign_lids, options.guid) = (false, None);
    let keys = from_sa.pkeys();
    // Tables with both keys cannot be without the option.
    options.allow_both_pkeys |= keys.as_ref().is_some_and(sa_records::has_both);
    if let Some(prefix) = from_sa.prefix() {
        if prefix != options.subnet_prefix {
            let text = format!(
                "subnet_prefix: ports have 0x{:016x}, not 0x{:016x}; taking that of the ports",
                prefix.0, options.subnet_prefix.0
            );
            reader.warn("subnet-prefix-differs", text);
        }
        options.subnet_prefix = prefix;
    }
    if options.qos != from_sa.qos() {
        let state = |qos| if qos { "on" } else { "off" };
        let text = format!(
            "QoS is {} here, and {} at {}: paths will have other SLs",
            state(options.qos),
            state(from_sa.qos()),
            from_sa.whom()
        );
        reader.warn("qos-differs", text);
    }
}
