//! A property that the program encrypts: a type that implements `Property` and `ReadProperty` with AES-256-GCM.
//!
//! Each value stores the id of its key, so keys rotate while the program runs: add a key, write all rows again, remove
//! the old key. The service sees the ciphertext and its length, so it cannot filter or sort by the text.
//!
//! A property type sees its value, but not the key of its row, so a value is not bound to its place. Anyone who can write
//! to the table can move a ciphertext to another row, and it decrypts there. If that matters, encrypt where the program
//! knows the row's key, with that key as associated data.
//!
//! It runs on an emulator inside of this process, or on the account of `AZURE_STORAGE_CONNECTION_STRING`.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{Aead, Generate, KeyInit, Nonce};
use azure_table::entity::{ReadProperty, WireValue};
use azure_table::{Column, DynamicEntity, Edm, EdmType, Property, TableClient, TableEntity};
use azure_table::{TableServiceClient, ValueError};
use azure_table_examples::{Done, connect, finish, on_own_tables};

/// The keys by their ids: the last one encrypts, and all of them decrypt. A `static`, because nothing is passed to a type.
static KEYS: Mutex<BTreeMap<u8, [u8; 32]>> = Mutex::new(BTreeMap::new());

fn keys() -> MutexGuard<'static, BTreeMap<u8, [u8; 32]>> {
    KEYS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A text that is stored encrypted: one byte for the key's id, 12 for the nonce, then the ciphertext with its tag of 16.
///
/// It has no `Debug`, and its errors do not quote the text.
struct Sealed(String);

impl Property for Sealed {
    type Compared = Self;
    const EDM_TYPE: EdmType = EdmType::Binary;
    // `ge` does not compile. `eq` finds no row, because each value has its own nonce.
    const SORTED: bool = false;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        let keys = keys();
        let (id, key) = keys.last_key_value().ok_or(ValueError::new("there is no key"))?;
        let nonce = Nonce::<Aes256Gcm>::generate();
        let ciphertext = Aes256Gcm::new(key.into()).encrypt(&nonce, self.0.as_bytes());
        let ciphertext = ciphertext.map_err(|_| ValueError::new("the text is too long"))?;
        Ok(Some(Edm::Binary([&[*id], &nonce[..], &ciphertext].concat().into())))
    }
}

impl ReadProperty for Sealed {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        let text = opened(&value.as_binary()?);
        let fault = || ValueError::new("it was changed, or is not encrypted with a known key");
        text.map(Self).ok_or_else(fault)
    }
}

fn opened(sealed: &[u8]) -> Option<String> {
    let (id, rest) = sealed.split_first()?;
    let (nonce, ciphertext) = rest.split_first_chunk::<12>()?;
    let cipher = Aes256Gcm::new(keys().get(id)?.into());
    String::from_utf8(cipher.decrypt(nonce.into(), ciphertext).ok()?).ok()
}

#[derive(TableEntity)]
struct Patient {
    #[table(partition_key)]
    clinic: String,
    #[table(row_key)]
    number: u32,
    diagnosis: Sealed,
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Done<()> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Done<()> {
    let patients = service.table::<Patient>("Patients")?;
    patients.create_table().await?;
    keys().insert(1, [1; 32]); // in a program: 32 random bytes from a secret store
    let patient = |number, diagnosis: &str| Patient {
        clinic: "north".into(),
        number,
        diagnosis: Sealed(diagnosis.into()),
    };
    patients.insert(&patient(1, "gout")).await?;
    patients.insert(&patient(2, "flu")).await?;
    let rows = service.dynamic_table("Patients")?;
    show("stored", &rows).await?;

    // A rotation. `upgrade_where` writes every row again, because each nonce gives a row another form.
    keys().insert(2, [2; 32]);
    patients.upgrade_where(patients.query()).await?.ensure_no_leftovers()?;
    keys().remove(&1);
    show("rotated", &rows).await?;

    // Without any key, someone with access to the table gives the second patient the diagnosis of the first.
    let first = rows.get(("north", "0000000001")).await?.ok_or("the row is gone")?;
    let moved = Column::<DynamicEntity, Vec<u8>>::property("diagnosis").set(first.property::<Vec<u8>>("diagnosis")?);
    rows.patch(("north", "0000000002"), moved).await?;
    show("moved", &rows).await
}

/// Prints the stored form of each row, and its text.
async fn show(step: &str, rows: &TableClient) -> Done<()> {
    for row in rows.query().partition("north").all().await? {
        let (sealed, it) = (row.property::<Vec<u8>>("diagnosis")?, row.to_entity::<Patient>()?);
        println!("{step:<10} row {}, key {}: {}", it.number, sealed[0], it.diagnosis.0);
    }
    Ok(())
}
