//! Partitions, and the LIDs of their multicast groups.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use policy::{PartitionOptions, Partitions, PartitionsConfig};
use sa_fabric::intake::Kind;
use sa_fabric::mistaken::FileKind;
use sa_fabric::options::OpenSmOptions;
use sa_fabric::sa_records;
use sa_fabric::subnet::Subnet;
use sa_text::Remark;
use sa_wire::{Guid, Mlid};

use super::ReadProblem;
use super::reader::{Reader, or_mistaken};
use crate::off_subnet;
use crate::pipeline::Inputs;

/// Who is in which partition: by `partitions.conf`, else by the P_Key tables that an SA showed, else
/// everybody in the default partition. Errors: the file cannot be read or parsed.
pub(super) fn read(
    reader: &mut Reader,
    inputs: &Inputs,
    options: &OpenSmOptions,
    subnet: &Subnet,
) -> Result<(Partitions, Vec<Mlid>), ReadProblem> {
    let ports = subnet.port_facts();
    let keys = inputs.from_sa.as_ref().and_then(|from_sa| from_sa.pkeys());
    let wanted = PartitionOptions {
        qos: options.qos,
        allow_both_pkeys: options.allow_both_pkeys,
    };
    let config = match (&inputs.partitions, &keys) {
        (Some(path), _) => Some(conf(reader, path)?),
        (None, Some(keys)) => by_tables(reader, keys),
        (None, None) => None,
    };
    let (partitions, mlids) = match &config {
        Some(config) => {
            let partitions = Partitions::new(config, &ports, wanted);
            let mlids = off_subnet::mlids(config, &ports, wanted, &partitions);
            (partitions, mlids)
        }
        None => (Partitions::without_file(&ports), vec![Mlid::MIN]),
    };
    if let Some(keys) = &keys {
        let disagreement = sa_records::disagreement(keys, &partitions, &ports);
        reader.remarks.extend(disagreement);
    }
    Ok((partitions, mlids))
}

/// `partitions.conf`. Errors: it cannot be read or parsed.
pub(super) fn conf(reader: &mut Reader, path: &Path) -> Result<PartitionsConfig, ReadProblem> {
    let text = reader.text(Kind::Policy, "partitions.conf", path)?;
    let config = PartitionsConfig::parse(&text).map_err(|error| {
        let problem = ReadProblem::policy(path, error);
        or_mistaken(path, &text, FileKind::Partitions, problem)
    })?;
    let notices = config.notices.iter();
    let notices =
        notices.map(|notice| Remark::unnamed(path, notice.span.start, notice.kind.to_string()));
    reader.remarks.extend(notices);
    Ok(config)
}

/// Who belongs to which partition as P_Key tables have it.
fn by_tables(
    reader: &mut Reader,
    keys: &BTreeMap<Guid, BTreeSet<u16>>,
) -> Option<PartitionsConfig> {
    let config = sa_records::given_partitions(keys).unwrap_or_else(|error| {
        let text = format!("the P_Key tables give no partitions: {}", error.message());
        reader.warn("pkeys-give-no-partitions", text);
        None
    });
    if config.is_some() {
        reader.warn(
            "partitions-of-pkeys",
            "partitions are those of the P_Key tables, all with SL 0: an SA tells no SLs; give \
             the SM's partitions.conf",
        );
    }
    config
}
