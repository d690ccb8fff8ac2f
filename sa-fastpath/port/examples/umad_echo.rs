//! A toy responder and a toy client on a umad port, to try a machine's umad by hand:
//!
//! ```text
//! umad_echo serve [DEVICE] [--uring]   answers PathRecord queries with what was asked;
//!                                      a GetTable gets as many records as its DLID says
//! umad_echo ask DEVICE LID COUNT       asks an SA COUNT times for the path from LID to LID
//! ```

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use sa_port::umad::{Options, Umad, UmadClient, UmadReply};
use sa_port::{BATCH, ClientPort, MadPort, Patience, Reply, ReplyPort, Verdict, low_transaction};
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method, response_method};
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::{MAD_SIZE, Slot};

fn main() -> ExitCode {
    let Err(error) = run() else {
        return ExitCode::SUCCESS;
    };
    let _ = writeln!(std::io::stderr(), "umad_echo: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", rest @ ..] => serve(rest),
        ["ask", device, lid, count] => ask(device, lid.parse()?, count.parse()?),
        _ => Err("usage: umad_echo serve [DEVICE] [--uring] | ask DEVICE LID COUNT".into()),
    }
}

fn serve(words: &[&str]) -> Result<(), Box<dyn Error>> {
    let device = words.iter().find(|word| !word.starts_with("--"));
    let options = Options {
        device: device.map(|name| (*name).to_owned()),
        ..Options::default()
    };
    let umad = Umad::open(&options)?;
    writeln!(std::io::stdout(), "serving {}", umad.name())?;
    if words.contains(&"--uring") {
        serve_ring(&umad)
    } else {
        serve_port(umad.worker()?, &umad)
    }
}

#[cfg(feature = "uring")]
fn serve_ring(umad: &Umad) -> Result<(), Box<dyn Error>> {
    serve_port(sa_port::uring::UringPort::over_umad(umad)?, umad)
}

#[cfg(not(feature = "uring"))]
fn serve_ring(_: &Umad) -> Result<(), Box<dyn Error>> {
    Err("built without io_uring".into())
}

fn serve_port(mut port: impl MadPort, umad: &Umad) -> Result<(), Box<dyn Error>> {
    let mut slow = umad.reply_port();
    loop {
        let mut verdicts = [Verdict::Silence; BATCH];
        let mut count = 0;
        for (slot, verdict) in port.recv()?.iter_mut().zip(&mut verdicts) {
            *verdict = answer(slot, &mut slow)?;
            count += 1;
        }
        port.send(verdicts.get(..count).unwrap_or_default())?;
        if count == 0 {
            umad.wait_readable(Duration::from_millis(100))?;
        }
    }
}

/// A Get in place; a table by the slow lane, record by record the request's own.
fn answer(slot: &mut Slot, slow: &mut UmadReply) -> Result<Verdict, Box<dyn Error>> {
    let request = *slot;
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    let asked = mad.mad.method;
    mad.mad.method = response_method(asked);
    if asked != method::GET_TABLE {
        return Ok(Verdict::Reply(120));
    }
    mad.sa.attribute_offset = 8.into();
    let record: [u8; 64] = *mad.data.first_chunk().ok_or("no record")?;
    let count = u16::from_be_bytes([record[40], record[41]]);
    let mut reply = slot.mad[..56].to_vec();
    for index in 0..u64::from(count) {
        reply.extend(index.to_be_bytes());
        reply.extend(&record[8..]);
    }
    slow.reply(&request, &reply)?;
    Ok(Verdict::Punted)
}

fn ask(device: &str, lid: u16, count: u32) -> Result<(), Box<dyn Error>> {
    let mut client = UmadClient::open(Some(device), None)?;
    let sa = client.sa().ok_or("no SM has configured this port")?;
    let mut reply = Reply::default();
    let start = Instant::now();
    for transaction in 0..count {
        let mad = request(lid, transaction);
        client.ask(&sa, &mad, Patience::default(), &mut reply)?;
        if low_transaction(&reply.mad) != Some(transaction) {
            return Err("a reply to something else".into());
        }
    }
    let status = reply.mad.get(4..6).ok_or("a short reply")?;
    let (bytes, took) = (reply.mad.len(), start.elapsed());
    let out = &mut std::io::stdout();
    writeln!(
        out,
        "{count} replies, the last of {bytes} bytes, status {status:?}, {took:?}"
    )?;
    Ok(())
}

/// The path from a LID to itself.
fn request(lid: u16, transaction: u32) -> [u8; MAD_SIZE] {
    let mut bytes = [0; MAD_SIZE];
    let mad = SaMad::from_bytes_mut(&mut bytes);
    mad.mad.base_version = BASE_VERSION;
    mad.mad.mgmt_class = MGMT_CLASS_SA;
    mad.mad.class_version = SA_CLASS_VERSION;
    mad.mad.method = method::GET;
    mad.mad.transaction_id = u64::from(transaction).into();
    mad.mad.attribute_id = AttributeId::PATH_RECORD.get().into();
    // DLID and SLID.
    mad.sa.component_mask = 0x30.into();
    let [high, low] = lid.to_be_bytes();
    mad.data[40..44].copy_from_slice(&[high, low, high, low]);
    bytes
}
