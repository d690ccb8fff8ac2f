//! One simulator with an SA and a client.
//!
//! Both sides are up during the whole run, since starting OpenSM takes longer than a round. The one
//! that is not measured must not take CPU time: `sapphired` is stopped by SIGSTOP, OpenSM and ibsim
//! sleep by themselves once the subnet has settled, for which the start waits.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use sa_bench::live::LiveReport;
use sa_bench::pace::Pace;
use sa_wire::Lid;
use sa_wire::umad::MAD_SIZE;
use tempfile::TempDir;

use crate::bed::{Bed, LONG};
use crate::client::Client;
use crate::cpu::Cpu;
use crate::fabric::{Fabric, Files};
use crate::failure::{Failure, Outcome};
use crate::options::Options;
use crate::process::{Process, Programs, signal};

/// Who answers.
/// Also the order in arrays of two: OpenSM first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The Subnet Manager and SA that is compared with.
    OpenSm,
    /// The SA over an OpenSM of its own; with `--up` the Subnet Manager itself.
    Sapphired,
}

impl Who {
    /// In the order of arrays.
    pub(crate) const BOTH: [Self; 2] = [Self::OpenSm, Self::Sapphired];

    /// In the order of a round. Who goes first alternates: a machine that warms up shall favour
    /// nobody.
    pub(crate) fn in_turn(round: u16) -> [Self; 2] {
        let mut both = Self::BOTH;
        both.rotate_left(usize::from(round % 2 == 1));
        both
    }

    /// For people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OpenSm => "OpenSM",
            Self::Sapphired => "sapphired",
        }
    }

    /// For machines.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::OpenSm => "opensm",
            Self::Sapphired => "sapphired",
        }
    }

    /// Place in an array of two.
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::OpenSm => 0,
            Self::Sapphired => 1,
        }
    }
}

/// Both.
///
/// Alive for the whole run; dropping it ends every process.
///
/// Its order of fields is its order of ending, as of [`Side`].
pub(crate) struct Pair {
    /// By [`Who::index`].
    sides: [Side; 2],
}

impl Pair {
    /// Starts everything. Errors: something is missing or does not
    /// come up.
    pub(crate) fn start(
        options: &Options,
        fabric: &Fabric,
        interrupted: &AtomicBool,
    ) -> Outcome<Self> {
        let programs = Programs::find()?;
        let start = |who| Side::start(who, options, fabric, &programs, interrupted);
        let opensm = start(Who::OpenSm)?;
        // Nothing is stopped on OpenSM's side; for both alike all the same.
        opensm.pause()?;
        let sapphired = start(Who::Sapphired)?;
        sapphired.pause()?;
        Ok(Self {
            sides: [opensm, sapphired],
        })
    }

    /// The client's LID, which the simulator makes that of its requests. Errors: the two fabrics
    /// differ.
    pub(crate) fn client_lid(&self) -> Outcome<u16> {
        // `Lid::raw` of none is 0, which no client has.
        let [one, other] = &self.sides;
        match one.client.lids() == other.client.lids() {
            true => Ok(Lid::raw(one.client.lids().0)),
            false => Err(Failure::Failed(
                "the two SMs gave the client or the SA different LIDs".to_owned(),
            )),
        }
    }

    /// Where the files of each lie.
    pub(crate) fn directories(&self) -> [&Files; 2] {
        self.sides.each_ref().map(|side| &side.files)
    }

    /// What sapphired's worker counted since it started. Errors: it does not say.
    pub(crate) fn counters(&mut self, interrupted: &AtomicBool) -> Outcome<String> {
        let [_, side] = &mut self.sides;
        // Stopped it would not answer a signal.
        side.resume()?;
        let counters = side.counters(interrupted)?;
        side.pause()?;
        Ok(counters)
    }

    /// The one to measure.
    pub(crate) fn side(&mut self, who: Who) -> &mut Side {
        let [opensm, sapphired] = &mut self.sides;
        match who {
            Who::OpenSm => opensm,
            Who::Sapphired => sapphired,
        }
    }
}

