//! Tills that sell the same article at the same moment, in one of three ways.

use std::error::Error;
use std::sync::Arc;

use azure_table::TableClient;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::{Stock, is_conflict, restock};

pub(crate) const TILLS: usize = 8;
pub(crate) const ROUNDS: usize = 5;
pub(crate) const SALES: usize = TILLS * ROUNDS;

/// The condition under which a till writes the stock that it has read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// Without an ETag: the last writer wins.
    Unconditional,
    /// Under the ETag that was read; a conflict is counted, and the sale is not made.
    UnderEtag,
    /// Read, changed and written again until no other till was faster.
    Modify,
}

/// Sells from a full stock by all tills. Returns the number of conflicts.
pub(crate) async fn sell(stock: &TableClient<Stock>, way: Way) -> Result<usize, Box<dyn Error>> {
    restock(stock).await?;
    let round = Arc::new(Barrier::new(TILLS));
    let mut tills = JoinSet::new();
    for _ in 0..TILLS {
        let (stock, round) = (stock.clone(), Arc::clone(&round));
        tills.spawn(async move {
            let mut conflicts = 0;
            for _ in 0..ROUNDS {
                conflicts += sale(&stock, way, &round).await?;
            }
            Ok::<_, Box<dyn Error + Send + Sync>>(conflicts)
        });
    }
    let mut conflicts = 0;
    while let Some(till) = tills.join_next().await {
        conflicts += till?.map_err(|error| error as Box<dyn Error>)?;
    }
    Ok(conflicts)
}

/// Sells one article. Returns the number of conflicts.
async fn sale(stock: &TableClient<Stock>, way: Way, round: &Barrier) -> Result<usize, Box<dyn Error + Send + Sync>> {
    if let Way::Modify = way {
        round.wait().await;
        let mut runs = 0;
        stock
            .modify(("Oslo", "mug"), |article| {
                runs += 1;
                article.left -= 1;
            })
            .await?;
        return Ok(runs - 1);
    }
    let mut article = stock.get(("Oslo", "mug")).versioned().await?.ok_or("no such article")?;
    // All tills have read before the first of them writes.
    round.wait().await;
    article.left -= 1;
    let replace = stock.replace(&article);
    let written = match way {
        Way::Unconditional => replace.unconditionally().await,
        Way::UnderEtag | Way::Modify => replace.await,
    };
    // No till reads for the next round before all have written.
    round.wait().await;
    match written {
        Ok(_) => Ok(0),
        Err(error) if is_conflict(&error) => Ok(1),
        Err(error) => Err(error.into()),
    }
}
