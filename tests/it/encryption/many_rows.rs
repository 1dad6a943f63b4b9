//! Writes of many rows: batches, bulks, groups, and writes over queries.

use azure_table::batch::BatchRule;
use azure_table::operation::OperationKind;
use azure_table::{DynamicEntity, ErrorKind, Result, TableEntity, TableOperation};
use futures::future::try_join_all;

use super::{Clinic, Findings, Patient, SCAN, is_ciphertext, patient};

#[tokio::test]
async fn batch_encrypts_all_of_its_operations() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..4).await;
    clinic.spy.clear();
    let mut batch = clinic.patients.batch();
    let versioned = clinic.patients.get(("north", 1)).versioned().await?.unwrap();
    batch
        .replace(&versioned)?
        .patch(("north", 2), [Patient::DIAGNOSIS.set("secret b")])?
        .delete(("north", 3))?
        .insert(&patient(4))?
        .insert(&patient(5))?
        .push(TableOperation::insert_or_merge(&patient(6)))?;
    assert_eq!(batch.len(), 6);
    let rejected = batch.insert(&patient(5)).map(drop).unwrap_err();
    assert_eq!(rejected.rule(), BatchRule::EachRowOnce);
    let results = batch.submit().await?;
    assert_eq!(results.len(), 6);
    let read = clinic.patients.query().all().await?;
    let diagnoses: Vec<_> = read.iter().map(|it| (it.number, &*it.diagnosis)).collect();
    assert_eq!(
        diagnoses,
        [
            (1, "secret gout 1"),
            (2, "secret b"),
            (4, "secret gout 4"),
            (5, "secret gout 5"),
            (6, "secret gout 6")
        ]
    );
    assert_eq!(clinic.spy.of(OperationKind::Batch).len(), 1);
    clinic.is_silent();

    let mut stale = clinic.patients.batch();
    stale.insert(&patient(7))?.replace(&versioned)?;
    let error = stale.submit().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.batch_index()),
        (ErrorKind::ConditionNotMet, Some(1))
    );
    Ok(())
}

#[tokio::test]
async fn bulk_and_writer_encrypt_their_rows() -> Result<()> {
    let clinic = Clinic::new().await;
    let report = clinic.patients.bulk().insert((0..250).map(patient)).await.unwrap();
    assert_eq!(report.applied(), 250);
    let report = clinic
        .patients
        .bulk()
        .insert_or_replace((0..50).map(patient))
        .await
        .unwrap();
    assert_eq!(report.applied(), 50);
    let patches = (0..10).map(|n| (("north", n), [Patient::DIAGNOSIS.set(format!("secret {n}"))]));
    let report = clinic.patients.bulk().patch(patches).await.unwrap();
    assert_eq!(report.applied(), 10);
    let mut writer = clinic.patients.writer();
    writer.send(TableOperation::insert(&patient(300))).await?;
    writer.close().await.unwrap().ensure_no_leftovers()?;
    let read = clinic.patients.query().all().await?;
    assert_eq!(read.len(), 251);
    assert_eq!((&*read[3].diagnosis, &read[250]), ("secret 3", &patient(300)));
    assert_eq!(clinic.keys.calls(), (1, 0));
    clinic.is_silent();
    Ok(())
}

#[tokio::test]
async fn grouped_writes_are_encrypted_before_they_join() -> Result<()> {
    let clinic = Clinic::new().await;
    let grouped = clinic.patients.grouped();
    let all: Vec<Patient> = (0..30).map(patient).collect();
    try_join_all(all.iter().map(|it| grouped.insert(it))).await?;
    assert_eq!(clinic.patients.query().all().await?, all);
    assert!(clinic.spy.of(OperationKind::Batch).len() < 30);
    assert_eq!(grouped.insert_returning(&patient(30)).await?.entity, patient(30));
    let echoed = grouped.execute(TableOperation::insert_returning(&patient(31))).await?;
    assert_eq!(echoed.entity::<Patient>()?, Some(patient(31)));
    clinic.is_silent();
    Ok(())
}

