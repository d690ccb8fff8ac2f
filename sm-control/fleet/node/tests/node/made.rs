//! Keys, root files and snapshots that tests make.

use minisign::KeyPair;
use sa_fleet::announcement::LeaderKey;
use sa_fleet::identity::KeyId;
use sa_snapshot::model::{
    Capacity, EngineSl, Model, Pairs, PathClass, PathSl, PathTables, PortRow, Provenance, RateCaps,
    Subnet,
};
use sa_snapshot::{Builder, Snapshot};
use sa_wire::{Guid, Lid, Lmc, NodeType, Pkey, SlVlMask};

use fleet_node::roots::{Held, installed};
use fleet_transfer::roots::RootFile;

/// A fleet: one root key and one leader's.
pub(crate) struct Keys {
    pub(crate) root: KeyPair,
    pub(crate) leader: KeyPair,
}

impl Keys {
    pub(crate) fn new() -> Self {
        let pair = || KeyPair::generate_unencrypted_keypair().unwrap();
        Self {
            root: pair(),
            leader: pair(),
        }
    }

    /// The leader's key in its form for signing.
    pub(crate) fn leader(&self) -> LeaderKey {
        let bytes = self.leader.sk.to_bytes();
        // Behind three algorithms and what a password would need: number and secret.
        let id = KeyId(bytes[54..62].try_into().unwrap());
        let secret: [u8; 32] = bytes[62..94].try_into().unwrap();
        LeaderKey::new(id, &secret)
    }

    /// A root file, signed.
    pub(crate) fn root_file(&self, version: u32, era: u32) -> RootFile {
        let key = |pair: &KeyPair| pair.pk.to_base64();
        let text = format!(
            "sapphire-root 1\nfleet 000102030405060708090a0b0c0d0e0f\nversion {version}\nera {era}\nthreshold 1\n\
             root {}  alice\nleader {} 2099-01-01  sm-a\n",
            key(&self.root),
            key(&self.leader)
        );
        let signed = minisign::sign(
            Some(&self.root.pk),
            &self.root.sk,
            std::io::Cursor::new(text.as_bytes()),
            None,
            None,
        );
        RootFile {
            text: text.into_bytes(),
            signatures: vec![signed.unwrap().into_string()],
        }
    }

    pub(crate) fn held(&self) -> Held {
        installed(self.root_file(1, 1)).unwrap()
    }
}

/// A snapshot of so many hosts on one switch; `built` tells two of the same content apart.
pub(crate) fn snapshot(hosts: u16, built: u64) -> Snapshot {
    made(hosts, built, Subnet::default())
}

/// One with a key for trusted requesters.
pub(crate) fn keyed(hosts: u16, sa_key: u64) -> Snapshot {
    let subnet = Subnet {
        sa_key,
        ..Subnet::default()
    };
    made(hosts, 1, subnet)
}

fn made(hosts: u16, built: u64, subnet: Subnet) -> Snapshot {
    let host = |number: u16| PortRow {
        guid: Guid::new(number.into()).unwrap(),
        node_type: NodeType::Ca,
        lid: Lid::new(number).unwrap(),
        lmc: Lmc::new(0).unwrap(),
        switch: Some(0),
        own: Capacity::UNLIMITED,
        edge: Capacity::UNLIMITED,
        sl_out: SlVlMask::ALL,
        sl_in: SlVlMask::ALL,
        rate_caps: RateCaps::default(),
        pkeys: vec![Pkey::new(0xffff).unwrap()],
        coordinate: None,
    };
    let class = PathClass {
        capacity: Capacity::UNLIMITED,
        carried: SlVlMask::ALL,
        hops: 1,
        sl: PathSl::Policy,
    };
    let provenance = Provenance {
        built_unix: built,
        ..Provenance::default()
    };
    let model = Model {
        provenance,
        subnet,
        ports: (1..=hosts).map(host).collect(),
        partitions: Vec::new(),
        paths: PathTables {
            engine_sl: EngineSl::Keep,
            classes: vec![class; 2],
            rows: vec![1; hosts.into()],
            columns: vec![vec![1]; hosts.into()],
            pairs: Pairs::Uniform {
                within: 1,
                across: 1,
            },
        },
        policy: None,
        groups: Vec::new(),
        prefix_routes: Vec::new(),
        aliases: Vec::new(),
    };
    Builder::build(&model).unwrap()
}
