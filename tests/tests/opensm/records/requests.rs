//! Which requests are compared.

use anyhow::Result;
use sa_tests::records::{Request, key, random};
use sa_tests::rng::Rng;
use sa_wire::mad::method;
use sa_wire::records::Layout;

use super::bench::{Bench, Client};

pub(crate) fn by_key(bench: &mut Bench, client: &mut Client) -> Result<()> {
    for layout in Layout::ALL {
        for record in bench.all(&layout, client.lid) {
            let get = Request::new(&layout, method::GET, key(&layout), &record);
            bench.compare(client, &get)?;
            let table = Request {
                asked: method::GET_TABLE,
                ..get
            };
            bench.compare(client, &table)?;
        }
        for asked in [method::GET, method::GET_TABLE] {
            bench.compare(client, &Request::new(&layout, asked, 0, &[]))?;
        }
    }
    Ok(())
}

/// By each LID alone, those that nobody has included.
pub(crate) fn by_lid(bench: &mut Bench, client: &mut Client) -> Result<()> {
    for layout in Layout::ALL {
        for lid in (0u16..20).chain([0xbfff, 0xc000, 0xffff]) {
            for asked in [method::GET, method::GET_TABLE] {
                let mut data = vec![0; layout.stride.into()];
                data[..2].copy_from_slice(&lid.to_be_bytes());
                bench.compare(client, &Request::new(&layout, asked, 1, &data))?;
            }
        }
    }
    Ok(())
}

pub(crate) fn at_random(
    bench: &mut Bench,
    client: &mut Client,
    count: usize,
    seed: u64,
) -> Result<()> {
    let mut rng = Rng::new(seed);
    for layout in Layout::ALL {
        let all = bench.all(&layout, client.lid);
        for _ in 0..count {
            let request = random(&layout, &all, &mut rng);
            bench.compare(client, &request)?;
        }
    }
    Ok(())
}
