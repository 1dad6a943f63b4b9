//! `delete` and `patch`: writes over the rows of a selection.

use azure_table::EdmValue;

use crate::program::Folder;

fn table(folder: &Folder) {
    let row = |row: u32| {
        format!(
            "{{\"PartitionKey\":\"p{}\",\"RowKey\":\"{row:04}\",\"Value\":{row}}}\n",
            row % 3
        )
    };
    folder.write("rows.jsonl", (0..3_000).map(row).collect::<String>());
    folder.done(&["import", "rows.jsonl", "Rows", "--yes"]);
}

#[tokio::test]
async fn a_table_is_never_emptied_by_mistake() {
    let folder = Folder::new();
    table(&folder);
    for (command, code, text) in [
        (
            &["delete", "Rows", "--yes"][..],
            2,
            "no rows are selected: --partition, --filter, or --all",
        ),
        (&["delete", "Rows", "--all"], 2, "nothing was written: add --yes"),
        (
            &["delete", "Rows", "--all", "--filter", "Value gt 5", "--yes"],
            2,
            "cannot be used with",
        ),
        (&["delete", "Rows", "--filter", "", "--yes"], 2, "it is blank"),
        (&["delete", "Rows", "--filter", " ", "--yes"], 2, "it is blank"),
        (
            &["delete", "Rows", "--partition", "p1", "--prefix", "", "--yes"],
            2,
            "--prefix",
        ),
        (
            &[
                "delete",
                "Rows",
                "--partition",
                "zzz",
                "--filter",
                "Value eq 99) or (Value gt 0",
                "--yes",
            ],
            2,
            "closes a parenthesis that is not open",
        ),
        (
            &["delete", "Rows", "--filter", "(Value gt 0", "--yes"],
            2,
            "leaves the parenthesis open at character 1",
        ),
        (
            &["delete", "Rows", "--filter", "Value eq 'a", "--yes"],
            2,
            "leaves the quote open at character 10",
        ),
        (&["patch", "Rows", "--set", "A=b", "--yes"], 2, "no rows are selected"),
        (
            &["patch", "Rows", "--all", "--set", "A:int32=b", "--yes"],
            2,
            "is no Edm.Int32",
        ),
        (
            &["delete", "Rows", "--all", "--dry-run"],
            0,
            "delete 3000 rows: all rows of Rows",
        ),
    ] {
        let ran = folder.local(command);
        assert_eq!(ran.code, code, "{command:?} {}", ran.error);
        assert!(ran.error.contains(text), "{command:?} {}", ran.error);
    }
    assert_eq!(folder.rows("Rows").await.len(), 3_000);
}

#[tokio::test]
async fn a_dry_run_shows_the_first_rows() {
    let folder = Folder::new();
    table(&folder);
    let ran = folder.done(&[
        "patch",
        "Rows",
        "--filter",
        "Value ge 2990",
        "--set",
        "A=b",
        "--dry-run",
        "--json",
    ]);
    assert_eq!(ran.output.lines().count(), 10, "{}", ran.output);
    assert!(ran.error.contains("patch 10 rows"), "{}", ran.error);
    assert!(folder.rows("Rows").await.iter().all(|row| !row.contains("\"A\"")));
}

#[tokio::test]
async fn the_selected_rows_are_written_alone() {
    let folder = Folder::new();
    table(&folder);
    let ran = folder.done(&[
        "patch",
        "Rows",
        "--filter",
        "Value lt 1000",
        "--set",
        "Value:int32=5000",
        "New:double=NaN",
        "--yes",
    ]);
    assert!(ran.error.contains("1,000 read, 1,000 written"), "{}", ran.error);
    let ran = folder.done(&[
        "delete",
        "Rows",
        "--filter",
        "Value eq 5000",
        "--yes",
        "--max-rate",
        "100000",
    ]);
    assert!(ran.error.contains("1,000 read, 1,000 deleted"), "{}", ran.error);
    let in_quotes = "(Value lt 0) or Text eq 'it''s )'";
    let ran = folder.done(&["delete", "Rows", "--partition", "p1", "--filter", in_quotes, "--yes"]);
    assert!(ran.error.contains("0 read"), "{}", ran.error);
    let ran = folder.done(&["delete", "Rows", "--partition", "p1", "--prefix", "2", "--yes"]);
    assert!(ran.error.contains("333 read, 333 deleted"), "{}", ran.error);
    assert_eq!(folder.rows("Rows").await.len(), 3_000 - 1_000 - 333);
    let kept = folder.table("Rows").get(("p0", "1002")).await.unwrap().unwrap();
    let properties: Vec<_> = kept.properties.into_iter().collect();
    assert_eq!(properties, [("Value".to_owned(), EdmValue::Int32(1_002))]);
    assert!(!folder.file("Rows-delete.position").exists());
}