/// One simulator with an SA and a client.
pub(crate) struct Side {
    // In order of dropping: the client before what it asks, files last.
    client: Client,
    /// None on OpenSM's side.
    sapphired: Option<Process>,
    /// The SA too, where there is no sapphired.
    opensm: Process,
    /// What both run over.
    ibsim: Process,
    /// The inputs that both read.
    pub(crate) files: Files,
    /// Removed at the end; files lie in it.
    _scratch: TempDir,
}

/// What one load on a side gave.
pub(crate) struct Taken {
    /// What the client saw.
    pub(crate) report: LiveReport,
    /// Of the SA's process.
    pub(crate) sa: Cpu,
    /// Of the simulator's.
    pub(crate) ibsim: Cpu,
    /// Of this program.
    pub(crate) client: Cpu,
}

impl Side {
    /// Errors: a program does not start, or is not ready in time.
    fn start(
        who: Who,
        options: &Options,
        fabric: &Fabric,
        programs: &Programs,
        interrupted: &AtomicBool,
    ) -> Outcome<Self> {
        // Both are up for the whole run, so their files are apart for as long.
        // OpenSM and sapphired write files of the same names: a directory for each side.
        let scratch = tempfile::Builder::new()
            .prefix("versus-opensm-")
            .tempdir()
            .map_err(Failure::of("a temporary directory"))?;
        let directory = scratch.path();
        let files = fabric.write(directory)?;
        let bed = Bed {
            fabric,
            programs,
            interrupted,
            directory,
            files: &files,
            // In an abstract namespace of the machine: another run beside this one has another process id.
            base: format!("versus-{}-{}", std::process::id(), who.key()),
        };
        let ibsim = bed.ibsim()?;
        let mut sapphired = match who {
            Who::OpenSm => None,
            Who::Sapphired => Some(bed.sapphired(options)?),
        };
        // After sapphired: whoever attaches first gets the requests.
        let mut opensm = bed.opensm()?;
        settle(&mut opensm, interrupted)?;
        if let Some(sapphired) = &mut sapphired {
            sapphired.wait_for("sapphired to be ready", LONG, interrupted, |it| {
                it.printed().contains("ready epoch=")
            })?;
        }
        Ok(Self {
            client: Client::attach(&bed.base, fabric.client_node())?,
            sapphired,
            opensm,
            ibsim,
            files: files.clone(),
            _scratch: scratch,
        })
    }

    /// Stops sapphired, whose threads wake up now and then while nobody asks.
    ///
    /// OpenSM and simulator wait in the kernel, and OpenSM must not be stopped: it takes SIGCONT
    /// for the order to sweep the whole subnet.
    pub(crate) fn pause(&self) -> Outcome {
        self.signal("STOP")
    }

    /// Lets it go on.
    pub(crate) fn resume(&self) -> Outcome {
        self.signal("CONT")
    }

    /// Nothing where there is no sapphired.
    fn signal(&self, name: &str) -> Outcome {
        match &self.sapphired {
            Some(sapphired) => signal(name, &[sapphired.id()]),
            None => Ok(()),
        }
    }

    /// The process that answers.
    ///
    /// Its CPU time is what counts.
    fn sa(&self) -> u32 {
        self.sapphired.as_ref().unwrap_or(&self.opensm).id()
    }

    /// Asks for as long as the options say, and takes the CPU time meanwhile.
    ///
    /// Errors: the transport's; a measured process has ended.
    pub(crate) fn load(
        &mut self,
        requests: &[[u8; MAD_SIZE]],
        pace: Pace,
        duration: Duration,
        judge: &mut dyn FnMut(usize, &[u8]) -> Option<String>,
    ) -> Outcome<Taken> {
        // In the order of [`Taken`]'s fields.
        let ids = [self.sa(), self.ibsim.id(), std::process::id()];
        // Late replies of the load before would count as late in this one.
        self.client.drain()?;
        // Once before and once after: reading /proc for each request would take the client's time.
        let before = times(ids)?;
        let report = self.client.load(requests, pace, duration, judge)?;
        let after = times(ids)?;
        let [(sa0, sa), (ibsim0, ibsim), (client0, client)] =
            [0, 1, 2].map(|nth: usize| (before[nth], after[nth]));
        Ok(Taken {
            report,
            sa: sa - sa0,
            ibsim: ibsim - ibsim0,
            client: client - client0,
        })
    }

