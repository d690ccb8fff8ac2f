//! The thread that talks to sapphired.
//!
//! It is the only one that listens, accepts and speaks, and it owns all that belongs to that. What
//! concerns OpenSM's packets is in [`Split`], which it shares with OpenSM's threads. A turn:
//!
//! ```text
//!  socket's name, once a second ──> wait: doorbell, listener, session ──> session ──> accept ──> due work
//! ```
//!
//! OpenSM's threads ring the doorbell when they have queued something for sapphired, so they never
//! write to its socket and never wait for it. One daemon is connected at a time: the methods can be
//! lent once. Others are told [`Frame::Busy`].
//!
//! A panic in a turn is caught by the caller, and the next turn begins.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use split_protocol::Frame;

use crate::session::{Over, Session};
use crate::socket::{Listener, Place};
use crate::split::{Guarded, Kernel, Split};
use crate::sys;

/// All that the thread holds, for the life of the process.
#[derive(Debug)]
pub(crate) struct Server<'a, K> {
    split: &'a Split<K>,
    place: Place,
    listener: Option<Listener>,
    /// When the socket's name is to be looked at again.
    look: Duration,
    /// What was said last of why there is no socket; empty while there is one. It keeps one fault
    /// from filling OpenSM's log.
    said: String,
    session: Option<Session>,
    /// They were told that another daemon is connected; some have not read it yet.
    turned_away: Vec<UnixStream>,
}

/// Between looks at the socket's name. Somebody may clean /run while OpenSM runs for months.
const LOOK: Duration = Duration::from_secs(1);
/// Streams kept until the next look, at most. Whoever comes beyond that is hung up on without a
/// word.
const TURNED_AWAY: usize = 16;

impl<'a, K: Kernel> Server<'a, K> {
    /// Nothing is open yet; the first turn makes the socket.
    pub(crate) fn new(split: &'a Split<K>, place: Place) -> Self {
        Self {
            split,
            place,
            listener: None,
            look: Duration::ZERO,
            said: String::new(),
            session: None,
            turned_away: Vec::new(),
        }
    }

    /// Waits for something to do, and does it.
    pub(crate) fn turn(&mut self) {
        self.look_at_socket();
        let session = self.session.as_ref();
        let sending = session.is_some_and(Session::is_sending);
        let mut fds = [
            sys::asked(self.split.doorbell(), false),
            sys::asked(
                self.listener.as_ref().map_or(-1, |l| l.socket.as_raw_fd()),
                false,
            ),
            sys::asked(session.map_or(-1, |s| s.stream().as_raw_fd()), sending),
        ];
        sys::wait(&mut fds, self.split.idle(sending));
        self.split.kernel().silence(self.split.doorbell());
        let [_, listener, session] = fds.map(|fd| fd.revents);
        if session != 0 || self.session.is_some() {
            self.serve(session & !libc::POLLOUT != 0);
        }
        if listener != 0 {
            self.accept();
        }
        self.split.work();
        // What that has queued goes out now and not when something else wakes this thread.
        self.serve(false);
    }

    /// Hears what the daemon says, says what is queued, and hangs up where that is due.
    fn serve(&mut self, readable: bool) {
        let (split, now) = (self.split, self.split.kernel().now());
        let Some(session) = &mut self.session else {
            return;
        };
        // Received before sent: an answer to what was just asked goes out in this turn.
        let outcome = match readable {
            true => session.receive(split),
            false => Ok(()),
        };
        let outcome = outcome
            .and_then(|()| session.send(split))
            .and_then(|()| session.check(now));
        let Err(over) = outcome else { return };
        // First what matters: OpenSM answers again.
        split.detach();
        split.guard(Guarded::Session, -1);
        self.session = None;
        if let Over::Because(why) = over {
            split.kernel().say(&format!("hung up on sapphired: {why}"));
        }
    }

    /// Takes who connects: as the session, to be told that it is too late, or to be hung up on.
    fn accept(&mut self) {
        let Some((mut stream, may)) = self.listener.as_ref().and_then(Listener::accept) else {
            return;
        };
        if !may {
            self.split
                .kernel()
                .say("a user who may not connected to the socket: hung up");
        } else if self.session.is_none() {
            // From here on a close of OpenSM's that hits this number by mistake is refused.
            self.split.guard(Guarded::Session, stream.as_raw_fd());
            self.session = Some(Session::new(stream, self.split.kernel().now()));
        } else if self.turned_away.len() < TURNED_AWAY {
            let _ = stream.write(&Frame::Busy.bytes().unwrap_or_default());
            let _ = stream.shutdown(std::net::Shutdown::Write);
            // Closed with a Hello unread, it might take what we say with it.
            self.turned_away.push(stream);
        }
    }

    /// Makes the socket where it is not there.
    fn look_at_socket(&mut self) {
        let now = self.split.kernel().now();
        if now < self.look {
            return;
        }
        self.look = now.saturating_add(LOOK);
        self.turned_away.clear();
        if self.listener.as_ref().is_some_and(Listener::is_there) {
            return;
        }
        // A daemon that is connected stays so.
        self.split.guard(Guarded::Listener, -1);
        self.listener = None;
        match self.place.listen() {
            Ok(listener) => {
                self.split
                    .guard(Guarded::Listener, listener.socket.as_raw_fd());
                self.listener = Some(listener);
                self.said = String::new();
            }
            Err(error) => self.say_once(error.to_string()),
        }
    }

    /// Each reason once, until there was a socket.
    fn say_once(&mut self, why: String) {
        if why != self.said {
            let what = "OpenSM keeps the read methods until sapphired can connect";
            self.split.kernel().say(&format!("{why} ({what})"));
            self.said = why;
        }
    }
}
