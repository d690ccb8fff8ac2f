//! SL2VL and VL arbitration tables from the `qos-setup` scopes of a policy.
//!
//! A scope means ports: those of its groups, and with `across` the ports at the other ends of
//! their cables. Where several scopes mean the same table, the policy's [`ScopePrecedence`]
//! decides; where none does, `opensm.conf` does. OpenSM itself reads scopes and ignores them.
//! Source: QoS RFC 0.1 and 0.2, sections 3 and 9.
//!
//! ```text
//! vlarb-scope
//!     group: storage            the ports of this group,
//!     across: leaves            the ports that the cables of leaves lead to,
//!     to: 1-8                   of switches output ports 1 to 8 only
//!     vlarb-high: 0:32,1:96     their high-priority table
//! end-vlarb-scope
//! ```
//!
//! The way: `targets` finds devices and far ends by groups; `sl2vl` and `vl_arb` place each scope
//! on ports, as sets of port numbers (`port_set`), in order of precedence; asked for a table, the
//! first scope that means it gives it, fitted to the port. While all ports are gone through once,
//! what is wrong is collected as a [`Finding`] (`finding`, in words by `display`, ports in words by
//! `places`).
//!
//! A device has one index here, that of its end port: a switch is named by its port 0, whichever of
//! its ports is meant.
//!
//! Memory: for each device the scopes that mean it, with two sets of 32 bytes each; not the tables,
//! of which a switch can have 1,369.

mod display;
mod finding;
mod places;
mod port_set;
mod sl2vl;
mod targets;
mod vl_arb;

use std::path::Path;

use policy::{Partitions, Policy, PortFacts, ScopePrecedence};
use routing::{EndPortIx, GivenSl2Vl, SwitchIx};
use sa_text::{Diagnostic, Remark, Severity, Span};
use sa_wire::{DataVls, SlToVl};

use crate::state::{FabricState, Sources};
use sa_fabric::{OpenSmOptions, PortRef, Subnet};

pub use finding::{Finding, FindingKind, ScopeKind};
pub use places::Places;
use port_set::{PortSet, Rectangle};
use targets::Targets;

/// How tables of scopes are made fit for a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScopeFit {
    /// As the RFCs have it: SLs on VLs that a port does not operate are dropped (VL 15), tables
    /// of VL arbitration are cut to what the port holds.
    #[default]
    Rfc,
    /// As OpenSM fits the tables of its options: VLs lose the bits that the port cannot express,
    /// numbers out of range are cut.
    OpenSm,
}

/// The fabric that scopes are applied to.
///
/// Copied freely: references and a flag. Of a fabric before or after routing, which is why it is
/// not a state.
#[derive(Clone, Copy)]
pub struct SetupContext<'a> {
    /// Devices and cables.
    pub subnet: &'a Subnet,
    /// Options of the SM.
    pub options: &'a OpenSmOptions,
    /// Partitions of the same ports.
    pub partitions: &'a Partitions,
    /// The subnet's end ports as policy sees them; their index is what devices are named by.
    pub ports: &'a [PortFacts],
    /// True where torus-2QoS routes, which makes all SL2VL tables itself.
    pub is_torus: bool,
}

impl<'a> SetupContext<'a> {
    /// Of a routed fabric.
    pub fn from_state(parts: &'a FabricState) -> Self {
        Self {
            subnet: &parts.subnet,
            options: &parts.options,
            partitions: &parts.partitions,
            ports: &parts.facts,
            is_torus: parts.routes.torus().is_some(),
        }
    }

    /// Of a fabric that is to be routed. Shape: `ports` are those of its subnet.
    pub const fn from_sources(sources: &'a Sources, ports: &'a [PortFacts]) -> Self {
        Self {
            subnet: &sources.subnet,
            options: &sources.options,
            partitions: &sources.partitions,
            ports,
            is_torus: sources.routing.torus_conf().is_some(),
        }
    }
}

/// The scopes of a policy, applied to a fabric.
///
/// Made for one policy in one fabric; asked for tables as often as there are ports.
pub struct Scopes<'a> {
    context: SetupContext<'a>,
    policy: &'a Policy,
    /// As the RFCs have it, unless a tool asks for OpenSM's way.
    fit: ScopeFit,
    /// By end port: scopes in order of precedence, and the tables that each means.
    sl2vl: Vec<Vec<(usize, Rectangle)>>,
    /// By end port: as above, by output port.
    vl_arb: Vec<Vec<(usize, PortSet)>>,
    /// In the order of the file, errors before warnings of one scope.
    findings: Vec<Finding>,
}

impl<'a> Scopes<'a> {
    /// Finds the ports of every scope, and what is wrong with them.
    pub fn new(policy: &'a Policy, context: SetupContext<'a>, fit: ScopeFit) -> Self {
        let mut scopes = Self {
            context,
            policy,
            fit,
            sl2vl: vec![Vec::new(); context.ports.len()],
            vl_arb: vec![Vec::new(); context.ports.len()],
            findings: Vec::new(),
        };
        scopes.note_refused();
        let mut targets = Targets::new(context, policy);
        // Groups are looked up once for both kinds.
        scopes.place_sl2vl(&mut targets);
        scopes.place_vl_arb(&mut targets);
        scopes.judge_sl2vl();
        scopes.judge_vl_arb();
        let findings = &mut scopes.findings;
        findings.sort_by_key(|finding| (finding.span.offset, finding.severity()));
        scopes
    }

