//! The fuzz target: runs the check of the kind of text that `AZURE_TABLE_FUZZ_KIND` names.
//!
//! Without a kind, it writes the samples of each into `corpus/<kind>` of the working directory, and the pieces as a
//! dictionary into `corpus/<kind>.dict`. Then it prints the kinds and ends.

#![no_main]

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use azure_table_tests::untrusted::{KINDS, Kind};
use libfuzzer_sys::fuzz_target;

static KIND: OnceLock<Kind> = OnceLock::new();

fuzz_target!(
    init: {
        let kind = std::env::var("AZURE_TABLE_FUZZ_KIND").ok().map(|name| {
            let kind = KINDS.into_iter().find(|kind| kind.name == name);
            kind.unwrap_or_else(|| panic!("AZURE_TABLE_FUZZ_KIND is {name}, none of the kinds"))
        });
        match kind {
            Some(kind) => drop(KIND.set(kind)),
            None => {
                write_samples(Path::new("corpus")).unwrap();
                std::process::exit(0);
            }
        }
    },
    |text: &[u8]| {
        if let Some(kind) = KIND.get() {
            (kind.check)(text);
        }
    }
);

fn write_samples(corpus: &Path) -> io::Result<()> {
    for kind in KINDS {
        let folder = corpus.join(kind.name);
        fs::create_dir_all(&folder)?;
        for (index, sample) in kind.samples.iter().copied().flatten().enumerate() {
            fs::write(folder.join(format!("sample-{index}")), sample)?;
        }
        let mut dictionary = String::new();
        for piece in kind.pieces {
            let escaped = piece.bytes().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "\\x{byte:02x}");
                text
            });
            let _ = writeln!(dictionary, "\"{escaped}\"");
        }
        fs::write(corpus.join(format!("{}.dict", kind.name)), dictionary)?;
        println!("{}", kind.name);
    }
    Ok(())
}
