//! Kernel modules.

use super::finding::Finding;
use super::machine::Machine;
use super::ports;

/// What every port needs.
const NEEDED: [&str; 2] = ["ib_core", "ib_umad"];

/// Version of the interface to user space that the umad code is written for.
const ABI: &str = "5";

pub(super) fn look(machine: &Machine, findings: &mut Vec<Finding>) {
    for name in NEEDED {
        // Modules that are built in show here too.
        findings.push(match machine.exists(&format!("/sys/module/{name}")) {
            true => Finding::ok("modules", format!("{name} is loaded")),
            false => Finding::problem(
                "modules",
                format!("{name} is not loaded"),
                format!("modprobe {name}, and name it in /etc/modules-load.d"),
            ),
        });
    }
    for device in ports::devices(machine) {
        if let Some(driver) = driver(machine, &device) {
            findings.push(Finding::ok(
                "modules",
                format!("{device} is driven by {driver}"),
            ));
        }
    }
    findings.extend(abi(machine));
}

/// Name of the driver that the device belongs to.
fn driver(machine: &Machine, device: &str) -> Option<String> {
    let link = machine.link(&format!("/sys/class/infiniband/{device}/device/driver"))?;
    link.rsplit('/').next().map(str::to_owned)
}

fn abi(machine: &Machine) -> Option<Finding> {
    let version = machine.text("/sys/class/infiniband_mad/abi_version")?;
    Some(match version == ABI {
        true => Finding::ok("modules", format!("umad ABI version {version}")),
        false => Finding::problem(
            "modules",
            format!("umad ABI version {version}, but this program knows {ABI}"),
            "run a kernel and a sapphired that go together",
        ),
    })
}
