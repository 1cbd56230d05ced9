'use strict'
// The AI SDK: a repair function, tools whose inputs are mended, and a middleware for models.

const { optionsOf } = require('./error.js')
const { good } = require('./good.js')
const { Offered } = require('./offered.js')
const { Stream } = require('./stream.js')
const { Tools } = require('./tools.js')

const AI_SDK = Symbol.for('vercel.ai.schema')

/** For `generateText`, `streamText` and agents. */
function repairToolCall(options) {
  const { onVerdict, ...rest } = optionsOf(options)
  const known = new WeakMap()
  new Tools({ name: 'f', parameters: {} }, rest) // Wrong options are to throw here, not at the first call.
  return async ({ toolCall, tools, inputSchema, error }) => {
    if (!known.has(tools)) {
      const names = Object.keys(tools)
      const schemas = await Promise.all(names.map((toolName) => inputSchema({ toolName })))
      known.set(tools, new Offered(names.map((name, index) => ({ name, parameters: schemas[index] })), rest))
    }
    const verdict = known.get(tools).check(toolCall.toolName, toolCall.input)
    if (verdict === undefined) return null
    onVerdict?.(verdict)
    if (verdict.kind === 'mended') return { ...toolCall, toolName: verdict.tool, input: verdict.json }
    // The model reads the message of this error.
    if (verdict.kind === 'bad') error.message = verdict.text
    return null
  }
}

/** The same tools with inputs that are mended or explained. */
function goodTools(tools, options) {
  const wrapped = Object.entries(tools).map(([name, tool]) => {
    if (tool.inputSchema === undefined || tool.type === 'provider') return [name, tool]
    return [name, { ...tool, inputSchema: goodInput(tool.inputSchema, { ...optionsOf(options), name }) }]
  })
  return Object.fromEntries(wrapped)
}

/** Wraps a schema that may be made lazily. */
function goodInput(schema, options) {
  const own = typeof schema === 'function' && schema['~standard'] === undefined ? schema() : schema
  const written = own[AI_SDK] === true ? own.jsonSchema : undefined
  if (typeof written?.then !== 'function') return good(own, options)
  // The JSON Schema is fetched: what wraps it can only be made when it is there.
  const made = Promise.resolve(written).then((jsonSchema) =>
    good({ [AI_SDK]: true, jsonSchema, validate: own.validate }, options),
  )
  const validate = async (value) => {
    const result = await (await made)['~standard'].validate(value)
    if (result.issues === undefined) return { success: true, value: result.value }
    return { success: false, error: new Error(result.issues[0].message) }
  }
  return { [AI_SDK]: true, _type: undefined, jsonSchema: written, validate }
}

/** For `wrapLanguageModel`. */
function goodMiddleware(options) {
  const { textCalls = true, onVerdict, ...rest } = optionsOf(options)
  new Tools({ name: 'f', parameters: {} }, rest)
  const toolsOf = (params) => {
    const functions = (params.tools ?? []).filter((tool) => tool.type === 'function')
    return new Offered(functions.map(({ name, inputSchema }) => ({ name, parameters: inputSchema })), rest)
  }
  const settings = { where: textCalls === true ? 'explicit' : textCalls, onVerdict }
  return {
    specificationVersion: 'v4',
    wrapGenerate: async ({ doGenerate, params }) => judgeResult(await doGenerate(), toolsOf(params), settings),
    wrapStream: async ({ doStream, params }) => {
      const { stream, ...others } = await doStream()
      return { stream: stream.pipeThrough(new StreamJudge(toolsOf(params), settings).transform()), ...others }
    },
  }
}

/** Mends a call; one that cannot be mended stays as it is, and the AI SDK reports it. */
function mendedCall(part, offered, onVerdict) {
  const verdict = part.providerExecuted ? undefined : offered.check(part.toolName, part.input)
  if (verdict !== undefined) onVerdict?.(verdict)
  return verdict?.kind === 'mended' ? { ...part, toolName: verdict.tool, input: verdict.json } : part
}

