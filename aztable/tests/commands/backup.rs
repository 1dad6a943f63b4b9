//! `backup`, `restore`, `verify-backup`, `backups`: each backup restores what the tables were when it was read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use azure_table::emulator::ServiceModel;
use azure_table::{DateTime, DynamicEntity, EdmValue, Emulator};

use crate::program::Folder;
use crate::program::server::{Server, open, tables};

/// A row as exact JSON, without ETag and Timestamp, by its keys.
type Rows = BTreeMap<(String, String), String>;

fn emulator(is_cosmos: bool) -> Emulator {
    match is_cosmos {
        true => Emulator::cosmos(),
        false => Emulator::new(),
    }
}

/// Random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

/// Returns keys with every character that a key may have, and some that sort differently by byte and by UTF-16 unit.
///
/// Cosmos DB accepts no empty key.
fn keys(is_cosmos: bool) -> Vec<(String, String)> {
    let allowed = |c: &char| !"/\\#?".contains(*c) && !c.is_control();
    let mut keys: Vec<_> = (' '..='\u{2ff}')
        .filter(allowed)
        .map(|c| (c.to_string(), format!("k{c}")))
        .collect();
    let texts = [
        "",
        "\u{e000}",
        "\u{10000}",
        "\u{1f600}x",
        "é",
        "e\u{301}",
        "A",
        "a",
        "aa",
        "\u{ffff}",
    ];
    let texts = &texts[usize::from(is_cosmos)..];
    let pairs = texts
        .iter()
        .flat_map(|one| texts.iter().map(move |other| (*one, *other)));
    keys.extend(pairs.map(|(one, other)| (one.to_owned(), other.to_owned())));
    keys
}

fn row(key: &(String, String), number: i64) -> DynamicEntity {
    let mut row = DynamicEntity::new(&key.0, &key.1);
    row.insert("Number", number);
    match number % 4 {
        0 => row.insert("Double", f64::NAN),
        1 => row.insert("Double", -0.0),
        2 => row.insert("Text", "x".repeat(300)),
        _ => row.insert("Binary", EdmValue::Binary(vec![0, 255].into())),
    };
    row
}

