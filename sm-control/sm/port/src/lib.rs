//! The wires of the Subnet Manager: where SMPs go to and come from, and the loop that runs a sweep over them.
//!
//! ```text
//!            send                  ┌─ OverIbsim      a client of the simulator ibsim
//!  Sweep <──────────> run <──> SmpPort ─ OverUmad     /dev/infiniband/umadN, queue pair 0
//!          received, wake          └─ OverSimulator  a fabric in the process, in real time
//!
//!  what others ask: serve <──> SmpPort ─┬─ OverUmad::serving
//!                                       └─ OverRelay      what comes to the SA's client of ibsim
//!
//!  what ports count: CounterPort         queue pair 1 of them, apart from all of that
//! ```
//!
//! A port moves SMPs and decides nothing. What it had to drop or could not send is counted ([`Hidden`]), and the sweep asks
//! again when its time is over. A port that fails ends [`run`] with an error; the sweep is still the caller's, who
//! attaches the port again and runs the same sweep on.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use fabric_simulator::{Simulator, Timing};
//! use sa_fabric::formats::net;
//! use sa_fabric::{NodeIx, PortRef};
//! use sa_sm::sweep::{Sweep, Swept};
//! use sa_sm::writing::Wanted;
//! use sm_port::{End, OverSimulator, Watch, run};
//!
//! # fn main() -> Result<(), sm_port::RunError> {
//! let fabric = net::parse(b"caguid=0x10\nHca 1 \"H\"\n").map_err(|error| error.to_string()).unwrap();
//! let simulator = Simulator::new(&fabric, Timing::NONE);
//! let at = PortRef { node: NodeIx(0), port: 1 };
//! let mut port = OverSimulator::new(simulator, at);
//! let nothing_wanted = |_: &_| Some(std::sync::Arc::new(Wanted::default()));
//! let limits = sa_sm::executor::Limits { retries: 0, ..Default::default() };
//! let mut sweep = Sweep::new(Default::default(), limits, 1, Swept::default(), nothing_wanted);
//! let end = run(&mut sweep, &mut port, &AtomicBool::new(false), &mut Watch::nobody())?;
//! assert_eq!(end, End::Over);
//! assert_eq!(sweep.subnet().nodes().len(), 1, "a host without a cable");
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod answering;
mod asking;
mod counters;
mod ibsim;
mod port;
mod relayed;
mod run;
mod simulated;
mod umad;
mod watch;

pub use self::answering::{Answers, serve};
pub use self::asking::ask;
pub use self::counters::{Came, CounterPort};
pub use self::ibsim::OverIbsim;
pub use self::port::{Hidden, Packet, SmpPort};
pub use self::relayed::OverRelay;
pub use self::run::{End, RunError, now, run};
pub use self::simulated::OverSimulator;
pub use self::umad::OverUmad;
pub use self::watch::{Told, Watch};
