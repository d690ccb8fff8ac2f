//! A small fabric with a policy.

use std::collections::BTreeSet;

use policy::ParseOptions;
use sa_compiler::pipeline::{Inputs, read, route};
use sa_compiler::qos_setup::{
    PortTables, ScopeFit, Scopes, SetupContext, TableSource, port_tables_with,
};
use sa_compiler::state::{FabricState, Sources};
use sa_wire::DataVls;

/// Two switches, the first with an enhanced port 0; a CA with a port on each; a router. Ports 5
/// and 6 of S1 have no cable.
pub(crate) const NET: &str = "\
switchguid=0x20\nSwitch 6 \"S1\" # \"S1\" enhanced port 0 lid 0 lmc 0\n\
[1] \"H1\"[1]\n[2] \"ST1\"[1]\n[3] \"S2\"[1]\n[4] \"H2\"[1]\n\n\
switchguid=0x21\nSwitch 4 \"S2\"\n\
[1] \"S1\"[3]\n[2] \"ST2\"[1]\n[3] \"R1\"[1]\n[4] \"H2\"[2]\n\n\
caguid=0x10\nHca 1 \"H1\"\n[1] (11) \"S1\"[1]\n\n\
caguid=0x12\nHca 2 \"H2\"\n[1] (13) \"S1\"[4]\n[2] (14) \"S2\"[4]\n\n\
caguid=0x15\nHca 1 \"ST1\"\n[1] (16) \"S1\"[2]\n\n\
caguid=0x17\nHca 1 \"ST2\"\n[1] (18) \"S2\"[2]\n\n\
rtguid=0x30\nRt 1 \"R1\"\n[1] (31) \"S2\"[3]\n\n";

/// Groups for [`NET`], and a level so that it is a policy.
pub(crate) const GROUPS: &str = "\
port-groups
port-group
name: Hosts
port-guid: 0x11, 0x13-0x14
end-port-group
port-group
name: Second
port-guid: 0x14
end-port-group
port-group
name: Storage
port-guid: 0x16, 0x18
end-port-group
port-group
name: One
port-guid: 0x20
end-port-group
port-group
name: Routers
node-type: ROUTER
end-port-group
port-group
name: Switches
node-type: SWITCH
end-port-group
port-group
name: Nobody
port-guid: 0x9999
end-port-group
end-port-groups
";

/// The policy of these scopes, of RFC 0.2. Shape: GROUPS, then `qos-setup` in line 31.
pub(crate) fn text_policy(scopes: &str) -> String {
    let level = "qos-levels\nqos-level\nsl: 0\nend-qos-level\nend-qos-levels\n";
    format!("{GROUPS}qos-setup\n{scopes}end-qos-setup\n{level}")
}

/// A fabric, and what is said about it.
#[derive(Default)]
pub(crate) struct Site<'a> {
    pub(crate) net: &'a str,
    pub(crate) policy: &'a str,
    pub(crate) options: &'a str,
    pub(crate) partitions: Option<&'a str>,
    pub(crate) torus: Option<&'a str>,
    /// VLCap code of all ports.
    pub(crate) vls: Option<u8>,
    pub(crate) reading: ParseOptions,
    pub(crate) fit: ScopeFit,
}

/// Everything about scopes in a fabric.
pub(crate) struct Applied {
    pub(crate) parts: FabricState,
    pub(crate) tables: Vec<PortTables>,
    /// Shape: `error: 5:1: what (what to do)`.
    pub(crate) findings: Vec<String>,
}

impl Site<'_> {
    /// Reads and routes.
    pub(crate) fn parts(&self) -> FabricState {
        route(self.sources()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads.
    pub(crate) fn sources(&self) -> Sources {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let inputs = Inputs {
            fabric: write("net", self.net),
            policy: Some(write("policy", self.policy)),
            opensm_conf: Some(write("opensm.conf", self.options)),
            partitions: self.partitions.map(|text| write("partitions.conf", text)),
            torus_conf: self.torus.map(|text| write("torus-2QoS.conf", text)),
            is_q_given: true,
            vl_cap: self.vls.and_then(|code| DataVls::from_code(code).ok()),
            reading: self.reading.clone(),
            ..Inputs::default()
        };
        read(&inputs).unwrap_or_else(|error| panic!("{error}"))
    }

    /// And applies the scopes.
    pub(crate) fn apply(&self) -> Applied {
        let parts = self.parts();
        let policy = parts.policy.as_ref().unwrap();
        let scopes = Scopes::new(policy, SetupContext::from_state(&parts), self.fit);
        let said = scopes.findings().iter();
        let findings: Vec<_> = said
            .map(|finding| format!("{}: {finding}", finding.severity()))
            .collect();
        let any_error = findings.iter().any(|said| said.starts_with("error"));
        assert_eq!(scopes.has_errors(), any_error);
        let tables = port_tables_with(&parts, Some(&scopes)).collect();
        drop(scopes);
        Applied {
            parts,
            tables,
            findings,
        }
    }
}

impl Applied {
    /// Name of the node that a port is on.
    pub(crate) fn name(&self, port: &PortTables) -> &str {
        self.parts.subnet.fabric().node(port.at.node).name()
    }

    pub(crate) fn port(&self, name: &str, number: u8) -> &PortTables {
        let mut all = self.tables.iter();
        all.find(|port| self.name(port) == name && port.at.port == number)
            .unwrap_or_else(|| panic!("{name} {number}"))
    }

    /// The tables that scopes gave: node with port number for CA and router ports, input, output.
    pub(crate) fn scoped(&self) -> BTreeSet<(String, u8, u8)> {
        let mut all = BTreeSet::new();
        for port in &self.tables {
            let rows = port.sl2vl.iter();
            let scoped = rows.filter(|row| matches!(row.source, TableSource::Scope { .. }));
            for row in scoped {
                let name = self.name(port);
                let name = match name.starts_with('S') && !name.starts_with("ST") {
                    true => name.to_owned(),
                    false => format!("{name}:{}", port.at.port),
                };
                all.insert((name, row.input, row.output));
            }
        }
        all
    }

    pub(crate) fn problems(&self) -> Vec<&str> {
        self.findings.iter().map(String::as_str).collect()
    }
}