    /// What is wrong, in the order of the file.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What is wrong, for an operator, without what the parser has said already.
    ///
    /// For a load; `sapphire setup` shows findings themselves.
    pub fn remarks(&self, file: &Path) -> Vec<Remark> {
        let own = self.findings.iter();
        let own = own.filter(|finding| !matches!(finding.kind, FindingKind::Refused(_)));
        own.map(|finding| finding.remark(file)).collect()
    }

    /// True when something is wrong that the RFCs call an error.
    pub fn has_errors(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.severity() == Severity::Error)
    }

    /// The table that a scope gives, and where the scope is; none where no scope means it.
    ///
    /// Shape: `end` is an end port of the subnet, a switch's port 0 standing for all its ports;
    /// CA and router ports have one table, from port 0 to port 0.
    pub fn sl2vl(&self, end: usize, input: u8, output: u8) -> Option<(SlToVl, Span)> {
        // None for ports that get no tables, and for ports with one VL, which are left alone.
        let operational = self.several_vls(self.context.output(end, output)?)?;
        let scope = self.sl2vl_scope(end, input, output)?;
        let scope = self.policy.setup.sl2vl.get(scope)?;
        let table = sl2vl::fitted(SlToVl(scope.table), operational, self.fit);
        Some((table, scope.span))
    }

    /// All SL2VL tables that scopes give, for routes to be walked with.
    ///
    /// Fitted, and of wired ports only.
    pub fn given_sl2vl(&self) -> GivenSl2Vl {
        let subnet = self.context.subnet;
        let mut given = GivenSl2Vl::default();
        for (end, ix) in (0..self.context.ports.len()).zip((0..).map(EndPortIx)) {
            let own = self.sl2vl(end, 0, 0);
            given.end_ports.extend(own.map(|(table, _)| (ix, table)));
        }
        for (node, ix) in subnet.switches().iter().zip((0..).map(SwitchIx)) {
            let at = PortRef {
                node: *node,
                port: 0,
            };
            if let Some(end) = subnet.by_port(at) {
                given.switches.extend(self.switch_tables(end, ix));
            }
        }
        given
    }

    fn switch_tables(
        &self,
        end: usize,
        ix: SwitchIx,
    ) -> impl Iterator<Item = (SwitchIx, u8, u8, SlToVl)> {
        let last = self
            .context
            .ports
            .get(end)
            .map_or(0, |port| port.node_ports);
        (0..=last).flat_map(move |input| {
            (0..=last).filter_map(move |output| {
                let (table, _) = self.sl2vl(end, input, output)?;
                Some((ix, input, output, table))
            })
        })
    }

    /// The VLs of a port with more than one; others are left alone.
    fn several_vls(&self, at: PortRef) -> Option<DataVls> {
        let vls = self
            .context
            .subnet
            .operational_vls(at, self.context.options);
        Some(vls).filter(|vls| vls.get() > 1)
    }

    /// Indices of so many scopes, the one that counts before others first.
    fn by_precedence(&self, count: usize) -> Vec<usize> {
        match self.policy.semantics.scope_precedence {
            ScopePrecedence::First => (0..count).collect(),
            ScopePrecedence::Last => (0..count).rev().collect(),
        }
    }

    /// Notes something wrong at a scope.
    fn find(&mut self, span: Span, kind: FindingKind) {
        self.findings.push(Finding { span, kind });
    }

    /// Scopes, or parts of them, that the parser or the linker refused.
    fn note_refused(&mut self) {
        let policy = self.policy;
        for remark in refused(policy) {
            let place = remark.place.unwrap_or(Span::START);
            self.find(place, FindingKind::Refused(remark));
        }
        if policy.dialect.is_rfc() {
            return;
        }
        let setup = &policy.setup;
        let sl2vl = setup.sl2vl.iter().map(|scope| (scope.skipped, scope.span));
        let vl_arb = setup.vlarb.iter().map(|scope| (scope.skipped, scope.span));
        let kinds = [ScopeKind::Sl2Vl, ScopeKind::VlArb];
        let all = sl2vl.map(|scope| (kinds[0], scope));
        for (scope, (skipped, span)) in all.chain(vl_arb.map(|scope| (kinds[1], scope))) {
            if let Some(skipped) = skipped {
                self.find(span, FindingKind::Skipped { scope, skipped });
            }
        }
    }
}

/// What the parser found wrong in `qos-setup`. It is told when the policy is read, too.
pub fn refused(policy: &Policy) -> impl Iterator<Item = Diagnostic> {
    let inside = |span: Span| {
        let mut sections = policy.setup.spans.iter();
        sections.any(|section| {
            let behind = section.offset + section.length;
            (section.offset..behind).contains(&span.offset)
        })
    };
    let remarks = policy.diagnostics().into_iter();
    remarks.filter(move |remark| {
        remark.severity == Severity::Error && remark.place.is_some_and(inside)
    })
}
