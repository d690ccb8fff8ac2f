//! What clients have set at an SA: for a Subnet Manager that stands by, and would go on with it.
//!
//! Four tables, each asked for with the SA's key: without it an SA hides who is in a group, keys of services and queue pairs of
//! subscribers. ServiceRecord comes last, as it is mostly the shortest: whoever hands over knows by it that all was read.
//!
//! An SA that does not know one of the records refuses it, which is told apart from an empty table: what it does not tell it may have. So
//! is a table of which only the beginning comes.

use sa_wire::class_port_info::ClassPortInfo;
use sa_wire::mad::Status;
use sa_wire::records::{GuidInfoRecord, InformInfoRecord, McMemberRecord, ServiceRecord};
use sa_wire::sa::AttributeId;

use crate::query::{Querier, Record, Wanted};
use crate::{Ask, AskError, SaReadError, kept};

/// Records of what clients have set. Shape: in the order of the SA's tables; none of a record that it does not tell.
#[derive(Debug, Clone, Default)]
pub struct SetAtSa {
    /// Members of multicast groups, each with what its group is like.
    pub members: Option<Vec<McMemberRecord>>,
    /// Services.
    pub services: Option<Vec<ServiceRecord>>,
    /// Subscriptions.
    pub subscriptions: Option<Vec<InformInfoRecord>>,
    /// GUIDs of ports that have more than their own: all blocks of these.
    pub guids: Option<Vec<GuidInfoRecord>>,
}

impl SetAtSa {
    /// Asks for all of it. `goes_on` is asked before each table. Errors: no answer, or one that is none; it was not to go on.
    pub fn read(
        ask: &mut dyn Ask,
        sa_key: u64,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Self, SaReadError> {
        let mut querier = Querier::new(ask);
        let whom = querier.whom();
        let may = || match goes_on() {
            true => Ok(()),
            false => {
                let words = format!("{whom} was not asked to the end");
                Err(SaReadError::Ask(AskError::Unanswered(words)))
            }
        };
        let mut told = Self::default();
        may()?;
        told.guids = table(&mut querier, AttributeId::GUID_INFO_RECORD, sa_key)?;
        may()?;
        told.members = table(&mut querier, AttributeId::MC_MEMBER_RECORD, sa_key)?;
        may()?;
        told.subscriptions = table(&mut querier, AttributeId::INFORM_INFO_RECORD, sa_key)?;
        may()?;
        told.services = table(&mut querier, AttributeId::SERVICE_RECORD, sa_key)?;
        if let Some(guids) = &mut told.guids {
            keep_aliases(guids);
        }
        Ok(told)
    }

    /// Errors: no SA answers. For who cannot wait for as long as a table may take.
    pub fn is_told(ask: &mut dyn Ask) -> Result<(), SaReadError> {
        let wanted = Wanted::all(AttributeId::CLASS_PORT_INFO);
        Querier::new(ask).get::<ClassPortInfo>(&wanted).map(drop)
    }

    /// What the SA does not tell, in words.
    pub fn lacks(&self) -> Vec<&'static str> {
        let all = [
            (self.members.is_none(), "members of groups"),
            (self.services.is_none(), "services"),
            (self.subscriptions.is_none(), "subscriptions"),
            (self.guids.is_none(), "alias GUIDs"),
        ];
        let lacking = all.into_iter().filter(|(is_lacking, _)| *is_lacking);
        lacking.map(|(_, words)| words).collect()
    }
}

/// A whole table; none where the SA does not know the record, or tells a part of it.
fn table<T: Record>(
    querier: &mut Querier<'_>,
    attribute: AttributeId,
    key: u64,
) -> Result<Option<Vec<T>>, SaReadError> {
    let wanted = Wanted {
        key,
        ..Wanted::all(attribute)
    };
    match querier.table(&wanted) {
        Ok(records) => Ok(Some(records)),
        Err(SaReadError::Refused { status, .. })
            if status == Status::METHOD_ATTRIBUTE_NOT_SUPPORTED.get() =>
        {
            Ok(None)
        }
        // Over ibsim an OpenSM has no RMPP: what follows the first MAD is not told.
        Err(SaReadError::CutOff(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Nearly all ports of a subnet have their own GUID alone.
fn keep_aliases(guids: &mut Vec<GuidInfoRecord>) {
    let with_aliases = guids.iter().filter(|record| kept::holds_alias(record));
    let mut lids: Vec<u16> = with_aliases.map(|record| record.lid.get()).collect();
    lids.sort_unstable();
    guids.retain(|record| lids.binary_search(&record.lid.get()).is_ok());
}
