//! Wrapping keys that change, and the lifetime of data keys.

use std::time::Duration;

use azure_table::encryption::{DataKey, LocalKeys, key_id};
use azure_table::{DynamicEntity, ErrorKind, Result, TableEntity};

use super::{Clinic, Keys, Patient, is_ciphertext, patient};

fn rotated() -> Keys {
    let old = DataKey::from_bytes([7; 32]);
    Keys::of(LocalKeys::new("2026-12", DataKey::from_bytes([8; 32])).also("2026-11", old))
}

#[tokio::test]
async fn rotation_rewrites_rows_under_the_new_key() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..4).await;
    let keys = rotated();
    let patients = clinic.with(keys.clone());
    patients.modify(("north", 1), |_| ()).await?;
    is_ciphertext(&clinic.stored(1).await, "diagnosis", "2026-12");
    is_ciphertext(&clinic.stored(2).await, "diagnosis", "2026-11");
    let ids = patients.query().resolve(|row| {
        let sealed: Vec<u8> = row.property("diagnosis")?;
        Ok(key_id(&sealed).map(str::to_owned))
    });
    let ids: Vec<_> = ids.all().await?.into_iter().flatten().collect();
    assert_eq!(ids, ["2026-12", "2026-11", "2026-11"]);
    let report = patients
        .update_where(patients.query(), |_: &mut Patient| ())
        .await
        .unwrap();
    assert_eq!(report.applied(), 3);
    for number in 1..4 {
        is_ciphertext(&clinic.stored(number).await, "diagnosis", "2026-12");
        is_ciphertext(&clinic.stored(number).await, "Scan", "2026-12");
    }
    assert_eq!(keys.calls(), (1, 1), "the old data key was unwrapped once");
    let error = clinic.patients.get(("north", 1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
    assert!(error.to_string().contains("wrapped by the key \"2026-12\""), "{error}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn data_key_is_used_for_a_day() -> Result<()> {
    let clinic = Clinic::new().await;
    let hour = Duration::from_secs(3_600);
    clinic.insert(1..3).await;
    tokio::time::advance(23 * hour).await;
    clinic.insert(3..4).await;
    assert_eq!(clinic.keys.calls(), (1, 0));
    tokio::time::advance(hour).await;
    clinic.insert(4..6).await;
    assert_eq!(clinic.keys.calls(), (2, 0));
    let other = Keys::new("2026-11", 7);
    let patients = clinic.with(other.clone());
    assert_eq!(patients.query().all().await?.len(), 5);
    assert_eq!(other.calls(), (0, 2), "each data key once");
    assert_eq!(patients.query().all().await?.len(), 5);
    assert_eq!(other.calls(), (0, 2));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn unwrapped_data_key_is_kept_for_a_day() -> Result<()> {
    let clinic = Clinic::new().await;
    let hour = Duration::from_secs(3_600);
    clinic.insert(1..2).await;
    let keys = Keys::new("2026-11", 7);
    let patients = clinic.with(keys.clone());
    for (hours, unwraps) in [(0, 1), (23, 1), (1, 2), (23, 2)] {
        tokio::time::advance(hours * hour).await;
        assert_eq!(patients.get(("north", 1)).await?, Some(patient(1)));
        assert_eq!(keys.calls(), (0, unwraps));
    }
    tokio::time::advance(hour).await;
    for (patients, keys) in [(patients, keys), (clinic.patients, clinic.keys)] {
        keys.fail(Some("the key is revoked"));
        let error = patients.get(("north", 1)).await.unwrap_err();
        assert!(error.to_string().contains("the key is revoked"), "{error}");
    }
    Ok(())
}

/// A patient whose ward is required.
#[derive(TableEntity, Debug, Clone, PartialEq)]
#[table(upgrade = "with_ward")]
struct Placed {
    #[table(partition_key)]
    clinic: String,
    #[table(row_key)]
    number: u32,
    ward: String,
    #[table(encrypted)]
    diagnosis: String,
}

fn with_ward(row: &mut DynamicEntity) -> Result<Placed> {
    row.insert("ward", "hall");
    row.to_entity()
}

#[tokio::test]
async fn upgrade_reads_encrypted_properties_of_its_row() -> Result<()> {
    let clinic = Clinic::new().await;
    let old = Patient {
        ward: None,
        ..patient(1)
    };
    clinic.patients.insert(&old).await?;
    clinic.insert(2..3).await;
    let placed = clinic.patients.typed::<Placed>();
    let rows = placed.query().all().await?;
    let read: Vec<_> = rows.iter().map(|row| (&*row.ward, &*row.diagnosis)).collect();
    assert_eq!(read, [("hall", "secret gout 1"), ("W2", "secret gout 2")]);
    let report = placed.upgrade_where(placed.query()).await?;
    assert_eq!((report.applied(), report.unchanged()), (1, 1));
    assert_eq!(placed.upgrade_where(placed.query()).await?.unchanged(), 2);
    assert_eq!(
        clinic.patients.get(("north", 1)).await?.unwrap().ward.as_deref(),
        Some("hall")
    );
    // Only the row of the upgrade lends its keys.
    let row = clinic
        .patients
        .typed::<DynamicEntity>()
        .get(("north", "0000000001"))
        .await?
        .unwrap();
    let error = row.to_entity::<Placed>().unwrap_err().to_string();
    assert!(error.contains("read the row as its entity"), "{error}");
    Ok(())
}

#[tokio::test]
async fn concurrent_writes_share_one_data_key() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.keys.delay(Duration::from_millis(20));
    let all: Vec<Patient> = (0..20).map(patient).collect();
    futures::future::try_join_all(all.iter().map(|it| clinic.patients.insert(it))).await?;
    assert_eq!(clinic.keys.calls(), (1, 0));
    Ok(())
}
