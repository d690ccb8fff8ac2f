//! OpenSM and this program side by side.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_compiler::pipeline::{self, Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_port::ibsim::{Attachment, IbsimClient, Options, Role};
use sa_port::{AskError, ClientPort, Destination, Patience, Reply};
use sa_rig::{Fabric, Process};
use sa_service::dispatch;
use sa_tests::records::Request;
use sa_tests::seen::{EXPLAINED, RACED};
use sa_wire::Lid;
use sa_wire::class_port_info::ClassPortInfo;
use sa_wire::mad::method;
use sa_wire::records::Layout;
use sa_wire::sa::{AttributeId, DATA_OFFSET};
use sa_wire::umad::Slot;

use super::site::Site;

/// A fabric as this program sees it, and how it compares with the running OpenSM.
pub(crate) struct Bench {
    pub(crate) compiled: pipeline::Compiled,
    /// By attribute.
    pub(crate) differences: BTreeMap<AttributeId, Vec<String>>,
    pub(crate) compared: BTreeMap<AttributeId, usize>,
    /// Those of them that found something.
    pub(crate) found: BTreeMap<AttributeId, usize>,
    pub(crate) transaction: u64,
    /// Not compared: shortest paths of equal length are OpenSM's choice.
    pub(crate) skipped: Option<AttributeId>,
}

impl Bench {
    /// Brings the fabric up, and reads what OpenSM has written about it.
    pub(crate) fn start(site: &Site) -> Result<(Self, Fabric, Process)> {
        Self::start_on(site, "H1")
    }

    /// The same, with OpenSM on this node.
    pub(crate) fn start_on(site: &Site, node: &str) -> Result<(Self, Fabric, Process)> {
        let fabric = Fabric::start(&site.net)?;
        let write = |name: &str, text: &str| {
            let path = fabric.dir().join(name);
            fs::write(&path, text).map(|()| path)
        };
        let partitions = write("partitions.conf", site.partitions)?;
        let mut conf = site.conf.to_owned();
        let torus_conf = match &site.torus {
            Some(text) => {
                let path = write("torus-2QoS.conf", text)?;
                conf += &format!(
                    "routing_engine torus-2QoS\ntorus_config {}\n",
                    path.display()
                );
                Some(path)
            }
            None => None,
        };
        let conf = write("opensm.conf", &conf)?;
        let text = |path: &Path| path.to_str().map(str::to_owned).context("a name");
        let opensm = fabric.opensm(node, &["-F", &text(&conf)?, "-P", &text(&partitions)?])?;
        let list = fabric.dir().join("opensm-subnet.lst");
        let inputs = Inputs {
            fabric: match site.from_net {
                true => fabric.dir().join("net"),
                false => fabric.dir().to_owned(),
            },
            lids: site.from_net.then_some(list),
            torus_conf,
            opensm_conf: Some(conf),
            partitions: Some(partitions),
            allow_lost_pairs: true,
            ..Inputs::default()
        };
        let compiled = pipeline::compile(&inputs, Stamp::default())?;
        let bench = Self {
            compiled,
            differences: BTreeMap::new(),
            compared: BTreeMap::new(),
            found: BTreeMap::new(),
            transaction: 0,
            skipped: None,
        };
        Ok((bench, fabric, opensm))
    }

    pub(crate) const fn parts(&self) -> &FabricState {
        &self.compiled.parts
    }

    pub(crate) fn ours(&self, slot: &Slot) -> Option<Vec<u8>> {
        dispatch::respond_with(&self.compiled.snapshot, Some(self.parts()), slot)
    }

    /// Every record that we have of an attribute, as `requester` sees them.
    pub(crate) fn all(&mut self, layout: &Layout, requester: u16) -> Vec<Vec<u8>> {
        let request = Request::new(layout, method::GET_TABLE, 0, &[]);
        let reply = self.ours(&request.slot(requester, 0)).unwrap_or_default();
        let data = reply.get(DATA_OFFSET..).unwrap_or_default();
        data.chunks_exact(layout.stride.into())
            .map(<[u8]>::to_vec)
            .collect()
    }

