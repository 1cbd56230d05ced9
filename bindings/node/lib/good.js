'use strict'

const { GoodcallError, optionsOf } = require('./error.js')
const { jsonSchema, validator } = require('./schema.js')
const { Tools } = require('./tools.js')

/**
 * A Standard Schema that mends what has one valid reading, and explains what has none. A schema of a
 * library validates the mended value afterwards, so that its refinements and transformations run.
 */
function good(schema, options) {
  const { name, onVerdict, ...rest } = optionsOf(options)
  const own = jsonSchema(schema)
  const tool = name ?? 'tool'
  const tools = new Tools([{ name: tool, parameters: own }], { ...rest, anonymous: name === undefined })
  const inner = validator(schema)
  // A string is the text of an object, unless the schema wants a string.
  const readsText = own.type === 'object' || own.properties !== undefined

  const validate = (value) => {
    const raw = typeof value === 'string' && !readsText ? JSON.stringify(value) : value
    const verdict = tools.check(tool, raw)
    onVerdict?.(verdict)
    if (verdict.kind === 'bad') return { issues: [{ message: verdict.text }] }
    return inner ? inner(verdict.arguments) : { value: verdict.arguments }
  }
  const written = ({ target } = {}) => {
    if (target !== undefined && !/^draft-/.test(target)) {
      throw new GoodcallError('bad_option', `unknown target \`${target}\`: expected draft-2020-12 or draft-07`)
    }
    return own
  }
  return {
    '~standard': { version: 1, vendor: 'goodcall', validate, jsonSchema: { input: written, output: written } },
  }
}

module.exports = { good }
