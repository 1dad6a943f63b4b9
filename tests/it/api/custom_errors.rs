//! Errors of the caller: created, returned by closures, and converted into errors of other crates.

use std::error::Error as StdError;
use std::fmt;

use azure_table::{DynamicEntity, Error, ErrorKind, Result, TableClient, TableEntity, ValueError};

#[derive(Debug)]
struct Bankrupt(std::num::ParseIntError);

impl fmt::Display for Bankrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the account is bankrupt")
    }
}

impl StdError for Bankrupt {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

fn bankrupt() -> Bankrupt {
    Bankrupt("x".parse::<i32>().unwrap_err())
}

#[test]
fn custom_error_keeps_its_text_and_its_sources() {
    let error = Error::other(bankrupt());
    assert_eq!(error.kind(), ErrorKind::Other);
    assert_eq!(error.to_string(), "the account is bankrupt");
    assert!(error.get_ref().unwrap().is::<Bankrupt>());
    // The source does not repeat the text.
    assert!(error.source().unwrap().is::<std::num::ParseIntError>());
    assert!(Error::invalid_input("5").get_ref().is_none());
    assert_eq!(Error::from(ValueError::new("5 is odd")).kind(), ErrorKind::InvalidInput);
}

#[test]
fn boxed_error_of_the_client_is_not_wrapped_again() {
    fn boxed() -> std::result::Result<(), Box<dyn StdError + Send + Sync>> {
        Err(Error::invalid_input("no"))?;
        Ok(())
    }
    fn passed_on() -> Result<()> {
        boxed()?;
        Ok(())
    }
    assert_eq!(passed_on().unwrap_err().kind(), ErrorKind::InvalidInput);
    let lost = azure_table::testing::error_in_doubt(ErrorKind::Timeout);
    let passed_on = Error::other(Box::new(lost) as Box<dyn StdError + Send + Sync>);
    assert_eq!(passed_on.kind(), ErrorKind::InDoubt);
    assert_eq!(passed_on.last_failure().unwrap().kind(), ErrorKind::Timeout);
}

#[derive(TableEntity, Debug)]
#[table(upgrade = older)]
struct Account {
    #[table(partition_key)]
    owner: String,
    #[table(row_key)]
    id: String,
    cents: i64,
}

/// Amounts were once stored as text.
fn older(row: &mut DynamicEntity) -> std::result::Result<Account, Box<dyn StdError + Send + Sync>> {
    let amount = row.get("Amount").ok_or("no amount")?.to_string();
    Ok(Account {
        cents: amount.parse::<i64>()? * 100,
        owner: row.partition_key.clone(),
        id: row.row_key.clone(),
    })
}

#[azure_table::test]
async fn closures_and_upgrades_return_custom_errors(accounts: TableClient<Account>) {
    let old = accounts.typed::<DynamicEntity>();
    for (id, amount) in [("1", "5"), ("2", "five")] {
        let mut row = DynamicEntity::new("me", id);
        row.insert("Amount", amount);
        old.insert(&row).await.unwrap();
    }
    assert_eq!(accounts.get(("me", "1")).await.unwrap().unwrap().cents, 500);
    let error = accounts.get(("me", "2")).await.unwrap_err();
    assert!(error.to_string().contains("as an older row: invalid digit"), "{error}");
    assert!(error.source().unwrap().to_string().contains("invalid digit"));

    let lengths = old.query().resolve(|row| {
        let text: String = row.property("Amount")?;
        text.parse::<i64>().map_err(Error::other)
    });
    let error = lengths.all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);

    let fail = |_: &mut Account| -> Result<()> { Err(Error::other(bankrupt())) };
    let error = accounts.modify(("me", "1"), fail).await.unwrap_err();
    assert!(error.get_ref().unwrap().is::<Bankrupt>());
}
