//! Values that were moved, changed, or stored in the clear do not decrypt.

use azure_table::entity::{ReadProperty, WireValue};
use azure_table::{
    DynamicEntity, Edm, EdmType, EdmValue, ErrorKind, Projection, Property, Result, TableEntity, ValueError,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Clinic, Keys, Patient, patient};

async fn overwrite(clinic: &Clinic, number: u32, name: &str, value: Option<EdmValue>) -> Result<()> {
    let mut row = clinic.stored(number).await;
    row.etag = None;
    match value {
        Some(value) => _ = row.insert(name, value),
        None => _ = row.remove(name),
    }
    clinic.raw().replace(&row).await.map(drop)
}

async fn reason(clinic: &Clinic) -> String {
    let error = clinic.patients.get(("north", 1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert_eq!(error.entity(), Some(("north", "0000000001")));
    error.to_string()
}

#[tokio::test]
async fn value_of_another_place_does_not_decrypt() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..3).await;
    let (own, other) = (clinic.stored(1).await, clinic.stored(2).await);
    let moved = "property `diagnosis`: it does not decrypt with the key \"2026-11\"";
    overwrite(&clinic, 1, "diagnosis", other.get("diagnosis").cloned()).await?;
    assert!(reason(&clinic).await.contains(moved));
    overwrite(&clinic, 1, "diagnosis", own.get("Scan").cloned()).await?;
    assert!(reason(&clinic).await.contains(moved));
    let Some(EdmValue::Binary(mut bytes)) = own.get("diagnosis").cloned() else {
        panic!("{own:?}")
    };
    if let Some(last) = bytes.to_mut().last_mut() {
        *last ^= 1;
    }
    overwrite(&clinic, 1, "diagnosis", Some(EdmValue::Binary(bytes))).await?;
    assert!(reason(&clinic).await.contains(moved));
    overwrite(&clinic, 1, "diagnosis", Some("gout".into())).await?;
    assert!(
        reason(&clinic)
            .await
            .contains("property `diagnosis`: the stored value is not encrypted")
    );
    overwrite(&clinic, 1, "diagnosis", Some(EdmValue::Int32(5))).await?;
    assert!(reason(&clinic).await.contains("not encrypted"));
    overwrite(&clinic, 1, "diagnosis", None).await?;
    assert!(reason(&clinic).await.contains("property `diagnosis`: it is missing"));
    overwrite(&clinic, 1, "diagnosis", own.get("diagnosis").cloned()).await?;
    assert_eq!(
        clinic.patients.get(("north", 1)).await?,
        Some(patient(1)),
        "its own value, put back"
    );
    Ok(())
}

#[tokio::test]
async fn row_of_another_table_or_key_does_not_decrypt() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..2).await;
    let mut row: DynamicEntity = clinic.stored(1).await;
    let copies = clinic.service.table::<Patient>("Copies")?;
    copies.create_table().await?;
    copies.typed::<DynamicEntity>().insert(&row).await?;
    let error = copies.get(("north", 1)).await.unwrap_err();
    assert!(
        error.to_string().contains("moved from another table, row or property"),
        "{error}"
    );
    row.row_key = "0000000009".into();
    clinic.raw().insert(&row).await?;
    let error = clinic.patients.get(("north", 9)).await.unwrap_err();
    assert!(error.to_string().contains("moved from another"), "{error}");
    // Names of tables are equal in any case.
    let same = clinic.service.table::<Patient>("pATIENTS")?;
    assert_eq!(same.get(("north", 1)).await?, Some(patient(1)));
    Ok(())
}

#[tokio::test]
async fn bad_rows_are_skipped_alone() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..4).await;
    overwrite(&clinic, 2, "diagnosis", Some("gout".into())).await?;
    let read = clinic.patients.query().skip_bad_rows(|_| ()).all().await?;
    assert_eq!(read, [patient(1), patient(3)]);
    let lenient = clinic.patients.query().lenient().all().await?;
    assert_eq!(lenient.iter().filter(|row| row.is_err()).count(), 1);
    let update = clinic
        .patients
        .update_where(clinic.patients.query(), |_: &mut Patient| ());
    let report = update.await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (2, 1));
    Ok(())
}

