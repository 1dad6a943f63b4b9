//! Every value of a table through every format of a file, and back.

use std::sync::Arc;

use azure_table::{DateTime, DynamicEntity, EdmValue, Guid};
use parquet::basic::{LogicalType, TimeUnit};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::program::Folder;

fn row(partition: &str, row: &str, properties: Vec<(&str, EdmValue)>) -> DynamicEntity {
    let mut entity = DynamicEntity::new(partition, row);
    for (name, value) in properties {
        entity.insert(name, value);
    }
    entity
}

/// Every type with its extremes, texts of every kind, and keys of every character that a key may have.
fn all_values() -> Vec<DynamicEntity> {
    let values: Vec<EdmValue> = vec![
        i32::MIN.into(),
        i32::MAX.into(),
        i64::MIN.into(),
        i64::MAX.into(),
        true.into(),
        false.into(),
        f64::NAN.into(),
        f64::INFINITY.into(),
        f64::NEG_INFINITY.into(),
        0.0.into(),
        (-0.0).into(),
        f64::MIN_POSITIVE.into(),
        5e-324.into(),
        f64::MAX.into(),
        0.1.into(),
        DateTime::MIN_STORED.into(),
        DateTime::MAX.into(),
        "1969-12-31T23:59:59.9999999Z".parse::<DateTime>().unwrap().into(),
        "2026-01-02T03:04:05.123456Z".parse::<DateTime>().unwrap().into(),
        Guid([0; 16]).into(),
        Guid(*b"\0\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff").into(),
        Vec::new().into(),
        (0..=255).collect::<Vec<u8>>().into(),
        vec![7; 64 << 10].into(),
        "".into(),
        "\"".into(),
        "\"\"".into(),
        "\"\"\"\"".into(),
        " a,\"b\"\r\nc\n\td ".into(),
        "\u{feff}\u{fffd}\u{10ffff}é".into(),
        "NaN".into(),
        "0010".into(),
        "true".into(),
        "é".repeat(32 << 10).into(),
    ];
    let mut rows: Vec<_> = values
        .into_iter()
        .enumerate()
        // The property `Value` has every type, and each type has a property of its own.
        .map(|(number, value)| {
            let own = format!("The{}", value.edm_type().name().trim_start_matches("Edm."));
            row("values", &format!("{number:03}"), vec![("Value", value.clone()), (&own, value)])
        })
        .collect();
    rows.push(row("", "", vec![]));
    rows.push(row(
        "\"\"",
        "\"",
        vec![("ETag", "of another".into()), ("Übung_1", 1_i32.into())],
    ));
    let allowed = ('\u{20}'..='\u{ffff}').chain('\u{1f600}'..='\u{1f60f}');
    let allowed: Vec<_> = allowed.filter(|c| !c.is_control() && !"/\\#?".contains(*c)).collect();
    for (number, chars) in allowed.chunks(1_000).enumerate() {
        let key: String = chars.iter().collect();
        let (partition, number) = if number % 2 == 0 {
            (key.clone(), number.to_string())
        } else {
            ("keys".into(), key)
        };
        rows.push(row(&partition, &number, vec![("Number", 1_i64.into())]));
    }
    rows
}

#[tokio::test]
async fn every_value_survives_every_format() {
    let folder = Folder::new();
    let original = {
        let table = folder.table("Original");
        table.create_table().await.unwrap();
        let report = table.bulk().insert(all_values()).await.unwrap();
        report.ensure_no_leftovers().unwrap();
        crate::program::rows(&table).await
    };
    assert_eq!(original.len(), all_values().len());
    let endings = ["jsonl", "jsonl.gz", "jsonl.zst", "csv", "csv.gz", "csv.zst", "parquet"];
    for (number, ending) in endings.into_iter().enumerate() {
        let is_plain = !ending.contains(".");
        for system in [&[][..], &["--system"]].into_iter().take(1 + usize::from(is_plain)) {
            let (file, table) = (
                format!("all{}.{ending}", system.len()),
                format!("Copy{number}{}", system.len()),
            );
            folder.done(&[&["export", "Original", &file], system].concat());
            folder.done(&["import", &file, &table, "--yes"]);
            let copy = folder.rows(&table).await;
            assert_eq!(copy.len(), original.len(), "{file}");
            for (copied, original) in copy.iter().zip(&original) {
                assert_eq!(copied, original, "{file}");
            }
            for rest in ["position", "rows.jsonl.zst", "new"] {
                assert!(!folder.file(&format!("{file}.{rest}")).exists(), "{file}.{rest}");
            }
        }
    }
    let piped = folder.done(&["export", "Original", "-", "--format", "csv"]).output;
    assert_eq!(piped, folder.read("all0.csv"));
}

