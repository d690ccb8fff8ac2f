//! Tables that are made while they are sent are those that are made at once, byte for byte, in
//! whatever order they are read; and they take little memory.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use sa_compiler::state::FabricState;
use sa_fastpath::publish::Publisher;
use sa_service::dispatch;
use sa_tests::site::Site;
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord, SelectedValue};
use sa_wire::records::Layout;
use sa_wire::request;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::umad::Slot;

type Published = Arc<sa_fastpath::publish::Published>;

fn fabric() -> Result<(Published, Arc<FabricState>)> {
    let compiled = Site::torus([5, 5, 4], 2).lmc(1).compile();
    let mut publisher = Publisher::new();
    let mut reader = publisher.reader().context("a reader")?;
    publisher.publish(compiled.snapshot);
    let published = reader.refresh_shared().context("a snapshot")?;
    Ok((Arc::clone(published), Arc::new(compiled.parts)))
}

/// The SM's host: it has the lowest LIDs, and with an LMC of 1 none is odd.
const REQUESTER: u16 = 2;

fn table(attribute: AttributeId, mask: u64) -> Slot {
    let mut slot = request::path_request(
        REQUESTER,
        method::GET_TABLE,
        PathCompMask(mask),
        &PathRecord::default(),
    );
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.attribute_id = attribute.get().into();
    mad.sa.sm_key = 1.into();
    slot
}

/// Compares, and returns how many records there are; none when the table is not streamed.
fn compare(
    published: &Published,
    parts: &Arc<FabricState>,
    request: &Slot,
) -> Result<Option<usize>> {
    let attribute = SaMad::from_bytes(&request.mad).attribute_id();
    let Some(mut streamed) = dispatch::stream(published, Some(parts), request) else {
        return Ok(None);
    };
    let whole = dispatch::respond_with(&published.snapshot, Some(parts), request);
    let whole = whole.context("a reply")?;
    let (head, records) = whole.split_at(DATA_OFFSET);
    let own = zerocopy::IntoBytes::as_bytes(&streamed.head);
    ensure!(own.get(..DATA_OFFSET) == Some(head), "{attribute}: headers");
    let length = usize::try_from(streamed.records.length())?;
    ensure!(length == records.len(), "{attribute}: {length} bytes");
    // Forwards as a sender goes, with windows sent again, then backwards.
    let segments = records.len().div_ceil(200);
    let forwards = (0..segments).chain((0..segments).rev());
    let windows = (0..segments / 64).flat_map(|window| {
        let window = window * 64..(window + 1) * 64;
        window.clone().chain(window)
    });
    for segment in windows.chain(forwards) {
        let range = segment * 200..records.len().min((segment + 1) * 200);
        let wanted = records.get(range.clone()).context("in range")?;
        let mut got = vec![0; wanted.len()];
        streamed
            .records
            .read(u32::try_from(range.start)?, &mut got)?;
        ensure!(got == wanted, "{attribute}: segment {segment}");
    }
    ensure!(streamed.records.held() < 1 << 20, "{attribute}: memory");
    let stride = 8 * usize::from(streamed.head.sa.attribute_offset.get());
    Ok(Some(records.len() / stride))
}

#[test]
fn records_of_the_fabric() -> Result<()> {
    let (published, parts) = fabric()?;
    let mut streamed = 0;
    for layout in Layout::ALL {
        let request = table(layout.attribute, 0);
        streamed += usize::from(compare(&published, &parts, &request)?.is_some());
        // Nothing asked, but a component that all records of a kind share.
        for bit in 1..8 {
            compare(&published, &parts, &table(layout.attribute, 1 << bit))?;
        }
    }
    // NR, PIR, SL2VL, VLAR, LFTR, PKTR are longer than 16 KiB here.
    ensure!(streamed >= 6, "{streamed} streamed");
    Ok(())
}

#[test]
fn paths_with_an_open_end() -> Result<()> {
    let (published, parts) = fabric()?;
    let ends = parts.topology.end_ports.len();
    let all = compare(&published, &parts, &table(AttributeId::PATH_RECORD, 0))?;
    ensure!(all.is_some_and(|all| all > ends * ends), "{all:?}");
    for mask in [PathCompMask::DLID, PathCompMask::SLID] {
        let mut request = table(AttributeId::PATH_RECORD, mask.0);
        let record = PathRecord {
            dlid: 9.into(),
            slid: 9.into(),
            ..Default::default()
        };
        SaMad::from_bytes_mut(&mut request.mad).data[..64]
            .copy_from_slice(zerocopy::IntoBytes::as_bytes(&record));
        let half = compare(&published, &parts, &request)?;
        ensure!(half.is_some_and(|half| half >= ends), "{half:?}");
    }
    // Some pairs only.
    let mut slow = table(AttributeId::PATH_RECORD, PathCompMask::RATE_PAIR.0);
    let record = PathRecord {
        rate: SelectedValue(0x83),
        ..Default::default()
    };
    SaMad::from_bytes_mut(&mut slow.mad).data[..64]
        .copy_from_slice(zerocopy::IntoBytes::as_bytes(&record));
    compare(&published, &parts, &slow)?;
    Ok(())
}

#[test]
fn what_is_named_or_refused_is_not_streamed() -> Result<()> {
    let (published, parts) = fabric()?;
    for (attribute, mask) in [
        (AttributeId::NODE_RECORD, 1),
        (AttributeId::PORT_INFO_RECORD, 1 << 5),
        (AttributeId::LINK_RECORD, 1 << 3),
        (AttributeId::PATH_RECORD, PathCompMask::DGID.0),
        (AttributeId(0x0016), 0),
    ] {
        let streamed = dispatch::stream(&published, Some(&parts), &table(attribute, mask));
        ensure!(streamed.is_none(), "{attribute}");
    }
    let mut untrusted = table(AttributeId::PKEY_TABLE_RECORD, 0);
    SaMad::from_bytes_mut(&mut untrusted.mad).sa.sm_key = 0.into();
    ensure!(dispatch::stream(&published, Some(&parts), &untrusted).is_none());
    Ok(())
}
