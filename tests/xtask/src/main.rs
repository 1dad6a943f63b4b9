//! `cargo xtask`: the commands that maintain this repository.

#![expect(clippy::print_stdout, reason = "a program for the command line")]

mod figures;

use std::io;
use std::path::PathBuf;

use clap::Parser;
use xtask::sources::{Sources, root};
use xtask::{language, links, readme};

/// Maintains this repository.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Command {
    /// Print figures of the sources: lines, files, import cycles, and counts that should fall.
    Figures {
        /// The root of another checkout.
        root: Option<PathBuf>,
    },
    /// Print the counts that `tests/it/api/language.rs` allows.
    Language,
    /// Write the definitions of the guides' links.
    Links,
    /// Write the READMEs of the repository and of the registry from the documentation of the crate.
    Readme,
}

fn main() -> io::Result<()> {
    match Command::parse() {
        Command::Figures { root: other } => figures::print(&Sources::read(other.as_deref().unwrap_or(root()))),
        Command::Language => print!("{}", language::table(&language::counts())),
        Command::Links => {
            for (path, text) in links::generated() {
                std::fs::write(path, text)?;
            }
            println!("the links of {} are written", links::GUIDES);
        }
        Command::Readme => {
            for place in [readme::Place::Repository, readme::Place::Registry] {
                std::fs::write(root().join(place.file()), readme::generated(place))?;
                println!("{} is written from {}", place.file(), readme::SOURCE);
            }
        }
    }
    Ok(())
}
