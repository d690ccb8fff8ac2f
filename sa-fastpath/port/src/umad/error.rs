//! Why a umad port cannot be opened, in words for the operator.
//!
//! Each error names the file or port and ends with a next step, as whoever reads it is often
//! setting up a node for the first time. A program that tries again goes by [`Trouble`]: a device
//! that is missing may come, a method that another SM owns may be given back, and nothing else
//! changes by waiting.

use core::fmt;

use sa_wire::smp::{MGMT_CLASS_DIRECTED, MGMT_CLASS_LID};

/// A umad port that cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum UmadError {
    /// The kernel offers no umad devices at all.
    NoUmad {
        /// Of opening the version file.
        errno: i32,
    },
    /// No device port matches what was asked for.
    NoSuchPort {
        /// The device asked for, if any.
        device: Option<String>,
        /// The port number asked for, if any.
        port: Option<u8>,
        /// The ports that exist, as `device/port`.
        found: Vec<String>,
    },
    /// The device file cannot be opened.
    Open {
        /// The device file, `/dev/infiniband/umadN`.
        path: String,
        /// The errno of `open`.
        errno: i32,
    },
    /// The kernel refused the agent.
    Register {
        /// The port, as `device/port`.
        port: String,
        /// The management class asked for.
        class: u8,
        /// The methods asked for, none for a client.
        methods: Vec<u8>,
        /// The errno of the ioctl.
        errno: i32,
    },
    /// What was asked for does not work under a preload library that simulates umad.
    Simulated,
    /// The kernel refused to duplicate the descriptor.
    Duplicate {
        /// The errno of `fcntl`.
        errno: i32,
    },
}

/// What an operator, or a program that tries again, has to do about a [`UmadError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such device at the moment; it may come (back).
    Absent,
    /// Another program owns one of the methods on this port (or IsSM); it may give them back.
    Taken,
    /// Trying again changes nothing: permissions, limits, a device without an SA.
    Other,
}

impl UmadError {
    /// Whether it is worth trying again, and what for.
    pub const fn trouble(&self) -> Trouble {
        match self {
            Self::NoUmad { .. } | Self::NoSuchPort { .. } => Trouble::Absent,
            // EPIPE: it was removed between opening and registering.
            Self::Open { errno, .. } | Self::Register { errno, .. }
                if matches!(
                    *errno,
                    libc::ENOENT | libc::ENXIO | libc::ENODEV | libc::EPIPE | libc::EIO
                ) =>
            {
                Trouble::Absent
            }
            Self::Open {
                errno: libc::EAGAIN | libc::EBUSY,
                ..
            } => Trouble::Taken,
            // Without methods nothing can be taken: then EINVAL has another cause.
            Self::Register {
                errno: libc::EINVAL | libc::EBUSY,
                methods,
                ..
            } if !methods.is_empty() => Trouble::Taken,
            _ => Trouble::Other,
        }
    }
}

impl fmt::Display for UmadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUmad { errno } => write!(
                f,
                "/sys/class/infiniband_mad/abi_version: {}; is the module ib_umad loaded? \
                 (modprobe ib_umad)",
                os(*errno)
            ),
            Self::NoSuchPort {
                device,
                port,
                found,
            } => no_such_port(f, device.as_deref(), *port, found),
            Self::Open { path, errno } => {
                write!(f, "{path}: {}; {}", os(*errno), open_advice(*errno))
            }
            Self::Register {
                port,
                class,
                methods,
                errno,
            } => register(f, port, *class, methods, *errno),
            Self::Simulated => f.write_str(
                "io_uring does not reach the simulator's umad; use the plain umad port there",
            ),
            Self::Duplicate { errno } => {
                write!(f, "cannot duplicate the umad descriptor: {}", os(*errno))
            }
        }
    }
}

impl core::error::Error for UmadError {}

fn no_such_port(
    f: &mut fmt::Formatter<'_>,
    device: Option<&str>,
    port: Option<u8>,
    found: &[String],
) -> fmt::Result {
    match (device, port) {
        (Some(device), Some(port)) => write!(f, "no umad port {device}/{port}")?,
        (Some(device), None) => write!(f, "no umad port on device {device}")?,
        (None, Some(port)) => write!(f, "no device with a umad port {port}")?,
        (None, None) => f.write_str("no umad port on an InfiniBand device")?,
    }
    if found.is_empty() {
        return f.write_str("; this host shows none (is the HCA's driver loaded?)");
    }
    f.write_str("; this host has ")?;
    for (at, name) in found.iter().enumerate() {
        write!(f, "{}{name}", if at == 0 { "" } else { ", " })?;
    }
    Ok(())
}

/// What an operator can do about a device file that cannot be opened.
fn open_advice(errno: i32) -> &'static str {
    match errno {
        libc::ENOENT => "udev made no device file: is the module ib_umad loaded?",
        libc::EACCES | libc::EPERM => {
            "run as root, or give this user's group the device by a udev rule"
        }
        libc::EAGAIN | libc::EBUSY => "another SM holds it on this port",
        libc::ENXIO | libc::ENODEV => "the HCA went away",
        libc::EMFILE | libc::ENFILE => "too many open files: raise LimitNOFILE",
        _ => "see the kernel's log",
    }
}

