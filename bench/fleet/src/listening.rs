//! The thread that answers followers: the HTTP side of the daemon.
//!
//! As `fleet_node::serving` has it, but for the queue of connections that wait to be accepted:
//! there are ten thousand of them within a second here.

use std::net::SocketAddr;
use std::sync::Arc;

use fleet_tls::Tls;
use fleet_transfer::serve::{Desk, serve};

use crate::Failure;

/// Serves until the process ends, at a port of its own. Errors: no port, no thread.
pub(crate) fn start(desk: Arc<Desk>, tls: Option<Tls>) -> Result<SocketAddr, Failure> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    // More may come at once than the standard library lets wait.
    rustix::net::listen(&listener, 16_384)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = crate::runtime()?;
    let thread = std::thread::Builder::new().name("serve".to_owned());
    thread.spawn(move || {
        runtime.block_on(async {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                serve(listener, desk, tls, std::future::pending()).await;
            }
        });
    })?;
    Ok(address)
}
