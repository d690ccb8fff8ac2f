//! What is wrong with scopes in a fabric.
//!
//! The RFCs number what a program should find (section 9) and say which of it is an error. Errors
//! are what can be set right in the file alone: a number that does not exist, a VL that the ports
//! do not have. The rest are warnings, such as a scope whose group is empty today.

use std::path::Path;

use policy::model::Skipped;
use sa_text::{Diagnostic, Remark, Severity, Span};
use sa_wire::SlToVl;

use super::places::Places;
use crate::qos_setup::warning::Priority;

/// Something wrong with a scope. Whoever shows it adds the file's name.
///
/// One for each scope, kind and set of equal ports, never one for each port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where in the policy: the scope.
    pub span: Span,
    /// What.
    pub kind: FindingKind,
}

/// The two kinds of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScopeKind {
    /// `sl2vl-scope`.
    Sl2Vl,
    /// `vlarb-scope`.
    VlArb,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindingKind {
    /// Told by the parser.
    Refused(Diagnostic),
    /// The scope has no effect anywhere.
    Skipped {
        /// Which kind of scope.
        scope: ScopeKind,
        /// Why.
        skipped: Skipped,
    },
    /// No port of the fabric is meant.
    NoTarget(ScopeKind),
    /// Other scopes decide about everything that is meant.
    Overruled(ScopeKind),
    /// `from` or `to` lists ports that switches do not have.
    NoSuchPort {
        /// `from` or `to`.
        keyword: &'static str,
        /// The ports, as written in a policy.
        numbers: String,
        /// The last port of the switches.
        ports: u8,
        /// Which switches.
        switches: Places,
    },
    /// `from` or `to` leave out port 0, under which CA and router ports have their only table.
    OneTable {
        /// Which ports.
        ports: Places,
    },
    /// Ports with one data VL, which are left alone.
    OneVl {
        /// Which kind of scope.
        scope: ScopeKind,
        /// Which ports.
        ports: Places,
    },
    /// SLs are mapped to VLs that ports do not operate.
    UnsupportedVl {
        /// The table as written.
        table: SlToVl,
        /// Data VLs in operation.
        operational: u8,
        /// Which ports.
        ports: Places,
    },
    /// A table has more entries than ports hold.
    TableTooLong {
        /// Which table.
        priority: Priority,
        /// How many entries it has.
        entries: usize,
        /// How many the ports hold.
        cap: u8,
        /// Which ports.
        ports: Places,
    },
    /// A table of VL arbitration has VLs that ports do not operate.
    QuotesUnsupportedVl {
        /// Which table.
        priority: Priority,
        /// The VLs. Shape: ascending, each once.
        vls: Vec<u64>,
        /// Data VLs in operation.
        operational: u8,
        /// Which ports.
        ports: Places,
    },
    /// torus-2QoS makes the SL2VL tables.
    TorusMapsSls {
        /// How many scopes are ignored.
        scopes: usize,
    },
    /// Between switches of a torus, VLs of one QoS level have different weights.
    UnequalWeights {
        /// Which table.
        priority: Priority,
        /// Sums of weights. Shape: VL 0 to 7.
        weights: [u32; 8],
        /// Which ports.
        ports: Places,
    },
    /// At end ports of a torus, VLs have weight that torus-2QoS does not use there.
    UnusedVlWeights {
        /// Which table.
        priority: Priority,
        /// Which ports.
        ports: Places,
    },
}

impl Finding {
    /// How bad it is. Source: QoS RFC 0.1 and 0.2, section 9 (numbered 3.1).
    ///
    /// Known ports without a use are warnings, since fabrics grow.
    pub const fn severity(&self) -> Severity {
        match self.kind {
            FindingKind::Refused(_)
            | FindingKind::Skipped { .. }
            | FindingKind::NoSuchPort { .. }
            | FindingKind::UnsupportedVl { .. }
            | FindingKind::TableTooLong { .. } => Severity::Error,
            _ => Severity::Warning,
        }
    }

    /// The same as a remark about the policy's file.
    pub fn remark(&self, file: &Path) -> Remark {
        if let FindingKind::Refused(told) = &self.kind {
            return Remark::from_diagnostic(file, told);
        }
        let remark = Remark {
            severity: self.severity(),
            help: vec![self.kind.remedy().into()],
            ..Remark::warning(self.kind.code(), self.kind.to_string())
        };
        remark.at(file, self.span.start)
    }
}

impl FindingKind {
    /// A short name that does not change.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Refused(_) => "scope-refused",
            Self::Skipped { .. } => "scope-skipped",
            Self::NoTarget(_) => "scope-without-target",
            Self::Overruled(_) => "scope-overruled",
            Self::NoSuchPort { .. } => "scope-port-unknown",
            Self::OneTable { .. } => "scope-one-table",
            Self::OneVl { .. } => "scope-one-vl",
            Self::UnsupportedVl { .. } => "scope-vl-unsupported",
            Self::TableTooLong { .. } => "scope-table-too-long",
            Self::QuotesUnsupportedVl { .. } => "scope-weight-of-unsupported-vl",
            Self::TorusMapsSls { .. } => "scope-torus-maps-sls",
            Self::UnequalWeights { .. } => "scope-weights-unequal",
            Self::UnusedVlWeights { .. } => "scope-weights-unused",
        }
    }
}