/// A refused registration in words: which methods are taken, and by whom they may be.
fn register(
    f: &mut fmt::Formatter<'_>,
    port: &str,
    class: u8,
    methods: &[u8],
    errno: i32,
) -> fmt::Result {
    let is_smp = [MGMT_CLASS_LID, MGMT_CLASS_DIRECTED].contains(&class);
    let what = if is_smp {
        "subnet management"
    } else {
        "Subnet Administration"
    };
    write!(f, "port {port}: cannot register for {what}")?;
    for (at, method) in methods.iter().enumerate() {
        let before = if at == 0 { ", methods " } else { ", " };
        write!(f, "{before}{}", Method(*method))?;
    }
    write!(f, ": {}", os(errno))?;
    match errno {
        // The kernel says EINVAL for a method that has an owner.
        libc::EINVAL | libc::EBUSY if !methods.is_empty() => f.write_str(taken_advice(is_smp)),
        libc::EPIPE | libc::ENODEV => f.write_str("; the HCA went away"),
        libc::ENOMEM => f.write_str("; the file has its 32 agents, or memory is short"),
        libc::EPERM | libc::EACCES => f.write_str("; the security policy forbids it"),
        _ => Ok(()),
    }
}

/// What an operator can do about methods that another program owns.
const fn taken_advice(is_smp: bool) -> &'static str {
    if is_smp {
        "; another SM already runs on this port (OpenSM?): end it, or choose another port"
    } else {
        "; another program already owns these methods on this port (OpenSM?): end it where this is to be the \
         Subnet Manager, else start it with the preload that leaves them to others; or choose another port"
    }
}

/// A method by its name, for people.
struct Method(u8);

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use sa_wire::mad::method;
        match self.0 {
            method::GET => f.write_str("Get"),
            method::SET => f.write_str("Set"),
            method::GET_TABLE => f.write_str("GetTable"),
            method::GET_TRACE_TABLE => f.write_str("GetTraceTable"),
            method::GET_MULTI => f.write_str("GetMulti"),
            method::DELETE => f.write_str("Delete"),
            method::REPORT => f.write_str("Report"),
            method::TRAP => f.write_str("Trap"),
            method::TRAP_REPRESS => f.write_str("TrapRepress"),
            other => write!(f, "0x{other:02x}"),
        }
    }
}

/// The system's words for an errno.
fn os(errno: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sa_wire::mad::MGMT_CLASS_SA;

    #[test]
    fn a_taken_method_points_at_the_other_sa() {
        let error = UmadError::Register {
            port: "mlx5_0/1".to_owned(),
            class: MGMT_CLASS_SA,
            methods: vec![0x01, 0x12],
            errno: libc::EINVAL,
        };
        let text = error.to_string();
        assert!(text.starts_with("port mlx5_0/1: "), "{text}");
        assert!(text.contains("methods Get, GetTable"), "{text}");
        assert!(text.contains("OpenSM?"), "{text}");
    }

    #[test]
    fn a_taken_class_points_at_the_other_sm() {
        let error = UmadError::Register {
            port: "mlx5_0/1".to_owned(),
            class: MGMT_CLASS_DIRECTED,
            methods: vec![0x01, 0x05],
            errno: libc::EINVAL,
        };
        let text = error.to_string();
        assert!(
            text.contains("subnet management, methods Get, Trap"),
            "{text}"
        );
        assert!(text.contains("another SM"), "{text}");
        assert_eq!(error.trouble(), Trouble::Taken);
    }

    #[test]
    fn what_may_pass_is_told_from_what_stays() {
        let open = |errno| UmadError::Open {
            path: String::new(),
            errno,
        };
        let register = |errno, methods: &[u8]| UmadError::Register {
            port: String::new(),
            class: MGMT_CLASS_SA,
            methods: methods.to_vec(),
            errno,
        };
        let absent = [
            UmadError::NoUmad {
                errno: libc::ENOENT,
            },
            UmadError::NoSuchPort {
                device: None,
                port: None,
                found: Vec::new(),
            },
            open(libc::ENOENT),
            open(libc::ENXIO),
            register(libc::EPIPE, &[1]),
        ];
        assert!(absent.iter().all(|it| it.trouble() == Trouble::Absent));
        assert_eq!(register(libc::EINVAL, &[1]).trouble(), Trouble::Taken);
        assert_eq!(open(libc::EAGAIN).trouble(), Trouble::Taken);
        for other in [
            register(libc::EINVAL, &[]),
            register(libc::ENOMEM, &[1]),
            open(libc::EACCES),
            UmadError::Simulated,
        ] {
            assert_eq!(other.trouble(), Trouble::Other, "{other}");
        }
    }

    #[test]
    fn a_wrong_port_is_answered_with_the_right_ones() {
        let error = UmadError::NoSuchPort {
            device: Some("mlx5_9".to_owned()),
            port: None,
            found: vec!["mlx5_0/1".to_owned(), "mlx5_0/2".to_owned()],
        };
        let text = error.to_string();
        assert_eq!(
            text,
            "no umad port on device mlx5_9; this host has mlx5_0/1, mlx5_0/2"
        );
    }

    #[test]
    fn a_locked_device_names_file_and_way_out() {
        let path = "/dev/infiniband/umad0".to_owned();
        let text = UmadError::Open {
            path,
            errno: libc::EACCES,
        }
        .to_string();
        assert!(
            text.starts_with("/dev/infiniband/umad0: Permission denied"),
            "{text}"
        );
        assert!(text.contains("udev rule"), "{text}");
    }
}
