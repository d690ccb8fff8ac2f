//! Records that tell the state of the fabric: what is there, how it is cabled, forwarding tables,
//! VLs, P_Keys.
//!
//! Every record has two faces: a struct whose memory is the wire, to write it; and a [`Layout`],
//! which says of each component where it lies and which bit of the component mask stands for it,
//! to compare and to read it.
//!
//! To add a record: a struct with its size asserted, its fields in a table, a layout in
//! [`Layout::ALL`]. What serves, filters and prints records goes over that list, and knows no
//! record by name.

mod field;
mod inform;
mod multicast;
mod node;
mod port_info;
mod ports;
mod service;
mod subnet;
mod switch;

pub use field::{Field, Form};
pub use inform::{ANY16, ANY24, InformInfo, InformInfoRecord};
pub use multicast::{McMemberCompMask, McMemberRecord, join_state};
pub use node::NodeRecord;
pub use port_info::PortInfoRecord;
pub use ports::{GuidInfoRecord, PKeyTableRecord, SlToVlRecord, VlArbitrationRecord};
pub use service::{INFINITE_LEASE, ServiceRecord};
pub use subnet::{LinkRecord, SmInfoRecord};
pub use switch::{LinearForwardingTableRecord, MulticastForwardingTableRecord, SwitchInfoRecord};

use crate::sa::AttributeId;

/// How a record is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Which record it is, as MAD headers name it.
    pub attribute: AttributeId,
    /// The short name of `saquery`.
    pub short: &'static str,
    /// Distance of two records in a table, padding included. Units: bytes.
    pub stride: u16,
    /// Its components, in the order in which they lie.
    pub fields: &'static [Field],
}

impl Layout {
    /// NodeRecord: one for each end port, with its node.
    pub const NODE: Self = Self::new(AttributeId::NODE_RECORD, "NR", 112, node::FIELDS);
    /// PortInfoRecord: one for each port, switch ports included.
    pub const PORT_INFO: Self =
        Self::new(AttributeId::PORT_INFO_RECORD, "PIR", 72, port_info::FIELDS);
    /// SLtoVLMappingTableRecord: one for each pair of ports of a switch, or port of a CA.
    pub const SL_TO_VL: Self =
        Self::new(AttributeId::SL_TO_VL_RECORD, "SL2VL", 16, ports::SL_TO_VL);
    /// SwitchInfoRecord: one for each switch.
    pub const SWITCH_INFO: Self = Self::new(
        AttributeId::SWITCH_INFO_RECORD,
        "SWIR",
        24,
        switch::SWITCH_INFO,
    );
    /// LinearForwardingTableRecord: 64 LIDs of one switch.
    pub const LINEAR_FORWARDING: Self = Self::new(
        AttributeId::LINEAR_FORWARDING_TABLE_RECORD,
        "LFTR",
        72,
        switch::LINEAR_FORWARDING,
    );
    /// MulticastForwardingTableRecord: 32 multicast LIDs and 16 ports of one switch.
    pub const MULTICAST_FORWARDING: Self = Self::new(
        AttributeId::MULTICAST_FORWARDING_TABLE_RECORD,
        "MFTR",
        72,
        switch::MULTICAST_FORWARDING,
    );
    /// SMInfoRecord: one for each SM that is known.
    pub const SM_INFO: Self = Self::new(AttributeId::SM_INFO_RECORD, "SMIR", 32, subnet::SM_INFO);
    /// LinkRecord: one for each direction of a cable.
    pub const LINK: Self = Self::new(AttributeId::LINK_RECORD, "LR", 8, subnet::LINK);
    /// GUIDInfoRecord: eight GUIDs of one port.
    pub const GUID_INFO: Self =
        Self::new(AttributeId::GUID_INFO_RECORD, "GIR", 72, ports::GUID_INFO);
    /// P_KeyTableRecord: 32 P_Keys of one port.
    pub const PKEY_TABLE: Self = Self::new(
        AttributeId::PKEY_TABLE_RECORD,
        "PKTR",
        72,
        ports::PKEY_TABLE,
    );
    /// VLArbitrationTableRecord: 32 entries of one port.
    pub const VL_ARBITRATION: Self = Self::new(
        AttributeId::VL_ARBITRATION_RECORD,
        "VLAR",
        72,
        ports::VL_ARBITRATION,
    );
    /// MCMemberRecord: one for each group, or each member of one.
    pub const MC_MEMBER: Self = Self::new(
        AttributeId::MC_MEMBER_RECORD,
        "MCMR",
        56,
        multicast::MC_MEMBER,
    );
    /// ServiceRecord: one for each service that is registered.
    pub const SERVICE: Self = Self::new(AttributeId::SERVICE_RECORD, "SR", 176, service::SERVICE);
    /// InformInfoRecord: one for each subscription.
    pub const INFORM_INFO: Self = Self::new(
        AttributeId::INFORM_INFO_RECORD,
        "IIR",
        64,
        inform::INFORM_INFO_RECORD,
    );
    /// ClassPortInfo, of which there is one, and no tables.
    pub const CLASS_PORT_INFO: Self = Self::new(
        AttributeId::CLASS_PORT_INFO,
        "CPI",
        72,
        subnet::CLASS_PORT_INFO,
    );

