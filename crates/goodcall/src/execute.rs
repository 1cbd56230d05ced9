//! Runs tools: catches panics, keeps time limits, cancels, and runs several calls at once.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use futures_util::{StreamExt, stream};
use goodcall_core::Refusal;
use tokio_util::sync::CancellationToken;

use crate::arguments::{BoundArguments, Context};
use crate::error::Cause;
use crate::message::{Call, CallOutcome, ChangeRecord};
use crate::toolbox::{PreparedCall, RegisteredTool};
use crate::{Tool, ToolResult, Toolbox, explain};

impl Toolbox {
    /// Makes one call. It always returns an outcome: a panic or a passed time limit is an error of
    /// class `runtime`, a cancelled call one of class `cancelled`.
    pub async fn call(&self, call: &Call, cancel: &CancellationToken) -> CallOutcome {
        let started = Instant::now();
        let (result, mended) = match self.admit(call) {
            Ok((entry, mut prepared)) => {
                let mended = prepared.mended.take();
                let context = Context::new(&call.id, cancel.child_token());
                (self.run(entry, prepared, context).await, mended)
            }
            Err(bad) => (self.refusal(&call.name, &bad), None),
        };
        let mut outcome = CallOutcome::new(call, result);
        outcome.mended = mended;
        outcome.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        outcome
    }

    /// Prepares a call if the policy of its tool allows the changes that were made to read it.
    fn admit(&self, call: &Call) -> Result<(&RegisteredTool, PreparedCall), Refusal> {
        let policy = self.policy_for_call(&call.name);
        let allows = |change: &ChangeRecord| {
            let rule = change.rule.parse();
            rule.is_ok_and(|rule| policy.allows(rule, change.level))
        };
        match call.changes.iter().find(|change| !allows(change)) {
            Some(change) => Err(self.unknown(change.before.as_deref().unwrap_or(&call.name))),
            None => self.prepare(&call.name, &call.arguments, call.stop),
        }
    }

    /// Makes these calls, at most `parallel` at once. The outcomes are in the order of the calls.
    ///
    /// ```
    /// use goodcall::{Call, CancellationToken, Toolbox};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let calls = [Call::new("1", "read", "{}"), Call::new("2", "write", "{}")];
    /// let outcomes = Toolbox::new().call_all(&calls, 4, &CancellationToken::new()).await;
    /// assert_eq!(outcomes[0].text(), "There is no tool `read`; nothing was run.");
    /// # }
    /// ```
    pub async fn call_all(
        &self,
        calls: &[Call],
        parallel: usize,
        cancel: &CancellationToken,
    ) -> Vec<CallOutcome> {
        stream::iter(calls)
            .map(|call| self.call(call, cancel))
            .buffered(parallel.max(1))
            .collect()
            .await
    }

    /// Runs a tool under its time limit.
    pub(crate) async fn run(
        &self,
        entry: &RegisteredTool,
        prepared: PreparedCall,
        context: Context,
    ) -> ToolResult {
        let PreparedCall { bound, changes, .. } = prepared;
        let key = bound.loop_key().clone();
        let name = entry.tool.name();
        let cancel = context.cancel().clone();
        if cancel.is_cancelled() {
            return ToolResult::failed(Cause::Cancelled, explain::cancelled(name));
        }
        // Cancels a blocking tool when this future is dropped or its time limit passes.
        let _stop = cancel.clone().drop_guard();
        let work = contained(Arc::clone(&entry.tool), bound, context);
        let limited = async {
            match self.limit_of(entry) {
                None => work.await,
                Some(limit) => match tokio::time::timeout(limit, work).await {
                    Ok(result) => result,
                    Err(_) => ToolResult::failed(Cause::TimedOut, explain::timed_out(name, limit)),
                },
            }
        };
        let result = tokio::select! {
            biased;
            result = limited => result,
            () = cancel.cancelled() => {
                ToolResult::failed(Cause::Cancelled, explain::cancelled(name))
            }
        };
        result.with_changes(changes).with_loop_key(key)
    }
}

/// Runs a tool, off the async threads if it blocks, and turns a panic into an error.
async fn contained(tool: Arc<dyn Tool>, bound: BoundArguments, context: Context) -> ToolResult {
    let name = tool.name().to_owned();
    let outcome = if tool.is_blocking() {
        let handle = tokio::runtime::Handle::current();
        let work = move || handle.block_on(tool.run(bound, &context));
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|error| match error.try_into_panic() {
                Ok(panic) => message_of(&*panic),
                Err(error) => error.to_string(),
            })
    } else {
        caught(tool.run(bound, &context)).await
    };
    outcome.unwrap_or_else(|message| {
        ToolResult::failed(Cause::Panicked, explain::panicked(&name, &message))
    })
}

/// Returns the output of the future, or the message of its panic.
async fn caught<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let mut future = pin!(future);
    poll_fn(move |context| {
        // The future is never polled again after a panic, so no broken state is observed.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(message_of(&*panic))),
        }
    })
    .await
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}