#[tokio::test]
async fn writes_over_queries_decrypt_and_encrypt() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..4).await;
    let patients = &clinic.patients;
    patients
        .update_where(patients.query(), |it: &mut Patient| it.diagnosis.push('!'))
        .await
        .unwrap()
        .ensure_no_leftovers()?;
    let findings = patients.query().project::<Findings>();
    patients
        .update_where(findings, |it: &mut Findings| it.diagnosis.push('?'))
        .await
        .unwrap()
        .ensure_no_leftovers()?;
    patients
        .patch_where(patients.query(), Patient::SCAN.set(vec![9]))
        .await
        .unwrap()
        .ensure_no_leftovers()?;
    let patched = Patient::WARD.eq("W3");
    let count = patients
        .patch_where(patched, [Patient::DIAGNOSIS.set("secret cured")])
        .atomic()
        .await?;
    assert_eq!(count, 1);
    let half = patients.query().partition("north").limit(2);
    let count = patients
        .update_where(half, |it: &mut Patient| it.diagnosis.push('+'))
        .atomic()
        .await?;
    assert_eq!(count, 2);
    let read = patients.query().all().await?;
    let diagnoses: Vec<_> = read.iter().map(|it| (&*it.diagnosis, it.scan.as_deref())).collect();
    let nine = Some(&[9][..]);
    assert_eq!(
        diagnoses,
        [
            ("secret gout 1!?+", nine),
            ("secret gout 2!?+", nine),
            ("secret cured", nine)
        ]
    );
    // A property cannot be removed by an update of some columns.
    let findings = patients.query().project::<Findings>();
    let report = patients
        .update_where(findings, |it: &mut Findings| it.scan = None)
        .await
        .unwrap();
    assert_eq!((report.applied(), report.rejected()), (0, 3));
    patients
        .update_where(patients.query(), |it: &mut Patient| it.scan = None)
        .await
        .unwrap()
        .ensure_no_leftovers()?;
    assert!(clinic.stored(1).await.get("Scan").is_none());
    clinic.is_silent();
    Ok(())
}

#[tokio::test]
async fn update_of_names_and_dynamic_rows_keeps_the_ciphertext() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..3).await;
    let rows = clinic.raw().typed::<DynamicEntity>();
    let named = rows.query().select_names(["diagnosis", "ward"]);
    let report = rows.update_where(named, |it: &mut DynamicEntity| {
        it.insert("ward", "W0");
    });
    assert_eq!(report.await.unwrap().applied(), 2);
    let mut row = clinic.stored(2).await;
    row.insert("ward", "W1");
    rows.replace(&row).await?;
    let read = clinic.patients.query().all().await?;
    assert_eq!(
        (&*read[0].diagnosis, read[0].ward.as_deref()),
        ("secret gout 1", Some("W0"))
    );
    assert_eq!(
        (&*read[1].diagnosis, read[1].ward.as_deref()),
        ("secret gout 2", Some("W1"))
    );
    Ok(())
}

/// The patient of a time before encryption.
#[derive(TableEntity)]
struct Plain {
    #[table(partition_key)]
    clinic: String,
    #[table(row_key)]
    number: u32,
    diagnosis: String,
}

/// Reads the row of that time.
#[derive(TableEntity, Debug, PartialEq)]
#[table(upgrade = "of_plain")]
struct Upgraded {
    #[table(partition_key)]
    clinic: String,
    #[table(row_key)]
    number: u32,
    #[table(encrypted)]
    diagnosis: String,
}

fn of_plain(row: &mut DynamicEntity) -> Result<Upgraded> {
    Ok(Upgraded {
        clinic: row.partition_key.clone(),
        number: row.row_key.parse().map_err(azure_table::Error::other)?,
        diagnosis: row.property("diagnosis")?,
    })
}

#[tokio::test]
async fn upgrade_encrypts_rows_in_the_clear_once() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..2).await;
    let plain = Plain {
        clinic: "north".into(),
        number: 2,
        diagnosis: "flu".into(),
    };
    clinic.raw().typed::<Plain>().insert(&plain).await?;
    let error = clinic.patients.query().all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(
        error
            .to_string()
            .contains("property `diagnosis`: the stored value is not encrypted"),
        "{error}"
    );
    let upgraded = clinic.patients.typed::<Upgraded>();
    assert_eq!(upgraded.get(("north", 2)).await?.unwrap().diagnosis, "flu");
    let report = upgraded.upgrade_where(upgraded.query()).await.unwrap();
    assert_eq!((report.applied(), report.unchanged()), (1, 1));
    is_ciphertext(&clinic.stored(2).await, "diagnosis", "2026-11");
    let report = upgraded.upgrade_where(upgraded.query()).await.unwrap();
    assert_eq!((report.applied(), report.unchanged()), (0, 2));
    let scan = clinic.patients.get(("north", 1)).await?.unwrap().scan;
    assert_eq!(
        scan,
        Some(SCAN.to_vec()),
        "a property that the struct does not know stays"
    );
    Ok(())
}
