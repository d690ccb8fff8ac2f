//! An SA in memory: the records and paths of a compiled fabric, spoilt on demand.

use std::fs;
use std::sync::Arc;

use sa_compiler::pipeline::{Compiled, Inputs, Stamp, compile};
use sa_fabric::generate::{TorusSpec, plan};
use sa_service::dispatch;
use sa_wire::Lid;
use sa_wire::records::Layout;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::umad::{MAD_SIZE, Slot};

use crate::{Ask, AskError};

/// Files of a fabric, and what they compile to.
pub(super) struct Site {
    pub(super) directory: tempfile::TempDir,
    pub(super) inputs: Inputs,
}

impl Site {
    /// A torus with one host at each switch.
    pub(super) fn torus(size: [u8; 3]) -> Self {
        let plan = plan(&TorusSpec::new(size, 1)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let conf = directory.path().join("torus-2QoS.conf");
        fs::write(&conf, plan.torus_conf()).unwrap();
        let site = Self::new(directory, &plan.net());
        Self {
            inputs: Inputs {
                torus_conf: Some(conf),
                ..site.inputs
            },
            ..site
        }
    }

    /// Two levels of switches, two hosts at each leaf.
    pub(super) fn tree() -> Self {
        Self::new(tempfile::tempdir().unwrap(), &tree_net())
    }

    pub(super) fn new(directory: tempfile::TempDir, net: &str) -> Self {
        let fabric = directory.path().join("net");
        fs::write(&fabric, net).unwrap();
        Self {
            inputs: Inputs {
                fabric,
                ..Inputs::default()
            },
            directory,
        }
    }

    pub(super) fn file(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(super) fn compiled(&self) -> Arc<Compiled> {
        Arc::new(compile(&self.inputs, Stamp::default()).unwrap())
    }

    /// The same without the fabric, for what an SA tells.
    pub(super) fn without_fabric(&self) -> Inputs {
        Inputs {
            fabric: std::path::PathBuf::new(),
            ..self.inputs.clone()
        }
    }
}

fn tree_net() -> String {
    use std::fmt::Write;
    let mut net = String::new();
    for leaf in 0..4 {
        let _ = writeln!(net, "switchguid={:#x}\nSwitch 8 \"L{leaf}\"", 0x1000 + leaf);
        for host in 0..2 {
            let _ = writeln!(net, "[{}] \"H{leaf}{host}\"[1]", host + 1);
        }
        for spine in 0..2 {
            let _ = writeln!(net, "[{}] \"S{spine}\"[{}]", spine + 3, leaf + 1);
        }
        net.push('\n');
    }
    for spine in 0..2 {
        let _ = writeln!(
            net,
            "switchguid={:#x}\nSwitch 8 \"S{spine}\"",
            0x2000 + spine
        );
        for leaf in 0..4 {
            let _ = writeln!(net, "[{}] \"L{leaf}\"[{}]", leaf + 1, spine + 3);
        }
        net.push('\n');
    }
    for leaf in 0..4 {
        for host in 0..2 {
            let guid = 0x10_0000 + 0x100 * leaf + 0x10 * host;
            let _ = writeln!(
                net,
                "caguid={guid:#x}\nHca 2 \"H{leaf}{host}\"\n[1] \"L{leaf}\"[{}]\n",
                host + 1
            );
        }
    }
    net
}

/// What is done to a reply before it arrives: its request, then its bytes.
type Spoil = Box<dyn FnMut(&SaMad, Vec<u8>) -> Vec<u8> + Send>;

/// Answers as the SA of a compiled fabric.
pub(super) struct Fake {
    pub(super) served: Arc<Compiled>,
    /// Served from the n-th request on.
    pub(super) then: Option<(usize, Arc<Compiled>)>,
    pub(super) asked: usize,
    pub(super) spoil: Option<Spoil>,
}

impl Fake {
    pub(super) fn of(served: &Arc<Compiled>) -> Self {
        Self {
            served: Arc::clone(served),
            then: None,
            asked: 0,
            spoil: None,
        }
    }

    pub(super) fn spoilt(
        served: &Arc<Compiled>,
        spoil: impl FnMut(&SaMad, Vec<u8>) -> Vec<u8> + Send + 'static,
    ) -> Self {
        Self {
            spoil: Some(Box::new(spoil)),
            ..Self::of(served)
        }
    }

    /// Changes records of a kind in every reply that has some.
    pub(super) fn with_records(
        served: &Arc<Compiled>,
        kind: AttributeId,
        mut change: impl FnMut(&mut Vec<Vec<u8>>) + Send + 'static,
    ) -> Self {
        let stride = Layout::of(kind).unwrap().stride.into();
        Self::spoilt(served, move |request, mut reply| {
            if request.attribute_id() == kind && reply.len() > DATA_OFFSET {
                let data = reply.split_off(DATA_OFFSET);
                let mut records: Vec<Vec<u8>> =
                    data.chunks_exact(stride).map(<[u8]>::to_vec).collect();
                change(&mut records);
                reply.extend(records.concat());
            }
            reply
        })
    }
}

impl Ask for Fake {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        self.asked += 1;
        if let Some((_, next)) = self.then.take_if(|(from, _)| self.asked > *from) {
            self.served = next;
        }
        let mut slot = Slot::EMPTY;
        slot.mad = *request;
        slot.header.lid = Lid::raw(self.lid()).into();
        let (parts, snapshot) = (&self.served.parts, &self.served.snapshot);
        let reply = dispatch::respond_with(snapshot, Some(parts), &slot);
        let reply = reply.ok_or_else(|| AskError::Unanswered("silence".to_owned()))?;
        Ok(match &mut self.spoil {
            Some(spoil) => spoil(SaMad::from_bytes(request), reply),
            None => reply,
        })
    }

    fn lid(&self) -> Option<Lid> {
        let subnet = &self.served.parts.subnet;
        Some(subnet.end_ports()[subnet.sm()].lid)
    }

    fn whom(&self) -> String {
        "the SA at LID 1".to_owned()
    }
}