    /// The rest of the last line with counters; empty on OpenSM's side. Errors: none comes in time.
    fn counters(&mut self, interrupted: &AtomicBool) -> Outcome<String> {
        let Some(sapphired) = &mut self.sapphired else {
            return Ok(String::new());
        };
        // The daemon prints its counters on that signal, so that no port of it need be opened.
        signal("USR1", &[sapphired.id()])?;
        // The last line of that kind: there may be some from before.
        let mut found = None;
        sapphired.wait_for("sapphired's counters", LONG, interrupted, |it| {
            let printed = it.printed();
            let line = printed.rsplit_once("counters port=0 ");
            found =
                line.and_then(|(_, rest)| rest.split_once('\n').map(|(line, _)| line.to_owned()));
            found.is_some()
        })?;
        Ok(found.unwrap_or_default())
    }

    /// CPU time of the SA while nobody asks. Units: share of a core.
    ///
    /// Takes half a second. Errors: the process has ended.
    pub(crate) fn idle(&self) -> Outcome<f64> {
        let ids = [self.sa(), self.ibsim.id(), std::process::id()];
        let start = Instant::now();
        let [before, ..] = times(ids)?;
        // A measurement of time itself: nothing can be waited for here.
        std::thread::sleep(IDLE);
        let [after, ..] = times(ids)?;
        let taken = Duration::from_nanos((after - before).total);
        Ok(taken.as_secs_f64() / start.elapsed().as_secs_f64())
    }

    /// One request, repeated if need be. Errors: nobody answers.
    pub(crate) fn probe(&mut self, request: &[u8; MAD_SIZE]) -> Outcome {
        self.client.probe(request)
    }
}

/// Waits until an SM is done with what it does after it says that the subnet is up: that is no work
/// of the SA's. Errors: it never is.
///
/// Looks at the CPU time of half a second at a time; below 2 % of a core counts as idle.
fn settle(opensm: &mut Process, interrupted: &AtomicBool) -> Outcome {
    let mut last: Option<(Instant, Cpu)> = None;
    opensm.wait_for("OpenSM to be idle", SETTLING, interrupted, |it| {
        // The first look has nothing to compare with.
        let (Some(now), Some((since, before))) = (Cpu::of(it.id()), last) else {
            last = Cpu::of(it.id()).map(|cpu| (Instant::now(), cpu));
            return false;
        };
        if since.elapsed() < IDLE {
            // Too short a span: one tick more or less would decide.
            return false;
        }
        last = Some((Instant::now(), now));
        Duration::from_nanos((now - before).total) < since.elapsed().mul_f64(IDLE_SHARE)
    })
}

/// Of SA, simulator and this program, in that order. Errors: one of them has ended.
fn times(ids: [u32; 3]) -> Outcome<[Cpu; 3]> {
    let times = ids.map(Cpu::of);
    match times {
        [Some(sa), Some(ibsim), Some(client)] => Ok([sa, ibsim, client]),
        _ => Err(Failure::Failed(
            "a measured process has ended: no /proc entry".to_owned(),
        )),
    }
}

/// Long enough for 2 % of a core to be a whole tick.
const IDLE: Duration = Duration::from_millis(500);
/// Of a core: less is idle.
const IDLE_SHARE: f64 = 0.02;
/// OpenSM writes its files and looks around for a while after it has brought the subnet up.
const SETTLING: Duration = Duration::from_secs(120);
