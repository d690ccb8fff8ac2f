//! Figures and plots of `docs/roce-entropy.md`.
//!
//! ```text
//! cargo run --release -p sa-bench --bin entropy -- tables     stated figures beside ours
//! cargo run --release -p sa-bench --bin entropy -- plots docs/pictures/roce-entropy
//! ```

mod plots;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sa_entropy::figures::Effort;

/// Measures how RoCE v2 flow labels spread flows, from a seed.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    /// Trials of each figure
    #[arg(long, global = true, default_value_t = 3000)]
    trials: u32,
    /// Seed of all draws
    #[arg(long, global = true, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print published figures beside ours; exit status 1 where one differs that is not known to
    Tables {
        /// Only those that are off by more than 3 %
        #[arg(long)]
        off: bool,
    },
    /// Write the plots into a folder
    Plots {
        /// Where to
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let effort = Effort {
        // Means of no trial would be 0 and look measured.
        trials: arguments.trials.max(1),
        seed: arguments.seed,
    };
    match arguments.verb {
        Verb::Tables { off } => tables::print(effort, off),
        Verb::Plots { folder } => match plots::write(&folder, effort) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("entropy: {}: {error}", folder.display());
                ExitCode::FAILURE
            }
        },
    }
}
