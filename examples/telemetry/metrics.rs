//! Metrics of OpenTelemetry as lines on the terminal.

use opentelemetry::KeyValue;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, HistogramDataPoint, Metric, MetricData, ResourceMetrics};

/// Prints a line for each set of labels of each metric.
pub(crate) fn print(finished: &[ResourceMetrics]) {
    println!("\nmetric                                 operation           error               count    value");
    for resource in finished {
        let scopes = resource.scope_metrics();
        scopes.flat_map(|scope| scope.metrics()).for_each(print_metric);
    }
}

fn print_metric(metric: &Metric) {
    match metric.data() {
        AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
            histogram
                .data_points()
                .for_each(|point| print_histogram(metric, point, point.sum()));
        }
        AggregatedMetrics::U64(MetricData::Histogram(histogram)) => {
            let print = |point: &HistogramDataPoint<u64>| print_histogram(metric, point, point.sum() as f64);
            histogram.data_points().for_each(print);
        }
        AggregatedMetrics::U64(MetricData::Sum(sum)) => {
            for point in sum.data_points() {
                print_line(metric, point.attributes(), point.value(), String::new());
            }
        }
        _ => {}
    }
}

fn print_histogram<T>(metric: &Metric, point: &HistogramDataPoint<T>, sum: f64) {
    let mean = sum / point.count() as f64;
    let value = format!("mean {mean:.4} {}", metric.unit());
    print_line(metric, point.attributes(), point.count(), value);
}

fn print_line<'a>(metric: &Metric, labels: impl Iterator<Item = &'a KeyValue>, count: u64, value: String) {
    let (mut operation, mut error) = (String::new(), String::new());
    for label in labels {
        match label.key.as_str() {
            "db.operation.name" => operation = label.value.to_string(),
            "error.type" => error = label.value.to_string(),
            _ => {}
        }
    }
    println!(
        "{:<38} {operation:<19} {error:<19} {count:>5}    {value}",
        metric.name()
    );
}