/// Restores each of several backups with random writes between, and compares.
async fn each_backup_is_restored(is_cosmos: bool) {
    let (server, target) = (
        Server::start(emulator(is_cosmos)).await,
        Server::start(emulator(is_cosmos)).await,
    );
    server.folder.write("target", target.server.connection_string());
    let table = server.table("Rows").await;
    server.table("Empty").await;
    let (keys, mut random, mut number) = (keys(is_cosmos), Random(1), 0);
    let mut states = Vec::new();
    for round in 0..4 {
        // The first round writes nearly all rows, the others few of them, and each of them up to three times.
        for _ in 0..if round == 0 { 4 * keys.len() } else { 200 } {
            let key = &keys[random.below(if round == 0 { keys.len() } else { 90 })];
            number += 1;
            match random.below(4) {
                0 => drop(table.delete_if_exists((&*key.0, &*key.1)).await.unwrap()),
                _ => drop(table.insert_or_replace(&row(key, number)).await.unwrap()),
            }
        }
        if round == 1 {
            server.table("Later").await.insert(&row(&keys[0], 1)).await.unwrap();
        }
        if round == 2 {
            server
                .service
                .dynamic_table("Later")
                .unwrap()
                .delete_table()
                .await
                .unwrap();
        }
        if round == 3 {
            server.table("Later").await.insert(&row(&keys[1], 2)).await.unwrap();
        }
        let full = if round == 2 { &["--full"][..] } else { &[] };
        states.push((server.backup(full).await, server.tables().await, DateTime::now()));
    }
    let verified = server.done(&["verify-backup", "backups"]).await;
    assert!(
        verified.error.contains("4 backups, 10 tables: undamaged"),
        "{}",
        verified.error
    );
    let listed = server.done(&["backups", "backups", "--json"]).await;
    let manifests: Vec<serde_json::Value> = listed
        .output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let stored = |round: usize, table: &str| {
        let entry = manifests[round]["tables"]
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["table"] == table);
        let entry = entry.unwrap();
        (
            entry["rows"].as_u64().unwrap(),
            entry["stored_rows"].as_u64().unwrap(),
            entry["base"]["backup"].as_str(),
        )
    };
    let (full, incremental) = (stored(0, "Rows"), stored(1, "Rows"));
    assert!(full.0 == full.1 && full.2.is_none(), "{full:?}");
    assert!(
        incremental.1 < 91 && incremental.0 > 500 && incremental.2 == Some(&*states[0].0),
        "{incremental:?} {manifests:#?}"
    );
    assert_eq!((stored(2, "Rows").2, stored(3, "Rows").2), (None, Some(&*states[2].0)));
    assert_eq!(
        stored(3, "Later"),
        (1, 1, Some(&*states[1].0)),
        "a base may be older than the latest backup"
    );

    for (name, state, time) in &states {
        for at in [name.clone(), time.to_string()] {
            target.service.list_tables().all().await.unwrap();
            server
                .done(&["restore", "backups", "--at", &at, "--into", "@target", "--yes"])
                .await;
            assert_eq!(&target.tables().await, state, "{at}");
            for table in state.keys() {
                target
                    .service
                    .dynamic_table(table)
                    .unwrap()
                    .delete_table()
                    .await
                    .unwrap();
            }
        }
    }
    // One table, under another name.
    let of = ["--tables", "Rows", "--as", "Copied", "--at", &states[1].0];
    server
        .done(&[&["restore", "backups", "--into", "@target", "--yes"], &of[..]].concat())
        .await;
    assert_eq!(
        target.tables().await,
        BTreeMap::from([("Copied".to_owned(), states[1].1["Rows"].clone())])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_backup_of_storage_is_restored() {
    each_backup_is_restored(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_backup_of_cosmos_is_restored() {
    each_backup_is_restored(true).await;
}

/// Creates a full and an incremental backup of tables in a folder.
async fn two_backups(folder: &Folder) -> [String; 2] {
    let mut names = [String::new(), String::new()];
    for (round, name) in names.iter_mut().enumerate() {
        for table in ["One", "Two"] {
            let table = folder.table(table);
            table.create_table_if_not_exists().await.unwrap();
            for number in 0..50 - 40 * round {
                let key = ("p".to_owned(), format!("{number:03}"));
                table
                    .insert_or_replace(&row(&key, (round * 100 + number) as i64))
                    .await
                    .unwrap();
            }
        }
        *name = folder.done(&["backup", "backups", "--yes"]).output.trim().to_owned();
    }
    names
}

/// A damage, its planting in a folder, and the complaint.
type Damage<'d> = (&'d str, &'d dyn Fn(&Path), &'d str);

#[tokio::test]
async fn damage_is_found() {
    let folder = Folder::new();
    let [full, incremental] = two_backups(&folder).await;
    let restore = ["restore", "backups", "--into", "local:restored", "--yes"];
    let flip = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    let rows = "0000-One.rows.jsonl.zst";
    let damages: [Damage<'_>; 8] = [
        (
            "flipped byte of the base's rows",
            &|backups| flip(&backups.join(&full).join(rows)),
            "checksum differs",
        ),
        (
            "flipped byte of keys",
            &|backups| flip(&backups.join(&incremental).join("0001-Two.keys.jsonl.zst")),
            "checksum differs",
        ),
        (
            "truncated file",
            &|backups| {
                let file = fs::OpenOptions::new()
                    .write(true)
                    .open(backups.join(&full).join(rows))
                    .unwrap();
                file.set_len(file.metadata().unwrap().len() - 1).unwrap();
            },
            "the manifest has",
        ),
        (
            "missing base",
            &|backups| fs::remove_dir_all(backups.join(&full)).unwrap(),
            "the base of",
        ),
        (
            "swapped files",
            &|backups| {
                let (one, two) = (
                    backups.join(&full).join(rows),
                    backups.join(&full).join("0001-Two.rows.jsonl.zst"),
                );
                let (first, second) = (fs::read(&one).unwrap(), fs::read(&two).unwrap());
                fs::write(one, second).unwrap();
                fs::write(two, first).unwrap();
            },
            "damaged",
        ),
        (
            "missing file",
            &|backups| fs::remove_file(backups.join(&full).join(rows)).unwrap(),
            "No such file",
        ),
        (
            "changed manifest",
            &|backups| {
                let path = backups.join(&full).join("manifest.json");
                let manifest = fs::read_to_string(&path).unwrap();
                fs::write(path, manifest.replace("\"rows\": 50", "\"rows\": 51")).unwrap();
            },
            "checksum differs",
        ),
        (
            "backup in the place of another",
            &|backups| {
                fs::remove_dir_all(backups.join(&full)).unwrap();
                fs::create_dir(backups.join(&full)).unwrap();
                for entry in fs::read_dir(backups.join(&incremental)).unwrap() {
                    let path = entry.unwrap().path();
                    fs::copy(&path, backups.join(&full).join(path.file_name().unwrap())).unwrap();
                }
            },
            "it belongs to the folder",
        ),
    ];
    assert!(
        Command::new("cp")
            .args(["-r", "backups", "good"])
            .current_dir(folder.path())
            .status()
            .unwrap()
            .success()
    );
    for (damage, plant, complaint) in damages {
        fs::remove_dir_all(folder.file("backups")).unwrap();
        assert!(
            Command::new("cp")
                .args(["-r", "good", "backups"])
                .current_dir(folder.path())
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(folder.run(&["verify-backup", "backups"]).code, 0, "{damage}");
        plant(&folder.file("backups"));
        let verified = folder.run(&["verify-backup", "backups"]);
        assert_eq!(verified.code, 1, "{damage}");
        assert!(verified.output.contains(complaint), "{damage}: {}", verified.output);
        let restored = folder.run(&restore);
        assert_eq!(restored.code, 1, "{damage}: {}", restored.error);
        assert_eq!(
            folder.run(&["ls", "local:restored"]).output,
            "",
            "{damage}: nothing is written"
        );
    }
}

#[tokio::test]
async fn a_damaged_base_is_no_base() {
    let folder = Folder::new();
    let [_, incremental] = two_backups(&folder).await;
    fs::write(
        folder.file("backups").join(incremental).join("0000-One.keys.jsonl.zst"),
        "",
    )
    .unwrap();
    let ran = folder.local(&["backup", "backups", "--yes"]);
    assert!(
        ran.code == 1 && ran.error.contains("`--full` backs up without a base"),
        "{}",
        ran.error
    );
}

#[tokio::test]
async fn what_cannot_be_done_is_said_before_anything_is_written() {
    let folder = Folder::new();
    let [full, _] = two_backups(&folder).await;
    let restore = ["restore", "backups", "--into", "local:tables", "--yes"];
    let complaints: [(&[&str], &str); 7] = [
        (
            &restore,
            "One exists at local:tables: a backup is restored into absent tables",
        ),
        (
            &["restore", "backups", "--into", "local:new", "--at", "yesterday"],
            "no backup has the name \"yesterday\"",
        ),
        (
            &[
                "restore",
                "backups",
                "--into",
                "local:new",
                "--at",
                "2001-01-01T00:00:00Z",
            ],
            "no backup with these tables",
        ),
        (
            &[
                "restore",
                "backups",
                "--into",
                "local:new",
                "--tables",
                "Three",
                "--at",
                &full,
            ],
            "has no table Three",
        ),
        (
            &["restore", "backups", "--into", "local:new", "--as", "Three"],
            "--tables",
        ),
        (
            &["restore", "backups", "--into", "local:new"],
            "nothing was written: add --yes",
        ),
        (&["backup", "local:other", "backups", "--yes"], "name another folder"),
    ];
    folder.run(&["create", "local:other/One"]).done();
    for (arguments, complaint) in complaints {
        let ran = folder.run(arguments);
        assert!(
            ran.code != 0 && ran.error.contains(complaint),
            "{arguments:?}: {}",
            ran.error
        );
    }
    assert!(!folder.file("new").exists());
    let plan = folder.local(&["backup", "backups"]).error;
    assert!(plan.contains("One: what has changed since"), "{plan}");
    assert!(plan.contains("100 rows, 2 requests, 0.000000 USD"), "{plan}");
    let files = fs::read_dir(folder.file("backups").join(full)).unwrap();
    for file in files {
        let mode = std::os::unix::fs::MetadataExt::mode(&file.unwrap().metadata().unwrap());
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_rows_of_all_tables_are_in_one_file() {
    let server = Server::start(Emulator::cosmos()).await;
    let folder = &server.folder;
    for name in ["One", "Two"] {
        let table = folder.table(name);
        table.create_table().await.unwrap();
        // Cosmos DB has no empty keys.
        for key in ["", "1"] {
            table.insert(&DynamicEntity::new(name, key)).await.unwrap();
        }
    }
    folder.done(&["backup", "backups", "--yes"]);
    let restore = ["restore", "backups", "--into", "@target", "--yes", "--rejects"];
    let absent = server
        .run(&[&restore[..], &["absent/rejects"]].concat())
        .await
        .failed(2);
    assert!(absent.contains("no folder absent"), "{absent}");
    let error = server.run(&[&restore[..], &["rejects"]].concat()).await.failed(1);
    assert!(error.contains("2 rejected: 2 rows are left"), "{error}");
    let rejects = folder.read("rejects");
    assert_eq!(rejects.lines().count(), 2, "{rejects}");
    assert!(rejects.contains("One") && rejects.contains("Two"), "{rejects}");
    assert_eq!(server.tables().await.values().map(Vec::len).sum::<usize>(), 2);
}

#[tokio::test]
async fn a_backup_of_some_tables_is_not_taken_for_all() {
    let folder = Folder::new();
    fs::create_dir(folder.file("empty")).unwrap();
    let error = folder.run(&["verify-backup", "empty"]).failed(1);
    assert!(error.contains("it has no backups"), "{error}");
    let [_, latest] = two_backups(&folder).await;
    let typo = folder
        .local(&["backup", "backups", "--tables", "One,Typo", "--yes"])
        .failed(2);
    assert!(typo.contains("no such table: Typo"), "{typo}");
    let ran = folder.done(&["backup", "backups", "--tables", "One", "--yes"]);
    let subset = ran.output.trim();
    let restore = ["restore", "backups", "--into", "local:new", "--yes"];
    let error = folder.run(&restore).failed(2);
    assert!(error.contains(&format!("only some tables: --at {subset}")), "{error}");
    folder.run(&[&restore[..], &["--at", &latest]].concat()).done();
    assert_eq!(folder.run(&["ls", "local:new"]).done(), "One\nTwo\n");

    let secret = "https://a.table.core.windows.net/?sig=c2VjcmV0";
    let error = folder.run(&["restore", "backups", "--into", secret]).failed(2);
    assert!(error.contains("@FILE") && !error.contains("c2VjcmV0"), "{error}");
}

/// A version of a row, the time before its write, and the time after the write of the next one.
struct Version {
    row: Option<String>,
    from: DateTime,
    until: DateTime,
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_written_meanwhile_existed_in_the_interval() {
    let model = ServiceModel::new().read_latency(Duration::from_millis(40));
    let server = Server::start(Emulator::new().service_model(model)).await;
    let table = server.table("Rows").await;
    let keys: Vec<_> = (0..6_000)
        .map(|number| (format!("p{}", number / 1_000), format!("{number:05}")))
        .collect();
    let exact = |row: &DynamicEntity| serde_json::to_string(row).unwrap();
    let mut history: BTreeMap<_, Vec<Version>> = BTreeMap::new();
    let inserted = keys.iter().map(|key| row(key, 0)).collect::<Vec<_>>();
    table
        .bulk()
        .insert(inserted)
        .await
        .unwrap()
        .ensure_no_leftovers()
        .unwrap();
    for key in &keys {
        let version = Version {
            row: Some(exact(&row(key, 0))),
            from: DateTime::MIN,
            until: DateTime::MAX,
        };
        history.insert(key.clone(), vec![version]);
    }
    let mut random = Random(7);
    let mut number = 0;
    for round in 0..3 {
        let backup = server.backup(&[]);
        tokio::pin!(backup);
        let name = loop {
            number += 1;
            let key = &keys[random.below(keys.len())];
            let written = (random.below(3) > 0).then(|| row(key, number));
            let from = DateTime::now();
            match &written {
                Some(row) => drop(table.insert_or_replace(row).await.unwrap()),
                None => drop(table.delete_if_exists((&*key.0, &*key.1)).await.unwrap()),
            }
            let versions = history.get_mut(key).unwrap();
            versions.last_mut().unwrap().until = DateTime::now();
            versions.push(Version {
                row: written.as_ref().map(exact),
                from,
                until: DateTime::MAX,
            });
            tokio::select! {
                biased;
                name = &mut backup => break name,
                () = tokio::time::sleep(Duration::from_micros(100)) => {}
            }
        };
        let target = format!("local:restored{round}");
        server
            .done(&["restore", "backups", "--at", &name, "--into", &target, "--yes"])
            .await;
        let manifest: serde_json::Value =
            serde_json::from_str(&server.folder.read(&format!("backups/{name}/manifest.json"))).unwrap();
        let entry = &manifest["manifest"]["tables"][0];
        let time = |name: &str| entry[name].as_str().unwrap().parse::<DateTime>().unwrap();
        let (start, end) = (time("start"), time("end"));
        let folder = server.folder.file(&format!("restored{round}"));
        let restored = open(&folder).dynamic_table("Rows").unwrap();
        let mut found: Rows = BTreeMap::new();
        for mut row in restored.query().allow_table_scan().all().await.unwrap() {
            (row.etag, row.timestamp) = (None, None);
            found.insert((row.partition_key.clone(), row.row_key.clone()), exact(&row));
        }
        let mut changed = 0;
        for key in &keys {
            let versions = &history[key];
            let is_in = |version: &&Version| version.from <= end && version.until >= start;
            let possible: Vec<_> = versions
                .iter()
                .filter(is_in)
                .map(|version| version.row.as_ref())
                .collect();
            assert!(possible.contains(&found.get(key)), "{round} {key:?}");
            changed += usize::from(possible.len() > 1);
        }
        assert!(
            found.len() <= keys.len() && changed > 20,
            "{changed} rows were written meanwhile"
        );
    }
}

/// Kills backups and restores, and resumes them, until each is done. Those of Cosmos DB are on a port.
async fn kills(is_cosmos: bool, backups: usize) {
    let model = || {
        ServiceModel::new()
            .read_latency(Duration::from_millis(60))
            .write_latency(Duration::from_millis(10))
    };
    let server = Server::start(emulator(is_cosmos).service_model(model())).await;
    let target = Server::start(emulator(is_cosmos).service_model(model())).await;
    server.folder.write("source", server.server.connection_string());
    server.folder.write("target", target.server.connection_string());
    let folder = |name: &str| server.folder.file(name);
    let service = |server: &Server, name: &str| {
        if is_cosmos {
            server.service.clone()
        } else {
            open(&folder(name))
        }
    };
    let (from, to) = if is_cosmos {
        ("@source", "@target")
    } else {
        ("local:tables", "local:restored")
    };
    let (count, milliseconds) = if is_cosmos { (3_000, 150) } else { (6_000, 60) };
    let (mut random, mut killed) = (Random(3), 0);
    for round in 0..backups {
        let written = {
            let service = service(&server, "tables");
            for name in ["One", "Two"] {
                let numbers = (0..count).filter(|number| round == 0 || number % 7 == round);
                let key = |number| (format!("p{}", number % 3), format!("{number:05}"));
                let rows: Vec<_> = numbers
                    .map(|number| row(&key(number), (number + round * 9) as i64))
                    .collect();
                let table = service.dynamic_table(name).unwrap();
                table.create_table_if_not_exists().await.unwrap();
                table
                    .bulk()
                    .insert_or_replace(rows)
                    .await
                    .unwrap()
                    .ensure_no_leftovers()
                    .unwrap();
            }
            tables(&service).await
        };
        let unfinished = || {
            let mut folders = fs::read_dir(folder("backups"))
                .into_iter()
                .flatten()
                .map(|entry| entry.unwrap().path());
            let folder =
                folders.find(|path| path.join("position.json").exists() && !path.join("manifest.json").exists());
            folder.map(|folder| folder.join("position.json"))
        };
        killed += until_done(
            &server,
            &["backup", from, "backups", "--yes"],
            milliseconds,
            &mut random,
            unfinished,
        )
        .await;
        let verified = server.run(&["verify-backup", "backups"]).await;
        assert!(
            verified.output.lines().all(|line| line.contains("unfinished")),
            "{}",
            verified.output
        );
        let unfinished = || {
            let mut files = fs::read_dir(folder("backups"))
                .unwrap()
                .map(|entry| entry.unwrap().path());
            files.find(|file| file.to_str().unwrap().ends_with("/restore.position"))
        };
        let restore = ["restore", "backups", "--into", to, "--yes"];
        killed += until_done(&server, &restore, milliseconds, &mut random, unfinished).await;
        let restored = service(&target, "restored");
        assert!(tables(&restored).await == written, "the rows of round {round} differ");
        for table in ["One", "Two"] {
            restored.dynamic_table(table).unwrap().delete_table().await.unwrap();
        }
    }
    assert!(killed >= 3, "{killed} kills");
}

/// Runs the program until it is done, and kills it at random times. Returns the number of kills.
async fn until_done(
    server: &Server,
    arguments: &[&str],
    milliseconds: usize,
    random: &mut Random,
    position: impl Fn() -> Option<std::path::PathBuf>,
) -> usize {
    let mut kills = 0;
    let mut before = String::new();
    loop {
        let found = position();
        let resume = found.as_ref().map(|path| ["--resume", path.to_str().unwrap()]);
        let arguments = [arguments, resume.as_ref().map_or(&[][..], |resume| &resume[..])].concat();
        let errors = server.folder.file("errors");
        let mut command = server.command(&arguments);
        command.stdout(Stdio::null()).stderr(fs::File::create(&errors).unwrap());
        let mut child = command.spawn().unwrap();
        let wait = milliseconds / 2 * (kills + 1) + random.below(milliseconds);
        tokio::time::sleep(Duration::from_millis(wait as u64)).await;
        if let Some(status) = child.try_wait().unwrap() {
            let errors = fs::read_to_string(errors).unwrap();
            // The last kill may have come between the end of the work and that of the process.
            let was_done = before.contains("000 read") && errors.contains("is restored into absent tables");
            assert!(status.success() || was_done, "{arguments:?}: {errors}");
            return kills;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        before = fs::read_to_string(errors).unwrap();
        kills += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_runs_resume() {
    kills(false, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_runs_on_cosmos_resume() {
    kills(true, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: cargo test -p aztable --test commands -- --ignored many_killed"]
async fn many_killed_runs_resume() {
    kills(false, 7).await;
    kills(true, 7).await;
}

/// A backup that was being read at a time has rows that were written later.
#[tokio::test(flavor = "multi_thread")]
async fn backup_is_of_a_time_only_if_it_had_ended_by_then() {
    let server = Server::start(Emulator::new()).await;
    let table = server.table("Rows").await;
    table.insert(&DynamicEntity::new("p", "1")).await.unwrap();
    server.backup(&[]).await;
    table.insert(&DynamicEntity::new("p", "2")).await.unwrap();
    server.backup(&[]).await;
    let listed = server.done(&["backups", "backups", "--json"]).await;
    let latest: serde_json::Value = serde_json::from_str(listed.output.lines().last().unwrap()).unwrap();
    let time = |name: &str| latest[name].as_str().unwrap().parse::<DateTime>().unwrap();
    let (start, end) = (time("start"), time("end"));
    for (at, rows) in [
        (start, 1),
        (start + end.duration_since(start).unwrap() / 2, 1),
        (end, 2),
    ] {
        let into = format!("local:restored{}", at.ticks());
        server
            .done(&["restore", "backups", "--at", &at.to_string(), "--into", &into, "--yes"])
            .await;
        let restored = tables(&open(&server.folder.file(into.strip_prefix("local:").unwrap()))).await;
        assert_eq!(restored["Rows"].len(), rows, "{at}");
    }
}
