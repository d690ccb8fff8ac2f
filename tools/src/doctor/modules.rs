//! Kernel modules.
//!
//! `ib_umad` is not loaded by itself on every distribution, and without it there is a device and no
//! node to open. The ABI of umad has been 5 since Linux 2.6; another number would mean a layout of
//! packets that the port does not know.
//!
//! ```text
//! /sys/module/ib_umad                                    is there where it is loaded or built in
//! /sys/class/infiniband/mlx5_0/device/driver -> ..       its last part is the driver
//! /sys/class/infiniband_mad/abi_version                  5
//! ```

use super::finding::Finding;
use super::ports;
use crate::machine::Machine;

/// What every port needs.
/// The HCA's driver is not listed: which one that is depends on the device, and a device that shows
/// has it.
const NEEDED: [&str; 2] = ["ib_core", "ib_umad"];

/// Version of the interface to user space that the umad code is written for.
/// `IB_USER_MAD_ABI_VERSION` of the kernel's `ib_user_mad.h`.
const ABI: &str = "5";

/// Called only where there is a device.
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
/// The last part of the link; none for the simulator and for devices of software, which have no
/// device below.
fn driver(machine: &Machine, device: &str) -> Option<String> {
    let link = machine.link(&format!("/sys/class/infiniband/{device}/device/driver"))?;
    link.rsplit('/').next().map(str::to_owned)
}

/// None where the module is not there, which has its finding already.
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
