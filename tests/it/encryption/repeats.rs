//! Encrypted writes that are sent again, in doubt, or cancelled, and rows with absent values.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use azure_table::encryption::{DataKey, KeyProvider, WrappedKey};
use azure_table::operation::{Doubt, OperationKind, Resolution};
use azure_table::testing::{Fault, FaultRule, ResponseTemplate};
use azure_table::transport::BoxFuture;
use azure_table::{CallOptions, NoRetry, Result, TableEntity, TableServiceClient};
use futures::future::try_join_all;
use futures::{FutureExt, TryStreamExt};

use super::{Clinic, Keys, Patient, is_ciphertext, patient};

/// Returns the base64 of the encrypted values in each request of this kind.
fn ciphertexts(clinic: &Clinic, kind: OperationKind) -> Vec<Vec<String>> {
    let values = |body: &str| -> Vec<String> {
        let found = body.match_indices("YXp0ZW5j");
        found
            .map(|(at, _)| body[at..].split('"').next().unwrap().to_owned())
            .collect()
    };
    clinic.spy.of(kind).iter().map(|it| values(&it.body())).collect()
}

#[tokio::test(start_paused = true)]
async fn repeated_rows_of_a_bulk_have_the_same_ciphertext() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(5..6).await;
    clinic.spy.clear();
    // The stored row makes its batch fail, and the others are sent again.
    let report = clinic.patients.bulk().insert((0..20).map(patient)).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (19, 1));
    let sent = ciphertexts(&clinic, OperationKind::Batch);
    assert!(sent.len() > 1, "{}", sent.len());
    for repeated in sent.concat() {
        assert!(sent[0].contains(&repeated), "encrypted anew");
    }
    assert_eq!(
        clinic.patients.query().all().await?,
        (0..20).map(patient).collect::<Vec<_>>()
    );
    clinic.is_silent();
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn lost_and_throttled_batches_are_reconciled_by_the_ciphertext() -> Result<()> {
    let clinic = Clinic::new().await;
    for fault in [Fault::LoseResponse, Fault::Respond(ResponseTemplate::new(503))] {
        let rule = || FaultRule::new(fault.clone()).on(OperationKind::Batch).first(1);
        clinic.spy.clear();
        clinic.faults.add(rule());
        let report = clinic
            .patients
            .bulk()
            .insert_or_replace((0..50).map(patient))
            .await
            .unwrap();
        assert_eq!(report.applied(), 50, "{fault:?}");
        let sent = ciphertexts(&clinic, OperationKind::Batch);
        assert!(sent.iter().all(|batch| *batch == sent[0]), "{fault:?}");

        clinic.faults.add(rule());
        let grouped = clinic.patients.grouped();
        let all: Vec<_> = (60..80).map(patient).collect();
        try_join_all(all.iter().map(|it| grouped.insert_or_replace(it))).await?;

        clinic.faults.add(rule());
        let mut batch = clinic.patients.batch();
        batch.insert_or_replace(&patient(90))?.insert_or_replace(&patient(91))?;
        batch.submit().await?;
        assert_eq!(clinic.patients.query().all().await?.len(), 72);
    }
    clinic.is_silent();
    Ok(())
}

/// Equal plaintexts have different hashes in their doubts, so that a reader cannot test a guess.
#[tokio::test]
async fn doubt_depends_on_the_ciphertext_alone() -> Result<()> {
    let clinic = Clinic::new().await;
    let patients = &clinic.patients;
    let lose = || {
        let rule = FaultRule::new(Fault::LoseResponse).on_writes().first(1);
        clinic.faults.add(rule);
    };
    let hash_of = |doubt: &Doubt| {
        use base64::Engine as _;
        let json = base64::engine::general_purpose::URL_SAFE_NO_PAD
            .decode(doubt.to_string())
            .unwrap();
        let json = String::from_utf8(json).unwrap();
        assert!(!json.contains("secret") && !json.contains("c2VjcmV0"), "{json}");
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        value["rows"][0]["hash"].as_str().unwrap().to_owned()
    };
    let mut hashes = Vec::new();
    for _ in 0..2 {
        lose();
        let write = patients
            .insert_or_replace(&patient(1))
            .with(&CallOptions::new().retry(NoRetry));
        let doubt = write.await.unwrap_err().doubt().unwrap();
        assert_eq!(clinic.service.resolve_doubt(&doubt).await?, Resolution::Applied);
        hashes.push(hash_of(&doubt));
        lose();
        let patch = patients
            .patch(("north", 1), Patient::DIAGNOSIS.set("secret"))
            .with(&CallOptions::new().retry(NoRetry));
        let doubt = patch.await.unwrap_err().doubt().unwrap();
        assert_eq!(clinic.service.resolve_doubt(&doubt).await?, Resolution::Applied);
        hashes.push(hash_of(&doubt));
        lose();
        let mut batch = patients.batch();
        batch.insert_or_replace(&patient(2))?.insert_or_replace(&patient(3))?;
        let doubt = batch
            .submit()
            .with(&CallOptions::new().retry(NoRetry))
            .await
            .unwrap_err()
            .doubt()
            .unwrap();
        assert_eq!(clinic.service.resolve_doubt(&doubt).await?, Resolution::Applied);
        hashes.push(hash_of(&doubt));
    }
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 6);
    Ok(())
}

#[derive(TableEntity, Debug, Clone, PartialEq)]
struct Remark {
    #[table(partition_key)]
    clinic: String,
    #[table(row_key)]
    number: u32,
    #[table(encrypted)]
    text: Option<String>,
}

