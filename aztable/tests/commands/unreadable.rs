//! Rows that no text of Rust can hold: half of a surrogate pair, which other clients write when they cut a text.

use azure_table::{DynamicEntity, Emulator};

use crate::program::server::{Halves, Server};

async fn server(emulator: Emulator) -> Server {
    let server = Server::through(emulator, Halves).await;
    for name in ["Rows", "Sur", "Tail"] {
        let table = server.table(name).await;
        for key in ["a", "b", "c"] {
            let mut row = DynamicEntity::new("p", key);
            let is_half = name == "Sur" && key == "b";
            row.insert("T", if is_half { "xHALF" } else { "x" });
            table.insert(&row).await.unwrap();
        }
    }
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn row_with_half_of_a_pair_is_rejected_alone() {
    for emulator in [Emulator::new(), Emulator::cosmos()] {
        let server = server(emulator).await;
        for command in [
            &["export", "Sur", "rows.jsonl"][..],
            &["export", "Sur", "rows.csv"],
            &["copy", "Sur", "local:copy/Sur", "--yes", "--rejects", "rejects"],
            &["backup", "backups", "--yes"],
            &["schema", "Sur"],
            &["sync", "Sur", "local:synced/Sur", "--yes"],
            &["diff", "Sur", "local:synced/Sur"],
        ] {
            let ran = server.run(command).await;
            assert_eq!(ran.code, 1, "{command:?} {ran:?}");
            assert!(
                ran.error.contains(r#"rejected ["p","b"]: "#),
                "{command:?} {}",
                ran.error
            );
            assert!(
                ran.error.contains("half of a surrogate pair"),
                "{command:?} {}",
                ran.error
            );
            assert!(!ran.error.contains("without_row_keys"), "{command:?} {}", ran.error);
            if !["schema", "diff"].contains(&command[0]) {
                assert!(ran.error.contains(", 1 rejected"), "{command:?} {}", ran.error);
            }
        }
        let folder = &server.folder;
        assert_eq!(folder.read("rows.jsonl").lines().count(), 2);
        assert_eq!(folder.read("rows.csv").lines().count(), 3);
        assert!(folder.read("rejects").contains(r#""row":["p","b"]"#));
        let backups = server.done(&["backups", "backups"]).await.output;
        assert_eq!(backups.lines().count(), 3, "{backups}");
        assert!(backups.contains("Sur  2 rows, "), "{backups}");
        for place in ["local:copy/Sur", "local:synced/Sur"] {
            let count = server
                .done(&["query", place, "--scan", "--count", "--quiet"])
                .await
                .output;
            assert_eq!(count, "2\n", "{place}");
        }
    }
}
