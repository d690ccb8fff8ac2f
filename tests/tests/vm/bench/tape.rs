//! What one SA replied, kept for a comparison with another that is there later only.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};

use anyhow::Result;
use sa_wire::sa::AttributeId;

use super::client::Client;
use super::{BRIEF, Reply, SILENCE};
use sa_tests::records::Request;

/// Requests in order, and the replies.
#[derive(Default)]
pub(crate) struct Tape(Vec<Entry>);

/// LID that asked, attribute, method, mask, modifier, key, data, reply.
type Entry = (u16, u16, u8, u64, u32, u64, Vec<u8>, Reply);

impl Tape {
    /// Asks the SA of the client's subnet.
    pub(super) fn record(&mut self, client: &mut Client, request: Request) -> Result<()> {
        let mut reply = client.ask(client.theirs, &request, BRIEF)?;
        // Slow is not silent.
        if reply.is_none() {
            reply = client.ask(client.theirs, &request, SILENCE)?;
        }
        self.0.push((
            client.lid,
            request.attribute.get(),
            request.asked,
            request.mask,
            request.modifier,
            request.key,
            request.data,
            reply,
        ));
        Ok(())
    }

    /// LID that asked, request, reply.
    pub(super) fn into_entries(self) -> impl Iterator<Item = (u16, Request, Reply)> {
        let entry = |(from, attribute, asked, mask, modifier, key, data, reply): Entry| {
            let request = Request {
                attribute: AttributeId(attribute),
                asked,
                mask,
                modifier,
                key,
                data,
            };
            (from, request, reply)
        };
        self.0.into_iter().map(entry)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn write(&self, path: &str) -> Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        serde_json::to_writer(&mut out, &self.0)?;
        Ok(out.flush()?)
    }

    pub(crate) fn read(path: &str) -> Result<Self> {
        let input = BufReader::new(File::open(path)?);
        Ok(Self(serde_json::from_reader(input)?))
    }
}
