//! Reads: whole rows, some columns, other shapes, and other types.

use azure_table::entity::SerdeEntity;
use azure_table::operation::OperationKind;
use azure_table::query::Cursor;
use azure_table::testing::{Fault, FaultRule};
use azure_table::{DynamicEntity, Emulator, ErrorKind, PropertyGroup, Result, TableEntity};
use serde::{Deserialize, Serialize};

use super::{Clinic, Findings, Patient, SCAN, is_ciphertext, patient};

#[tokio::test]
async fn rows_are_decrypted_in_every_read() -> Result<()> {
    let clinic = Clinic::of(Emulator::new().page_size(3)).await;
    clinic.insert(0..10).await;
    let all: Vec<Patient> = (0..10).map(patient).collect();
    let patients = clinic.with(super::Keys::new("2026-11", 7));
    assert_eq!(patients.query().all().await?, all);
    let mut stream = patients.query().prefetch(1).stream();
    let mut seen = Vec::new();
    while let Some(next) = stream.try_next().await? {
        seen.push(next);
    }
    assert_eq!(seen, all);
    assert_eq!(
        patients.query().filter(Patient::WARD.eq("W4")).first().await?,
        Some(patient(4))
    );
    let found = patients.get_many((0..3).map(|n| ("north", n))).all().await?;
    assert_eq!(found.len(), 3);
    let page = patients.query().limit(2).versioned().all().await?;
    assert_eq!(page[1].entity, patient(1));
    assert!(page[1].timestamp.to_string().starts_with("20"));
    assert!(patients.exists(("north", 1)).await?);
    assert_eq!(patients.query().count().await?, 10);
    assert_eq!(patients.query().keys().all().await?.len(), 10);
    let cursor = Cursor::of(&patient(4))?;
    let after = patients.query().partition("north").after(cursor).limit(2).all().await?;
    assert_eq!(after, all[5..7]);
    Ok(())
}

#[tokio::test]
async fn columns_are_decrypted_alone() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..3).await;
    let patients = &clinic.patients;
    let findings = Findings {
        number: 1,
        diagnosis: "secret gout 1".into(),
        scan: Some(SCAN.to_vec()),
    };
    assert_eq!(patients.query().project::<Findings>().all().await?[0], findings);
    assert_eq!(patients.get(("north", 1)).project::<Findings>().await?, Some(findings));
    let columns = (Patient::NUMBER, Patient::SCAN, Patient::DIAGNOSIS);
    let (number, scan, diagnosis) = patients.get(("north", 2)).select(columns).await?.unwrap();
    assert_eq!((number, scan, &*diagnosis), (2, Some(SCAN.to_vec()), "secret gout 2"));
    let some = patients.query().select((Patient::DIAGNOSIS,)).all().await?;
    assert_eq!(some[0].0, "secret gout 1");
    let request = clinic.spy.of(OperationKind::Query).pop().unwrap();
    assert!(
        request.query().contains("diagnosis") && !request.query().contains("Scan"),
        "{}",
        request.query()
    );
    Ok(())
}

#[tokio::test]
async fn rows_without_a_struct_stay_ciphertext() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..2).await;
    let dynamic = clinic.patients.typed::<DynamicEntity>();
    let row = dynamic.get(("north", "0000000001")).await?.unwrap();
    is_ciphertext(&row, "diagnosis", "2026-11");
    let named = dynamic.query().select_names(["Scan"]).all().await?;
    is_ciphertext(&named[0], "Scan", "2026-11");
    let error = row.to_entity::<Patient>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);

    let texts = clinic.patients.query().resolve(|row| {
        let scan: Option<Vec<u8>> = row.decrypted("Scan")?;
        assert_eq!(row.decrypted::<Option<String>>("Absent")?, None);
        assert!(
            row.decrypted::<String>("ward")
                .unwrap_err()
                .to_string()
                .contains("not encrypted")
        );
        let error = row.decrypted::<String>("Scan").unwrap_err().to_string();
        assert!(error.contains("expected Edm.String, found Edm.Binary"), "{error}");
        Ok((row.decrypted::<String>("diagnosis")?, scan))
    });
    assert_eq!(texts.all().await?, [("secret gout 1".to_owned(), Some(SCAN.to_vec()))]);
    Ok(())
}

