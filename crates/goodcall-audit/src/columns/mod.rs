//! Tables of calls: Parquet and Arrow, with one call per row and a name for each column.
//!
//! A table without these columns may be one of records of another format, with a column per member:
//! its rows are read as JSON.

mod column;
#[cfg(feature = "parquet")]
mod table;

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::RecordBatch;
use goodcall_core::StopReason;
use goodcall_wire::recorded::{TokenCount, stop_reason};

use column::{NumberColumn, TextColumn};
#[cfg(feature = "parquet")]
pub(crate) use table::{TableFile, TablePart, is_table, json_lines};

use crate::readers::TurnSink;
use crate::recorded::{
    KnownTools, OfferedTools, RecordPlace, RecordedCall, RecordedResult, RecordedTurn,
    SentArguments,
};

/// The name of the format in reports.
pub const COLUMNS: &str = "columns";

/// Names that the column of a field may have, the first one that exists counts.
const TOOL: [&str; 3] = ["tool_name", "tool", "name"];
const ARGUMENTS: [&str; 3] = ["arguments", "raw", "args"];
const CONVERSATION: [&str; 4] = ["conversation", "conversation_id", "session_id", "trace_id"];
const TIME: [&str; 4] = ["time", "timestamp", "created_at", "start_time"];

/// Names of columns, where they are not the usual ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnNames {
    /// The column with the name of the tool.
    pub tool: Option<String>,
    /// The column with the arguments as sent.
    pub arguments: Option<String>,
    /// The column with the conversation.
    pub conversation: Option<String>,
}

impl ColumnNames {
    /// Returns true if a table with these columns is one of calls.
    pub fn fit<'n>(&self, mut names: impl Iterator<Item = &'n str> + Clone) -> bool {
        let has = |own: &Option<String>, usual: &[&str]| match own {
            Some(own) => names.clone().any(|name| name == own),
            None => names.clone().any(|name| usual.contains(&name)),
        };
        let (tool, arguments) = (has(&self.tool, &TOOL), has(&self.arguments, &ARGUMENTS));
        arguments && (tool || names.any(|name| name == "schema"))
    }

    /// Returns true if the rows of such a table depend on each other.
    #[cfg(feature = "parquet")]
    pub(crate) fn are_in_order<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        names.any(|name| match &self.conversation {
            Some(own) => name == own,
            None => CONVERSATION.contains(&name),
        })
    }

    /// The columns that are read, of those that a table has.
    #[cfg(feature = "parquet")]
    pub(crate) fn is_read(&self, name: &str) -> bool {
        let own = [&self.tool, &self.arguments, &self.conversation];
        let usual = [&TOOL[..], &ARGUMENTS, &CONVERSATION, &TIME].concat();
        own.into_iter().flatten().any(|own| own == name)
            || usual.contains(&name)
            || OTHERS.contains(&name)
    }
}

/// Columns that have one name only.
#[cfg(feature = "parquet")]
const OTHERS: [&str; 11] = [
    "id",
    "schema",
    "tools",
    "model",
    "server",
    "result",
    "is_error",
    "stop",
    "input_tokens",
    "output_tokens",
    "error",
];

/// The columns of one batch.
struct CallColumns<'b> {
    tool: Option<TextColumn<'b>>,
    arguments: TextColumn<'b>,
    conversation: Option<TextColumn<'b>>,
    time: Option<NumberColumn<'b>>,
    model: Option<TextColumn<'b>>,
    server: Option<TextColumn<'b>>,
    definitions: Definitions<'b>,
    result: Option<TextColumn<'b>>,
    is_error: Option<NumberColumn<'b>>,
    stop: Option<TextColumn<'b>>,
    tokens: [Option<NumberColumn<'b>>; 2],
}

/// The columns with definitions, and what the last row had in them.
struct Definitions<'b> {
    schema: Option<TextColumn<'b>>,
    tools: Option<TextColumn<'b>>,
    last: Option<(&'b str, OfferedTools)>,
}

impl<'b> Definitions<'b> {
    fn of_row(&mut self, row: usize, out: &dyn TurnSink) -> OfferedTools {
        let schema = self.schema.as_ref().and_then(|column| column.get(row));
        let tools = self.tools.as_ref().and_then(|column| column.get(row));
        let Some(text) = schema.or(tools) else {
            return OfferedTools::NotRecorded(KnownTools::All);
        };
        if let Some((known, offered)) = &self.last
            && *known == text
        {
            return offered.clone();
        }
        let offered = if schema.is_some() {
            out.judge().schema(text)
        } else {
            out.judge().offered(text)
        };
        self.last = Some((text, offered.clone()));
        offered
    }
}

