//! A table as a Parquet file.

use std::collections::BTreeMap;
use std::fs::File;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;
use serde_json::Value;

use crate::{output, process, program};

#[test]
fn columns_have_types_and_the_strongest_quake_is_read_back() {
    let text = output("export_parquet");
    for part in [
        "exported   1707 rows in 2 row groups",
        "time       INT64       TIMESTAMP_MILLIS",
        "magnitude  DOUBLE",
        "strongest  6.4 22km NNE of Hualian, Taiwan",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn file_has_each_event_with_its_values() {
    let path = std::env::temp_dir().join(format!("export-{}.parquet", std::process::id()));
    std::fs::write(&path, "of an earlier run").unwrap();
    let done = process::output(program("export_parquet").arg(&path), "export_parquet");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut events: BTreeMap<String, Value> = include_str!("../../data/earthquakes.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|event| (event["id"].as_str().unwrap().to_owned(), event))
        .collect();
    let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    for row in file.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let event = events.remove(row.get_string(1).unwrap()).unwrap();
        assert_eq!(row.get_string(0).unwrap(), event["net"].as_str().unwrap());
        assert_eq!(row.get_timestamp_millis(2).unwrap(), event["time"].as_i64().unwrap());
        assert_eq!(row.get_double(3).ok(), event["mag"].as_f64());
        assert_eq!(row.get_string(4).unwrap(), event["place"].as_str().unwrap());
        assert_eq!(row.get_double(5).ok(), event["depth"].as_f64());
    }
    assert!(events.is_empty(), "{} events are missing", events.len());
    assert!(!path.with_extension("parquet.new").exists());
    std::fs::remove_file(path).unwrap();
}
