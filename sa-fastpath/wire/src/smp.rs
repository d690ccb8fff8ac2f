//! Subnet management packets (SMPs), by which an SM reads and writes nodes and ports.
//!
//! One layout serves both classes: an SMP by directed route goes out at the ports that it names
//! itself, hop by hop, and works before there are LIDs; one by LID is forwarded as data is.
//!
//! Source: IBA vol. 1, 14.2.1 (layouts), 14.2.2 (directed routes), 14.2.5 (attributes).

use zerocopy::byteorder::big_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::mad::{BASE_VERSION, MadHeader, Status};

/// Management class of SMPs that go by LID.
pub const MGMT_CLASS_LID: u8 = 0x01;
/// Management class of SMPs by directed route.
pub const MGMT_CLASS_DIRECTED: u8 = 0x81;
/// Class version of both.
pub const CLASS_VERSION: u8 = 1;
/// The LID that stands for no LID in an SMP whose whole way is a directed route.
pub const PERMISSIVE_LID: u16 = 0xffff;
/// Hops that a directed route may have: the two paths of an SMP have 64 bytes each, the first of
/// which is not used.
pub const MOST_HOPS: usize = 63;

/// An SMP as it is sent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Smp {
    /// Of a directed route, bit 15 of the status says that it is on its way back, and
    /// `class_specific` is hop pointer (15 to 8) and hop count (7 to 0).
    pub header: MadHeader,
    /// M_Key, which a port with a key wants to see.
    pub m_key: U64,
    /// DrSLID.
    pub directed_slid: U16,
    /// DrDLID.
    pub directed_dlid: U16,
    /// Zero.
    pub reserved: [u8; 28],
    /// The attribute, filled up with zeros.
    pub data: [u8; 64],
    /// Output ports on the way out, from the second byte on.
    pub initial_path: [u8; 64],
    /// Ports by which each node was entered, which is the way back.
    pub return_path: [u8; 64],
}

impl Smp {
    /// The bit of the status that says "on its way back" in directed routes.
    pub const RETURNING: u16 = 0x8000;

    /// A request along these output ports, the first of them the sender's own. Modifier, data and
    /// M_Key are 0. `None` for more than [`MOST_HOPS`].
    pub fn directed(method: u8, attribute: u16, transaction: u64, path: &[u8]) -> Option<Self> {
        let mut initial_path = [0; 64];
        let hops = u8::try_from(path.len()).ok()?;
        initial_path.get_mut(1..=path.len())?.copy_from_slice(path);
        let header = MadHeader {
            base_version: BASE_VERSION,
            mgmt_class: MGMT_CLASS_DIRECTED,
            class_version: CLASS_VERSION,
            method,
            class_specific: u16::from(hops).into(),
            transaction_id: transaction.into(),
            attribute_id: attribute.into(),
            ..MadHeader::default()
        };
        Some(Self {
            header,
            m_key: 0.into(),
            directed_slid: PERMISSIVE_LID.into(),
            directed_dlid: PERMISSIVE_LID.into(),
            reserved: [0; 28],
            data: [0; 64],
            initial_path,
            return_path: [0; 64],
        })
    }

    /// True where it goes by a directed route.
    pub const fn is_directed(&self) -> bool {
        self.header.mgmt_class == MGMT_CLASS_DIRECTED
    }

    /// Output ports of the directed route, without the byte that is not used. `None` where the hop
    /// count is more than there can be.
    pub fn path(&self) -> Option<&[u8]> {
        let [_, hops] = self.header.class_specific.get().to_be_bytes();
        self.initial_path.get(1..=usize::from(hops))
    }

    /// The status without the bit that says which way it goes.
    pub const fn status(&self) -> Status {
        Status(self.header.status.get() & !Self::RETURNING)
    }
}

/// Attributes of SMPs.
pub mod attribute {
    /// Notice: what a trap tells.
    pub const NOTICE: u16 = 0x02;
    /// NodeDescription: 64 bytes of text.
    pub const NODE_DESCRIPTION: u16 = 0x10;
    /// NodeInfo.
    pub const NODE_INFO: u16 = 0x11;
    /// SwitchInfo.
    pub const SWITCH_INFO: u16 = 0x12;
    /// GUIDInfo: 8 GUIDs of a port. Modifier: block.
    pub const GUID_INFO: u16 = 0x14;
    /// PortInfo. Modifier: port of a switch, 0 for a CA's own; bit 31: the SM knows extended speeds.
    pub const PORT_INFO: u16 = 0x15;
    /// P_KeyTable: 32 keys. Modifier: port of a switch (31 to 16), block.
    pub const PKEY_TABLE: u16 = 0x16;
    /// SLtoVLMappingTable. Modifier: input port (15 to 8) and output port of a switch; see
    /// [`super::ALL_INPUTS`].
    pub const SL_TO_VL: u16 = 0x17;
    /// VLArbitrationTable: 32 entries. Modifier: block 1 to 4 (31 to 16), port of a switch.
    pub const VL_ARBITRATION: u16 = 0x18;
    /// LinearForwardingTable: output ports of 64 LIDs. Modifier: block.
    pub const LINEAR_TABLE: u16 = 0x19;
    /// MulticastForwardingTable: masks of 16 ports for 32 MLIDs. Modifier: group of ports (31 to
    /// 28), block.
    pub const MULTICAST_TABLE: u16 = 0x1b;
    /// SMInfo. Modifier of a Set: a command to another SM.
    pub const SM_INFO: u16 = 0x20;

    /// As the specification names it, for people; "attribute" for those that are not here.
    pub const fn name(attribute: u16) -> &'static str {
        match attribute {
            NOTICE => "Notice",
            NODE_DESCRIPTION => "NodeDescription",
            NODE_INFO => "NodeInfo",
            SWITCH_INFO => "SwitchInfo",
            GUID_INFO => "GUIDInfo",
            PORT_INFO => "PortInfo",
            PKEY_TABLE => "P_KeyTable",
            SL_TO_VL => "SLtoVLMappingTable",
            VL_ARBITRATION => "VLArbitrationTable",
            LINEAR_TABLE => "LinearForwardingTable",
            MULTICAST_TABLE => "MulticastForwardingTable",
            SM_INFO => "SMInfo",
            _ => "attribute",
        }
    }
}

/// In the modifier of SLtoVLMappingTable, for switches with optimised programming: the Set is for
/// all input ports.
pub const ALL_INPUTS: u32 = 1 << 17;
/// The same for all output ports.
pub const ALL_OUTPUTS: u32 = 1 << 16;

const _: () = assert!(size_of::<Smp>() == 256);
const _: () = assert!(core::mem::offset_of!(Smp, data) == 64);
const _: () = assert!(core::mem::offset_of!(Smp, initial_path) == 128);
