//! `import` of CSV that people and other programs have written: its keys, and lines that are no rows.

use crate::program::{Folder, Ran};

/// Imports a CSV file into the table `Rows` of the folder. Rejected rows are in `rejects`.
fn import(folder: &Folder, csv: impl AsRef<[u8]>, options: &[&str]) -> Ran {
    folder.write("rows.csv", csv);
    let import = ["import", "rows.csv", "Rows", "--yes", "--rejects", "rejects"];
    folder.local(&[&import, options].concat())
}

/// Returns the texts and the reasons of the rejected rows.
fn rejects(folder: &Folder) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let lines = folder.read("rejects");
    let rows = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    rows.map(|row| (text(&row["row"]["text"]), text(&row["reason"])))
        .collect()
}

async fn keys(folder: &Folder) -> Vec<String> {
    let rows = folder.table("Rows").query().allow_table_scan().all().await.unwrap();
    rows.into_iter().map(|row| row.row_key).collect()
}

#[tokio::test]
async fn key_that_is_no_number_of_its_width_is_rejected() {
    let folder = Folder::new();
    let csv = "shop,id,N\na,,1\na,abc,2\na,-5,3\na,12345678901,4\na,4294967295,5\na,7,6\n";
    let ran = import(&folder, csv, &["--keys", "shop,id", "--pad", "id=10"]);
    assert!(ran.error.contains("6 read, 2 written, 4 rejected"), "{}", ran.error);
    let expected = [
        (2, "a,,1", ""),
        (3, "a,abc,2", "abc"),
        (4, "a,-5,3", "-5"),
        (5, "a,12345678901,4", "12345678901"),
    ];
    let expected = expected.map(|(line, text, cell)| {
        let why = format!("line {line}, id: {cell:?} is not 1 to 10 digits, as --pad needs");
        (text.to_owned(), why)
    });
    assert_eq!((ran.code, rejects(&folder)), (1, expected.to_vec()));
    assert_eq!(keys(&folder).await, ["0000000007", "4294967295"]);

    folder.done(&["put", "Rows", "a", "x1"]);
    folder.done(&["export", "Rows", "rows.parquet"]);
    let ran = folder.local(&["import", "rows.parquet", "Copy", "--pad", "RowKey=10", "--yes"]);
    assert!(
        ran.code == 1 && ran.error.contains("3 read, 2 written, 1 rejected"),
        "{}",
        ran.error
    );
    assert!(
        ran.error.contains("row 3, RowKey: \"x1\" is not 1 to 10 digits"),
        "{}",
        ran.error
    );
}

#[test]
fn plan_counts_empty_keys() {
    let folder = Folder::new();
    let csv = "shop,id,N\na,,1\nb,,2\n,7,3\nb,x,4\n";
    let ran = import(&folder, csv, &["--keys", "shop,id"]);
    assert_eq!(ran.code, 0, "{}", ran.error);
    for warning in [
        "\n  warning: rows with an empty shop: 1\n",
        "\n  warning: rows with an empty id: 2\n",
    ] {
        assert!(ran.error.contains(warning), "{}", ran.error);
    }
}

#[tokio::test]
async fn line_that_is_no_row_is_rejected_with_its_text() {
    let folder = Folder::new();
    let lines: [&[u8]; 8] = [
        b"PartitionKey,RowKey,N:Edm.Int32",
        b"p,1,x",
        b"p,2",
        b"p,\"3, \"\"three\"\"\",3,4",
        b"",
        b"\xff,4,4",
        b"p,5,5",
        b"",
    ];
    for end in [&b"\n"[..], b"\r\n"] {
        let ran = import(&folder, lines.join(end), &[]);
        assert!(
            ran.code == 1 && ran.error.contains("5 read, 1 written, 4 rejected"),
            "{}",
            ran.error
        );
        let expected = [
            ("p,1,x", "line 2, N:Edm.Int32: \"x\" is no Edm.Int32"),
            ("p,2", "line 3, 2 cells, the header has 3"),
            ("p,\"3, \"\"three\"\"\",3,4", "line 4, 4 cells, the header has 3"),
            // Its first line is empty.
            ("\u{fffd},4,4", "line 5, it is not UTF-8"),
        ];
        assert_eq!(
            rejects(&folder),
            expected.map(|(text, why)| (text.to_owned(), why.to_owned()))
        );
        std::fs::remove_file(folder.file("rejects")).unwrap();
        assert_eq!(keys(&folder).await, ["5"]);
    }
}

#[tokio::test]
async fn every_form_of_line_break_ends_a_row() {
    for end in ["\n", "\r\n", "\r"] {
        let folder = Folder::new();
        let row = |row: usize| format!("p,{row},\"{}\"{end}", "x".repeat(row % 50 * 200));
        let csv = format!(
            "PartitionKey,RowKey,Text{end}{}",
            (100..400).map(row).collect::<String>()
        );
        let ran = import(&folder, csv, &[]);
        assert_eq!(ran.code, 0, "{}", ran.error);
        assert_eq!(keys(&folder).await.len(), 300, "{end:?}");
    }
}

#[tokio::test]
async fn unclosed_quote_is_rejected_where_it_opens() {
    let folder = Folder::new();
    let bad = "p,2,\"two\nlines\",\"open\np,3,three,\"x\"";
    let last = "p,6,\"\"\"six\"\"\np,7,seven,x\n";
    let csv = format!("PartitionKey,RowKey,A,B\np,1,\"two\n\"\"lines\"\"\",5\" pipe\n{bad}\np,4,\"a\"b,c\n{last}");
    let ran = import(&folder, &csv, &[]);
    assert!(
        ran.code == 1 && ran.error.contains("4 read, 2 written, 2 rejected"),
        "{}",
        ran.error
    );
    let expected = [(bad, 4, 5), (last.trim_end(), 8, 8)];
    let expected = expected.map(|(text, begin, line)| {
        let why = format!("line {begin}, the quote that opens on line {line} does not close where a cell ends");
        (text.to_owned(), why)
    });
    assert_eq!(rejects(&folder), expected);
    assert_eq!(keys(&folder).await, ["1", "4"]);
}

#[test]
fn rejected_row_of_a_file_has_no_advice_for_rust() {
    let folder = Folder::new();
    let long = "x".repeat(33_000);
    let csv = format!(
        "PartitionKey,RowKey,T:Edm.String,B:Edm.Binary\np,a/b,,\np,1,{long},\np,2,,{}\n",
        "AAAA".repeat(22_000)
    );
    let ran = import(&folder, &csv, &[]);
    assert!(
        ran.code == 1 && ran.error.contains("3 read, 3 rejected"),
        "{}",
        ran.error
    );
    let reasons = folder.read("rejects");
    for reason in [
        "no control characters)\"",
        "the limit of 32768\"",
        "the limit of 65536\"",
    ] {
        assert!(reasons.contains(reason), "{reason}: {}", ran.error);
    }
    let error = folder.local(&["get", "Rows", "p", "a/b"]).error;
    assert!(error.ends_with("no control characters)\n"), "{error}");
}
