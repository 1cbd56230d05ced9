//! Runs tools: catches panics, keeps time limits, cancels, and runs several calls at once.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use goodcall_core::Refusal;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::arguments::{BoundArguments, Context};
use crate::error::Cause;
use crate::message::{Call, CallOutcome, ChangeRecord};
use crate::toolbox::Prepared;
use crate::{Tool, ToolResult, Toolbox, explain};

impl Toolbox {
    /// Makes one call. It always returns an outcome: a panic or a passed time limit is an error of
    /// class `runtime`, a cancelled call one of class `cancelled`.
    pub async fn call(&self, call: &Call, cancel: &CancellationToken) -> CallOutcome {
        let started = Instant::now();
        let (result, mended) = match self.admit(call) {
            Ok(prepared) => {
                let mended = prepared.sent.mended.clone();
                let context = Context::new(&call.id, cancel.child_token());
                (prepared.run_in(context).await, mended)
            }
            Err(bad) => (self.refusal(&call.name, &bad), None),
        };
        let mut outcome = CallOutcome::new(call, result);
        outcome.mended = mended;
        outcome.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        outcome
    }

    /// Prepares a call if the policy of its tool allows the changes that were made to read it.
    pub(crate) fn admit(&self, call: &Call) -> Result<Prepared<'_>, Refusal> {
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
}

impl Prepared<'_> {
    /// Runs the tool. It always returns a result: a panic or a passed time limit is an error of
    /// class `runtime`.
    pub async fn run(self) -> ToolResult {
        self.run_in(Context::default()).await
    }

    /// Runs the tool with the id and the cancellation token of the call.
    pub async fn run_with(self, call_id: &str, cancel: &CancellationToken) -> ToolResult {
        self.run_in(Context::new(call_id, cancel.child_token()))
            .await
    }

    /// Runs the tool under its time limit.
    pub(crate) async fn run_in(self, context: Context) -> ToolResult {
        let Prepared {
            toolbox,
            entry,
            bound,
            sent,
        } = self;
        let key = bound.loop_key().clone();
        let name = entry.tool.name();
        let cancel = context.cancel().clone();
        if cancel.is_cancelled() {
            return ToolResult::failed(Cause::Cancelled, explain::cancelled(name));
        }
        // Cancels a blocking tool when this future is dropped or its time limit passes.
        let _stop = cancel.clone().drop_guard();
        let changes = sent.changes.clone();
        let work = contained(Arc::clone(&entry.tool), bound, context.with_sent(sent));
        let limit = toolbox.limit_of(entry);
        let result = tokio::select! {
            biased;
            result = work => result,
            () = pass(limit) => {
                let limit = limit.expect("only a limit passes");
                ToolResult::failed(Cause::TimedOut, explain::timed_out(name, limit))
            }
            () = cancel.cancelled() => {
                ToolResult::failed(Cause::Cancelled, explain::cancelled(name))
            }
        };
        toolbox
            .finished(entry, result)
            .with_changes(changes)
            .with_loop_key(key)
    }
}

/// Waits until the time has passed; for ever if there is no limit. Outside of tokio a thread waits.
async fn pass(limit: Option<Duration>) {
    let Some(limit) = limit else {
        return std::future::pending().await;
    };
    if Handle::try_current().is_ok() {
        return tokio::time::sleep(limit).await;
    }
    let (sender, receiver) = oneshot::channel::<()>();
    thread::spawn(move || {
        thread::sleep(limit);
        drop(sender);
    });
    // An error means that the time has passed.
    let _ = receiver.await;
}

/// Runs a tool, off the async threads if it blocks, and turns a panic into an error.
async fn contained(tool: Arc<dyn Tool>, bound: BoundArguments, context: Context) -> ToolResult {
    let name = tool.name().to_owned();
    let outcome = if tool.is_blocking() {
        blocking(tool, bound, context).await
    } else {
        caught(tool.run(bound, &context)).await
    };
    outcome.unwrap_or_else(|message| {
        ToolResult::failed(Cause::Panicked, explain::panicked(&name, &message))
    })
}

/// A call that runs.
type RunFuture<'f> = Pin<Box<dyn Future<Output = ToolResult> + Send + 'f>>;

/// Runs a tool on a thread for blocking work: one of tokio's, or a new one outside of tokio.
async fn blocking(
    tool: Arc<dyn Tool>,
    bound: BoundArguments,
    context: Context,
) -> Result<ToolResult, String> {
    let (sender, receiver) = oneshot::channel();
    let work = move |block_on: &dyn Fn(RunFuture<'_>) -> ToolResult| {
        let result = catch_unwind(AssertUnwindSafe(|| block_on(tool.run(bound, &context))));
        // An error means that nobody waits for the result any more.
        let _ = sender.send(result.map_err(|panic| message_of(&*panic)));
    };
    match Handle::try_current() {
        Ok(handle) => {
            tokio::task::spawn_blocking(move || work(&|future| handle.block_on(future)));
        }
        Err(_) => {
            thread::spawn(move || {
                if let Ok(runtime) = Builder::new_current_thread().enable_time().build() {
                    work(&|future| runtime.block_on(future));
                }
            });
        }
    }
    receiver
        .await
        .unwrap_or_else(|_| Err("its thread ended".to_owned()))
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
