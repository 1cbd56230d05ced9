'use strict'
// LangChain: a middleware for `createAgent`.

const { GoodcallError } = require('./error.js')
const { Tools } = require('./tools.js')

/** The most refusals that wait for their turn; a run answers each call at once. */
const MOST_WAITING = 1000

/**
 * Checks the calls of an agent before its tools run. Calls that LangChain could not parse, which would
 * end the run, are mended or refused like others.
 */
function langChainMiddleware(options = {}) {
  const { onVerdict, ...rest } = options
  new Tools({ name: 'f', parameters: {} }, rest)
  let compiled = { offered: [], tools: undefined }
  /** Texts for calls whose arguments are not JSON, by the id of the call. */
  const refused = new Map()

  const toolsFor = (offered) => {
    const known = offered.filter((tool) => tool?.name !== undefined && tool.schema !== undefined)
    const isSame = known.length === compiled.offered.length && known.every((tool, at) => tool === compiled.offered[at])
    if (!isSame) compiled = { offered: known, tools: compile(known, rest) }
    return compiled.tools
  }
  const check = (tools, name, raw) => {
    const verdict = tools?.check(name, raw)
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
      const tools = toolsFor(request.tools ?? [])
      const unparsed = message?.invalid_tool_calls ?? []
      if (unparsed.length === 0 || tools === undefined) return message
      const calls = unparsed.map(({ name, args, id }) => {
        const verdict = check(tools, name ?? '', args ?? '')
        if (verdict.kind === 'bad') refuse(id, verdict.text)
        return { type: 'tool_call', id, name: verdict.tool, args: verdict.arguments ?? {} }
      })
      message.tool_calls = [...(message.tool_calls ?? []), ...calls]
      message.invalid_tool_calls = []
      return message
    },
    async wrapToolCall(request, handler) {
      const { id, name, args } = request.toolCall
      const waiting = refused.get(id)
      refused.delete(id)
      if (waiting !== undefined) return toolMessage(request.toolCall, waiting)
      const tools = compiled.tools ?? toolsFor([request.tool])
      const verdict = check(tools, name, args)
      if (verdict?.kind === 'bad') return toolMessage(request.toolCall, verdict.text)
      if (verdict?.kind !== 'mended') return handler(request)
      const tool = request.tool ?? compiled.offered.find((one) => one.name === verdict.tool)
      return handler({ ...request, tool, toolCall: { ...request.toolCall, name: verdict.tool, args: verdict.arguments } })
    },
  }
}

/** Compiles the tools that have usable schemas. */
function compile(known, options) {
  const definitions = known.map(({ name, schema }) => ({ name, parameters: schema }))
  try {
    return definitions.length > 0 ? new Tools(definitions, options) : undefined
  } catch (error) {
    if (error instanceof GoodcallError) return undefined
    throw error
  }
}

function toolMessage({ id, name }, content) {
  const { ToolMessage } = require('@langchain/core/messages')
  return new ToolMessage({ content, name, tool_call_id: id, status: 'error' })
}

module.exports = { langChainMiddleware }
