//! Import of a CSV file.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use azure_table::emulator::{EmulatorServer, ServiceModel};
use azure_table::{Emulator, TableServiceClient};

use crate::{output, program};

#[test]
fn types_are_guessed_from_all_values() {
    let text = output("import_csv");
    for part in [
        "Population       Edm.Int32    5 values",
        "Founded          Edm.Int32    4 values",
        "Areakm2          Edm.Double",
        "Capital          Edm.Boolean",
        "Postcode         Edm.String",
        "Surveyed         Edm.DateTime",
        "imported   5 applied",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
