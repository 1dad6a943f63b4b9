//! `cargo xtask`: the commands that maintain this repository.

#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a program for the command line"
)]

mod figures;

use std::io;
use std::path::PathBuf;

use clap::Parser;
use xtask::sources::{Sources, root};
use xtask::{chart, long, pages};

/// Maintains this repository.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Command {
    /// Print figures of the sources: lines, files, import cycles, and counts that should fall.
    Figures {
        /// The root of another checkout.
        root: Option<PathBuf>,
    },
    /// Run the checks that take too long for `.ci/run`, and print the cases and the time of each.
    Long {
        /// The steps to run: all of them by default.
        steps: Vec<String>,
    },
    /// Draw the chart of the guide `performance`, and write guides and READMEs from the documentation of the crates.
    Pages,
}

fn main() -> io::Result<()> {
    match Command::parse() {
        Command::Figures { root: other } => figures::print(&Sources::read(other.as_deref().unwrap_or(root()))),
        Command::Long { steps } => match long::run(&steps) {
            Ok(true) => {}
            Ok(false) => std::process::exit(1),
            Err(why) => {
                eprintln!("error: {why}");
                std::process::exit(2);
            }
        },
        Command::Pages => {
            std::fs::write(root().join(pages::SOURCES).join("performance.md"), chart::redrawn())?;
            let pages = pages::generated();
            for (path, text) in &pages {
                std::fs::write(path, text)?;
            }
            println!("{} pages are written", pages.len());
        }
    }
    Ok(())
}
