//! URLs of other Azure services that are used by mistake for the URL of the Table service.
//!
//! Derives the address of the tables from an address of Blob, Queue or File storage, or of another API of Cosmos DB.

use crate::account::endpoint::is_showable;

/// The host labels of a storage account's other services, and their names.
const STORAGE_SERVICES: [(&str, &str); 5] = [
    ("blob", "Blob storage"),
    ("dfs", "Data Lake storage"),
    ("file", "File storage"),
    ("queue", "Queue storage"),
    ("web", "a static website"),
];

/// The clouds of Cosmos DB.
const COSMOS_CLOUDS: [&str; 3] = ["azure.com", "azure.us", "azure.cn"];

/// Returns the other service of this host and the URL of the account's tables, as the end of an error message. Returns
/// `None` for any other host.
pub fn fault(host: &str) -> Option<String> {
    let (service, account, tables) = storage(host).or_else(|| cosmos(host))?;
    let address = format!("{account}.{tables}");
    // A key may have been pasted into it.
    let address = if address.split('.').all(is_showable) {
        address
    } else {
        "ACCOUNT.table.core.windows.net".to_owned()
    };
    Some(format!(
        "it is the address of {service}, the tables are at https://{address}"
    ))
}

/// The service, the account, and the rest of the host of its tables.
type Other<'a> = (&'static str, &'a str, String);

/// Matches `contoso.blob.core.windows.net`. A zone or `privatelink` may stand between the account and the service.
fn storage(host: &str) -> Option<Other<'_>> {
    let account = host.split('.').next()?.trim_end_matches("-secondary");
    STORAGE_SERVICES.iter().find_map(|(label, name)| {
        let cloud = [".core.", ".storage.azure."].iter().find_map(|cloud| {
            let (labels, rest) = host.split_once(&format!(".{label}{cloud}"))?;
            // A website has a zone; the account's other services do not.
            let zone = labels.split_once('.').filter(|_| *label != "web");
            let zone = zone.map_or(String::new(), |(_, zone)| format!("{zone}."));
            Some(format!("{zone}table{cloud}{rest}"))
        })?;
        Some((*name, account, cloud))
    })
}

/// Matches `contoso.documents.azure.com` and `contoso.mongo.cosmos.azure.com`.
fn cosmos(host: &str) -> Option<Other<'_>> {
    let (account, rest) = host.split_once('.')?;
    COSMOS_CLOUDS.iter().find_map(|cloud| {
        let labels = rest.strip_suffix(cloud)?.strip_suffix('.')?;
        let service = match labels {
            "documents" => "Cosmos DB for NoSQL",
            "mongo.cosmos" => "Cosmos DB for MongoDB",
            "cassandra.cosmos" => "Cosmos DB for Apache Cassandra",
            "gremlin.cosmos" => "Cosmos DB for Apache Gremlin",
            _ => return None,
        };
        Some((service, account, format!("table.cosmos.{cloud}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_names_the_url_of_the_tables() {
        for (host, service, tables) in [
            (
                "contoso.blob.core.windows.net",
                "Blob storage",
                "contoso.table.core.windows.net",
            ),
            (
                "contoso.queue.core.chinacloudapi.cn",
                "Queue storage",
                "contoso.table.core.chinacloudapi.cn",
            ),
            (
                "contoso.file.core.windows.net",
                "File storage",
                "contoso.table.core.windows.net",
            ),
            (
                "contoso.dfs.core.windows.net",
                "Data Lake storage",
                "contoso.table.core.windows.net",
            ),
            (
                "contoso-secondary.blob.core.windows.net",
                "Blob storage",
                "contoso.table.core.windows.net",
            ),
            (
                "contoso.z13.web.core.windows.net",
                "a static website",
                "contoso.table.core.windows.net",
            ),
            (
                "contoso.z13.blob.storage.azure.net",
                "Blob storage",
                "contoso.z13.table.storage.azure.net",
            ),
            (
                "contoso.privatelink.blob.core.windows.net",
                "Blob storage",
                "contoso.privatelink.table.core.windows.net",
            ),
            (
                "contoso.documents.azure.com",
                "Cosmos DB for NoSQL",
                "contoso.table.cosmos.azure.com",
            ),
            (
                "contoso.documents.azure.cn",
                "Cosmos DB for NoSQL",
                "contoso.table.cosmos.azure.cn",
            ),
            (
                "contoso.mongo.cosmos.azure.com",
                "Cosmos DB for MongoDB",
                "contoso.table.cosmos.azure.com",
            ),
        ] {
            let expected = format!("it is the address of {service}, the tables are at https://{tables}");
            assert_eq!(fault(host), Some(expected), "{host}");
        }
    }

    #[test]
    fn table_hosts_and_custom_domains_are_accepted() {
        for host in [
            "contoso.table.core.windows.net",
            "contoso.table.cosmos.azure.com",
            "contoso.z13.table.storage.azure.net",
            "blob.contoso.com",
            "tables.blob.contoso.com",
            "documents.azure.com",
            "127.0.0.1",
            "[::1]",
            "localhost",
        ] {
            assert_eq!(fault(host), None, "{host}");
        }
    }

    #[test]
    fn possible_key_is_not_shown() {
        let fault = fault("AccountKey=SECRET.blob.core.windows.net").unwrap();
        assert!(fault.ends_with("https://ACCOUNT.table.core.windows.net"), "{fault}");
    }
}
