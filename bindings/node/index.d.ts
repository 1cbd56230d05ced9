/** Which rules may mend a call: nothing, what is certain (the default), or also what is very likely. */
export type Level = 'strict' | 'safe' | 'eager'

/**
 * A level, with single rules switched on and off: `'safe'`, `'eager,-enum-typo'`, or a table with
 * policies for single tools. A tool with MCP's `destructiveHint` is strict, unless it has a level of its own.
 */
export type Policy =
  | Level
  | (string & {})
  | {
      level?: Level
      rules?: Record<string, boolean>
      tools?: Record<string, Level | { level?: Level; rules?: Record<string, boolean> }>
    }

/** How the text for the model reads. */
export type Style = 'model' | 'instruction' | 'numbered' | 'plain' | 'structured' | 'record'

/** How the model's message ended. Arguments of a message that was cut off are never run. */
export type Stop = 'unknown' | 'finished' | 'cut_off'

/** Where calls without a marker count: in a code fence or as the whole message, or also in prose. */
export type TextCalls = 'explicit' | 'anywhere'

export interface JudgeOptions {
  /** Which rules may mend; `'safe'` by default. */
  policy?: Policy
  /** How the text for the model reads; `'model'` by default. */
  style?: Style
  /**
   * What an integer beyond 2^53 becomes: a `bigint` (the default), its digits as text, or a number
   * that may be rounded. A number too large for a double is text, unless this is `'number'`.
   */
  numbers?: 'bigint' | 'text' | 'number'
}

/** One recorded difference between what was sent and what came out. */
export interface Change {
  /** The rule that made it, such as `string-to-number`. */
  rule: string
  level: 'safe' | 'eager'
  /** JSON Pointer to the value. */
  path: string
  /** The value before; null if there was none; raw text if the text itself was changed. */
  before: unknown
  /** The value after; null if it was left out. */
  after: unknown
  /** Where a value was moved from. */
  from?: string
  /** Start and end in the string that was checked. */
  span: [start: number, end: number]
}

export type IssueCode =
  | 'missing' | 'unknown_key' | 'wrapped' | 'type' | 'enum' | 'too_small' | 'too_large' | 'not_multiple'
  | 'too_short' | 'too_long' | 'pattern' | 'format' | 'too_few_items' | 'too_many_items' | 'not_unique'
  | 'not_contained' | 'too_few_keys' | 'too_many_keys' | 'key_name' | 'no_alternative'
  | 'several_alternatives' | 'not_allowed' | 'duplicate_key' | 'inexact_number' | 'custom' | 'ambiguous'
  | 'malformed' | 'truncated' | 'empty' | 'not_an_object' | 'unknown_tool' | 'limit' | 'other'

/** What is wrong at one place. */
export interface Issue {
  /** JSON Pointer to the value. */
  path: string
  code: IssueCode
  /** In words. */
  expected: string
  /** In words; null if there is nothing. */
  got: string | null
  /** The allowed values, if they can be listed. */
  allowed?: unknown[]
  /** The allowed value nearest to what was sent. */
  nearest?: string
}

export type Reason =
  | 'truncated' | 'malformed' | 'empty' | 'not_an_object' | 'wrong_shape' | 'ambiguous' | 'unknown_tool'
  | 'loop' | 'too_large'

/** Valid as sent: nothing was touched. */
export interface Good<Arguments = any> {
  kind: 'good'
  /** The name of the offered tool. */
  tool: string
  /** The valid arguments. */
  arguments: Arguments
  /** The valid arguments as JSON, with every digit. */
  json: string
  changes: readonly Change[]
  issues: readonly Issue[]
  text?: undefined
}

/** Not valid as sent; exactly one valid reading, every change listed. */
export interface Mended<Arguments = any> {
  kind: 'mended'
  tool: string
  arguments: Arguments
  json: string
  changes: readonly Change[]
  issues: readonly Issue[]
  text?: undefined
}

/** Not to be run. */
export interface Bad {
  kind: 'bad'
  tool: string
  arguments?: undefined
  json?: undefined
  /** The one true reason. */
  reason: Reason
  changes: readonly Change[]
  /** Everything that is wrong. */
  issues: readonly Issue[]
  /** Tells the model what to rewrite. */
  text: string
}

export type Verdict<Arguments = any> = Good<Arguments> | Mended<Arguments> | Bad

