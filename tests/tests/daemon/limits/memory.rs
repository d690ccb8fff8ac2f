//! Loads that take more memory than is left.

use super::*;
use sa_tests::cli::sapphire_in;

/// What the daemon may take besides what it has. Units: bytes.
const ROOM: u64 = 450 << 20;

/// A million switches in a row: within the limit of its size, and far beyond any subnet.
fn write_monster(path: &Path) -> Result<()> {
    let mut text = String::new();
    for switch in 1..1_000_000 {
        let (left, right) = (switch - 1, switch + 1);
        text += &format!("Switch 2 \"S{switch}\"\n[1] \"S{left}\"[2]\n[2] \"S{right}\"[1]\n");
    }
    Ok(fs::write(path, text)?)
}

/// What the daemon replies to one question.
fn reply(bed: &Bed) -> Result<Vec<u8>> {
    let mut client = Client::connect(&bed.ring())?;
    Ok(client.ask(1, &request::path_by_lids(1, 2))?)
}

fn address_space(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib = line.context("VmSize")?.split_whitespace().next();
    Ok(kib.context("a number")?.parse::<u64>()? << 10)
}

/// A monster comes and goes; then a fabric that is large enough to be tried, and fits.
fn survives(bed: &mut Bed) -> Result<()> {
    let (net, kept) = (bed.dir().join("net"), bed.dir().join("kept"));
    let before = reply(bed)?;
    fs::rename(&net, &kept)?;
    write_monster(&net)?;
    signal(bed, "HUP")?;
    bed.wait_logged("this load takes more memory than is left")?;
    bed.wait_logged("reload failed")?;
    bed.alive()?;
    ensure!(reply(bed)? == before, "other answers after the failure");
    let said = bed.printed()?;
    let errors = said.matches("this load takes more memory").count();
    ensure!(errors == 1, "{errors} errors: {said}");
    fs::rename(&kept, &net)?;
    signal(bed, "HUP")?;
    bed.wait_logged("reloaded epoch=2")?;
    let larger = ["fabric", "torus", "8", "8", "8", "--hosts", "2", "-o", "."];
    let made = sapphire_in(bed.dir(), &larger)?;
    ensure!(made.status.success(), "{made:?}");
    signal(bed, "HUP")?;
    bed.wait_logged("reloaded epoch=3")?;
    bed.wait_logged("512 switches")?;
    answers(bed)?;
    bed.terminate()
}

/// A daemon that takes address space as it takes memory, not a GiB ahead.
fn serving() -> Result<Bed> {
    let mut bed = Bed::new(CONFIG)?;
    bed.start_with(&[("MIMALLOC_ARENA_RESERVE", Path::new("32768"))])?;
    bed.wait_logged("ready epoch=")?;
    Ok(bed)
}

#[test]
fn a_load_beyond_the_address_space_leaves_serving_alone() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = serving()?;
    let pid = bed.pid()?;
    let limit = address_space(pid)? + ROOM;
    let set = Command::new("prlimit")
        .args(["--pid", &pid.to_string(), &format!("--as={limit}")])
        .status()?;
    ensure!(set.success(), "prlimit");
    survives(&mut bed)
}

/// A control group of its own, removed when its processes are gone.
struct Group(std::path::PathBuf);

impl Group {
    /// None where this machine or user cannot have one.
    fn with_limit(bytes: u64) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let places = own.lines().filter_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            match controllers {
                "memory" => Some((
                    format!("/sys/fs/cgroup/memory{path}"),
                    "memory.limit_in_bytes",
                )),
                "" => Some((format!("/sys/fs/cgroup{path}"), "memory.max")),
                _ => None,
            }
        });
        places.into_iter().find_map(|(place, limit)| {
            let name = format!("sapphire-test-{}", std::process::id());
            let group = Path::new(&place).join(name);
            fs::create_dir(&group).ok()?;
            let group = Self(group);
            fs::write(group.0.join(limit), bytes.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_load_beyond_the_control_group_leaves_serving_alone() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let Some(group) = Group::with_limit(ROOM) else {
        return sa_tests::skip("skipped: no control group with a memory limit");
    };
    let mut bed = serving()?;
    fs::write(group.0.join("cgroup.procs"), bed.pid()?.to_string())?;
    survives(&mut bed)
}

#[test]
fn a_packed_file_is_judged_by_what_it_unpacks_to() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = Bed::new(&config("[limits]\nfabric_mib = 8\n"))?;
    bed.serve()?;
    let net = bed.dir().join("net");
    let zeros = bed.dir().join("zeros");
    fs::File::create(&zeros)?.set_len(256 << 20)?;
    let packed = Command::new("xz").args(["-0", "-c"]).arg(&zeros).output();
    let Ok(packed) = packed else {
        return sa_tests::skip("skipped: no xz");
    };
    fs::write(&net, packed.stdout)?;
    signal(&mut bed, "HUP")?;
    bed.wait_logged("net: unpacks to 268435456 bytes, more than the 8 MiB")?;
    let pid = bed.pid()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak
        .context("VmHWM")?
        .trim()
        .trim_end_matches(" kB")
        .parse()?;
    ensure!(kib < 200 << 10, "{kib} KiB");
    bed.terminate()
}
