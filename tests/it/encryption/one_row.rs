//! Writes of one row.

use azure_table::operation::OperationKind;
use azure_table::{CallOptions, DynamicEntity, ErrorKind, Result, TableOperation};

use super::{Clinic, Patient, SCAN, is_ciphertext, patient};

#[tokio::test]
async fn each_write_of_an_entity_stores_ciphertext() -> Result<()> {
    let clinic = Clinic::new().await;
    let patients = &clinic.patients;
    patients.insert(&patient(1)).await?;
    assert_eq!(patients.insert_if_not_exists(&patient(1)).await?, None);
    for (n, diagnosis) in ["secret a", "secret b", "secret c", "secret d"].into_iter().enumerate() {
        let mut ada = patient(1);
        ada.diagnosis = diagnosis.into();
        match n {
            0 => patients.replace(&ada).await?,
            1 => patients.merge(&ada).await?,
            2 => patients.insert_or_replace(&ada).await?,
            _ => patients.insert_or_merge(&ada).await?,
        };
        let stored = clinic.stored(1).await;
        is_ciphertext(&stored, "diagnosis", "2026-11");
        is_ciphertext(&stored, "Scan", "2026-11");
        assert_eq!(stored.property::<String>("ward")?, "W1", "not marked, and in the clear");
        assert_eq!(patients.get(("north", 1)).await?, Some(ada));
    }
    let mut versioned = patients.get(("north", 1)).versioned().await?.unwrap();
    versioned.diagnosis = "secret e".into();
    patients.save(&mut versioned).await?;
    patients.modify(("north", 1), |it| it.diagnosis.push('!')).await?;
    patients.refresh(&mut versioned).await?;
    assert_eq!(versioned.diagnosis, "secret e!");
    let mut absent = patient(2);
    absent.scan = None;
    patients.insert(&absent).await?;
    assert!(clinic.stored(2).await.get("Scan").is_none());
    assert_eq!(patients.get(("north", 2)).await?, Some(absent));
    assert_eq!(clinic.keys.calls(), (1, 0), "one data key for all, and it is known");
    clinic.is_silent();
    Ok(())
}

#[tokio::test]
async fn echo_and_executed_operations_are_decrypted() -> Result<()> {
    let clinic = Clinic::new().await;
    let patients = &clinic.patients;
    assert_eq!(patients.insert_returning(&patient(1)).await?.entity, patient(1));
    let echoed = patients.execute(TableOperation::insert_returning(&patient(2))).await?;
    assert_eq!(echoed.entity::<Patient>()?, Some(patient(2)));
    let read = patients.execute(TableOperation::get::<Patient>(("north", 2))).await?;
    assert_eq!(read.entity::<Patient>()?, Some(patient(2)));
    let error = clinic
        .raw()
        .execute(TableOperation::get::<Patient>(("north", 2)))
        .await?;
    let error = error.entity::<Patient>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("`encryption`"), "{error}");
    let got = patients.get(("north", 2)).with(&CallOptions::new().via_batch()).await?;
    assert_eq!(got, Some(patient(2)));
    let mut late = patient(3);
    late.ward = None;
    patients.insert(&late).with(&CallOptions::new().via_batch()).await?;
    assert_eq!(patients.get(("north", 3)).await?, Some(late));
    clinic.is_silent();
    Ok(())
}

#[tokio::test]
async fn patch_encrypts_its_columns_alone() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..2).await;
    let before = clinic.stored(1).await;
    let set = [Patient::DIAGNOSIS.set("secret cure"), Patient::WARD.set("W9")];
    assert_eq!(format!("{:?}", set[0]), "Assignment(diagnosis = <encrypted>)");
    clinic.patients.patch(("north", 1), set).await?;
    let after = clinic.stored(1).await;
    assert_eq!(after.get("Scan"), before.get("Scan"), "not written");
    assert_ne!(after.get("diagnosis"), before.get("diagnosis"));
    let read = clinic.patients.get(("north", 1)).await?.unwrap();
    assert_eq!(
        (&*read.diagnosis, read.ward.as_deref(), read.scan),
        ("secret cure", Some("W9"), Some(SCAN.to_vec()))
    );
    let operation = TableOperation::patch::<Patient>(("north", 1), [Patient::SCAN.set(vec![1, 2])]);
    clinic.patients.execute(operation).await?;
    assert_eq!(clinic.patients.get(("north", 1)).await?.unwrap().scan, Some(vec![1, 2]));
    clinic.is_silent();
    Ok(())
}

#[tokio::test]
async fn equal_values_have_different_ciphertexts() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..2).await;
    let first = clinic.stored(1).await;
    clinic.patients.replace(&patient(1)).await?;
    assert_ne!(clinic.stored(1).await.get("diagnosis"), first.get("diagnosis"));
    Ok(())
}

#[tokio::test]
async fn operation_has_no_plaintext_before_it_is_sent() -> Result<()> {
    let clinic = Clinic::new().await;
    let operation = TableOperation::insert(&patient(1));
    let entity = operation.entity().unwrap();
    assert_eq!(entity.properties.keys().collect::<Vec<_>>(), ["ward"]);
    assert!(!format!("{operation:?} {operation}").contains("secret"));
    let error = clinic.patients.insert(&patient(1)).request_text().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("property `diagnosis`"), "{error}");
    let error = DynamicEntity::from_entity(&patient(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("property `diagnosis`"), "{error}");
    Ok(())
}

#[tokio::test]
async fn lost_response_is_reconciled_by_the_ciphertext() -> Result<()> {
    use azure_table::testing::{Fault, FaultRule};
    let clinic = Clinic::new().await;
    for kind in [OperationKind::Insert, OperationKind::Replace, OperationKind::Merge] {
        clinic.faults.add(FaultRule::new(Fault::LoseResponse).on(kind).first(1));
    }
    clinic.patients.insert(&patient(1)).await?;
    clinic.patients.replace(&patient(1)).await?;
    clinic.patients.merge(&patient(1)).await?;
    clinic
        .faults
        .add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Insert).first(1));
    let echoed = clinic.patients.insert_returning(&patient(2)).await?;
    assert_eq!(echoed.entity, patient(2));
    assert_eq!(
        clinic.spy.of(OperationKind::Insert).len(),
        2,
        "read back, and not repeated"
    );
    clinic.is_silent();
    Ok(())
}

#[tokio::test]
async fn combined_operations_keep_what_is_encrypted() -> Result<()> {
    let clinic = Clinic::new().await;
    let mut later = patient(1);
    later.diagnosis = "secret later".into();
    let insert = TableOperation::insert(&patient(1));
    let both = insert.then(TableOperation::replace(&later).unconditionally())?.unwrap();
    clinic.patients.execute(both).await?;
    is_ciphertext(&clinic.stored(1).await, "diagnosis", "2026-11");
    assert_eq!(clinic.patients.get(("north", 1)).await?, Some(later));
    let merges = [patient(1), patient(1)].map(|patient| TableOperation::insert_or_merge(&patient));
    let [first, next] = merges;
    let error = first.then(next).unwrap_err();
    assert!(error.to_string().contains("they have encrypted properties"), "{error}");
    clinic.is_silent();
    Ok(())
}