    /// All of them, by attribute.
    pub const ALL: [Self; 15] = [
        // In the order of the attributes' numbers.
        Self::CLASS_PORT_INFO,
        Self::NODE,
        Self::PORT_INFO,
        Self::SL_TO_VL,
        Self::SWITCH_INFO,
        Self::LINEAR_FORWARDING,
        Self::MULTICAST_FORWARDING,
        Self::SM_INFO,
        Self::LINK,
        Self::GUID_INFO,
        Self::PKEY_TABLE,
        Self::VL_ARBITRATION,
        Self::MC_MEMBER,
        Self::SERVICE,
        Self::INFORM_INFO,
    ];

    const fn new(
        attribute: AttributeId,
        short: &'static str,
        stride: u16,
        fields: &'static [Field],
    ) -> Self {
        Self {
            attribute,
            short,
            stride,
            fields,
        }
    }

    /// The layout of an attribute.
    pub fn of(attribute: AttributeId) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|layout| layout.attribute == attribute)
    }

    /// The component of this name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_lie_one_behind_the_other() {
        for layout in Layout::ALL {
            let mut end = 0;
            let mut mask = 0;
            for field in layout.fields {
                let name = field.name;
                assert!(field.start >= end, "{} {name} overlaps", layout.attribute);
                end = field.start + field.width;
                assert_eq!(mask & field.mask(), 0, "{} {name}", layout.attribute);
                mask |= field.mask();
            }
            assert!(end <= layout.stride * 8, "{}", layout.attribute);
            assert_eq!(Layout::of(layout.attribute), Some(layout));
        }
    }

    #[test]
    fn structs_and_layouts_agree() {
        use zerocopy::IntoBytes;
        let node = NodeRecord {
            lid: 0x0102.into(),
            reserved: 0.into(),
            base_version: 3,
            class_version: 4,
            node_type: 5,
            num_ports: 6,
            system_image_guid: 7.into(),
            node_guid: 8.into(),
            port_guid: 9.into(),
            partition_cap: 10.into(),
            device_id: 11.into(),
            revision: 12.into(),
            port_and_vendor: 0x0d00_000e.into(),
            description: [b'x'; 64],
            padding: 0.into(),
        };
        let values = Layout::NODE.fields.iter().filter(|field| field.width <= 64);
        let values: Vec<u64> = values.map(|field| field.value(node.as_bytes())).collect();
        assert_eq!(values, [0x102, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
        let text = Layout::NODE.field("node_description").unwrap();
        assert_eq!(text.text(node.as_bytes()), [b'x'; 64]);
        let info = PortInfoRecord {
            speed_supported_and_state: 0x74,
            vl_stall_and_hoq_life: 0xf2,
            operational_vls_and_enforcement: 0x4a,
            subnet_timeout: 0x92,
            link_round_trip_latency: 0x00ab_cdef.into(),
            ext_speed_active_and_supported: 0x27,
            ext_speed_enabled: 0x1f,
            ..PortInfoRecord::default()
        };
        let value = |name| {
            Layout::PORT_INFO
                .field(name)
                .unwrap()
                .value(info.as_bytes())
        };
        assert_eq!(value("port_state"), 4);
        assert_eq!((value("vl_stall_count"), value("hoq_life")), (7, 0x12));
        assert_eq!(value("partition_enforcement_inbound"), 1);
        assert_eq!(value("partition_enforcement_outbound"), 0);
        assert_eq!(value("filter_raw_inbound"), 1);
        assert_eq!(
            (value("client_reregister"), value("subnet_timeout")),
            (1, 0x12)
        );
        assert_eq!(value("link_round_trip_latency"), 0x00ab_cdef);
        assert_eq!(
            (
                value("link_speed_ext_active"),
                value("link_speed_ext_supported")
            ),
            (2, 7)
        );
        assert_eq!(value("link_speed_ext_enabled"), 31);
    }

    #[test]
    fn sizes_are_opensms() {
        let sizes = Layout::ALL.map(|layout| layout.stride);
        assert_eq!(
            sizes,
            [72, 112, 72, 16, 24, 72, 72, 32, 8, 72, 72, 72, 56, 176, 64]
        );
    }

    #[test]
    fn sl_to_vl_tables_begin_with_the_upper_half() {
        let table = crate::SlToVl(core::array::from_fn(|sl| u8::try_from(sl).unwrap()));
        let packed = SlToVlRecord::packed(table);
        assert_eq!(packed, [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]);
    }
}
