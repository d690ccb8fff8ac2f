//! Tables of single switches, read when they are needed.

use std::os::unix::fs::FileExt;

use routing::SwitchIx;
use sa_wire::SlToVl;
use xxhash_rust::xxh3::xxh3_64;

use super::{Kept, Problem};

/// The tables of a switch.
#[derive(Debug)]
pub(super) struct Tables {
    /// By LID.
    pub(super) lft: Vec<u8>,
    /// Input port, output port, table.
    pub(super) sl2vl: Vec<(u8, u8, SlToVl)>,
}

impl Kept {
    /// Errors: there is no such switch; its tables are damaged.
    pub(super) fn tables(&self, switch: SwitchIx) -> Result<Tables, Problem> {
        let damaged = Problem::Damaged("the tables of a switch");
        let Some(place) = self.head.switches.get(switch.index()) else {
            return Err(damaged);
        };
        let mut bytes = vec![0; self.head.length(place)];
        self.file.read_exact_at(&mut bytes, place.at)?;
        if xxh3_64(&bytes) != place.digest {
            return Err(damaged);
        }
        let numbers = bytes.split_off(self.head.stride);
        let ports = (0..=u8::MAX).take(place.ports);
        let pairs = ports
            .clone()
            .flat_map(|input| ports.clone().map(move |output| (input, output)));
        let sl2vl = pairs
            .zip(numbers.chunks_exact(2))
            .map(|((input, output), number)| {
                let table = self.sl2vl(u16::from_le_bytes([number[0], number[1]]))?;
                Some((input, output, table))
            });
        Ok(Tables {
            lft: bytes,
            sl2vl: sl2vl.collect::<Option<_>>().ok_or(damaged)?,
        })
    }

    /// A table by its number.
    pub(super) fn sl2vl(&self, number: u16) -> Option<SlToVl> {
        self.head.sl2vl.get(usize::from(number)).copied()
    }
}