impl<'b> CallColumns<'b> {
    fn find(batch: &'b RecordBatch, names: &ColumnNames) -> Result<Self, String> {
        let named = |own: &Option<String>, usual: &[&str]| {
            let names = own
                .as_deref()
                .map_or_else(|| usual.to_vec(), |own| vec![own]);
            names
                .into_iter()
                .find_map(|name| batch.column_by_name(name))
        };
        let texts = |own: &Option<String>, usual: &[&str]| {
            named(own, usual).map(TextColumn::of).transpose()
        };
        let text = |name: &str| texts(&None, &[name]);
        let number = |name: &str| named(&None, &[name]).and_then(NumberColumn::of);
        let arguments = texts(&names.arguments, &ARGUMENTS)?;
        let arguments = arguments.ok_or_else(|| {
            let known: Vec<_> = batch
                .schema_ref()
                .fields()
                .iter()
                .map(|f| f.name().as_str())
                .collect();
            let wanted = names.arguments.as_deref().unwrap_or("arguments");
            format!(
                "there is no column `{wanted}`: expected one of {}",
                known.join(", ")
            )
        })?;
        Ok(Self {
            tool: texts(&names.tool, &TOOL)?,
            arguments,
            conversation: texts(&names.conversation, &CONVERSATION)?,
            time: named(&None, &TIME).and_then(NumberColumn::of),
            model: text("model")?,
            server: text("server")?,
            definitions: Definitions {
                schema: text("schema")?,
                tools: text("tools")?,
                last: None,
            },
            result: text("result")?,
            is_error: number("is_error").or_else(|| number("error")),
            stop: text("stop")?,
            tokens: [number("input_tokens"), number("output_tokens")],
        })
    }

    /// Makes the turn that of another row.
    fn fill(&mut self, turn: &mut RecordedTurn<'b>, row: usize, out: &dyn TurnSink) {
        let get =
            |column: &Option<TextColumn<'b>>| column.as_ref().and_then(|column| column.get(row));
        turn.tools = self.definitions.of_row(row, out);
        turn.conversation = get(&self.conversation).map(Cow::Borrowed);
        turn.model = get(&self.model).map(Cow::Borrowed);
        turn.server = get(&self.server).map(Cow::Borrowed);
        turn.time = self.time.as_ref().and_then(|column| column.seconds(row));
        turn.stop = match get(&self.stop) {
            None => StopReason::Unknown,
            Some(name) => name.parse().unwrap_or_else(|_| stop_reason(name)),
        };
        let [read, written] = &self.tokens;
        let count = |column: &Option<NumberColumn<'b>>| column.as_ref()?.count(row);
        turn.tokens = match (count(read), count(written)) {
            (None, None) => None,
            (read, written) => Some(TokenCount::new(read.unwrap_or(0), written.unwrap_or(0))),
        };
        let arguments = match self.arguments.get(row) {
            Some(sent) => SentArguments::Text(Cow::Borrowed(sent)),
            None => SentArguments::NotRecorded,
        };
        let mut call = RecordedCall::new(get(&self.tool).unwrap_or_default(), arguments);
        if let Some(said) = get(&self.result) {
            let flag = self.is_error.as_ref().and_then(|column| column.count(row));
            call.result = Some(RecordedResult::new(said, flag == Some(1)));
        }
        turn.calls.clear();
        turn.calls.push(call);
    }
}

/// Passes on the calls of a batch, one per row. `first` is the number of its first row, from 1 on.
///
/// # Errors
/// If there is no column of arguments, or one is not of strings.
pub(crate) fn pass_on(
    batch: &RecordBatch,
    names: &ColumnNames,
    file: &Arc<str>,
    first: u64,
    out: &mut dyn TurnSink,
) -> Result<(), String> {
    let mut columns = CallColumns::find(batch, names)?;
    // One turn serves for all rows, so that nothing is allocated for a row.
    let mut turn = RecordedTurn::new(RecordPlace::new(Arc::clone(file), first));
    for row in 0..batch.num_rows() {
        turn.place.record = first + row as u64;
        columns.fill(&mut turn, row, out);
        out.turn(&turn);
    }
    Ok(())
}