/** A call that was found in a text or a stream. */
export type FoundCall = Verdict & {
  /** The provider's id, or an invented one in a stream. */
  id?: string
  name: string
  /** The arguments as sent, or translated to JSON from another notation. */
  raw: string
}

/** What goodcall throws. */
export class GoodcallError extends Error {
  constructor(code: ErrorCode, message: string, options?: ErrorOptions)
  readonly code: ErrorCode
}

/**
 * `bad_argument` is a value that no function takes, such as a name that is not a string or arguments that
 * cannot be written as JSON; `no_native_part` is an installation without the package of the platform;
 * `internal` is a bug of goodcall.
 */
export type ErrorCode =
  | 'bad_tools' | 'bad_schema' | 'bad_option' | 'bad_argument' | 'bad_event' | 'finished'
  | 'no_native_part' | 'internal'

/** A schema by the Standard Schema interface: Zod, Valibot, ArkType and others. */
export interface AnySchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown, ...rest: any[]) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly any[] | undefined }[] }

/** JSON Schema, as an object; TypeBox types are one. */
export type JsonSchema = { readonly [key: string]: any }

/**
 * Tools in any form: OpenAI, Anthropic, Gemini, Bedrock or MCP definitions, alone, in a list or in a
 * whole request; tools by name (`{read_file: schema}`, `{read_file: {inputSchema}}`); JSON text of
 * these. A schema may be JSON Schema or one of a library wherever one is expected.
 */
export type Definitions = string | object

/** The offered tools, compiled once. */
export class Tools {
  /** Throws a `GoodcallError` with the code `bad_tools`, `bad_schema` or `bad_option`. */
  constructor(definitions: Definitions, options?: JudgeOptions)
  /** The names in the order of the definitions. */
  readonly names: string[]
  /**
   * Judges one call. `raw` is the model's text, or a value that was parsed already and counts as its
   * JSON. Throws a `GoodcallError` with the code `bad_argument` for a value without JSON.
   */
  check<Arguments = any>(name: string, raw: unknown, options?: { stop?: Stop }): Verdict<Arguments>
  /** Judges one call on another thread, for arguments of many kilobytes. */
  checkAsync<Arguments = any>(name: string, raw: unknown, options?: { stop?: Stop }): Promise<Verdict<Arguments>>
  /** Finds the calls that a model wrote into plain text, and judges them. */
  extract(text: string, options?: { where?: TextCalls; stop?: Stop }): Extracted
  /** Does the same on another thread, for texts of many kilobytes. */
  extractAsync(text: string, options?: { where?: TextCalls; stop?: Stop }): Promise<Extracted>
}

/** What a text of a model consists of. */
export interface Extracted {
  calls: (FoundCall & { span: [start: number, end: number] })[]
  /** The text outside of calls and thoughts. */
  text: string
  /** The model's thoughts, if it wrote any into the text. */
  reasoning?: string
}

export type Provider =
  | 'openai' | 'responses' | 'anthropic' | 'gemini' | 'bedrock' | 'ollama' | 'mistral' | 'mcp'

/** What a fragment of a stream changed. */
export type StreamUpdate =
  | { type: 'text'; text: string }
  /** A thought that was written into the text. */
  | { type: 'reasoning'; text: string }
  /** All text so far was a thought, whose beginning was part of the prompt. */
  | { type: 'text_was_reasoning' }
  /** A call began; its arguments follow. */
  | { type: 'started'; id: string; name: string }
  /** A call that has not ended can no longer become valid, so that the stream may be stopped. */
  | { type: 'hopeless'; id: string; reason: Reason; issues: Issue[]; text: string }
  | ({ type: 'call'; id: string } & FoundCall)

/** Assembles the calls of one streamed message, whatever the split of its fragments. */
export class Stream {
  constructor(tools: Tools | Definitions, options?: { provider?: Provider; textCalls?: boolean | TextCalls })
  /** Takes one event: the JSON of an SSE `data` field, as text or parsed. */
  push(event: string | object): StreamUpdate[]
  /** Takes text of the message that is not in an event. */
  pushText(text: string): StreamUpdate[]
  /** Ends the message. */
  finish(): StreamUpdate[]
  /** How the message ended, as far as the events say. */
  readonly stop: Stop
}

