//! Exports a run to files for other programs: the log's tables as CSV or Parquet, or all of it as one MCAP file.

mod csv;
mod mcap;
mod order;
mod parquet;
mod table_writer;

use std::path::Path;

pub use order::{Exported, Format, Order};

use table_writer::TableWriter;

use super::{AnalysisError, Progress, partial_output::PartialOutput};
use simpartner_recorder::{
    Inquiry,
    inquiry::{Column, Selection, TABLES, Table},
};

/// After how many rows the progress is reported, some hundred times a second.
const ROWS_PER_REPORT: u64 = 4096;

/// Writes a run into files, all of them or none.
///
/// # Errors
/// When the log cannot be read or the files cannot be written; then there are none.
pub fn export(
    inquiry: &mut Inquiry,
    order: &Order<'_>,
    progress: &mut dyn Progress,
) -> Result<Exported, AnalysisError> {
    match order.format {
        Format::Csv => tables(inquiry, order, "csv", progress, csv::CsvWriter::create),
        Format::Parquet => tables(inquiry, order, "parquet", progress, parquet::ParquetWriter::create),
        Format::Mcap => mcap::export(inquiry, order, progress),
    }
}

fn tables<W: TableWriter>(
    inquiry: &mut Inquiry,
    order: &Order<'_>,
    extension: &str,
    progress: &mut dyn Progress,
    create: impl Fn(&Path, &[Column]) -> Result<W, AnalysisError>,
) -> Result<Exported, AnalysisError> {
    let folder = PartialOutput::new(order.output, Some(extension), order.force)?;
    let mut counts = Vec::new();
    // The views of the thesis have all that body_state has; the views with names have everything once more. Checksums are of use
    // only in a database.
    let is_wanted = |table: &&Table| {
        !matches!(table.name, "body_state" | "batch") && !table.is_named_view() && !table.is_of_no_run()
    };
    let all = || TABLES.iter().filter(is_wanted).collect();
    let wanted: Vec<&'static Table> = if order.tables.is_empty() { all() } else { order.tables.clone() };
    for table in wanted {
        let columns = inquiry.columns(table)?;
        if columns.is_empty() {
            continue;
        }
        let selection = Selection {
            steps: Some(order.steps),
            every: order.every,
            ..Selection::all(table, order.run.simulation_id)
        };
        // Counting rows would take as long as reading them; a run's steps are known.
        let last = order.run.steps.map_or(order.steps.0, |steps| steps.1).clamp(order.steps.0, order.steps.1);
        progress.begin(table.name, last - order.steps.0);
        let path = folder.path().join(format!("{}.{extension}", table.name));
        let mut writer = create(&path, &columns)?;
        let mut rows = 0;
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let step = names.iter().position(|name| matches!(*name, "simulationRowID" | "step"));
        inquiry.rows(&selection, &names, |row| {
            if rows % ROWS_PER_REPORT == 0 {
                let at = step.and_then(|place| row[place].integer()).map_or(0, |row| row as u64 & u64::from(u32::MAX));
                progress.reach(at.saturating_sub(order.steps.0));
            }
            rows += 1;
            writer.row(row)
        })?;
        writer.finish()?;
        counts.push((table.name.to_owned(), rows));
    }
    Ok(Exported { place: folder.finish()?, counts })
}
