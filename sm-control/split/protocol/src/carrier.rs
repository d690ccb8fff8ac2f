//! A stream socket that carries open files beside its bytes.
//!
//! A Unix socket can hand an open file to another process (SCM_RIGHTS): the kernel puts it beside
//! the byte that it was sent with, and it arrives with the read that takes this byte. Frames say
//! which file they go with by sending it with their first byte, so files and frames stay in step
//! however the bytes are cut.
//!
//! ```text
//!  send_with  | len | Lent | agent |       read  | len | Le        read  nt | agent |
//!               ^ file beside                     file taken, kept until take_file
//! ```

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// One end. Files that came are kept in their order until they are taken, and closed with this.
#[derive(Debug)]
pub struct Carrier {
    stream: UnixStream,
    files: VecDeque<OwnedFd>,
}

/// Kept at most; who sends more sends nonsense, and those are closed. One is in use at a time.
const FILES: usize = 4;

impl Carrier {
    /// Over a connected socket.
    pub const fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            files: VecDeque::new(),
        }
    }

    /// The socket.
    pub const fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// The file that came first and was not taken; none where its sender forgot it.
    pub fn take_file(&mut self) -> Option<OwnedFd> {
        self.files.pop_front()
    }

    /// Sends bytes, and the file with the first of them. Gives how many were sent: the rest goes by
    /// [`Write`], without the file. Errors: the system's.
    pub fn send_with(&self, bytes: &[u8], file: BorrowedFd<'_>) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        let files = [file];
        beside.push(SendAncillaryMessage::ScmRights(&files));
        let sent = sendmsg(
            &self.stream,
            &[IoSlice::new(bytes)],
            &mut beside,
            // The other side may be gone: an error then, and no signal.
            SendFlags::NOSIGNAL,
        )?;
        Ok(sent)
    }
}

impl AsRawFd for Carrier {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

impl Read for Carrier {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let got = recvmsg(
            &self.stream,
            &mut [IoSliceMut::new(buffer)],
            &mut beside,
            // A child that this process starts must not hold the read agent.
            RecvFlags::CMSG_CLOEXEC,
        )?;
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                // The others are dropped here, which closes them: a peer must not use up our
                // descriptors.
                let room = FILES.saturating_sub(self.files.len());
                self.files.extend(files.take(room));
            }
        }
        Ok(got.bytes)
    }
}

impl Write for Carrier {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::Frame;

    #[test]
    fn a_file_comes_with_its_frame() {
        let (near, far) = UnixStream::pair().unwrap();
        let (near, mut far) = (Carrier::new(near), Carrier::new(far));
        let file = std::fs::File::open("/dev/null").unwrap();
        let frame = Frame::Lent(5).bytes().unwrap();
        assert_eq!(near.send_with(&frame, file.as_fd()).unwrap(), frame.len());
        assert!(far.take_file().is_none());
        assert_eq!(Frame::receive(&mut far).unwrap(), Frame::Lent(5));
        assert!(far.take_file().is_some() && far.take_file().is_none());
    }
}
