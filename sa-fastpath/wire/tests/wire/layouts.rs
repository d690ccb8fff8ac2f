//! Each layout, read and written through the crate's types, in the order of its table.

use sa_wire::attrs::Selector;
use sa_wire::class_port_info::{CapabilityMask, ClassPortInfo};
use sa_wire::mad::MadHeader;
use sa_wire::multipath_record::MultiPathRecord;
use sa_wire::path_record::{FlowWord, NumbPathByte, PathRecord, QosClassSl, SelectedValue};
use sa_wire::rmpp::RmppHeader;
use sa_wire::sa::{SaHeader, SaMad};
use sa_wire::umad::{MAD_SIZE, Slot, UmadHeader};
use sa_wire::{Gid, ServiceId, Sl};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

use crate::layout::{Layout, Values};
use crate::tables;

#[test]
fn mad_header() {
    let layout = Layout {
        size: 24,
        table: tables::MAD_HEADER.to_vec(),
        decode: |bytes| decode_mad(&read(bytes)),
        encode: |mut values| encode_mad(&mut values).as_bytes().to_vec(),
        copy: copy::<MadHeader>,
    };
    layout.check();
}

#[test]
fn rmpp_header() {
    let layout = Layout {
        size: 12,
        table: tables::RMPP_HEADER.to_vec(),
        decode: |bytes| decode_rmpp(&read(bytes)),
        encode: |mut values| encode_rmpp(&mut values).as_bytes().to_vec(),
        copy: copy::<RmppHeader>,
    };
    layout.check();
}

#[test]
fn sa_header() {
    let layout = Layout {
        size: 20,
        table: tables::SA_HEADER.to_vec(),
        decode: |bytes| decode_sa(&read(bytes)),
        encode: |mut values| encode_sa(&mut values).as_bytes().to_vec(),
        copy: copy::<SaHeader>,
    };
    layout.check();
}

#[test]
fn sa_mad() {
    let mut table = tables::MAD_HEADER.to_vec();
    table.extend(tables::RMPP_HEADER.map(|field| field.moved(24)));
    table.extend(tables::SA_HEADER.map(|field| field.moved(36)));
    table.extend(tables::DATA);
    let layout = Layout {
        size: 256,
        table,
        decode: decode_sa_mad,
        encode: encode_sa_mad,
        copy: copy::<SaMad>,
    };
    layout.check();
}

#[test]
fn path_record() {
    let layout = Layout {
        size: 64,
        table: tables::PATH_RECORD.to_vec(),
        decode: |bytes| decode_path(&read(bytes)),
        encode: |mut values| encode_path(&mut values).as_bytes().to_vec(),
        copy: copy::<PathRecord>,
    };
    layout.check();
}

#[test]
fn multi_path_record() {
    let layout = Layout {
        size: 24,
        table: tables::MULTI_PATH_RECORD.to_vec(),
        decode: |bytes| decode_multi_path(&read(bytes)),
        encode: |mut values| encode_multi_path(&mut values).as_bytes().to_vec(),
        copy: copy::<MultiPathRecord>,
    };
    layout.check();
}

#[test]
fn class_port_info() {
    let layout = Layout {
        size: 72,
        table: tables::CLASS_PORT_INFO.to_vec(),
        decode: |bytes| decode_class_port_info(&read(bytes)),
        encode: |mut values| encode_class_port_info(&mut values).as_bytes().to_vec(),
        copy: copy::<ClassPortInfo>,
    };
    layout.check();
}

#[test]
fn umad_header() {
    let layout = Layout {
        size: 64,
        table: tables::UMAD_HEADER.to_vec(),
        decode: |bytes| decode_umad(&read(bytes)),
        encode: |mut values| encode_umad(&mut values).as_bytes().to_vec(),
        copy: copy::<UmadHeader>,
    };
    layout.check();
}

