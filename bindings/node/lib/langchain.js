'use strict'
// LangChain: a middleware for `createAgent`.

const { optionsOf } = require('./error.js')
const { Offered } = require('./offered.js')
const { Tools } = require('./tools.js')

/** The most refusals that wait for their turn; a run answers each call at once. */
const MOST_WAITING = 1000

/**
 * Checks the calls of an agent before its tools run. Calls that LangChain could not parse, which would
 * end the run, are mended or refused like others.
 */
function langChainMiddleware(options) {
  const { onVerdict, ...rest } = optionsOf(options)
  new Tools({ name: 'f', parameters: {} }, rest)
  /** The tools of the last request to a model. Several agents may share the middleware. */
  let last = { known: [], offered: undefined }
  const alone = new WeakMap()
  /** Texts for calls whose arguments are not JSON, by the id of the call. */
  const refused = new Map()

  const allOf = (tools) => {
    const known = tools.filter(isKnown)
    const isSame = known.length === last.known.length && known.every((tool, at) => tool === last.known[at])
    if (last.offered === undefined || !isSame) last = { known, offered: new Offered(known.map(definition), rest) }
    return last
  }
  const offeredAlone = (tool) => {
    if (!alone.has(tool)) alone.set(tool, new Offered([definition(tool)], rest))
    return alone.get(tool)
  }
  const check = (offered, name, raw) => {
    const verdict = offered?.check(name, raw)
    if (verdict !== undefined) onVerdict?.(verdict)
    return verdict
  }
  const refuse = (id, text) => {
    if (refused.size >= MOST_WAITING) refused.delete(refused.keys().next().value)
    refused.set(id, text)
  }

  return {
    name: 'goodcall',
    async wrapModelCall(request, handler) {
      const message = await handler(request)
      const { offered } = allOf(request.tools ?? [])
      const calls = []
      const unjudged = []
      for (const call of message?.invalid_tool_calls ?? []) {
        const verdict = check(offered, call.name ?? '', call.args ?? '')
        if (verdict === undefined) {
          unjudged.push(call)
          continue
        }
        if (verdict.kind === 'bad') refuse(call.id, verdict.text)
        calls.push({ type: 'tool_call', id: call.id, name: verdict.tool, args: verdict.arguments ?? {} })
      }
      if (calls.length === 0) return message
      message.tool_calls = [...(message.tool_calls ?? []), ...calls]
      message.invalid_tool_calls = unjudged
      return message
    },
    async wrapToolCall(request, handler) {
      const { id, name, args } = request.toolCall
      const waiting = refused.get(id)
      refused.delete(id)
      if (waiting !== undefined) return toolMessage(request.toolCall, waiting)
      // A call of an unknown tool comes without one, and is judged by all that the model was offered.
      const offered = isKnown(request.tool) ? offeredAlone(request.tool) : last.offered
      const verdict = check(offered, name, args)
      if (verdict?.kind === 'bad') return toolMessage(request.toolCall, verdict.text)
      if (verdict?.kind !== 'mended') return handler(request)
      const tool = request.tool ?? last.known.find((one) => one.name === verdict.tool)
      return handler({ ...request, tool, toolCall: { ...request.toolCall, name: verdict.tool, args: verdict.arguments } })
    },
  }
}

function isKnown(tool) {
  return tool?.name !== undefined && tool.schema !== undefined
}

function definition({ name, schema }) {
  return { name, parameters: schema }
}

function toolMessage({ id, name }, content) {
  const { ToolMessage } = require('@langchain/core/messages')
  return new ToolMessage({ content, name, tool_call_id: id, status: 'error' })
}

module.exports = { langChainMiddleware }