/// Rows without the property are written into the body of a batch at once, and the others when it is composed.
#[tokio::test]
async fn bulk_takes_rows_with_and_without_the_property() -> Result<()> {
    let clinic = Clinic::new().await;
    let remarks = clinic.service.table::<Remark>("Remarks")?;
    remarks.create_table().await?;
    for step in [2, 3, 7, 99] {
        let all: Vec<_> = (0..250)
            .map(|number| Remark {
                clinic: format!("c{step:02}"),
                number,
                text: (number % step == step - 1).then(|| format!("secret {number}")),
            })
            .collect();
        let report = remarks.bulk().insert(all.clone()).await.unwrap();
        assert_eq!((report.applied(), report.rejected()), (250, 0));
        assert_eq!(remarks.query().partition(format!("c{step:02}")).all().await?, all);
        let mut batch = remarks.batch();
        for remark in &all[..100] {
            batch.insert_or_replace(remark)?;
        }
        batch.submit().await?;
        let mut batch = remarks.batch();
        for remark in &all[..100] {
            batch.delete((&*remark.clinic, remark.number))?;
        }
        batch.submit().await?;
        let mut batch = remarks.batch();
        for remark in &all[..100] {
            batch.insert(remark)?;
        }
        batch.submit().await?;
        assert_eq!(remarks.query().partition(format!("c{step:02}")).all().await?, all);
    }
    clinic.is_silent();
    Ok(())
}

#[tokio::test]
async fn absent_value_stays_absent_and_removed_one_goes() -> Result<()> {
    let clinic = Clinic::new().await;
    let patients = &clinic.patients;
    clinic.insert(1..4).await;
    patients.modify(("north", 1), |it: &mut Patient| it.scan = None).await?;
    patients
        .update_where(patients.query(), |it: &mut Patient| {
            if it.number == 2 {
                it.scan = None;
            }
            it.ward = None;
        })
        .await
        .unwrap()
        .ensure_no_leftovers()?;
    let scans: Vec<_> = patients
        .query()
        .all()
        .await?
        .into_iter()
        .map(|it| (it.ward, it.scan.is_some()))
        .collect();
    assert_eq!(scans, [(None, false), (None, false), (None, true)]);
    assert!(clinic.stored(1).await.get("Scan").is_none() && clinic.stored(2).await.get("Scan").is_none());
    clinic.is_silent();
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn cancelled_wrap_stops_no_other_call() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.keys.delay(Duration::from_secs(5));
    let mut cancelled = Box::pin(clinic.patients.insert(&patient(1)));
    let mut waiting = Box::pin(clinic.patients.insert(&patient(2)));
    assert!(
        tokio::time::timeout(Duration::from_secs(1), &mut cancelled)
            .await
            .is_err()
    );
    assert!(
        tokio::time::timeout(Duration::from_secs(1), &mut waiting)
            .await
            .is_err()
    );
    drop(cancelled);
    waiting.await?;
    assert_eq!(clinic.keys.calls(), (1, 0), "the other call still waits for it");
    assert_eq!(clinic.spy.of(OperationKind::Insert).len(), 1);
    is_ciphertext(&clinic.stored(2).await, "diagnosis", "2026-11");
    Ok(())
}

/// A provider that panics, until it does not.
#[derive(Clone, Debug)]
struct Panicking(Keys, Arc<AtomicBool>);

impl Panicking {
    fn check(&self) {
        assert!(!self.1.load(Ordering::Relaxed), "the provider panics");
    }
}

impl KeyProvider for Panicking {
    fn wrap<'a>(&'a self, data_key: &'a DataKey) -> BoxFuture<'a, Result<WrappedKey>> {
        Box::pin(async move {
            self.check();
            self.0.wrap(data_key).await
        })
    }

    fn unwrap<'a>(&'a self, wrapped: &'a WrappedKey) -> BoxFuture<'a, Result<DataKey>> {
        Box::pin(async move {
            self.check();
            self.0.unwrap(wrapped).await
        })
    }
}

#[tokio::test]
async fn panic_of_the_provider_reaches_the_caller_and_stops_no_later_call() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..30).await;
    let panics = Arc::new(AtomicBool::new(true));
    let keys = Panicking(Keys::new("2026-11", 7), Arc::clone(&panics));
    let service = TableServiceClient::from_transport(clinic.spy.clone())
        .shared_reads(true)
        .encryption(keys);
    let patients = service.table::<Patient>("Patients")?;
    let limit = Duration::from_secs(5);
    macro_rules! panics {
        ($call:expr) => {{
            let call = AssertUnwindSafe(async { drop($call.await) });
            let ended = tokio::time::timeout(limit, call.catch_unwind()).await;
            assert!(ended.expect("it hangs").is_err(), stringify!($call));
        }};
    }
    panics!(patients.insert(&patient(40)));
    panics!(patients.bulk().insert([patient(41), patient(42)]));
    panics!(patients.grouped().insert(&patient(43)));
    panics!(patients.get(("north", 1)));
    panics!(patients.query().all());
    panics!(patients.query().page_size(5).scan().stream().try_collect::<Vec<_>>());
    panics!(patients.get_many([("north", 1), ("north", 2)]).all());
    panics.store(false, Ordering::Relaxed);
    patients.insert(&patient(40)).await?;
    patients.grouped().insert(&patient(43)).await?;
    assert_eq!(patients.get(("north", 1)).await?, Some(patient(1)));
    assert_eq!(patients.query().all().await?.len(), 31);
    Ok(())
}
