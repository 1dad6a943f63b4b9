//! Encrypted properties: each row of the table "Operations" in the guide `encryption`, and failures of providers.
//!
//! Every test runs below a spy. `Clinic::is_silent` checks that no request contained a plaintext.

mod failures;
mod limits;
mod many_rows;
mod one_row;
mod places;
mod reads;
mod repeats;
mod rotation;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::encryption::{DataKey, KeyProvider, LocalKeys, WrappedKey};
use azure_table::testing::{Faults, Spy};
use azure_table::transport::BoxFuture;
use azure_table::{DynamicEntity, Emulator, Error, Projection, Result, TableClient, TableEntity, TableServiceClient};

#[derive(TableEntity, Debug, Clone, PartialEq)]
pub(crate) struct Patient {
    #[table(partition_key)]
    pub(crate) clinic: String,
    #[table(row_key)]
    pub(crate) number: u32,
    pub(crate) ward: Option<String>,
    #[table(encrypted)]
    pub(crate) diagnosis: String,
    #[table(encrypted, rename = "Scan")]
    pub(crate) scan: Option<Vec<u8>>,
}

#[derive(Projection, Debug, Clone, PartialEq)]
#[table(of = Patient)]
pub(crate) struct Findings {
    pub(crate) number: u32,
    pub(crate) diagnosis: String,
    pub(crate) scan: Option<Vec<u8>>,
}

/// Every plaintext begins with this word.
const SECRET: &str = "secret";
const SCAN: [u8; 6] = *b"secret";

pub(crate) fn patient(number: u32) -> Patient {
    Patient {
        clinic: "north".into(),
        number,
        ward: Some(format!("W{number}")),
        diagnosis: format!("{SECRET} gout {number}"),
        scan: Some(SCAN.to_vec()),
    }
}

/// Wraps as `LocalKeys` do, counts its calls, and fails or waits on request.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    local: LocalKeys,
    pub(crate) state: Arc<KeysState>,
}

#[derive(Debug, Default)]
pub(crate) struct KeysState {
    pub(crate) wraps: AtomicU64,
    pub(crate) unwraps: AtomicU64,
    /// The message of each further call's error.
    pub(crate) fault: Mutex<Option<&'static str>>,
    pub(crate) delay: Mutex<Duration>,
}

impl Keys {
    pub(crate) fn new(key_id: &str, byte: u8) -> Self {
        Self::of(LocalKeys::new(key_id, DataKey::from_bytes([byte; 32])))
    }

    pub(crate) fn of(local: LocalKeys) -> Self {
        let state = Arc::default();
        Self { local, state }
    }

    /// The number of keys wrapped and unwrapped.
    pub(crate) fn calls(&self) -> (u64, u64) {
        (self.state.wraps.load(Relaxed), self.state.unwraps.load(Relaxed))
    }

    pub(crate) fn fail(&self, fault: Option<&'static str>) {
        *self.state.fault.lock().unwrap() = fault;
    }

    pub(crate) fn delay(&self, delay: Duration) {
        *self.state.delay.lock().unwrap() = delay;
    }

    async fn respond(&self, count: &AtomicU64) -> Result<()> {
        count.fetch_add(1, Relaxed);
        let delay = *self.state.delay.lock().unwrap();
        tokio::time::sleep(delay).await;
        let fault = *self.state.fault.lock().unwrap();
        fault.map_or(Ok(()), |why| Err(Error::other(why)))
    }
}

impl KeyProvider for Keys {
    fn wrap<'a>(&'a self, data_key: &'a DataKey) -> BoxFuture<'a, Result<WrappedKey>> {
        Box::pin(async move {
            self.respond(&self.state.wraps).await?;
            self.local.wrap(data_key).await
        })
    }

    fn unwrap<'a>(&'a self, wrapped: &'a WrappedKey) -> BoxFuture<'a, Result<DataKey>> {
        Box::pin(async move {
            self.respond(&self.state.unwraps).await?;
            self.local.unwrap(wrapped).await
        })
    }
}

/// A service with the table `Patients`.
pub(crate) struct Clinic {
    pub(crate) emulator: Emulator,
    pub(crate) faults: Faults,
    pub(crate) spy: Spy,
    pub(crate) keys: Keys,
    pub(crate) service: TableServiceClient,
    pub(crate) patients: TableClient<Patient>,
}

impl Clinic {
    pub(crate) async fn new() -> Self {
        Self::of(Emulator::new()).await
    }

    pub(crate) async fn of(emulator: Emulator) -> Self {
        let faults = Faults::new(emulator.clone());
        let spy = Spy::new(faults.clone());
        let keys = Keys::new("2026-11", 7);
        let service = TableServiceClient::from_transport(spy.clone()).encryption(keys.clone());
        let patients = service.table::<Patient>("Patients").unwrap();
        patients.create_table().await.unwrap();
        spy.clear();
        Self {
            emulator,
            faults,
            spy,
            keys,
            service,
            patients,
        }
    }

    /// A client of the same service with other keys.
    pub(crate) fn with(&self, keys: Keys) -> TableClient<Patient> {
        let service = TableServiceClient::from_transport(self.spy.clone()).encryption(keys);
        service.table::<Patient>("Patients").unwrap()
    }

    /// The table without keys and types.
    pub(crate) fn raw(&self) -> TableClient {
        TableServiceClient::from_transport(self.emulator.clone())
            .dynamic_table("Patients")
            .unwrap()
    }

    /// The row as the service stores it.
    pub(crate) async fn stored(&self, number: u32) -> DynamicEntity {
        let row_key = format!("{number:010}");
        self.raw().get(("north", row_key.as_str())).await.unwrap().unwrap()
    }

    pub(crate) async fn insert(&self, numbers: std::ops::Range<u32>) {
        for number in numbers {
            self.patients.insert(&patient(number)).await.unwrap();
        }
    }

    /// Asserts that no request had a plaintext, and that some had ciphertext.
    #[track_caller]
    pub(crate) fn is_silent(&self) {
        let bodies: Vec<Vec<u8>> = self
            .spy
            .exchanges()
            .iter()
            .map(|it| it.body().into_owned().into_bytes())
            .collect();
        let contains = |text: &[u8]| {
            bodies
                .iter()
                .any(|body| body.windows(text.len()).any(|part| part == text))
        };
        assert!(!contains(SECRET.as_bytes()), "a plaintext was sent");
        // The base64 of the same word.
        assert!(!contains(b"c2VjcmV0"), "bytes were sent in the clear");
        assert!(contains(b"YXp0ZW5j"), "no ciphertext was sent");
    }
}

/// Asserts that the property of a stored row is ciphertext under this key.
#[track_caller]
pub(crate) fn is_ciphertext(row: &DynamicEntity, name: &str, key_id: &str) {
    let bytes: Vec<u8> = row.property(name).unwrap();
    assert_eq!(azure_table::encryption::key_id(&bytes), Some(key_id));
    assert!(!bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()));
}
