//! Asks an I/O unit for its controllers, and these for their services.
//!
//! The walk is IOUnitInfo, then for each installed slot its controller profile, then its service
//! entries, four at a time. It is given the way to ask as a function, so that tests walk a unit
//! that is a table.
//!
//! A unit may change while it is walked; `change_id` counts that and is shown, not acted upon:
//! whoever sees it move asks again.

use sa_wire::device_management::{
    Attribute, ControllerProfile, DeviceMad, ENTRIES_AT_ONCE, IoUnitInfo, NO_CONTROLLER,
    ServiceEntry, SlotState, text,
};
use sa_wire::mad::Status;
use zerocopy::FromBytes;

use crate::failure::{Failure, Outcome};

/// What an I/O unit has.
///
/// What was found at one LID. A port that is named twice is asked twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) lid: u16,
    /// Counts changes of its controllers.
    pub(super) change: u16,
    pub(super) slots: u8,
    pub(super) controllers: Vec<Controller>,
}

/// A controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Controller {
    pub(super) slot: u8,
    pub(super) guid: u64,
    pub(super) id: String,
    pub(super) is_srp: bool,
    pub(super) services: Vec<Service>,
}

/// A service of a controller.
///
/// `name` is the target port's, such as `SRP.T10:` and 16 digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) name: String,
    pub(super) id: u64,
}

/// Sends a request, and gives the answer.
///
/// Errors: nobody answers, which ends the survey of this unit and not of the others.
pub(super) type Ask<'a> = dyn FnMut(&DeviceMad) -> Outcome<Vec<u8>> + 'a;

/// Everything about the unit at `lid`; without `all`, SRP's only. Errors: it does not answer, or
/// with nonsense.
pub(super) fn survey(lid: u16, all: bool, ask: &mut Ask<'_>) -> Outcome<Unit> {
    let info: IoUnitInfo = get(ask, Attribute::UnitInfo)?
        .ok_or_else(|| Failure::failed("the I/O unit says that it has no controllers"))?;
    // Slots are numbered from 1; each has 4 bits in IOUnitInfo: empty, installed or none.
    let slots = info.max_controllers;
    let installed = (1..=slots).filter(|slot| info.slot(*slot) == SlotState::Installed);
    let mut controllers = Vec::new();
    for slot in installed {
        let profile: Option<ControllerProfile> = get(ask, Attribute::ControllerProfile { slot })?;
        // None: it went away meanwhile, or does not answer its unit.
        if let Some(profile) = profile.filter(|profile| all || profile.is_srp()) {
            controllers.push(controller(slot, &profile, all, ask)?);
        }
    }
    Ok(Unit {
        lid,
        change: info.change_id.get(),
        slots,
        controllers,
    })
}

/// The services of one controller. Entries with an empty name are places that are not used.
fn controller(
    slot: u8,
    profile: &ControllerProfile,
    all: bool,
    ask: &mut Ask<'_>,
) -> Outcome<Controller> {
    let mut services = Vec::new();
    let count = profile.service_entries;
    for first in (0..count).step_by(usize::from(ENTRIES_AT_ONCE)) {
        // No unit is asked for entries that it does not have.
        let last = first.saturating_add(ENTRIES_AT_ONCE - 1).min(count - 1);
        let attribute = Attribute::ServiceEntries { slot, first, last };
        let entries: Option<[u8; 192]> = get(ask, attribute)?;
        let wanted = usize::from(last - first) + 1;
        // A controller that went away has no services: zeros have no names and are left out below.
        let entries = entries.unwrap_or([0; 192]);
        let entries = entries.chunks(size_of::<ServiceEntry>()).take(wanted);
        let entries = entries.filter_map(|entry| ServiceEntry::read_from_bytes(entry).ok());
        let told = entries.filter(|entry| (all || entry.is_srp()) && !entry.name().is_empty());
        services.extend(told.map(|entry| Service {
            name: words(entry.name()),
            id: entry.id.get(),
        }));
    }
    Ok(Controller {
        slot,
        guid: profile.guid.get(),
        id: words(text(&profile.id_string)),
        is_srp: profile.is_srp(),
        services,
    })
}

/// Text of a device: it may be anything, and is not to command a terminal.
fn words(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let shown = text.chars().map(|c| if c.is_control() { '?' } else { c });
    shown.collect::<String>().trim().to_owned()
}

