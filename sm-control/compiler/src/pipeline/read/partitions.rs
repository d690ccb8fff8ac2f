//! Partitions, and the LIDs of their multicast groups.
//!
//! Partitions are those of the SM's own file wherever it is given: it has names, SLs and multicast
//! groups, of which P_Key tables say nothing. Tables that an SA showed are compared with what comes
//! of the file, and a difference is told: the SM may have read another version of it.
//!
//! | file | tables of an SA | partitions |
//! |---|---|---|
//! | given | any | the file's; a difference is told |
//! | none | shown | made up from the tables, all with SL 0 |
//! | none | not shown | everybody in the default partition |

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

/// Who is in which partition: by `partitions.conf`, else by the P_Key tables that an SA showed,
/// else
/// everybody in the default partition. Errors: the file cannot be read or parsed.
///
/// With QoS off OpenSM sets the SLs of all partitions to 0, so the option goes in with the file.
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
    // MLIDs are numbered here, as they follow from the order of the file's statements.
    let (partitions, mlids) = match &config {
        Some(config) => {
            let partitions = Partitions::new(config, &ports, wanted);
            let mlids = off_subnet::mlids(config, &ports, wanted, &partitions);
            (partitions, mlids)
        }
        // Without a file there is one group, the broadcast group of the default partition.
        None => (Partitions::without_file(&ports), vec![Mlid::MIN]),
    };
    if let Some(keys) = &keys {
        // Also of made-up partitions: not every table can be said as one.
        let disagreement = sa_records::disagreement(keys, &partitions, &ports);
        reader.remarks.extend(disagreement);
    }
    Ok((partitions, mlids))
}

/// `partitions.conf`. Errors: it cannot be read or parsed.
///
/// Notices of the parser are remarks without a code: it has none to give.
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
///
/// None where they say nothing special, or cannot be said as partitions; then everybody is in the
/// default partition.
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
