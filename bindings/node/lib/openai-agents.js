'use strict'

const { optionsOf } = require('./error.js')
const { Tools } = require('./tools.js')

/** For OpenAI Agents: the same function tool, whose calls are checked before they run. */
function goodTool(tool, options) {
  const { name = tool.name, onVerdict, ...rest } = optionsOf(options)
  const parameters = tool.strict ? relaxed(tool.parameters) : tool.parameters
  const tools = new Tools([{ name, parameters }], rest)
  const invoke = async (context, input, details) => {
    const verdict = tools.check(name, input)
    onVerdict?.(verdict)
    // What a tool returns is what the model reads.
    return verdict.kind === 'bad' ? verdict.text : tool.invoke(context, verdict.json, details)
  }
  return Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { invoke })
}

/**
 * Strict mode requires every property, and makes those that are optional nullable. The tool itself
 * accepts a call without them.
 */
function relaxed(schema) {
  if (Array.isArray(schema)) return schema.map(relaxed)
  if (schema === null || typeof schema !== 'object') return schema
  const entries = Object.entries(schema).map(([key, value]) => [key, relaxed(value)])
  const { required, properties, ...rest } = Object.fromEntries(entries)
  if (properties === undefined) return Object.fromEntries(entries)
  const needed = Array.isArray(required) ? required.filter((key) => !isNullable(properties[key])) : required
  return { ...rest, properties, required: needed }
}

function isNullable(schema) {
  const types = [schema?.type].flat()
  return types.includes('null') || [...(schema?.anyOf ?? []), ...(schema?.oneOf ?? [])].some(isNullable)
}

module.exports = { goodTool }