/// An attribute; none where the unit has no such controller.
///
/// Errors: the reply is not of this attribute, or has a status other than "no such controller".
fn get<T: FromBytes>(ask: &mut Ask<'_>, attribute: Attribute) -> Outcome<Option<T>> {
    let reply = ask(&DeviceMad::get(attribute))?;
    let answer = DeviceMad::answer(&reply)
        // A late answer to the question before would be read as something else.
        .filter(|answer| answer.mad.attribute_id.get() == attribute.id())
        .ok_or_else(|| Failure::failed("the reply is none of device management"))?;
    match answer.mad.status.get() {
        0 => Ok(answer.attribute()),
        NO_CONTROLLER => Ok(None),
        status => Err(Failure::failed(format!(
            "attribute 0x{:04x} of the I/O unit is refused with status {}",
            attribute.id(),
            Status(status)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use sa_wire::mad::method;
    use zerocopy::IntoBytes;

    use super::*;

    /// A unit with an SRP target of six services in slot 2 of 3, another controller in slot 3, and
    /// one in slot 1 that does not answer.
    fn unit(request: &DeviceMad) -> Vec<u8> {
        let mut reply = *request;
        reply.mad.method = method::GET_RESP;
        let modifier = request.mad.attribute_modifier.get();
        let [_, upper, last, first] = modifier.to_be_bytes();
        match (request.mad.attribute_id.get(), upper, first) {
            (0x10, ..) => reply.data[..7].copy_from_slice(&[0, 9, 3, 0, 0x11, 0x1f, 0xff]),
            (0x11, _, 1) => reply.mad.status = NO_CONTROLLER.into(),
            (0x11, _, slot) => {
                reply.data[..8].copy_from_slice(&(0xa0 + u64::from(slot)).to_be_bytes());
                if slot == 2 {
                    reply.data[28..36].copy_from_slice(&[1, 0, 0x60, 0x9e, 1, 8, 0, 1]);
                    reply.data[64..70].copy_from_slice(b"disk\x1b[");
                }
                reply.data[54] = if slot == 2 { 6 } else { 1 };
            }
            (0x12, slot, first) => {
                for (place, number) in (first..=last).enumerate() {
                    let entry = &mut reply.data[48 * place..48 * (place + 1)];
                    let name = match (slot, number) {
                        (2, 5) => b"other..:5",
                        _ => b"SRP.T10:x",
                    };
                    entry[..9].copy_from_slice(name);
                    entry[40..].copy_from_slice(&(0xb0 + u64::from(number)).to_be_bytes());
                }
            }
            other => panic!("{other:?}"),
        }
        reply.as_bytes().to_vec()
    }

    #[test]
    fn srp_services_of_all_slots_are_found() {
        let found = survey(7, false, &mut |request| Ok(unit(request))).unwrap();
        assert_eq!((found.lid, found.change, found.slots), (7, 9, 3));
        let [target] = found.controllers.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((target.slot, target.guid, target.is_srp), (2, 0xa2, true));
        assert_eq!(target.id, "disk?[");
        let ids: Vec<u64> = target.services.iter().map(|service| service.id).collect();
        assert_eq!(ids, [0xb0, 0xb1, 0xb2, 0xb3, 0xb4]);
    }

    #[test]
    fn all_shows_other_controllers_and_services() {
        let found = survey(7, true, &mut |request| Ok(unit(request))).unwrap();
        let counts: Vec<_> = found
            .controllers
            .iter()
            .map(|it| (it.slot, it.services.len()))
            .collect();
        assert_eq!(counts, [(2, 6), (3, 1)]);
    }

    #[test]
    fn nonsense_is_refused() {
        let mut cut = |request: &DeviceMad| Ok(unit(request)[..200].to_vec());
        assert!(survey(7, false, &mut cut).is_err());
        let mut echo = |request: &DeviceMad| Ok(request.as_bytes().to_vec());
        assert!(survey(7, false, &mut echo).is_err());
        let mut refusing = |request: &DeviceMad| {
            let mut reply = *request;
            reply.mad.method = method::GET_RESP;
            reply.mad.status = 0x000c.into();
            Ok(reply.as_bytes().to_vec())
        };
        let failure = survey(7, false, &mut refusing).unwrap_err();
        assert!(failure.to_string().contains("0x0010"), "{failure}");
        // Everything says yes to everything.
        let mut full = |request: &DeviceMad| {
            let mut reply = *request;
            reply.mad.method = method::GET_RESP;
            reply.data = [0xff; 192];
            Ok(reply.as_bytes().to_vec())
        };
        assert_eq!(survey(7, true, &mut full).unwrap().controllers.len(), 0);
        let mut many = |request: &DeviceMad| {
            let mut reply = *request;
            reply.mad.method = method::GET_RESP;
            reply.data = [0x11; 192];
            reply.data[2] = 255;
            reply.data[54] = 255;
            Ok(reply.as_bytes().to_vec())
        };
        let found = survey(7, true, &mut many).unwrap();
        // The byte that counts entries of a profile says of a unit that two slots are missing.
        assert_eq!(found.controllers.len(), 253);
        assert!(found.controllers.iter().all(|it| it.services.len() == 255));
    }
}