#[tokio::test]
async fn csv_tells_types_and_absent_from_empty() {
    let folder = Folder::new();
    folder.write(
        "rows.jsonl",
        concat!(
            r#"{"PartitionKey":"p","RowKey":"1","Age":7,"Name":""}"#,
            "\n",
            r#"{"PartitionKey":"p","RowKey":"2","Age":"seven","Seen":"2026-01-02T03:04:05.0000001Z","Seen@odata.type":"Edm.DateTime"}"#,
        ),
    );
    folder.done(&["import", "rows.jsonl", "Rows", "--yes"]);
    folder.done(&["export", "Rows", "rows.csv"]);
    let csv = concat!(
        "PartitionKey,RowKey,Age:Edm.Int32,Age:Edm.String,Name:Edm.String,Seen:Edm.DateTime\n",
        "p,1,7,,\"\"\"\"\"\",\n",
        "p,2,,seven,,2026-01-02T03:04:05.0000001Z\n",
    );
    assert_eq!(folder.read("rows.csv"), csv);
    let again = folder.local(&["export", "Rows", "rows.csv"]);
    assert!(
        again.code == 2 && again.error.contains("rows.csv exists: add --overwrite"),
        "{}",
        again.error
    );
    folder.done(&["export", "Rows", "rows.csv", "--overwrite", "--select", "Name"]);
    assert_eq!(
        folder.read("rows.csv"),
        "PartitionKey,RowKey,Name:Edm.String\np,1,\"\"\"\"\"\"\np,2,\n"
    );
    let none = folder.done(&["export", "Rows", "none.csv", "--partition", "absent"]);
    assert!(none.error.contains("no rows: partition \"absent\""), "{}", none.error);
    // One cell for each property: the second would replace the first.
    folder.write(
        "both.csv",
        "PartitionKey,RowKey,Age:Edm.Int32,Age:Edm.String\np,1,7,seven\n",
    );
    let both = folder.local(&["import", "both.csv", "Both", "--yes"]);
    assert!(
        both.code == 1 && both.error.contains("line 2, Age has two values"),
        "{}",
        both.error
    );
}

#[tokio::test]
async fn parquet_has_the_types_that_other_programs_read() {
    let folder = Folder::new();
    folder.done(&["create", "Rows"]);
    folder.done(&[
        "put",
        "Rows",
        "p",
        "1",
        "Age:int32=7",
        "Id:guid=00112233-4455-6677-8899-aabbccddeeff",
        "Fine:datetime=2026-01-02T03:04:05.0000001Z",
        "Seen:datetime=1601-01-01T00:00:00Z",
        "Data:binary=AAEC",
    ]);
    folder.done(&["put", "Rows", "p", "2", "Age=seven"]);
    folder.done(&["export", "Rows", "rows.parquet"]);
    let file = SerializedFileReader::new(std::fs::File::open(folder.file("rows.parquet")).unwrap()).unwrap();
    let schema = file.metadata().file_metadata().schema();
    let micros = || Some(LogicalType::timestamp(true, TimeUnit::MICROS));
    let columns: Vec<_> = schema
        .get_fields()
        .iter()
        .map(|field| (field.name(), field.get_basic_info().logical_type_ref().cloned()))
        .collect();
    let text = || Some(LogicalType::String);
    assert_eq!(
        columns,
        [
            ("PartitionKey", text()),
            ("RowKey", text()),
            ("Age:Edm.Int32", None),
            ("Age:Edm.String", text()),
            ("Data", None),
            ("Fine", micros()),
            ("Fine@100ns", None),
            ("Id", Some(LogicalType::Uuid)),
            ("Seen", micros()),
        ]
    );
}

