//! The thread that answers those who follow: a listener and an event loop around a `Desk`.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use fleet_tls::Tls;
use fleet_transfer::serve::{Desk, serve};
use tokio::sync::oneshot;

/// Connections that may wait to be taken: all hosts come at once when their leader was away, and
/// the standard library lets 128 wait, beyond which a host tries again a second later. The kernel
/// takes less where `net.core.somaxconn` is less.
const BACKLOG: i32 = 16_384;

/// Serves until it is dropped.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// `tls`: who asks has to speak TLS then. Errors: the address cannot be had, or no thread.
    pub fn start(listen: SocketAddr, desk: Arc<Desk>, tls: Option<Tls>) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (end, ended) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name("sa-fleet-serve".into());
        let thread = thread.spawn(move || {
            let served = runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                serve(listener, desk, tls, async {
                    ended.await.unwrap_or_default()
                })
                .await;
                io::Result::Ok(())
            });
            if let Err(why) = served {
                tracing::error!("fleet: nobody is answered: {why}");
            }
        })?;
        Ok(Self {
            address,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// Where; its port is a real one where 0 was asked for.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it still answers.
    pub fn is_served(&self) -> bool {
        self.thread.as_ref().is_some_and(|it| !it.is_finished())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