#[test]
fn slot_is_umad_header_then_mad() {
    let mut table = tables::UMAD_HEADER.to_vec();
    table.extend(tables::MAD_HEADER.map(|field| field.moved(64)));
    table.extend(tables::RMPP_HEADER.map(|field| field.moved(64 + 24)));
    table.extend(tables::SA_HEADER.map(|field| field.moved(64 + 36)));
    table.extend(tables::DATA.map(|field| field.moved(64)));
    let layout = Layout {
        size: 320,
        table,
        decode: |bytes| {
            let slot: Slot = read(bytes);
            let mut fields = decode_umad(&slot.header);
            fields.extend(decode_sa_mad(&slot.mad));
            fields
        },
        encode: |mut values| {
            let mut slot = Slot::EMPTY;
            slot.header = encode_umad(&mut values);
            slot.mad = encode_sa_mad(values).try_into().unwrap();
            slot.as_bytes().to_vec()
        },
        copy: copy::<Slot>,
    };
    layout.check();
}

fn read<T: FromBytes>(bytes: &[u8]) -> T {
    T::read_from_bytes(bytes).unwrap()
}

fn copy<T: FromBytes + IntoBytes + Immutable>(bytes: &[u8]) -> Vec<u8> {
    read::<T>(bytes).as_bytes().to_vec()
}