/** A call that was found in text, as a part of the content. */
function foundPart(call, id) {
  return { type: 'tool-call', toolCallId: id, toolName: call.tool, input: call.json ?? call.raw }
}

let invented = 0
const inventedId = () => `goodcall_${Date.now().toString(36)}_${(invented++).toString(36)}`

/** A finish reason that says that there are calls, where it did not. */
function withCalls(finishReason) {
  if (typeof finishReason === 'string') return 'tool-calls'
  return { ...finishReason, unified: 'tool-calls' }
}

function judgeResult(result, offered, { where, onVerdict }) {
  const { tools } = offered
  let found = false
  const content = result.content.flatMap((part) => {
    if (part.type === 'tool-call') return [mendedCall(part, offered, onVerdict)]
    if (part.type !== 'text') return [part]
    if (!where || tools === undefined) return [part]
    const { reasoning, calls, text } = tools.extract(part.text, { where, stop: 'finished' })
    const thoughts = reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning }]
    calls.forEach((call) => onVerdict?.(call))
    found ||= calls.length > 0
    const said = text.trim() === '' ? [] : [{ ...part, text }]
    return [...thoughts, ...said, ...calls.map((call) => foundPart(call, call.id ?? inventedId()))]
  })
  return { ...result, content, ...(found && { finishReason: withCalls(result.finishReason) }) }
}

/** Judges the parts of a stream; text passes as it arrives, except where a call may have begun. */
class StreamJudge {
  #offered
  #where
  #onVerdict
  #found = false
  /** The blocks of text that are open, by their ids. */
  #blocks = new Map()

  constructor(offered, { where, onVerdict }) {
    this.#offered = offered
    this.#where = where
    this.#onVerdict = onVerdict
  }

  transform() {
    return new TransformStream({
      transform: (part, controller) => {
        for (const one of this.#part(part)) controller.enqueue(one)
      },
    })
  }

  #part(part) {
    switch (part.type) {
      case 'text-start':
        this.#blocks.set(part.id, this.#block(part))
        return []
      case 'text-delta':
        return this.#text(part.id, this.#scan(part.id, part.delta))
      case 'text-end':
        return this.#end(part)
      case 'tool-call':
        return [mendedCall(part, this.#offered, this.#onVerdict)]
      case 'finish':
        return [this.#found ? { ...part, finishReason: withCalls(part.finishReason) } : part]
      default:
        return [part]
    }
  }

  #block(start) {
    const { tools } = this.#offered
    const scanner = this.#where && tools ? new Stream(tools, { textCalls: this.#where }) : undefined
    return { start, scanner, open: undefined, parts: 0 }
  }

  #scan(id, text) {
    const { scanner } = this.#blocks.get(id)
    return scanner ? scanner.pushText(text) : [{ type: 'text', text }]
  }

  #text(id, updates) {
    const block = this.#blocks.get(id)
    return updates.flatMap((update) => {
      if (update.type === 'text' || update.type === 'reasoning') return this.#piece(block, update)
      if (update.type !== 'call') return []
      this.#found = true
      this.#onVerdict?.(update)
      return [...this.#close(block), foundPart(update, inventedId())]
    })
  }

  /** Writes a piece of text or of reasoning, each kind in a block of its own. */
  #piece(block, { type, text }) {
    const parts = []
    if (block.open?.type !== type) {
      parts.push(...this.#close(block))
      block.parts++
      const id = block.parts === 1 ? block.start.id : `${block.start.id}-${block.parts}`
      block.open = { type, id }
      parts.push({ ...block.start, type: `${type}-start`, id })
    }
    parts.push({ type: `${type}-delta`, id: block.open.id, delta: text })
    return parts
  }

  #close(block) {
    if (block.open === undefined) return []
    const { type, id } = block.open
    block.open = undefined
    return [{ type: `${type}-end`, id }]
  }

  #end(part) {
    const block = this.#blocks.get(part.id)
    const updates = block.scanner ? block.scanner.finish() : []
    const parts = this.#text(part.id, updates)
    parts.push(...this.#close(block))
    this.#blocks.delete(part.id)
    return parts
  }
}

module.exports = { repairToolCall, goodTools, goodMiddleware }
