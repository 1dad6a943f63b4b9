//! Snapshots of the emulator, which people write and change by hand.

use azure_table::Emulator;
use azure_table::emulator::EmulatorSnapshot;

use super::{Kind, assert_presentable};

/// Snapshots of the emulator.
pub const KIND: Kind = Kind {
    name: "snapshot",
    check: |text| check_snapshot(&String::from_utf8_lossy(text)),
    samples: &[SAMPLES],
    pieces: PIECES,
};

/// Snapshots.
pub const SAMPLES: &[&str] = &[
    "{\"azure-table-snapshot\":1,\"lastWrite\":\"2030-01-01T00:00:00Z\"}\n\
     {\"account\":\"a\",\"logging\":{\"read\":true,\"retentionDays\":3},\"cors\":[{\"allowedOrigins\":[\"*\"],\
     \"allowedMethods\":[\"GET\"],\"maxAgeInSeconds\":5}],\"tablesBeingDeleted\":{\"gone\":\"2030-01-01T00:00:00Z\"}}\n\
     {\"table\":\"Blogs\",\"created\":\"2030-01-01T00:00:00Z\",\"policies\":[{\"id\":\"p\",\"permissions\":\"r\"}]}\n\
     {\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Timestamp\":\"2030-01-01T00:00:00Z\",\"L@odata.type\":\"Edm.Int64\",\"L\":\"5\",\
     \"D\":5.0,\"S\":\"a\\u000ab\",\"X@odata.type\":\"Edm.Binary\",\"X\":\"AQI=\"}\n",
    "{\"azure-table-snapshot\":1,\"service\":\"cosmos\"}\n{\"account\":\"a\"}\n{\"table\":\"Blogs\"}\n\
     {\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n{\"PartitionKey\":\"p\",\"RowKey\":\"2\"}\n{\"table\":\"Other\"}\n",
];

/// Parts of snapshots.
pub const PIECES: &[&str] = &[
    "{\"azure-table-snapshot\":1}\n",
    "{\"account\":\"a\"}\n",
    "{\"table\":\"Blogs\"}\n",
    "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\n",
    "\"service\":\"cosmos\",",
    "\"Timestamp\":\"0001-01-01T00:00:00Z\",",
    "\"A@odata.type\":\"Edm.DateTime\",",
    "\"A\":\"9999-12-31T23:59:59.9999999Z\",",
    "{",
    "}",
    "[",
    ":",
    ",",
    "\"",
    "null",
    "\n",
];

/// Checks that a snapshot is read, or rejected with the number of the line.
///
/// # Panics
/// It is neither.
pub fn check_snapshot(text: &str) {
    match text.parse::<EmulatorSnapshot>() {
        Err(error) => {
            assert_presentable(&error);
            assert!(error.to_string().starts_with("line "), "{error}");
        }
        // A snapshot that was read is written in a form that reads the same.
        Ok(snapshot) => {
            let written = snapshot.to_string();
            assert_eq!(written.parse::<EmulatorSnapshot>().unwrap().to_string(), written);
            let emulator = [Emulator::new(), Emulator::cosmos()]
                .into_iter()
                .find(|e| e.restore(&snapshot).is_ok());
            assert_eq!(emulator.unwrap().snapshot().to_string(), snapshot.to_string());
        }
    }
}