fn number(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

fn decode_mad(header: &MadHeader) -> Vec<u128> {
    vec![
        header.base_version.into(),
        header.mgmt_class.into(),
        header.class_version.into(),
        header.method.into(),
        header.status().get().into(),
        header.class_specific.get().into(),
        header.transaction_id().0.into(),
        header.attribute_id.get().into(),
        header.reserved.get().into(),
        header.attribute_modifier.get().into(),
    ]
}

fn encode_mad(values: &mut Values<'_>) -> MadHeader {
    MadHeader {
        base_version: values.next(),
        mgmt_class: values.next(),
        class_version: values.next(),
        method: values.next(),
        status: values.next::<u16>().into(),
        class_specific: values.next::<u16>().into(),
        transaction_id: values.next::<u64>().into(),
        attribute_id: values.next::<u16>().into(),
        reserved: values.next::<u16>().into(),
        attribute_modifier: values.next::<u32>().into(),
    }
}

fn decode_rmpp(header: &RmppHeader) -> Vec<u128> {
    vec![
        header.version.into(),
        header.packet_type.into(),
        header.response_time().into(),
        header.flags().into(),
        header.status.into(),
        header.segment_number.get().into(),
        header.payload_length.get().into(),
    ]
}

fn encode_rmpp(values: &mut Values<'_>) -> RmppHeader {
    let mut header = RmppHeader::INACTIVE;
    header.version = values.next();
    header.packet_type = values.next();
    header.response_time_flags = values.next::<u8>() << 3;
    header.set_flags(values.next());
    header.status = values.next();
    header.segment_number = values.next::<u32>().into();
    header.payload_length = values.next::<u32>().into();
    header
}

fn decode_sa(header: &SaHeader) -> Vec<u128> {
    vec![
        header.sm_key.get().into(),
        header.attribute_offset.get().into(),
        header.reserved.get().into(),
        header.component_mask.get().into(),
    ]
}

fn encode_sa(values: &mut Values<'_>) -> SaHeader {
    SaHeader {
        sm_key: values.next::<u64>().into(),
        attribute_offset: values.next::<u16>().into(),
        reserved: values.next::<u16>().into(),
        component_mask: values.next::<u64>().into(),
    }
}

fn decode_sa_mad(bytes: &[u8]) -> Vec<u128> {
    let bytes: &[u8; MAD_SIZE] = bytes.try_into().unwrap();
    let mad = SaMad::from_bytes(bytes);
    let mut fields = decode_mad(&mad.mad);
    fields.extend(decode_rmpp(&mad.rmpp));
    fields.extend(decode_sa(&mad.sa));
    fields.extend(mad.data.chunks(16).map(number));
    fields
}

fn encode_sa_mad(mut values: Values<'_>) -> Vec<u8> {
    let mut bytes = [0; MAD_SIZE];
    let mad = SaMad::from_bytes_mut(&mut bytes);
    mad.mad = encode_mad(&mut values);
    mad.rmpp = encode_rmpp(&mut values);
    mad.sa = encode_sa(&mut values);
    for chunk in mad.data.chunks_mut(16) {
        let whole: [u8; 16] = values.bytes();
        chunk.copy_from_slice(&whole[16 - chunk.len()..]);
    }
    assert!(values.is_empty());
    bytes.to_vec()
}

pub(crate) fn decode_path(record: &PathRecord) -> Vec<u128> {
    let mut fields = vec![
        record.service_id().0.into(),
        number(&record.dgid().0),
        number(&record.sgid().0),
        record.dlid.get().into(),
        record.slid.get().into(),
    ];
    fields.extend(decode_flow(record.flow));
    fields.push(record.tclass.into());
    fields.extend(decode_numb_path(record.numb_path));
    fields.push(record.pkey.get().into());
    fields.extend(decode_qos(record.qos_class_sl));
    for value in [record.mtu, record.rate, record.packet_life] {
        fields.extend([value.selector() as u128, value.value().into()]);
    }
    fields.extend([record.preference.into(), number(&record.reserved)]);
    fields
}

fn encode_path(values: &mut Values<'_>) -> PathRecord {
    PathRecord {
        service_id: values.next::<u64>().into(),
        dgid: Gid(values.bytes()).0,
        sgid: Gid(values.bytes()).0,
        dlid: values.next::<u16>().into(),
        slid: values.next::<u16>().into(),
        flow: encode_flow(values),
        tclass: values.next(),
        numb_path: encode_numb_path(values),
        pkey: values.next::<u16>().into(),
        qos_class_sl: encode_qos(values),
        mtu: encode_selected(values),
        rate: encode_selected(values),
        packet_life: encode_selected(values),
        preference: values.next(),
        reserved: values.bytes(),
    }
}

pub(crate) fn decode_multi_path(record: &MultiPathRecord) -> Vec<u128> {
    let mut fields = decode_flow(record.flow).to_vec();
    fields.push(record.tclass.into());
    fields.extend(decode_numb_path(record.numb_path));
    fields.push(record.pkey.get().into());
    fields.extend(decode_qos(record.qos_class_sl));
    for value in [record.mtu, record.rate, record.packet_life] {
        fields.extend([value.selector() as u128, value.value().into()]);
    }
    let service_id = record.service_id().0;
    fields.extend([
        u128::from(service_id >> 56),
        record.independence_selector().into(),
        (record.independence & 0x3f).into(),
        record.sgid_count.into(),
        record.dgid_count.into(),
        u128::from(service_id & 0x00ff_ffff_ffff_ffff),
    ]);
    fields
}

fn encode_multi_path(values: &mut Values<'_>) -> MultiPathRecord {
    let mut record = MultiPathRecord {
        flow: encode_flow(values),
        tclass: values.next(),
        numb_path: encode_numb_path(values),
        pkey: values.next::<u16>().into(),
        qos_class_sl: encode_qos(values),
        mtu: encode_selected(values),
        rate: encode_selected(values),
        packet_life: encode_selected(values),
        ..MultiPathRecord::new_zeroed()
    };
    let service_id_msb: u64 = values.next();
    record.independence = values.next::<u8>() << 6 | values.next::<u8>();
    record.sgid_count = values.next();
    record.dgid_count = values.next();
    record.set_service_id(ServiceId(service_id_msb << 56 | values.next::<u64>()));
    record
}

fn decode_class_port_info(info: &ClassPortInfo) -> Vec<u128> {
    vec![
        info.base_version.into(),
        info.class_version.into(),
        info.capability_mask().0.into(),
        info.capability_mask2().0.into(),
        info.response_time().get().into(),
        number(&info.redirect_gid),
        info.redirect_tclass_sl_flow.get().into(),
        info.redirect_lid.get().into(),
        info.redirect_pkey.get().into(),
        info.redirect_qp.get().into(),
        info.redirect_qkey.get().into(),
        number(&info.trap_gid),
        info.trap_tclass_sl_flow.get().into(),
        info.trap_lid.get().into(),
        info.trap_pkey.get().into(),
        info.trap_hop_limit_qp.get().into(),
        info.trap_qkey.get().into(),
    ]
}

fn encode_class_port_info(values: &mut Values<'_>) -> ClassPortInfo {
    ClassPortInfo {
        base_version: values.next(),
        class_version: values.next(),
        capability_mask: CapabilityMask(values.next()).0.into(),
        capability_mask2_response_time: (values.next::<u32>() << 5 | values.next::<u32>()).into(),
        redirect_gid: values.bytes(),
        redirect_tclass_sl_flow: values.next::<u32>().into(),
        redirect_lid: values.next::<u16>().into(),
        redirect_pkey: values.next::<u16>().into(),
        redirect_qp: values.next::<u32>().into(),
        redirect_qkey: values.next::<u32>().into(),
        trap_gid: values.bytes(),
        trap_tclass_sl_flow: values.next::<u32>().into(),
        trap_lid: values.next::<u16>().into(),
        trap_pkey: values.next::<u16>().into(),
        trap_hop_limit_qp: values.next::<u32>().into(),
        trap_qkey: values.next::<u32>().into(),
    }
}

fn decode_umad(header: &UmadHeader) -> Vec<u128> {
    vec![
        header.agent.into(),
        header.status.into(),
        header.timeout_ms.into(),
        header.retries.into(),
        header.length.into(),
        header.qpn.get().into(),
        header.qkey.get().into(),
        header.lid.get().into(),
        header.sl.into(),
        header.path_bits.into(),
        header.grh_present.into(),
        header.gid_index.into(),
        header.hop_limit.into(),
        header.traffic_class.into(),
        number(&header.gid),
        header.flow_label.get().into(),
        header.pkey_index.into(),
        number(&header.reserved),
    ]
}

fn encode_umad(values: &mut Values<'_>) -> UmadHeader {
    UmadHeader {
        agent: values.next(),
        status: values.next(),
        timeout_ms: values.next(),
        retries: values.next(),
        length: values.next(),
        qpn: values.next::<u32>().into(),
        qkey: values.next::<u32>().into(),
        lid: values.next::<u16>().into(),
        sl: values.next(),
        path_bits: values.next(),
        grh_present: values.next(),
        gid_index: values.next(),
        hop_limit: values.next(),
        traffic_class: values.next(),
        gid: values.bytes(),
        flow_label: values.next::<u32>().into(),
        pkey_index: values.next(),
        reserved: values.bytes(),
    }
}

/// RawTraffic, the reserved bits (which have no accessor), FlowLabel, HopLimit.
fn decode_flow(flow: FlowWord) -> [u128; 4] {
    let reserved = flow.0.get() >> 28 & 7;
    [
        flow.raw_traffic().into(),
        reserved.into(),
        flow.flow_label().into(),
        flow.hop_limit().into(),
    ]
}

fn encode_flow(values: &mut Values<'_>) -> FlowWord {
    let raw = values.flag();
    let reserved: u32 = values.next();
    let flow = FlowWord::new(values.next(), values.next());
    let flow = if raw { flow.with_raw_traffic() } else { flow };
    FlowWord((flow.0.get() | reserved << 28).into())
}

fn decode_numb_path(byte: NumbPathByte) -> [u128; 2] {
    [byte.reversible().into(), byte.numb_path().into()]
}

fn encode_numb_path(values: &mut Values<'_>) -> NumbPathByte {
    let reversible = values.flag();
    let byte = NumbPathByte::new(values.next());
    if reversible {
        byte.with_reversible()
    } else {
        byte
    }
}

fn decode_qos(word: QosClassSl) -> [u128; 2] {
    [word.qos_class().into(), word.sl().get().into()]
}

fn encode_qos(values: &mut Values<'_>) -> QosClassSl {
    QosClassSl::new(values.next(), Sl::new(values.next()).unwrap())
}

fn encode_selected(values: &mut Values<'_>) -> SelectedValue {
    let selector = match values.next::<u8>() {
        0 => Selector::Greater,
        1 => Selector::Less,
        2 => Selector::Exactly,
        _ => Selector::Best,
    };
    SelectedValue::new(selector, values.next())
}
