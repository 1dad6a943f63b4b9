//! Key providers that fail or do not respond, and clients without one.

use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::operation::OperationKind;
use azure_table::{Emulator, ErrorKind, Result, TableServiceClient};

use super::{Clinic, Keys, Patient, patient};

#[tokio::test]
async fn failed_provider_sends_no_write() -> Result<()> {
    let clinic = Clinic::new().await;
    let patients = &clinic.patients;
    clinic.keys.fail(Some("the vault is closed"));
    let mut batch = patients.batch();
    batch.insert(&patient(1))?.insert(&patient(2))?;
    let grouped = patients.grouped();
    let errors = [
        patients.insert(&patient(1)).await.unwrap_err(),
        patients.insert_returning(&patient(1)).await.unwrap_err(),
        patients.insert_or_replace(&patient(1)).await.unwrap_err(),
        patients
            .patch(("north", 1), Patient::DIAGNOSIS.set("secret"))
            .await
            .unwrap_err(),
        batch.submit().await.unwrap_err(),
        grouped.insert(&patient(1)).await.unwrap_err(),
        patients
            .modify(("north", 1), |_| ())
            .or_insert(|| patient(1))
            .await
            .unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Other, "{error}");
        let why = "the key provider did not wrap a data key: the vault is closed";
        assert!(error.to_string().contains(why), "{error}");
        assert!(error.get_ref().is_some_and(|inner| inner.is::<azure_table::Error>()));
    }
    let interrupted = patients.bulk().insert([patient(1), patient(2)]).await.unwrap_err();
    assert_eq!(
        (interrupted.report().applied(), interrupted.report().leftovers().len()),
        (0, 2)
    );
    assert_eq!(
        clinic.spy.requests(),
        clinic.spy.of(OperationKind::Get).len() as u64,
        "only the read of modify"
    );
    clinic.keys.fail(None);
    for leftover in interrupted.into_parts().1.into_leftovers() {
        patients.execute(leftover.into_operation().unwrap()).await?;
    }
    assert_eq!(patients.query().all().await?, [patient(1), patient(2)]);
    // Rows in the clear need no key.
    clinic.keys.fail(Some("the vault is closed"));
    patients.delete(("north", 1)).await?;
    patients.patch(("north", 2), Patient::WARD.set("W9")).await?;
    Ok(())
}

