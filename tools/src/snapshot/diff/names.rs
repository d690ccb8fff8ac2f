//! What ports are called: a snapshot knows them by GUID alone.

use std::collections::HashMap;
use std::path::Path;

use sa_compiler::pipeline::{self, Inputs};
use sa_wire::Guid;

use crate::failure::Outcome;
use crate::inputs::or_fail;

/// Names of ports by GUID; empty where no fabric was given.
#[derive(Default)]
pub(super) struct Names(HashMap<Guid, String>);

impl Names {
    /// Warnings of reading are none of this verb's: only names are taken. Errors: the fabric cannot
    /// be read.
    pub(super) fn read(fabric: Option<&Path>) -> Outcome<Self> {
        let Some(fabric) = fabric else {
            return Ok(Self::default());
        };
        let inputs = Inputs {
            fabric: fabric.to_owned(),
            ..Inputs::default()
        };
        let sources = or_fail(pipeline::read(&inputs))?;
        let subnet = &sources.subnet;
        let named = subnet.end_ports().iter().map(|port| {
            let name = subnet.fabric().port_name(port.at);
            (port.guid, name)
        });
        Ok(Self(named.collect()))
    }

    /// The name, or the GUID where the fabric does not have the port.
    pub(super) fn of(&self, port: Guid) -> String {
        let name = self.0.get(&port);
        name.cloned().unwrap_or_else(|| port.to_string())
    }
}
