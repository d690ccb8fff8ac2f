//! What the port tests share: the simulated fabric, requests, and a responder that echoes.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use sa_port::{BATCH, MadPort, PortError, Verdict};
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method, response_method};
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::{MAD_SIZE, Slot};

pub(super) type Outcome = Result<(), Box<dyn Error>>;

/// Prints why a test does nothing here.
pub(super) fn skip(why: &str) -> Outcome {
    writeln!(std::io::stderr(), "{why}")?;
    Ok(())
}

/// A PathRecord request whose data is recognisable.
pub(super) fn request(method: u8, transaction: u64) -> [u8; MAD_SIZE] {
    let mut bytes = [0; MAD_SIZE];
    let mad = SaMad::from_bytes_mut(&mut bytes);
    mad.mad.base_version = BASE_VERSION;
    mad.mad.mgmt_class = MGMT_CLASS_SA;
    mad.mad.class_version = SA_CLASS_VERSION;
    mad.mad.method = method;
    mad.mad.transaction_id = transaction.into();
    mad.mad.attribute_id = AttributeId::PATH_RECORD.get().into();
    let [.., low] = transaction.to_be_bytes();
    mad.data.fill(low);
    bytes
}

/// Turns a request into its reply: a Get comes back as it is, a GetTable with as many copies of
/// its record as the preference byte says.
pub(super) fn echo(slot: &mut Slot) -> Verdict {
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    let table = mad.mad.method == method::GET_TABLE;
    mad.mad.method = response_method(mad.mad.method);
    if !table {
        return Verdict::Reply(56 + 64);
    }
    let count = u16::from(mad.data[PREFERENCE]).min(3);
    mad.sa.attribute_offset = 8.into();
    let record: [u8; 64] = *mad.data.first_chunk().unwrap_or(&[0; 64]);
    for place in mad.data.chunks_exact_mut(64) {
        place.copy_from_slice(&record);
    }
    Verdict::Reply(56 + 64 * count)
}

/// Where a PathRecord keeps its preference.
const PREFERENCE: usize = 57;

/// A thread that serves a port until it is told to stop.
pub(super) struct Responder<P> {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<P, PortError>>,
}

impl<P: MadPort + Send + 'static> Responder<P> {
    pub(super) fn start(
        mut port: P,
        mut answer: impl FnMut(&mut Slot) -> Verdict + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                if turn(&mut port, &mut answer)? == 0 {
                    thread::yield_now();
                }
            }
            Ok(port)
        });
        Self { stop, thread }
    }

    /// Gives the port back.
    pub(super) fn stop(self) -> Result<P, Box<dyn Error>> {
        self.stop.store(true, Ordering::Relaxed);
        Ok(self.thread.join().map_err(|_| "the responder panicked")??)
    }
}

/// One turn of a worker. Gives how many requests there were.
pub(super) fn turn(
    port: &mut impl MadPort,
    answer: &mut impl FnMut(&mut Slot) -> Verdict,
) -> Result<usize, PortError> {
    let mut verdicts = [Verdict::Silence; BATCH];
    let mut count = 0;
    for (slot, verdict) in port.recv()?.iter_mut().zip(&mut verdicts) {
        *verdict = answer(slot);
        count += 1;
    }
    port.send(verdicts.get(..count).unwrap_or_default())?;
    Ok(count)
}