#[tokio::test]
async fn error_of_a_value_of_another_type_does_not_show_the_plaintext() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..2).await;
    let query = clinic.patients.query();
    let query = query.resolve(|row| row.decrypted::<std::net::IpAddr>("diagnosis"));
    let error = query.all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(error.to_string().contains("property `diagnosis`"), "{error}");
    assert!(!format!("{error} {error:?}").contains("gout"), "{error:?}");
    Ok(())
}

/// Whoever can write text could otherwise cause thousands of calls of the provider by one row.
#[tokio::test]
async fn text_that_mentions_wrapped_keys_is_not_sent_to_the_provider() -> Result<()> {
    let clinic = Clinic::new().await;
    let forged = |n: u8| STANDARD.encode([&b"aztenc\x01\x00\x00\x01k\x00\x02w"[..], &[n]].concat());
    let mut row = patient(1);
    for before in ["", "\"", "\\\"", ":\""] {
        row.ward = Some((0..200).map(|n| format!("W{before}{}", forged(n))).collect());
        clinic.patients.insert_or_replace(&row).await?;
        let keys = Keys::new("2026-11", 7);
        assert_eq!(clinic.with(keys.clone()).get(("north", 1)).await?.as_ref(), Some(&row));
        assert_eq!(keys.calls(), (0, 1), "its own data key only, with {before:?}");
    }
    Ok(())
}

/// Text that its type rejects with a reason that quotes it, as most do.
#[derive(Debug, Clone, PartialEq)]
struct Code(String);

impl Property for Code {
    type Compared = Self;
    const EDM_TYPE: EdmType = EdmType::String;

    fn to_edm(&self) -> std::result::Result<Option<Edm<'_>>, ValueError> {
        Err(ValueError::new(format!("{:?} is no code", self.0)))
    }
}

impl ReadProperty for Code {
    fn from_wire(value: WireValue<'_>) -> std::result::Result<Self, ValueError> {
        String::from_wire(value).map(Self)
    }
}

#[derive(TableEntity, Debug, Clone, PartialEq)]
struct Case {
    #[table(partition_key)]
    clinic: String,
    #[table(row_key)]
    number: u32,
    #[table(encrypted)]
    diagnosis: Code,
}

#[derive(Projection, Debug, Clone, PartialEq)]
#[table(of = Case)]
struct Codes {
    diagnosis: Code,
}

#[tokio::test]
async fn error_of_a_value_that_is_not_sent_does_not_show_it() -> Result<()> {
    let clinic = Clinic::new().await;
    clinic.insert(1..2).await;
    let cases = clinic.service.table::<Case>("Patients")?;
    let code = || Code("secret gout".into());
    let case = Case {
        clinic: "north".into(),
        number: 1,
        diagnosis: code(),
    };
    let set = Case::DIAGNOSIS.set(code());
    assert!(!format!("{set:?} {set}").contains("gout"), "{set}");
    let codes = cases.query().project::<Codes>();
    let report = cases.bulk().insert([case.clone()]).await.unwrap();
    let errors = [
        cases.insert(&case).await.unwrap_err(),
        cases.patch(("north", 1), set).await.unwrap_err(),
        cases.batch().insert(&case).map(drop).unwrap_err().into(),
        cases
            .update_where(codes, |_: &mut Codes| ())
            .atomic()
            .await
            .unwrap_err(),
        cases.modify(("north", 1), |_: &mut Case| ()).await.unwrap_err(),
        report.ensure_no_leftovers().unwrap_err(),
    ];
    for error in errors {
        assert!(!format!("{error} {error:?}").contains("gout"), "{error:?}");
        assert!(error.to_string().contains("diagnosis"), "{error}");
    }
    Ok(())
}
