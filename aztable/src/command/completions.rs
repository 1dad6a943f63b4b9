//! Completion scripts, and the manual page.

use std::io;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Done;

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Done<()> {
        clap_complete::generate(self.shell, &mut Arguments::command(), "aztable", &mut io::stdout());
        Ok(())
    }
}

/// Prints the manual page.
pub(crate) fn man() -> Done<()> {
    Ok(clap_mangen::Man::new(Arguments::command()).render(&mut io::stdout())?)
}
