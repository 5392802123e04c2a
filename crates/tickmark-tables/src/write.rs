//! Writing a table.

use crate::destination::Destination;
use crate::{Column, Error, Kind, Schema};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a group: what is held in memory at once.
const GROUP: usize = 200_000;

/// A table that is being written; without [`Writer::finish`] there is none.
pub struct Writer {
    path: PathBuf,
    destination: Option<Destination>,
    schema: Schema,
    columns: Vec<Column>,
    file: Option<SerializedFileWriter<File>>,
}

impl Writer {
    /// Begins a file; its folder is made.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: &Path, schema: Schema) -> Result<Self, Error> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(Error::file("write", folder))?;
        }
        let (destination, file) = Destination::create(path).map_err(Error::file("write", path))?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let begun = parquet_schema(schema)
            .and_then(|schema| SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)));
        let file = begun.map_err(|error| Error::damaged(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            destination: Some(destination),
            schema,
            columns: empty(schema),
            file: Some(file),
        })
    }

    /// Adds a row: a value for each column.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push(&mut self, row: &[Value]) -> Result<(), Error> {
        for (at, column) in self.columns.iter_mut().enumerate() {
            column.push(row.get(at).unwrap_or(&Value::Null));
        }
        if self.columns.first().is_some_and(|column| column.len() >= GROUP) { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let columns = std::mem::replace(&mut self.columns, empty(self.schema));
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut write = || -> Result<(), ParquetError> {
            let mut group = file.next_row_group()?;
            for column in &columns {
                let Some(mut writer) = group.next_column()? else { break };
                put(writer.untyped(), column)?;
                writer.close()?;
            }
            group.close().map(drop)
        };
        write().map_err(|error| Error::file("write", &self.path)(std::io::Error::other(error)))
    }

    /// Writes the rest, and gives the file its name.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        let failed = |error: ParquetError| Error::file("write", &self.path)(std::io::Error::other(error));
        let file = self.file.take().map(SerializedFileWriter::into_inner).transpose().map_err(failed)?;
        let named = file.zip(self.destination.take()).map_or(Ok(()), |(file, to)| to.finish(&file));
        named.map_err(Error::file("write", &self.path))
    }
}

pub(crate) fn empty(schema: Schema) -> Vec<Column> {
    schema.iter().map(|(_, kind)| Column::new(*kind)).collect()
}

/// The schema as Parquet has it.
fn parquet_schema(schema: Schema) -> Result<Type, ParquetError> {
    let field = |(name, kind): &(&str, Kind)| {
        let physical = match kind {
            Kind::Text => Physical::BYTE_ARRAY,
            Kind::Number => Physical::DOUBLE,
            Kind::Integer => Physical::INT64,
            Kind::Flag => Physical::BOOLEAN,
        };
        let logical = (*kind == Kind::Text).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        field.with_logical_type(logical).build().map(Arc::new)
    };
    let fields = schema.iter().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("table").with_fields(fields).build()
}

/// Writes a column's values; a level of 0 is no value.
fn put(writer: &mut ColumnWriter<'_>, column: &Column) -> Result<(), ParquetError> {
    fn levels<T>(all: &[Option<T>]) -> Vec<i16> {
        all.iter().map(|value| i16::from(value.is_some())).collect()
    }
    fn there<T: Copy>(all: &[Option<T>]) -> Vec<T> {
        all.iter().copied().flatten().collect()
    }
    match (writer, column) {
        (ColumnWriter::ByteArrayColumnWriter(writer), Column::Text(texts)) => {
            let words: Vec<ByteArray> = texts.words().iter().map(|word| word.as_str().into()).collect();
            let values: Vec<ByteArray> =
                texts.rows().iter().flatten().map(|code| words[*code as usize].clone()).collect();
            writer.write_batch(&values, Some(&levels(texts.rows())), None)
        }
        (ColumnWriter::DoubleColumnWriter(writer), Column::Number(all)) => {
            writer.write_batch(&there(all), Some(&levels(all)), None)
        }
        (ColumnWriter::Int64ColumnWriter(writer), Column::Integer(all)) => {
            writer.write_batch(&there(all), Some(&levels(all)), None)
        }
        (ColumnWriter::BoolColumnWriter(writer), Column::Flag(all)) => {
            writer.write_batch(&there(all), Some(&levels(all)), None)
        }
        _ => Err(ParquetError::General("a column of another kind".to_owned())),
    }
    .map(drop)
}
