//! Azurite, whose differences from the emulator are listed in `results/azurite_differences.txt`.

use std::collections::BTreeSet;
use std::path::Path;

use azure_table::transport::HttpTransport;

use super::service::verify;
use crate::comparison::options::Options;
use crate::service::account::Given;

/// Set to write the list anew.
const UPDATE: &str = "AZURE_TABLE_UPDATE_DIFFERENCES";

#[tokio::test]
#[cfg_attr(
    not(azurite),
    ignore = "needs Azurite: start the tests with tests/external/azurite/run"
)]
async fn differences_of_azurite_are_the_known_ones() {
    let connection_string = std::env::var(azure_table_tests::backend::AZURITE).unwrap();
    let mut options = Options::new(Given::ConnectionString(connection_string));
    options.change_properties = true;
    let transport = HttpTransport::builder().build().unwrap();
    let ran = verify(options, transport).await;
    let found = ran.report.unwrap().lines();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/azurite_differences.txt");
    let head = "# The differences of Azurite from the emulator that `table-parity account` finds. src/tests/azurite.rs compares them.\n";
    if std::env::var_os(UPDATE).is_some() {
        let lines: Vec<_> = found.iter().map(String::as_str).collect();
        std::fs::write(&file, format!("{head}{}\n", lines.join("\n"))).unwrap();
    }
    let text = std::fs::read_to_string(file).unwrap();
    let known: BTreeSet<String> = text.lines().skip(1).map(str::to_owned).collect();
    let new: Vec<_> = found.difference(&known).collect();
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "new: {new:#?}\ngone: {gone:#?}\n{UPDATE}=1 writes the list"
    );
    assert_eq!(ran.file, "");
}