    pub(crate) fn compare(&mut self, client: &mut Client, request: &Request) -> Result<()> {
        // What clients set has comparisons of its own.
        let is_set_by_clients = matches!(
            request.attribute,
            AttributeId::MC_MEMBER_RECORD
                | AttributeId::SERVICE_RECORD
                | AttributeId::INFORM_INFO_RECORD
        );
        if is_set_by_clients || self.skipped == Some(request.attribute) {
            return Ok(());
        }
        let mut raced = RACED.iter();
        let raced = raced.find(|(attribute, ..)| *attribute == request.attribute);
        let mut request = request.clone();
        if let Some((_, bit, _)) = raced {
            request.mask &= !bit;
        }
        let request = &request;
        self.transaction += 1;
        let slot = request.slot(client.lid, self.transaction);
        let ours = self.ours(&slot);
        let theirs = client.ask(&slot, ours.is_some())?;
        *self.compared.entry(request.attribute).or_default() += 1;
        let has_records = |reply: &Vec<u8>| reply[4..6] == [0, 0] && reply.len() > DATA_OFFSET;
        if theirs.as_ref().is_some_and(has_records) {
            *self.found.entry(request.attribute).or_default() += 1;
        }
        let compared = |reply: Vec<u8>| {
            let mut bytes = seen(request, &reply);
            let stride = 8 * usize::from(u16::from_be_bytes([reply[44], reply[45]]));
            if let (Some((.., byte)), Some(records)) = (raced, bytes.get_mut(DATA_OFFSET..)) {
                let raced = records.iter_mut().skip(*byte).step_by(stride.max(1));
                raced.for_each(|byte| *byte = 0);
            }
            bytes
        };
        let ours = ours.map(compared);
        let theirs = theirs.map(compared);
        if ours != theirs {
            let hex = |reply: &Option<Vec<u8>>| {
                reply.as_ref().map_or_else(
                    || "no reply".to_owned(),
                    |bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
                )
            };
            let differences = self.differences.entry(request.attribute).or_default();
            differences.push(format!(
                "{} method {:#x} mask {:#x} modifier {:#x} from LID {}, asked {}\n  ours   {}\n  theirs {}",
                request.attribute, request.asked, request.mask, request.modifier, client.lid,
                hex(&Some(request.data.clone())), hex(&ours), hex(&theirs)
            ));
        }
        Ok(())
    }

    pub(crate) fn finish(&self) -> Result<()> {
        for (attribute, count) in &self.compared {
            let found = self.found.get(attribute).copied().unwrap_or(0);
            eprintln!("{count:6} requests for {attribute} compared, {found} of them found some");
        }
        let all = self.differences.values();
        let count: usize = all.clone().map(Vec::len).sum();
        let shown: Vec<_> = all.flat_map(|some| some.iter().take(3)).cloned().collect();
        ensure!(
            count == 0,
            "{count} unexplained differences:\n{}",
            shown.join("\n")
        );
        Ok(())
    }
}

/// What of a reply can be compared: status, headers but for RMPP's (the preload library has none),
/// and the records that come through, without what is explained.
pub(crate) fn seen(request: &Request, reply: &[u8]) -> Vec<u8> {
    const SEEN: usize = 224;
    let mut bytes = reply.to_vec();
    bytes.resize(SEEN, 0);
    // The simulator marks transactions by client.
    bytes[8..12].fill(0);
    bytes[24..36].fill(0);
    let stride = 8 * usize::from(u16::from_be_bytes([bytes[44], bytes[45]]));
    let is_error = bytes[4..6] != [0, 0];
    if is_error || (stride == 0 && request.attribute != AttributeId::CLASS_PORT_INFO) {
        bytes.truncate(DATA_OFFSET);
        return bytes;
    }
    // Behind the records there is whatever was there before.
    let records = match bytes[3] {
        method::GET_RESP if stride == 0 => ClassPortInfo::SIZE,
        method::GET_RESP => stride,
        _ => reply.len() - DATA_OFFSET,
    };
    bytes.truncate((DATA_OFFSET + records).min(SEEN));
    for (attribute, start, length, _) in EXPLAINED {
        if attribute == request.attribute {
            for record in bytes[DATA_OFFSET..].chunks_mut(stride) {
                if let Some(place) = record.get_mut(start..start + length) {
                    place.fill(0);
                }
            }
        }
    }
    bytes
}

/// A client on a node.
pub(crate) struct Client {
    pub(crate) port: IbsimClient,
    pub(crate) lid: u16,
    pub(crate) sa: Lid,
    pub(crate) _attachment: Attachment,
}

impl Client {
    pub(crate) fn on(fabric: &Fabric, node: &str) -> Result<Self> {
        let mut attachment = Attachment::new(&Options {
            base: fabric.base().to_owned(),
            node: node.to_owned(),
            role: Role::Plain,
            qp: 0,
        })?;
        let facts = attachment.port()?;
        Ok(Self {
            port: attachment.client()?,
            lid: Lid::raw(facts.lid),
            sa: facts.sm_lid.context("no SM has configured the port")?,
            _attachment: attachment,
        })
    }

    /// The reply; none when there is none, for which less time is given if none is expected.
    pub(crate) fn ask(&mut self, slot: &Slot, is_expected: bool) -> Result<Option<Vec<u8>>> {
        let patience = Patience {
            timeout: Duration::from_millis(if is_expected { 20_000 } else { 150 }),
            retries: 0,
        };
        let mut reply = Reply::default();
        let to = Destination::sa(self.sa);
        match self.port.ask(&to, &slot.mad, patience, &mut reply) {
            Ok(()) => Ok(Some(reply.mad)),
            Err(AskError::TimedOut { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }
}