#[tokio::test]
async fn failed_provider_fails_the_rows_that_need_it() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..3).await;
    let keys = Keys::new("2026-11", 7);
    let patients = clinic.with(keys.clone());
    keys.fail(Some("the vault is closed"));
    let error = patients.get(("north", 1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
    assert_eq!(error.entity(), Some(("north", "0000000001")));
    assert!(error.to_string().contains("property `diagnosis`"), "{error}");
    assert!(error.to_string().contains("wrapped by the key \"2026-11\""), "{error}");
    let error = patients.query().all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
    let error = patients
        .update_where(patients.query(), |_: &mut Patient| ())
        .atomic()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
    // Columns in the clear need no key.
    assert_eq!(patients.query().select((Patient::WARD,)).all().await?.len(), 2);
    assert_eq!(keys.calls(), (0, 3), "asked once for each response");
    keys.fail(None);
    assert_eq!(patients.query().all().await?.len(), 2, "a failure is not kept");
    let wrong = clinic.with(Keys::new("2026-11", 8));
    let error = wrong.get(("north", 1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other, "another key of this id");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn timeouts_cover_the_provider() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..2).await;
    let keys = Keys::new("2026-11", 7);
    let patients = clinic.with(keys.clone());
    keys.delay(Duration::from_secs(600));
    let two = Duration::from_secs(2);
    let started = tokio::time::Instant::now();
    let error = patients.insert(&patient(2)).timeout(two).await.unwrap_err();
    assert_eq!((error.kind(), started.elapsed()), (ErrorKind::Timeout, two));
    assert!(
        error.to_string().contains("the key provider did not respond"),
        "{error}"
    );
    let error = patients.get(("north", 1)).timeout(two).await.unwrap_err();
    assert_eq!((error.kind(), started.elapsed()), (ErrorKind::Timeout, 2 * two));
    let error = patients.query().total_timeout(two).all().await.unwrap_err();
    assert_eq!((error.kind(), started.elapsed()), (ErrorKind::Timeout, 3 * two));
    let interrupted = patients
        .bulk()
        .total_timeout(two)
        .insert([patient(3)])
        .await
        .unwrap_err();
    assert_eq!((interrupted.report().applied(), started.elapsed()), (0, 4 * two));
    let error = patients.insert(&patient(2)).await.unwrap_err();
    assert_eq!(
        (error.kind(), started.elapsed()),
        (ErrorKind::Timeout, 4 * two + Duration::from_secs(60))
    );
    // Waiting for the provider is a part of the timeout.
    keys.delay(Duration::from_secs(1));
    patients.insert(&patient(2)).timeout(two).await?;
    assert_eq!(clinic.spy.of(OperationKind::Insert).len(), 2);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn write_that_is_not_polled_blocks_no_other() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.keys.delay(Duration::from_millis(50));
    let (one, two) = (patient(1), patient(2));
    let mut unpolled = clinic.patients.insert(&one).into_future();
    assert!(futures::poll!(&mut unpolled).is_pending());
    clinic.patients.insert(&two).timeout(Duration::from_secs(1)).await?;
    unpolled.await?;
    assert_eq!(clinic.keys.calls().0, 1, "both waited for the same data key");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn waiting_writes_share_the_error_of_the_provider() {
    let clinic = Clinic::new().await;
    clinic.keys.delay(Duration::from_millis(50));
    clinic.keys.fail(Some("the vault is closed"));
    let rows: Vec<Patient> = (0..10).map(patient).collect();
    let inserts = rows.iter().map(|row| clinic.patients.insert(row).into_future());
    for outcome in futures::future::join_all(inserts).await {
        let error = outcome.unwrap_err();
        assert!(error.to_string().contains("the vault is closed"), "{error}");
    }
    assert_eq!(clinic.keys.calls().0, 1);
}

#[tokio::test]
async fn page_with_too_many_data_keys_names_the_limit() -> Result<()> {
    let clinic = Clinic::new().await;
    for number in 0..501 {
        let keys = || clinic.with(Keys::new("2026-11", 7));
        keys().insert(&patient(number)).await?;
        keys().patch(("north", number), Patient::SCAN.set(vec![1])).await?;
    }
    let keys = Keys::new("2026-11", 7);
    let patients = clinic.with(keys.clone());
    let error = patients.query().all().await.unwrap_err();
    assert_eq!(keys.calls().1, 1_000);
    let text = error.to_string();
    assert!(
        text.contains("1002 new data keys, more than the limit of 1000"),
        "{text}"
    );
    assert!(text.contains("`page_size`"), "{text}");
    let patients = clinic.with(keys);
    assert_eq!(patients.query().page_size(500).all().await?.len(), 501);
    Ok(())
}

#[tokio::test]
async fn client_without_provider_rejects_the_write_and_the_row() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..2).await;
    let plain = TableServiceClient::from_transport(clinic.spy.clone()).table::<Patient>("Patients")?;
    clinic.spy.clear();
    let mut errors = vec![
        plain.insert(&patient(2)).await.unwrap_err(),
        plain
            .patch(("north", 1), Patient::DIAGNOSIS.set("secret"))
            .await
            .unwrap_err(),
        plain.grouped().replace(&patient(1)).await.unwrap_err(),
        plain.batch().insert(&patient(2)).map(drop).unwrap_err().into(),
    ];
    let patch = plain
        .patch_where(plain.query(), Patient::DIAGNOSIS.set("secret"))
        .atomic();
    errors.push(patch.await.unwrap_err());
    assert_eq!(clinic.spy.requests(), 1, "the read of patch_where");
    errors.push(plain.get(("north", 1)).await.unwrap_err());
    errors.push(plain.query().select((Patient::DIAGNOSIS,)).all().await.unwrap_err());
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(
            error.to_string().contains("set one with `encryption` on the client"),
            "{error}"
        );
    }
    let report = plain.bulk().insert((2..30).map(patient)).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (0, 28));
    assert!(plain.query().select((Patient::WARD,)).all().await.is_ok());
    Ok(())
}

#[tokio::test]
async fn seeded_rows_have_no_encrypted_property() {
    let error = Emulator::new().seed("Patients", [patient(1)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("property `diagnosis`"), "{error}");
}

#[tokio::test]
async fn nothing_shows_a_key_or_a_plaintext() -> Result<()> {
    let clinic = Clinic::new().await;
    let mut batch = clinic.patients.batch();
    batch.insert(&patient(1))?;
    let shown = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        clinic.service,
        clinic.patients,
        clinic.patients.insert(&patient(1)),
        batch,
        clinic.keys
    );
    let shown = format!("{shown} {:?}", batch.submit());
    assert!(!shown.contains("secret") && !shown.contains("7, 7, 7"), "{shown}");
    assert!(shown.contains("2026-11"));
    Ok(())
}