#[tokio::test]
async fn parquet_of_another_program_is_read_by_its_types() {
    let folder = Folder::new();
    let schema = "message rows {
        required binary Country (UTF8); required int32 City; optional int64 At (TIMESTAMP(NANOS,true));
        optional int32 Day (DATE); optional int64 Size (INTEGER(64,false)); optional binary Raw;
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(folder.file("rows.parquet")).unwrap();
    let mut file = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let texts = |texts: [&str; 2]| texts.map(ByteArray::from);
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<ByteArrayType>()
        .write_batch(&texts(["no", "no"]), None, None)
        .unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int32Type>().write_batch(&[1, 2], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int64Type>()
        .write_batch(&[-100, 1_234], Some(&[1, 1]), None)
        .unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int32Type>()
        .write_batch(&[-1], Some(&[1, 0]), None)
        .unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int64Type>()
        .write_batch(&[5], Some(&[1, 0]), None)
        .unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<ByteArrayType>()
        .write_batch(&texts(["", "x"])[..1], Some(&[1, 0]), None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.close().unwrap();

    let ran = folder.local(&["import", "rows.parquet", "Rows", "--yes"]);
    assert!(
        ran.code == 2 && ran.error.contains("no column \"PartitionKey\""),
        "{}",
        ran.error
    );
    let ran = folder.local(&["import", "rows.parquet", "Rows", "--keys", "Country,City", "--yes"]);
    assert_eq!(ran.code, 1, "{}", ran.error);
    assert!(
        ran.error.contains("row 2, At: a time finer than 100 ns"),
        "{}",
        ran.error
    );
    let read = folder.table("Rows").get(("no", "1")).await.unwrap();
    let read: DynamicEntity = read.unwrap();
    let time = |text: &str| text.parse::<DateTime>().unwrap().into();
    let expected = row(
        "no",
        "1",
        vec![
            ("At", time("1969-12-31T23:59:59.9999999Z")),
            ("Day", time("1969-12-31T00:00:00Z")),
            ("Raw", Vec::new().into()),
            ("Size", 5_i64.into()),
        ],
    );
    assert_eq!(read.properties, expected.properties);
}

#[test]
fn results_are_on_the_output_and_control_no_terminal() {
    let folder = Folder::new();
    let missing = folder.local(&["ls"]);
    assert!(
        missing.code == 1 && !folder.file("tables").exists(),
        "{}",
        missing.error
    );
    folder.done(&["create", "Rows"]);
    let put = ["put", "Rows", "p", "1", "Text=\u{1b}[2Ja\nb"];
    let ran = folder.done(&put);
    assert!(ran.output.starts_with("W/") && ran.error.is_empty(), "{ran:?}");
    let ran = folder.done(&[&put[..], &["--json", "--quiet"]].concat());
    assert!(ran.output.starts_with("{\"etag\":") && ran.error.is_empty(), "{ran:?}");
    for command in [
        &["get", "Rows", "p", "1"][..],
        &["query", "Rows"],
        &["delete", "Rows", "--all", "--dry-run"],
    ] {
        let output = folder.done(command).output;
        assert!(
            output.contains("\\u{1b}[2Ja\\nb") && !output.contains('\u{1b}'),
            "{command:?} {output}"
        );
    }
    let ran = folder.done(&["query", "Rows", "--json", "--quiet", "--scan"]);
    assert!(ran.error.is_empty() && ran.output.contains("\\u001b"), "{ran:?}");
}

#[test]
fn query_that_reads_the_whole_table_names_its_remedies() {
    let folder = Folder::new();
    folder.done(&["create", "Rows"]);
    for options in [
        &["--csv"][..],
        &["--limit", "1001"],
        &["--count"],
        &["--filter", "Value gt 5"],
    ] {
        let error = folder.local(&[&["query", "Rows"], options].concat()).failed(2);
        let remedies = "add --partition, --scan, or --limit 1000 without a filter";
        assert_eq!(error, format!("error: this query reads the whole table: {remedies}\n"));
    }
    folder.done(&["query", "Rows", "--csv", "--limit", "1000"]);
}

/// A pipe whose reader is gone.
#[cfg(unix)]
fn closed() -> std::io::PipeWriter {
    std::io::pipe().unwrap().1
}

#[cfg(unix)]
#[test]
fn closed_pipes_are_no_errors() {
    let folder = Folder::new();
    folder.done(&["create", "Rows"]);
    folder.done(&["put", "Rows", "p", "1", "A=b"]);
    for arguments in [
        &["completions", "bash"][..],
        &["man"],
        &["get", "Rows", "p", "1"],
        &["query", "Rows"],
        &["query", "Rows", "--csv", "--scan"],
        &["export", "Rows", "-"],
        &["export", "Rows", "-", "--format", "csv"],
    ] {
        let mut command = folder.command(&[arguments, &["--quiet", "--local", "tables"]].concat());
        let output = command.stdout(closed()).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(141) && error.is_empty(),
            "{arguments:?} {error}"
        );
    }
    for (arguments, code) in [
        (&["put", "Rows", "p", "1"][..], 0),
        (&["query", "Rows"], 0),
        (&["get", "Rows", "p", "2"], 1),
        (&["rm", "Rows"], 2),
        (&["get"], 2),
    ] {
        let mut command = folder.command(&[arguments, &["--local", "tables"]].concat());
        let status = command.stderr(closed()).output().unwrap().status;
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn a_secret_is_not_repeated_by_an_error_of_the_command_line() {
    let secret = "https://a.table.core.windows.net/?sig=c2VjcmV0";
    let error = Folder::new().run(&["ls", "account", secret]).failed(2);
    assert!(error.contains("@FILE") && !error.contains("c2VjcmV0"), "{error}");
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    folder.run(&["man", "--all", "man1"]).done();
    assert!(folder.read("man1/aztable-import.1").contains("rejects"));
}
