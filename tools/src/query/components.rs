//! What PathRecord and MultiPathRecord requests ask of paths, their ends aside.
//!
//! The two requests have different layouts and masks, but the same components with the same
//! meaning. So they are taken once, as a PathRecord and a [`PathCompMask`]; `multi_path` moves both
//! over.
//!
//! A component that is not named stays 0 in the record and unset in the mask, which an SA reads as
//! "any". `--mask` sets bits beside those: then the zero itself is asked for.

use std::path::PathBuf;

use clap::Args;
use policy::UlpNames;
use policy::services::Service;
use sa_wire::Sl;
use sa_wire::path_record::{
    FlowWord, NumbPathByte, PathCompMask, PathRecord, QosClassSl, SelectedValue,
};

use super::number;
use crate::failure::Outcome;
use crate::services;

/// What is asked of each path.
#[derive(Debug, Args)]
pub(super) struct Components {
    /// P_Key
    #[arg(long, value_name = "PKEY", value_parser = number::<u16>)]
    pkey: Option<u16>,
    /// QoS class
    #[arg(long, value_name = "CLASS", value_parser = clap::value_parser!(u16).range(0..4096))]
    qos_class: Option<u16>,
    /// Service level
    #[arg(long, value_name = "SL", value_parser = clap::value_parser!(u8).range(0..16))]
    sl: Option<u8>,
    /// Service id
    #[arg(long, value_name = "ID", value_parser = number::<u64>)]
    service_id: Option<u64>,
    /// Service by name: nfs, tcp:4420, ipoib; `sapphire query services` lists them
    #[arg(long, value_name = "NAME", conflicts_with = "service_id")]
    service: Option<String>,
    /// More names for services, in a file; docs/ulps.md has the format
    #[arg(long, value_name = "FILE")]
    ulp_names: Option<PathBuf>,
    /// MTU selector and code in one byte: 0x84 is exactly 2048
    #[arg(long, value_name = "BYTE", value_parser = number::<u8>)]
    mtu: Option<u8>,
    /// Rate selector and code in one byte
    #[arg(long, value_name = "BYTE", value_parser = number::<u8>)]
    rate: Option<u8>,
    /// Packet life time selector and exponent in one byte
    #[arg(long, value_name = "BYTE", value_parser = number::<u8>)]
    packet_life: Option<u8>,
    /// Traffic class
    #[arg(long, value_name = "TCLASS", value_parser = number::<u8>)]
    tclass: Option<u8>,
    /// Flow label
    #[arg(long, value_name = "LABEL", value_parser = number::<u32>)]
    flow_label: Option<u32>,
    /// Hop limit
    #[arg(long, value_name = "HOPS", value_parser = number::<u8>)]
    hop_limit: Option<u8>,
    /// Ask for raw traffic (1) or not (0)
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u8).range(0..2))]
    raw: Option<u8>,
    /// Ask for reversible paths (1), or say that it does not matter (0)
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u8).range(0..2))]
    reversible: Option<u8>,
    /// Paths wanted: of each pair of ports in tables of PathRecords, in all of MultiPathRecord
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..128))]
    numb_path: Option<u8>,
    /// Bits of the component mask besides those of what is asked for
    #[arg(long, value_name = "MASK", value_parser = number::<u64>)]
    pub(super) mask: Option<u64>,
    /// The SA's key
    #[arg(long, value_name = "KEY", value_parser = number::<u64>)]
    pub(super) sa_key: Option<u64>,
}

/// What a request names by number.
struct Named {
    service_id: Option<u64>,
    pkey: Option<u16>,
}

impl Components {
    /// What is asked for, as a PathRecord without ends, and the mask of exactly that.
    ///
    /// Errors: no service is called so; the file of names cannot be read.
    pub(super) fn of_path(&self) -> Outcome<(PathCompMask, PathRecord)> {
        let named = self.named()?;
        let mut numb_path = NumbPathByte::new(self.numb_path.unwrap_or(0));
        if self.reversible == Some(1) {
            numb_path = numb_path.with_reversible();
        }
        let mut flow = FlowWord::new(self.flow_label.unwrap_or(0), self.hop_limit.unwrap_or(0));
        if self.raw == Some(1) {
            flow = flow.with_raw_traffic();
        }
        // The option takes 0 to 15 only, so nothing is cut.
        let sl = Sl::from_low_bits(self.sl.unwrap_or(0));
        let record = PathRecord {
            service_id: named.service_id.unwrap_or(0).into(),
            flow,
            tclass: self.tclass.unwrap_or(0),
            numb_path,
            pkey: named.pkey.unwrap_or(0).into(),
            qos_class_sl: QosClassSl::new(self.qos_class.unwrap_or(0), sl),
            mtu: SelectedValue(self.mtu.unwrap_or(0)),
            rate: SelectedValue(self.rate.unwrap_or(0)),
            packet_life: SelectedValue(self.packet_life.unwrap_or(0)),
            ..PathRecord::default()
        };
        Ok((self.asked(&named), record))
    }

    /// What the table of names says of an id.
    pub(super) fn names(&self) -> Outcome<UlpNames> {
        services::names(self.ulp_names.as_deref())
    }

    /// Service id and P_Key, by number or by the name of the service.
    fn named(&self) -> Outcome<Named> {
        let mut named = Named {
            service_id: self.service_id,
            pkey: self.pkey,
        };
        if let Some(word) = &self.service {
            match services::service(&self.names()?, word)? {
                Service::Id(id) => named.service_id = Some(id.0),
                // A P_Key that was given by number wins over that of a name of a partition.
                Service::Partition { pkey } => named.pkey = named.pkey.or(Some(pkey)),
                // A name whose requests carry no service id: to ask as it asks is to name nothing.
                Service::Silent(_) => {}
            }
        }
        Ok(named)
    }

    fn asked(&self, named: &Named) -> PathCompMask {
        let asked = [
            (PathCompMask::SERVICE_ID, named.service_id.is_some()),
            (PathCompMask::RAW_TRAFFIC, self.raw.is_some()),
            (PathCompMask::FLOW_LABEL, self.flow_label.is_some()),
            (PathCompMask::HOP_LIMIT, self.hop_limit.is_some()),
            (PathCompMask::TCLASS, self.tclass.is_some()),
            (PathCompMask::REVERSIBLE, self.reversible.is_some()),
            (PathCompMask::NUMB_PATH, self.numb_path.is_some()),
            (PathCompMask::PKEY, named.pkey.is_some()),
            (PathCompMask::QOS_CLASS, self.qos_class.is_some()),
            (PathCompMask::SL, self.sl.is_some()),
            (PathCompMask::MTU_PAIR, self.mtu.is_some()),
            (PathCompMask::RATE_PAIR, self.rate.is_some()),
            (PathCompMask::PACKET_LIFE_PAIR, self.packet_life.is_some()),
        ];
        let given = asked.iter().filter(|(_, given)| *given);
        given.fold(PathCompMask::default(), |mask, (bits, _)| mask | *bits)
    }
}