export interface GoodOptions extends JudgeOptions {
  /** The name of the tool, for the text that the model reads. */
  name?: string
  /** Called with every verdict. */
  onVerdict?: (verdict: Verdict) => void
}

/** What a schema accepts. */
export type OutputOf<Schema> = Schema extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : any

/** A Standard Schema that mends and explains. */
export interface GoodSchema<Output = any> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: 'goodcall'
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly jsonSchema: {
      readonly input: (options: { readonly target: any }) => Record<string, unknown>
      readonly output: (options: { readonly target: any }) => Record<string, unknown>
    }
    readonly types?: { readonly input: Output; readonly output: Output } | undefined
  }
}

/**
 * Wraps a schema of any kind. A value with one valid reading is mended; one without gets an issue with
 * the text for the model. A schema of a library validates the mended value afterwards, so that its
 * refinements and transformations still run.
 */
export function good<Schema extends AnySchema | JsonSchema>(
  schema: Schema,
  options?: GoodOptions,
): GoodSchema<OutputOf<Schema>>

/** What became of the calls of one request. */
export interface FetchReport {
  /** Such as `good=1 mended=0 bad=0 reasked=0`. */
  summary: string
  /** How many times the model was asked again. */
  reasked: number
  calls: {
    /** The index of the reply that held the call. */
    attempt: number
    tool: string
    kind: 'good' | 'mended' | 'bad' | 'unjudged'
    reason?: string
    /** The rule or the code of the issue, and the place. */
    notes: [what: string, where: string][]
  }[]
}

export interface FetchOptions {
  /** The `fetch` below; the global one by default. */
  fetch?: typeof globalThis.fetch
  policy?: Policy
  style?: Style
  /** How many times the model may be asked again per request; 2 by default. */
  reasks?: number
  /** What the client gets for a call that stays bad: the call as sent (the default), or the text. */
  giveUp?: 'as_sent' | 'text'
  /** Whether calls that are written into text become real ones; false by default. */
  textCalls?: boolean | TextCalls
  /** Forward arguments while they are valid so far, before a call is complete; false by default. */
  streamArguments?: boolean
  /** Make histories legal that the provider would refuse; true by default. */
  fixHistory?: boolean
  /** Called after each request whose reply was judged. */
  onReport?: (report: FetchReport) => void
}

/**
 * A gateway inside the process, for every client that takes a `fetch`: calls in replies of OpenAI Chat
 * Completions and Responses, of Anthropic Messages, Gemini, Bedrock Converse and Ollama are mended, or
 * the model is asked again. A call that the server could not read, and quotes in an error, is judged too.
 */
export function goodFetch(options?: FetchOptions | typeof globalThis.fetch): typeof globalThis.fetch

/** For `generateText`, `streamText` and agents of the AI SDK: `repairToolCall: repairToolCall()`. */
export function repairToolCall(options?: JudgeOptions & { onVerdict?: (verdict: Verdict) => void }): (call: any) => Promise<any>

/**
 * For the AI SDK: the same tools with inputs that are mended or explained. Needed for MCP tools, whose
 * inputs the AI SDK does not validate.
 */
export function goodTools<T extends Record<string, any>>(
  tools: T,
  options?: JudgeOptions & { onVerdict?: (verdict: Verdict) => void },
): T

/**
 * For `wrapLanguageModel` of the AI SDK: mends calls, and in requests with tools finds those that a
 * model wrote into text and splits off its reasoning, unless `textCalls` is false.
 */
export function goodMiddleware(
  options?: JudgeOptions & { textCalls?: boolean | TextCalls; onVerdict?: (verdict: Verdict) => void },
): any

/** For OpenAI Agents: the same function tool, whose calls are checked before they run. */
export function goodTool<T extends { name: string }>(tool: T, options?: GoodOptions): T

/** For `createAgent` of LangChain: checks calls before tools run, also those that it could not parse. */
export function langChainMiddleware(options?: JudgeOptions & { onVerdict?: (verdict: Verdict) => void }): any

/** For a client of MCP: `callTool` checks arguments by the server's schemas before they are sent. */
export function goodClient<T extends { listTools: any; callTool: any }>(client: T, options?: JudgeOptions): T

/** For `fromJsonSchema` of the MCP server SDK, in place of its validator. */
export function goodValidator(options?: JudgeOptions): { getValidator<T>(schema: object): (input: unknown) => any }
