//! Numbers in MADs, read by their offsets and by nothing else.

/// SubnAdmGet.
pub const GET: u8 = 0x01;
/// SubnAdmSet.
pub const SET: u8 = 0x02;
/// SubnAdmGetTable.
pub const GET_TABLE: u8 = 0x12;
/// SubnAdmGetTraceTable.
pub const GET_TRACE: u8 = 0x13;
/// SubnAdmGetMulti.
pub const GET_MULTI: u8 = 0x14;
/// ClassPortInfo.
pub const CLASS_PORT_INFO: u16 = 0x0001;
/// Of our own.
pub const SERVED_SNAPSHOT: u16 = 0xff51;
/// PathRecord.
pub const PATH: u16 = 0x0035;
/// MultiPathRecord.
pub const MULTI_PATH: u16 = 0x003a;

/// Two bytes.
pub fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Four bytes.
pub fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}

/// Eight bytes.
pub fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}

/// Bytes 24 to 35.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rmpp {
    /// RMPPVersion.
    pub version: u8,
    /// RMPPType.
    pub kind: u8,
    /// RRespTime and RMPPFlags.
    pub time_and_flags: u8,
    /// RMPPStatus.
    pub status: u8,
    /// SegmentNumber.
    pub segment: u32,
    /// PayloadLength or NewWindowLast.
    pub length: u32,
}

impl Rmpp {
    /// Of a MAD.
    pub fn of(mad: &[u8]) -> Self {
        Self {
            version: mad[24],
            kind: mad[25],
            time_and_flags: mad[26],
            status: mad[27],
            segment: be32(mad, 28),
            length: be32(mad, 32),
        }
    }

    /// The three flags.
    pub const fn flags(&self) -> u8 {
        self.time_and_flags & 7
    }

    /// True with the flag Active.
    pub const fn is_active(&self) -> bool {
        self.time_and_flags & 1 == 1
    }

    /// True for what belongs to a transfer and is no whole message.
    pub const fn is_part(&self) -> bool {
        let is_mark_only =
            self.kind == 0 || self.kind == 1 && self.segment == 0 && self.flags() == 1;
        let is_whole = self.kind == 1
            && self.version == 1
            && self.status == 0
            && self.segment == 1
            && self.flags() == 7;
        self.is_active() && !is_mark_only && !is_whole
    }
}
