//! Operations on the service.

use std::time::Duration;

use azure_table::DateTime;
use azure_table::operation::Resolution;
use azure_table::service::{Metrics, ServiceProperties};

use super::super::super::doubts::doubt;
use super::super::model::{State, Subject, key};
use super::super::operation::{Chosen, Entry, Origin, Parts, Reported, View};

pub(super) const ENTRIES: &[Entry] = entries! {
    "ping" ["TableServiceClient::ping"] .of_service() => |_| {
        Chosen::read(Origin::Any, Parts::One, nothing, |on| async move {
            on.service.ping().with(&on.call).await?;
            Ok(View::new())
        })
    };
    "resolve doubt" ["TableServiceClient::resolve"] .of_service() => |given| {
        let row = given.row();
        let of = row.clone();
        let view = move |state: &State| vec![state.rows.contains_key(&of).to_string()];
        Chosen::read(Origin::Primary, Parts::One, view, |on| async move {
            let (partition_key, row_key) = key(&row);
            let doubt = doubt(on.table.name().as_str(), (partition_key, &row_key));
            match on.service.resolve(&doubt).with(&on.call).await? {
                Resolution::Unknown(why) => Ok(vec![(!why.contains("is missing")).to_string()]),
                other => unreachable!("{other:?}"),
            }
        })
    };
    "warm-up" ["TableServiceClient::warm_up"] .of_service() => |_| {
        Chosen::read(Origin::Primary, Parts::One, nothing, |on| async move {
            assert_eq!(on.service.warm_up(1).with(&on.call).await?, 1);
            Ok(View::new())
        })
    };
    "service properties" ["TableServiceClient::properties"] .on(Subject::Properties).of_service() => |_| {
        let view = |state: &State| vec![format!("{:?}", state.retention_days)];
        Chosen::read(Origin::Any, Parts::One, view, |on| async move {
            let metrics = on.service.properties().with(&on.call).await?.hour_metrics;
            let days = metrics.and_then(|metrics| metrics.retention_days);
            Ok(vec![format!("{days:?}")])
        })
    };
    "set service properties" ["TableServiceClient::set_properties"] .on(Subject::Properties).of_service() => |given| {
        let days = retention(given.value);
        let after = State { retention_days: Some(days), ..given.state.clone() };
        Chosen::change(Ok(after), false, true, move |on| async move {
            Reported::done(on.service.set_properties(properties(days)).with(&on.call).await)
        })
    };
    "service statistics" ["TableServiceClient::statistics"] .of_service() => |_| {
        Chosen::read(Origin::Secondary, Parts::One, nothing, |on| async move {
            let statistics = on.service.statistics().with(&on.call).await?;
            assert!(statistics.last_sync_time.is_some());
            Ok(View::new())
        })
    };
    "user delegation key" ["TableServiceClient::user_delegation_key"] .of_service().by_token() => |_| {
        Chosen::read(Origin::Primary, Parts::One, nothing, |on| async move {
            let expiry = DateTime::now() + Duration::from_secs(3_600);
            on.service.user_delegation_key(expiry).with(&on.call).await?;
            Ok(View::new())
        })
    };
};

fn nothing(_: &State) -> View {
    View::new()
}

/// A different number of days.
pub(crate) fn retention(value: i64) -> u32 {
    u32::try_from(value % 300).unwrap() + 1
}

pub(crate) fn properties(days: u32) -> ServiceProperties {
    ServiceProperties::default().hour_metrics(Metrics {
        enabled: true,
        retention_days: Some(days),
        ..Metrics::default()
    })
}
