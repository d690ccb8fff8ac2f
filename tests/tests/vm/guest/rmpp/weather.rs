//! What happens to packets on their way.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::Result;
use sa_answer::rmpp::{Class, classify};
use sa_port::umad::RawPort;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

/// How bad a way is; 0 is never. Units: one segment in so many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weather {
    pub(super) lose: u64,
    pub(super) double: u64,
    /// Is overtaken by the next one.
    pub(super) overtake: u64,
    /// Acknowledgements come or go so much later.
    pub(super) hold_acknowledgements: Duration,
}

impl Weather {
    pub(super) const FINE: Self = Self {
        lose: 0,
        double: 0,
        overtake: 0,
        hold_acknowledgements: Duration::ZERO,
    };
}

/// A port out of which packets come, and into which they go, as the weather has it.
pub(super) struct Way {
    port: RawPort,
    weather: Weather,
    /// Data segments that were to go out, or came in.
    segments: u64,
    pub(super) lost: u64,
    /// Overtaken by the next.
    behind: Option<Slot>,
    /// Came in twice.
    twice: Option<Slot>,
    /// Acknowledgements, and when their time is.
    held: VecDeque<(Instant, Slot)>,
}

impl Way {
    pub(super) const fn new(port: RawPort, weather: Weather) -> Self {
        Self {
            port,
            weather,
            segments: 0,
            lost: 0,
            behind: None,
            twice: None,
            held: VecDeque::new(),
        }
    }

    /// Takes what comes; acknowledgements when their time is.
    pub(super) fn receive(&mut self, slot: &mut Slot) -> Result<bool> {
        if let Some((due, held)) = self.held.front()
            && *due <= Instant::now()
        {
            *slot = *held;
            self.held.pop_front();
            return Ok(true);
        }
        if let Some(again) = self.twice.take() {
            *slot = again;
            return Ok(true);
        }
        while self.port.receive(slot)? {
            let class = classify(SaMad::from_bytes(&slot.mad));
            if slot.header.status != 0 {
                continue;
            }
            if class == Class::Control && !self.weather.hold_acknowledgements.is_zero() {
                let due = Instant::now() + self.weather.hold_acknowledgements;
                self.held.push_back((due, *slot));
                continue;
            }
            if class == Class::Segment {
                self.segments += 1;
                if self.hits(self.weather.lose) {
                    self.lost += 1;
                    continue;
                }
                if self.hits(self.weather.double) {
                    self.twice = Some(*slot);
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Sends a segment, or what comes of it.
    pub(super) fn send_segment(&mut self, slot: &Slot) -> Result<()> {
        self.segments += 1;
        if self.hits(self.weather.lose) {
            self.lost += 1;
            return Ok(());
        }
        if self.hits(self.weather.overtake) && self.behind.is_none() {
            self.behind = Some(*slot);
            return Ok(());
        }
        self.send(slot, Duration::ZERO)?;
        if self.hits(self.weather.double) {
            self.send(slot, Duration::ZERO)?;
        }
        self.flush()
    }

    /// Nothing follows that could overtake.
    pub(super) fn flush(&mut self) -> Result<()> {
        match self.behind.take() {
            Some(behind) => self.send(&behind, Duration::ZERO),
            None => Ok(()),
        }
    }

    /// Sends anything else; see [`RawPort::send`].
    pub(super) fn send(&mut self, slot: &Slot, answer_within: Duration) -> Result<()> {
        while !self.port.send(slot, answer_within)? {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Waits until there may be something to take.
    pub(super) fn wait(&self, patience: Duration) -> Result<()> {
        let due = self.held.front().map(|(due, _)| *due);
        let due = due.map(|due| due.saturating_duration_since(Instant::now()));
        self.port
            .wait_readable(due.map_or(patience, |due| due.min(patience)))?;
        Ok(())
    }

    const fn hits(&self, one_in: u64) -> bool {
        one_in != 0 && self.segments % one_in == one_in - 1
    }
}
