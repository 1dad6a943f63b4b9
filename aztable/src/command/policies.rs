//! `policies`: the stored access policies of a table, which signatures name and which revoke them.

use azure_table::service::StoredAccessPolicy;
use azure_table::{DateTime, TablePermissions};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::failure::{Done, Failure};
use crate::place::TablePlace;
use crate::rows::printed_rows::print_table;
use crate::session::Session;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
#[command(after_help = "\
A table has at most 5 policies. A new one takes effect within 30 seconds.

Examples:
  aztable policies add Orders readers --permissions r --expiry 2027-01-01T00:00:00Z
  aztable policies remove Orders readers    # revokes the signatures that name it")]
pub(crate) struct Policies {
    #[command(subcommand)]
    change: Option<Change>,
    /// Print the policies of this table
    table: Option<TablePlace>,
}

#[derive(Subcommand)]
enum Change {
    /// Add a policy
    Add(Policy),
    /// Replace a policy: all signatures that name it change
    Set(Policy),
    /// Remove a policy, which revokes all signatures that name it
    Remove {
        /// The table
        table: TablePlace,
        /// The policy
        name: String,
    },
}

#[derive(Args)]
struct Policy {
    /// The table
    table: TablePlace,
    /// The policy
    name: String,
    /// The rights: r read, a add, u update, d delete; without them, each signature has its own
    #[arg(long, value_name = "LETTERS")]
    permissions: Option<TablePermissions>,
    /// Valid until this time: 2026-12-31T00:00:00Z; without it, each signature has its own
    #[arg(long, value_name = "TIME")]
    expiry: Option<DateTime>,
    /// Valid from this time
    #[arg(long, value_name = "TIME")]
    start: Option<DateTime>,
}

impl Policies {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let terminal = &session.terminal;
        let done = match self.change {
            None => {
                let table = self.table.ok_or_else(|| Failure::usage("name a table"))?;
                return print(&session.table(&table)?.access_policies().await?, session);
            }
            Some(Change::Add(policy)) => {
                session.table(&policy.table)?.add_access_policy(policy.stored()).await?;
                format!("added the policy {}", policy.name)
            }
            Some(Change::Set(policy)) => {
                let (table, name) = (&policy.table, &policy.name);
                let plan = format!("replace the policy {name} of {table}: signatures that name it change");
                terminal.confirm(&plan)?;
                session.table(table)?.replace_access_policy(policy.stored()).await?;
                format!("replaced the policy {name}")
            }
            Some(Change::Remove { table, name }) => {
                let plan = format!("remove the policy {name} of {table}: signatures that name it end");
                terminal.confirm(&plan)?;
                session.table(&table)?.revoke_access_policy(&name).await?;
                format!("removed the policy {name}")
            }
        };
        terminal.note(&done);
        Ok(())
    }
}

impl Policy {
    fn stored(&self) -> StoredAccessPolicy {
        StoredAccessPolicy {
            start: self.start,
            expiry: self.expiry,
            permissions: self.permissions,
            ..StoredAccessPolicy::new(self.name.clone())
        }
    }
}

fn print(policies: &[StoredAccessPolicy], session: &Session) -> Done<()> {
    let time = |time: Option<DateTime>| time.map(|time| time.to_string());
    let mut lines = policies.iter().map(|policy| {
        let permissions = policy.permissions.map(|letters| letters.to_string());
        let name = Some(policy.id.clone());
        [name, permissions, time(policy.start), time(policy.expiry)]
    });
    if session.terminal.json {
        return lines.try_for_each(|[name, permissions, start, expiry]| {
            let json = json!({ "name": name, "permissions": permissions, "start": start, "expiry": expiry });
            session.terminal.result(json)
        });
    }
    let lines = lines.map(|line| line.map(|part| part.unwrap_or_else(|| "(signature)".into())));
    print_table(["Policy", "Permissions", "Start", "Expiry"], lines)
}
