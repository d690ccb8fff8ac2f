//! A packet of the simulator's: addresses, status and one MAD.
//!
//! Bytes: 16 status (4, big-endian), 32 the MAD (256). In the MAD: 1 class, 3 method, 12 the low half of the
//! transaction, 16 the attribute.

/// Units: bytes.
pub(super) const LENGTH: usize = 288;
const STATUS: usize = 16;
const MAD: usize = 32;
/// Of an SMP, in the MAD.
const DATA: usize = 64;

/// Classes of SMPs: by LID, by directed route.
const SMP: [u8; 2] = [0x01, 0x81];
const GET: u8 = 1;
const SET: u8 = 2;
const RESPONSE: u8 = 0x80;
/// ETIMEDOUT: what the kernel hands a request back with.
const UNANSWERED: u32 = 110;

/// A packet as it passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet(pub(super) [u8; LENGTH]);

/// What makes an answer one to a request: class and transaction.
pub(super) type Key = (u8, [u8; 4]);

impl Packet {
    /// Of what was received; none of another length.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    fn mad(&self, at: usize) -> u8 {
        self.0.get(MAD + at).copied().unwrap_or(0)
    }

    fn is_smp(&self) -> bool {
        SMP.contains(&self.mad(1))
    }

    pub(super) fn key(&self) -> Key {
        (self.mad(1), [12, 13, 14, 15].map(|at| self.mad(at)))
    }

    /// An SMP that somebody must answer.
    pub(super) fn is_request(&self) -> bool {
        self.is_smp() && [GET, SET].contains(&self.mad(3))
    }

    pub(super) fn is_set(&self) -> bool {
        self.mad(3) == SET
    }

    /// Attribute 0x15.
    pub(super) fn is_port_info(&self) -> bool {
        [self.mad(16), self.mad(17)] == [0, 0x15]
    }

    /// Attribute 0x1b.
    pub(super) fn is_multicast_table(&self) -> bool {
        [self.mad(16), self.mad(17)] == [0, 0x1b]
    }

    /// A Set of PortInfo with ClientReregister.
    pub(super) fn registers_again(&self) -> bool {
        self.is_set() && self.is_port_info() && self.mad(DATA + 51) & 0x80 != 0
    }

    /// The same, of a port that says IsClientReregistrationSupported.
    pub(super) fn of_able_port(mut self) -> Self {
        if let Some(mask) = self.0.get_mut(MAD + DATA + 20) {
            *mask |= 0x02;
        }
        self
    }

    /// Whether it was delivered to nobody.
    pub(super) fn is_returned(&self) -> bool {
        let status = self.0.get(STATUS..STATUS + 4);
        status.is_some_and(|status| status.iter().any(|byte| *byte != 0))
    }

    /// An SMP that ends a request.
    pub(super) fn is_answer(&self) -> bool {
        self.is_smp() && (self.mad(3) & RESPONSE != 0 || self.is_returned())
    }

    /// The request, as its sender gets it back when nobody answers.
    pub(super) fn returned(mut self) -> Self {
        if let Some(status) = self.0.get_mut(STATUS..STATUS + 4) {
            status.copy_from_slice(&UNANSWERED.to_be_bytes());
        }
        self
    }
}