#[derive(Debug, Serialize, Deserialize)]
struct SerdePatient {
    #[serde(rename = "PartitionKey")]
    clinic: String,
    #[serde(rename = "RowKey")]
    number: String,
    ward: String,
    diagnosis: String,
}

#[tokio::test]
async fn serde_structs_see_the_base64_of_the_ciphertext() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..2).await;
    let serde = clinic.patients.typed::<SerdeEntity<SerdePatient>>();
    let read = serde.get(("north", "0000000001")).await?.unwrap();
    assert_eq!(read.0.ward, "W1");
    assert!(read.0.diagnosis.starts_with("YXp0ZW5j"), "{read:?}");
    Ok(())
}

#[derive(PropertyGroup, Debug, Clone, PartialEq)]
struct Contact {
    #[table(encrypted)]
    phone: String,
    city: String,
}

#[derive(TableEntity, Debug, Clone, PartialEq)]
struct Person {
    #[table(partition_key)]
    clinic: String,
    #[table(row_key)]
    number: u32,
    #[table(flatten, prefix = "Home_")]
    home: Contact,
    #[table(flatten, prefix = "Work_")]
    work: Option<Contact>,
    #[table(encrypted, alias = "remark")]
    note: Option<String>,
}

#[derive(TableEntity, Debug, Clone, PartialEq)]
#[table(tag = "Kind")]
enum Record {
    Person(Person),
    Patient(Patient),
}

fn person() -> Person {
    let contact = |phone: &str| Contact {
        phone: phone.into(),
        city: "Rome".into(),
    };
    Person {
        clinic: "south".into(),
        number: 7,
        home: contact("secret 1"),
        work: Some(contact("secret 2")),
        note: None,
    }
}

#[tokio::test]
async fn groups_and_variants_and_older_names_are_decrypted() -> Result<()> {
    let clinic = Clinic::new().await;
    let records = clinic.service.table::<Record>("Records")?;
    records.create_table().await?;
    let all = [Record::Patient(patient(1)), Record::Person(person())];
    for record in &all {
        records.insert(record).await?;
    }
    assert_eq!(records.query().all().await?, all);
    let people = records.variant::<Person>();
    assert_eq!(people.get(("south", 7)).await?, Some(person()));
    people
        .patch(("south", 7), Person::HOME.field(Contact::PHONE).set("secret 3"))
        .await?;
    let numbers = people
        .query()
        .select((Person::HOME.field(Contact::PHONE), Person::WORK.field(Contact::PHONE)));
    assert_eq!(
        numbers.all().await?,
        [("secret 3".to_owned(), Some("secret 2".to_owned()))]
    );
    let stored = clinic
        .service
        .dynamic_table("Records")?
        .get(("south", "0000000007"))
        .await?
        .unwrap();
    is_ciphertext(&stored, "Home_phone", "2026-11");

    #[derive(TableEntity)]
    struct Old {
        #[table(partition_key)]
        clinic: String,
        #[table(row_key)]
        number: u32,
        #[table(encrypted)]
        remark: String,
    }
    let old = Old {
        clinic: "south".into(),
        number: 7,
        remark: "secret".into(),
    };
    records.typed::<Old>().merge(&old).await?;
    assert_eq!(people.get(("south", 7)).await?.unwrap().note.as_deref(), Some("secret"));
    clinic.is_silent();
    Ok(())
}

#[tokio::test]
async fn slow_and_cut_responses_are_decrypted_when_they_are_complete() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(0..20).await;
    for at in [10, 900, 4_000] {
        let cut = Fault::CutResponse { at };
        clinic.faults.add(FaultRule::new(cut).on(OperationKind::Query).first(1));
        assert_eq!(clinic.patients.query().all().await?.len(), 20);
    }
    Ok(())
}
