'use strict'

const { Tools } = require('./tools.js')

/** For OpenAI Agents: the same function tool, whose calls are checked before they run. */
function goodTool(tool, options = {}) {
  const { name = tool.name, onVerdict, ...rest } = options
  const tools = new Tools([{ name, parameters: tool.parameters }], rest)
  const invoke = async (context, input, details) => {
    const verdict = tools.check(name, input)
    onVerdict?.(verdict)
    // What a tool returns is what the model reads.
    return verdict.kind === 'bad' ? verdict.text : tool.invoke(context, verdict.json, details)
  }
  return Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { invoke })
}

module.exports = { goodTool }
