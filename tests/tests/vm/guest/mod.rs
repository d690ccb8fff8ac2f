//! What this program does in a VM.

mod compare;
mod connect;
mod paths;
mod pings;
mod rmpp;
mod route;
mod split;
mod steady;
mod umad;

use anyhow::{Result, bail};

/// `compare LID DEVICE...` asks OpenSM and the SA at a LID from these devices; `record FILE DEVICE...`
/// asks the subnet's SA the same, `replay FILE DEVICE...` compares; `rmpp SERVER CLIENT` segments and puts together against the kernel; `steady DEVICE FILE` asks for paths until the file
/// exists; `pings FILE COMMAND...` runs a ping so long; `connect FROM TO` has the kernel connect two devices; `route FROM TO [PORT]` has the kernel resolve a route between two devices, `routes FROM TO
/// COUNT` so many.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["compare", lid, devices @ ..] if !devices.is_empty() => {
            compare::run(sa_wire::Lid::new(lid.parse()?)?, devices)
        }
        ["record", file, devices @ ..] if !devices.is_empty() => compare::record(file, devices),
        ["replay", file, devices @ ..] if !devices.is_empty() => compare::replay(file, devices),
        ["rmpp", server, client] => rmpp::run(server, client),
        ["route", from, to] => route::run(from, to, route::PORT),
        ["route", from, to, port] => route::run(from, to, port.parse()?),
        ["connect", from, to] => connect::run(from, to, route::PORT),
        ["routes", from, to, count] => route::many(from, to, count.parse()?),
        ["umad-daemon", server, client, other, process, log] => {
            umad::daemon(server, client, other, process, log)
        }
        ["umad-get", server, client] => umad::get(server, client),
        ["umad-ports", server, client] => umad::ports(server, client),
        ["umad-removal", client, devices @ ..] => umad::removal(devices, client),
        ["umad-echo", device, way] => umad::echo(device, way),
        ["umad-cost", name, server, client, process] => umad::ask(name, server, client, process),
        ["split", server, client] => split::run(server, client),
        ["split-hold", device] => split::hold(device),
        ["split-look"] => split::look(),
        ["pings", until, ping @ ..] => pings::run(until, ping),
        ["steady", device, until] => steady::run(device, until),
        _ => bail!("guest {words:?}: no such thing to do"),
    }
}
