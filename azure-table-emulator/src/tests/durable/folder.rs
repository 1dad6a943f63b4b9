//! The folder itself: its lock, its format, damage, and unrelated files in it.

use std::fs;

use super::*;

#[tokio::test]
async fn only_one_process_opens_a_folder_and_the_error_names_it() {
    let folder = Folder::new();
    let emulator = open(&folder, SyncPolicy::Always);
    let number = std::process::id();
    for rejected in [
        Emulator::open(&folder, SyncPolicy::Always).map(drop).unwrap_err(),
        EmulatorFolder::check(&folder).map(drop).unwrap_err(),
    ] {
        assert_eq!(rejected.kind(), io::ErrorKind::ResourceBusy);
        let text = format!("{}: process {number} has this folder open", folder.0.display());
        assert_eq!(rejected.to_string(), text);
    }
    // A clone keeps the folder open.
    let clone = emulator.clone();
    drop(emulator);
    assert!(Emulator::open(&folder, SyncPolicy::Always).is_err());
    drop(clone);
    drop(open(&folder, SyncPolicy::Always));
}

#[tokio::test]
async fn folder_of_a_newer_format_is_rejected_with_both_numbers() {
    let folder = Folder::new();
    fill(&open(&folder, SyncPolicy::Always)).await;
    fs::rename(folder.0.join("tables-1.redb"), folder.0.join("tables-2.redb")).unwrap();
    for rejected in [
        Emulator::open(&folder, SyncPolicy::Always).map(drop).unwrap_err(),
        EmulatorFolder::check(&folder).map(drop).unwrap_err(),
        EmulatorFolder::upgrade(&folder).map(drop).unwrap_err(),
    ] {
        assert_eq!(rejected.kind(), io::ErrorKind::Unsupported);
        let text = rejected.to_string();
        assert!(text.contains("format 2") && text.contains("format 1"), "{text}");
    }
    // Nothing was created beside it.
    assert!(!folder.0.join("tables-1.redb").exists());
}

#[tokio::test]
async fn folder_is_checked_and_counted() {
    let folder = Folder::new();
    fill(&open(&folder, SyncPolicy::Always)).await;
    for found in [
        EmulatorFolder::check(&folder).unwrap(),
        EmulatorFolder::upgrade(&folder).unwrap(),
    ] {
        assert_eq!((found.format(), found.table_count(), found.entity_count()), (1, 2, 3));
        assert_eq!(found.accounts().collect::<Vec<_>>(), [DEVELOPMENT_ACCOUNT]);
        assert_eq!(
            found.bytes(),
            fs::metadata(folder.0.join("tables-1.redb")).unwrap().len()
        );
    }
    let missing = EmulatorFolder::check(Folder::new()).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    assert!(missing.to_string().contains("not an emulator folder"), "{missing}");
}

#[test]
fn mounted_volume_is_empty_in_spite_of_its_lost_and_found() {
    let folder = Folder::new();
    fs::create_dir_all(folder.0.join("lost+found")).unwrap();
    open(&folder, SyncPolicy::Always);
}

#[tokio::test]
async fn foreign_folders_and_files_are_rejected_unchanged() {
    let folder = Folder::new();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.0.join("thesis.txt"), "mine").unwrap();
    let rejected = Emulator::open(&folder, SyncPolicy::Always).unwrap_err();
    assert_eq!(rejected.kind(), io::ErrorKind::InvalidInput);
    assert!(rejected.to_string().contains("thesis.txt"), "{rejected}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert_eq!(
        EmulatorFolder::check(&folder).unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    let file = Emulator::open(folder.0.join("thesis.txt"), SyncPolicy::Always).unwrap_err();
    assert!(file.to_string().contains("thesis.txt"), "{file}");
}

/// A crash while a folder is created leaves tables under the other name.
#[tokio::test]
async fn folder_with_interrupted_creation_is_created_again() {
    let folder = Folder::new();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.0.join("tables-1.redb.new"), "half").unwrap();
    fill(&open(&folder, SyncPolicy::Always)).await;
    assert_eq!(open(&folder, SyncPolicy::Always).snapshot().entity_count(), 3);
}

/// Damage is reported, or affects no used byte: a damaged folder is never read as different tables.
#[tokio::test]
async fn damaged_folder_is_named_and_never_read_as_a_good_one() {
    let folder = Folder::new();
    fill(&open(&folder, SyncPolicy::Always)).await;
    let before = open(&folder, SyncPolicy::Always).snapshot().to_string();
    let file = folder.0.join("tables-1.redb");
    let good = fs::read(&file).unwrap();
    // Damages unused copies of a page as well.
    let everywhere = |text: &str| {
        let mut bytes = good.clone();
        let places: Vec<usize> = memchr::memmem::find_iter(&good, text).collect();
        places.iter().for_each(|at| bytes[*at] ^= 1);
        assert!(!places.is_empty());
        bytes
    };
    let mut damages = ["\"L@odata.type\"", "readers", "Blogs", "lastWrite"]
        .map(everywhere)
        .to_vec();
    for length in [0, 1, 100, 4096, good.len() / 2, good.len() - 1] {
        damages.push(good[..length].to_vec());
    }
    damages.push(vec![0; good.len()]);
    damages.push(vec![0xff; good.len()]);
    let sure = damages.len();
    let used: Vec<usize> = (0..good.len()).filter(|at| good[*at] != 0).collect();
    let mut random = fastrand::Rng::with_seed(18);
    let any: Vec<Vec<u8>> = (0..100)
        .map(|_| {
            let mut bytes = good.clone();
            bytes[random.choice(&used).copied().unwrap()] ^= 1 << random.u32(0..8);
            bytes
        })
        .collect();
    damages.extend(any);
    for (n, bytes) in damages.iter().enumerate() {
        fs::write(&file, bytes).unwrap();
        match Emulator::open(&folder, SyncPolicy::Always) {
            Ok(emulator) => {
                assert!(n >= sure, "damage {n} was not found");
                assert_eq!(emulator.snapshot().to_string(), before);
            }
            Err(e) => {
                assert_eq!(e.kind(), io::ErrorKind::InvalidData, "{e}");
                let text = e.to_string();
                let place = folder.0.display().to_string();
                assert!(text.starts_with(&place) && text.contains("is damaged"), "{text}");
            }
        }
    }
}

/// Bytes that this version must always be able to read: changing this test requires a new format.
#[test]
fn rows_are_stored_in_the_form_of_format_1() {
    use azure_table_wire::value::edm::Edm;

    use crate::store::members::{Members, Properties};
    let properties: Properties = vec![
        ("Text".into(), Edm::String("\u{e9}".into())),
        ("Long".into(), Edm::Int64(5)),
        ("On".into(), Edm::Boolean(true)),
    ];
    let members = Members::new(&properties);
    let bytes = b"\x09\x00\x04\x08\x83\x04\x03\x01\x02\x04\"Text\":\"\\u00e9\",\"Long@odata.type\":\"Edm.Int64\",\"Long\":\"5\",\"On\":true";
    assert_eq!(
        members.as_bytes().escape_ascii().to_string(),
        bytes.escape_ascii().to_string()
    );
    assert_eq!(Members::from_bytes(bytes).unwrap(), members);
    assert_eq!(Members::from_bytes(b"\0").unwrap(), Members::new(&Vec::new()));
    for wrong in [
        &b""[..],
        b"\x09",
        b"\x03\x00\x04\x08\"Text\":\"\"",
        &bytes[..40],
        b"\x00x",
    ] {
        assert!(Members::from_bytes(wrong).is_none(), "{}", wrong.escape_ascii());
    }
}
