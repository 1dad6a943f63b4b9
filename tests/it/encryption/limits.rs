//! The size limits apply to the ciphertext.

use azure_table::{Emulator, ErrorKind, Result, TableEntity};

use super::{Clinic, Patient, patient};

/// The bytes that encryption adds: 40, the key's id, and a data key wrapped by `LocalKeys`.
const ADDED: usize = 40 + "2026-11".len() + 60;

fn large(number: u32, bytes: usize) -> Patient {
    let scan = Some(vec![7; bytes]);
    Patient {
        scan,
        ..patient(number)
    }
}

#[tokio::test]
async fn value_has_the_documented_size() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.patients.insert(&large(1, 1_000)).await?;
    let stored: Vec<u8> = clinic.stored(1).await.property("Scan")?;
    assert_eq!(stored.len(), 1_000 + ADDED);
    Ok(())
}

#[tokio::test]
async fn value_over_64_kib_is_rejected_before_a_request() -> Result<()> {
    let clinic = Clinic::new().await;
    let most = 65_536 - ADDED;
    clinic.patients.insert(&large(1, most)).await?;
    assert_eq!(clinic.patients.get(("north", 1)).await?, Some(large(1, most)));
    clinic.spy.clear();
    let why = format!(
        "property `Scan`: it has {} bytes, and 65537 encrypted, more than the limit of 65536",
        most + 1
    );
    let mut batch = clinic.patients.batch();
    batch.insert(&patient(5))?.insert(&large(2, most + 1))?;
    let patch = Patient::SCAN.set(vec![7; most + 1]);
    for error in [
        clinic.patients.insert(&large(2, most + 1)).await.unwrap_err(),
        clinic.patients.patch(("north", 1), patch).await.unwrap_err(),
        clinic.patients.grouped().insert(&large(2, most + 1)).await.unwrap_err(),
        batch.submit().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&why), "{error}");
    }
    assert_eq!(clinic.spy.requests(), 0);
    let rows = [patient(6), large(2, most + 1), patient(7)];
    let report = clinic.patients.bulk().insert(rows).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (2, 1));
    assert!(report.leftovers()[0].to_string().contains(&why));
    Ok(())
}

#[tokio::test]
async fn cosmos_takes_longer_values() -> Result<()> {
    let clinic = Clinic::of(Emulator::cosmos()).await;
    clinic.patients.insert(&large(1, 100_000)).await?;
    assert_eq!(clinic.patients.get(("north", 1)).await?, Some(large(1, 100_000)));
    Ok(())
}

/// Seventeen values of 64 KiB.
#[derive(TableEntity)]
#[rustfmt::skip]
struct Wide {
    #[table(partition_key)]
    a: String,
    #[table(row_key)]
    b: u32,
    #[table(encrypted)] v01: Vec<u8>, #[table(encrypted)] v02: Vec<u8>, #[table(encrypted)] v03: Vec<u8>,
    #[table(encrypted)] v04: Vec<u8>, #[table(encrypted)] v05: Vec<u8>, #[table(encrypted)] v06: Vec<u8>,
    #[table(encrypted)] v07: Vec<u8>, #[table(encrypted)] v08: Vec<u8>, #[table(encrypted)] v09: Vec<u8>,
    #[table(encrypted)] v10: Vec<u8>, #[table(encrypted)] v11: Vec<u8>, #[table(encrypted)] v12: Vec<u8>,
    #[table(encrypted)] v13: Vec<u8>, #[table(encrypted)] v14: Vec<u8>, #[table(encrypted)] v15: Vec<u8>,
    #[table(encrypted)] v16: Vec<u8>,
}

#[tokio::test]
async fn entity_over_1_mib_is_rejected_before_a_request() -> Result<()> {
    let clinic = Clinic::new().await;
    let v = vec![7; 65_536 - ADDED];
    let [v01, v02, v03, v04, v05, v06, v07, v08] = std::array::from_fn(|_| v.clone());
    let [v09, v10, v11, v12, v13, v14, v15, v16] = std::array::from_fn(|_| v.clone());
    #[rustfmt::skip]
    let wide = Wide {
        a: "north".into(), b: 1, v01, v02, v03, v04, v05, v06, v07, v08, v09, v10, v11, v12, v13, v14, v15, v16,
    };
    let error = clinic.patients.typed::<Wide>().insert(&wide).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("the limit of 1048576"), "{error}");
    assert_eq!(clinic.spy.requests(), 0);
    Ok(())
}

#[tokio::test]
async fn bytes_of_a_batch_count_the_ciphertext() -> Result<()> {
    let clinic = Clinic::new().await;
    // 44 of them have 4 MiB in base64 before encryption.
    let mut batch = clinic.patients.batch();
    let mut added = 0;
    while batch.insert(&large(added, 65_000)).is_ok() {
        added += 1;
    }
    assert!((47..=48).contains(&added), "{added}");
    let many = (0..100).map(|n| large(n, 65_000));
    let report = clinic.patients.bulk().insert(many).await.unwrap();
    assert_eq!(report.applied(), 100);
    Ok(())
}
