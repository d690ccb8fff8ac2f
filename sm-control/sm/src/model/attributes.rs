//! Attributes as they stand in an SMP (64 bytes), and as the structs of their records.
//!
//! A record is the attribute behind four bytes of its own, which are the SA's and stay 0 here.

use sa_wire::records::{NodeRecord, PortInfoRecord, SwitchInfoRecord};
use zerocopy::{FromZeros, IntoBytes};

/// PortStateChange in SwitchInfo: written as 1, it is cleared.
pub(crate) const STATE_CHANGE: u8 = 1 << 2;

/// The data of an SMP.
pub type Data = [u8; 64];

/// NodeInfo, with an empty NodeDescription.
pub fn node_record(data: &Data) -> NodeRecord {
    let mut record = NodeRecord::new_zeroed();
    fill(record.as_mut_bytes(), data, 40);
    record
}

/// PortInfo.
pub fn port_info(data: &Data) -> PortInfoRecord {
    let mut record = PortInfoRecord::default();
    fill(record.as_mut_bytes(), data, 64);
    record
}

/// SwitchInfo.
pub fn switch_info(data: &Data) -> SwitchInfoRecord {
    let mut record = SwitchInfoRecord::default();
    fill(record.as_mut_bytes(), data, 20);
    record
}

/// PortInfo as data of a Set.
pub fn port_info_data(record: &PortInfoRecord) -> Data {
    data(record.as_bytes(), 64)
}

/// SwitchInfo as data of a Set.
pub fn switch_info_data(record: &SwitchInfoRecord) -> Data {
    data(record.as_bytes(), 20)
}

/// The first `length` bytes of the attribute, behind what is the record's own.
fn fill(record: &mut [u8], data: &Data, length: usize) {
    for (to, from) in record.iter_mut().skip(4).zip(data.iter().take(length)) {
        *to = *from;
    }
}

fn data(record: &[u8], length: usize) -> Data {
    let mut data = [0; 64];
    for (to, from) in data.iter_mut().zip(record.iter().skip(4).take(length)) {
        *to = *from;
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_is_written() {
        let bytes: Data = core::array::from_fn(|at| u8::try_from(at + 1).unwrap());
        assert_eq!(port_info_data(&port_info(&bytes)), bytes);
        let switch = switch_info_data(&switch_info(&bytes));
        assert_eq!(switch[..20], bytes[..20]);
        assert_eq!(switch[20..], [0; 44]);
        let node = node_record(&bytes);
        assert_eq!((node.node_type, node.num_ports), (3, 4));
        assert_eq!(node.port_and_vendor.get(), 0x2526_2728);
        assert_eq!(node.description, [0; 64]);
    }
}
