//! What a connection is made of: TCP, or TLS over it. Both cost nothing but themselves while nobody
//! says anything.

use std::future::{Future, pending};
use std::io::{self, Read as _};

use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// Bytes that are taken at once: a request is no longer, mostly.
const PART: usize = 512;

/// A connection that requests come over.
pub(super) trait Wire: AsyncWrite + Unpin + Send + 'static {
    /// Waits for more and puts it behind what is there; nothing is allocated before something has
    /// come. 0: there is no more.
    fn more(&mut self, to: &mut Vec<u8>) -> impl Future<Output = io::Result<usize>> + Send;

    /// Ready when the other side has closed. One that has sent more is not looked at further; what
    /// was read of it is put behind what is there.
    fn gone(&mut self, rest: &mut Vec<u8>) -> impl Future<Output = ()> + Send;
}

impl Wire for TcpStream {
    async fn more(&mut self, to: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            self.readable().await?;
            to.reserve(PART);
            match self.try_read_buf(to) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }

    async fn gone(&mut self, _: &mut Vec<u8>) {
        if matches!(self.peek(&mut [0]).await, Ok(1..)) {
            pending::<()>().await;
        }
    }
}

/// On the heap: what waits with it is moved about when it begins, and would have room for each of
/// its places.
impl Wire for Box<TlsStream<TcpStream>> {
    async fn more(&mut self, to: &mut Vec<u8>) -> io::Result<usize> {
        // The first byte is waited for; those that came in one piece with it are there then.
        let mut first = [0];
        if self.read(&mut first).await? == 0 {
            return Ok(0);
        }
        to.extend(first);
        Ok(1 + there(self, to)?)
    }

    async fn gone(&mut self, rest: &mut Vec<u8>) {
        // Under TLS there is no look at what is next: one byte is taken, and stands in front of the next request.
        let mut first = [0];
        if matches!(self.read(&mut first).await, Ok(1..)) {
            rest.extend(first);
            pending::<()>().await;
        }
    }
}

/// Takes what is deciphered already. Not a part of the above: its buffer would be a part of each
/// connection that waits.
fn there(stream: &mut TlsStream<TcpStream>, to: &mut Vec<u8>) -> io::Result<usize> {
    let mut part = [0; PART];
    match stream.get_mut().1.reader().read(&mut part) {
        Ok(read) => {
            to.extend(part.iter().take(read));
            Ok(read)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        Err(error) => Err(error),
    }
}

/// Writes all of it, through what TLS keeps.
pub(super) async fn write(stream: &mut impl Wire, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}
