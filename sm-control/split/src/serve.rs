//! The thread that talks to sapphired.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use split_protocol::Frame;

use crate::session::{Over, Session};
use crate::socket::{Listener, Place};
use crate::split::{Guarded, Kernel, Split};
use crate::sys;

/// All that the thread holds.
#[derive(Debug)]
pub(crate) struct Server<'a, K> {
    split: &'a Split<K>,
    place: Place,
    listener: Option<Listener>,
    /// When the socket is to be looked at again.
    look: Duration,
    /// What was said last of why there is no socket.
    said: String,
    session: Option<Session>,
    /// They were told that another daemon is connected; some have not read it yet.
    turned_away: Vec<UnixStream>,
}

/// Between looks at the socket's name.
const LOOK: Duration = Duration::from_secs(1);
/// Kept until the next look.
const TURNED_AWAY: usize = 16;

impl<'a, K: Kernel> Server<'a, K> {
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
        sys::wait(&mut fds, self.split.idle());
        self.split.kernel().silence(self.split.doorbell());
        let [_, listener, session] = fds.map(|fd| fd.revents);
        if session != 0 || self.session.is_some() {
            self.serve(session & !libc::POLLOUT != 0);
        }
        if listener != 0 {
            self.accept();
        }
        self.split.work();
    }

    fn serve(&mut self, readable: bool) {
        let (split, now) = (self.split, self.split.kernel().now());
        let Some(session) = &mut self.session else {
            return;
        };
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

    fn accept(&mut self) {
        let Some((mut stream, may)) = self.listener.as_ref().and_then(Listener::accept) else {
            return;
        };
        if !may {
            self.split
                .kernel()
                .say("a user who may not connected to the socket: hung up");
        } else if self.session.is_none() {
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
