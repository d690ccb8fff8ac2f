//! Which LIDs the found ports get, and with which LMC.
//!
//! LIDs that ports have are kept where they can be, so what is worked out for a running fabric is
//! what runs there. The LMC is one for the subnet: given by an option, else what ports say (a net
//! file, an SA), else inferred from the gaps between LIDs (`opensm-subnet.lst`, a LID file).

use sa_wire::{Guid, Lid, Lmc, NodeType};

use super::{EndPort, Subnet, SubnetError, SubnetOptions};
use crate::lids::{Claim, assign, infer_lmc};
use crate::model::{PortRef, Source};

impl Subnet {
    /// Assigns LIDs. Shape: `ports` in the order of port GUIDs.
    ///
    /// It fills `end_ports`, `sm`, `lmc` and the part of the report that is about LIDs.
    pub(super) fn number(
        &mut self,
        ports: &[(Guid, PortRef)],
        sm: PortRef,
        options: &SubnetOptions<'_>,
    ) -> Result<(), SubnetError> {
        // First with the largest LMC for all that may have one: which it is follows from the
        // claims.
        let most = Lmc::new(7).unwrap_or_default();
        let known: Vec<_> = ports
            .iter()
            .map(|(guid, at)| self.known_lid(*guid, *at, options))
            .collect();
        let mut claims: Vec<_> = ports
            .iter()
            .zip(&known)
            .map(|((_, at), known)| {
                let many = self.has_lmc(*at, options);
                Claim {
                    known: *known,
                    remembered: None,
                    // As `infer_lmc` wants it: any LMC but 0 says that the port may have one.
                    lmc: if many { most } else { Lmc::default() },
                }
            })
            .collect();
        self.sm = ports
            .iter()
            .position(|(_, at)| *at == sm)
            .unwrap_or_default();
        self.lmc = options
            .lmc
            .unwrap_or_else(|| self.stated_lmc(&claims, options));
        for claim in &mut claims {
            // Ports that can have only one LID keep 0.
            claim.lmc = claim.lmc.min(self.lmc);
        }
        let lids = assign(&claims, self.sm)?;
        for (((guid, at), claim), lid) in ports.iter().zip(&claims).zip(lids) {
            self.end_ports.push(EndPort {
                at: *at,
                guid: *guid,
                lid,
                lmc: claim.lmc,
            });
            match claim.known {
                Some(known) if known != lid => self.report.moved.push((*at, known, lid)),
                // Without a LID file a port without LID is nothing to report: a net file rarely has
                // them.
                None if options.lids.is_some() => self.report.without_lid.push(*at),
                _ => {}
            }
        }
        Ok(())
    }

    /// The LID that a port has already: by the LID file alone where there is one. Mixing two
    /// sources would give LIDs twice.
    ///
    /// None: it gets the next that is free.
    fn known_lid(&self, guid: Guid, at: PortRef, options: &SubnetOptions<'_>) -> Option<Lid> {
        match options.lids {
            Some(overlay) => overlay.lid(guid),
            None if options.reassign_lids => None,
            None => self.fabric.port(at).lid,
        }
    }

    /// True for ports whose number of LIDs follows the LMC.
    fn has_lmc(&self, at: PortRef, options: &SubnetOptions<'_>) -> bool {
        let node = self.fabric.node(at.node);
        node.kind != NodeType::Switch || (node.enhanced_port0 && options.lmc_esp0)
    }

    /// The LMC that a file states or lets infer.
    ///
    /// `opensm-subnet.lst` has no LMC, nor has a LID file, which is one.
    fn stated_lmc(&self, claims: &[Claim], options: &SubnetOptions<'_>) -> Lmc {
        let has_no_lmc = options.lids.is_some() || self.fabric.source() == Source::SubnetList;
        if has_no_lmc {
            return infer_lmc(claims, self.sm);
        }
        // Of switches not: base port 0 has none, and an enhanced one follows the others.
        let ports = self
            .fabric
            .nodes()
            .iter()
            .filter(|node| node.kind != NodeType::Switch);
        ports
            .flat_map(|node| &node.ports)
            .filter_map(|port| port.lmc)
            .max()
            .unwrap_or_default()
    }
}
