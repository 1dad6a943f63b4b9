//! Completion scripts, and the manual pages.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::{Done, InFile as _};
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) async fn run(self, _: &Session) -> Done<()> {
        // It panics where it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "aztable", &mut script);
        Ok(io::stdout().write_all(&script)?)
    }
}

#[derive(Args)]
pub(crate) struct Man {
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "DIR")]
    all: Option<PathBuf>,
}

impl Man {
    pub(crate) async fn run(self, _: &Session) -> Done<()> {
        let Some(folder) = self.all else {
            return Ok(clap_mangen::Man::new(Arguments::command()).render(&mut io::stdout())?);
        };
        fs::create_dir_all(&folder).in_file(&folder)?;
        clap_mangen::generate_to(Arguments::command(), &folder).in_file(&folder)
    }
}
