'use strict'
// The JSON Schema of what people write schemas with.

const { GoodcallError } = require('./error.js')

/** The schemas of the AI SDK, `jsonSchema(…)` and the like. */
const AI_SDK = Symbol.for('vercel.ai.schema')

const isObject = (value) => value !== null && (typeof value === 'object' || typeof value === 'function')

/** Whether this is a schema of a library, as opposed to JSON Schema itself. */
function isSchema(value) {
  return isObject(value) && (isObject(value['~standard']) || value[AI_SDK] === true)
}

/** Returns the JSON Schema of a schema of any kind: what is to be sent, before any transformation. */
function jsonSchema(schema) {
  if (!isObject(schema)) {
    throw new GoodcallError('bad_schema', `expected a schema, got ${JSON.stringify(schema) ?? typeof schema}`)
  }
  if (schema[AI_SDK] === true) return aiSdkSchema(schema)
  const standard = schema['~standard']
  if (!isObject(standard)) return schema
  try {
    const written = fromLibrary(schema, standard)
    if (isObject(written)) return withoutDialect(written)
  } catch (error) {
    if (error instanceof GoodcallError) throw error
    throw new GoodcallError('bad_schema', `${standard.vendor}: ${error.message}`, { cause: error })
  }
  throw new GoodcallError('bad_schema', `a schema of ${standard.vendor} without JSON Schema${hint(standard.vendor)}`)
}

function aiSdkSchema(schema) {
  const written = schema.jsonSchema
  if (isObject(written) && typeof written.then === 'function') {
    throw new GoodcallError('bad_schema', 'the JSON Schema is a promise: await it and pass its value')
  }
  return written
}

function fromLibrary(schema, standard) {
  if (isObject(standard.jsonSchema)) return standard.jsonSchema.input({ target: 'draft-2020-12' })
  if (typeof schema.toJSONSchema === 'function') return schema.toJSONSchema({ io: 'input' })
  if (standard.vendor === 'valibot') return valibot(schema)
  return undefined
}

/** Valibot keeps the conversion in a package of its own. */
function valibot(schema) {
  let converter
  try {
    converter = require('@valibot/to-json-schema')
  } catch {
    return undefined
  }
  return converter.toJsonSchema(schema, { typeMode: 'input' })
}

function hint(vendor) {
  if (vendor === 'zod') return ': zod 4.2 or newer is needed'
  if (vendor === 'valibot') return ': install @valibot/to-json-schema'
  return ': it has to implement Standard JSON Schema (`~standard.jsonSchema`)'
}

/** `$schema` names the draft that is assumed anyway, and confuses some providers. */
function withoutDialect({ $schema, ...schema }) {
  return schema
}

/** Validates with the library of a schema, which may transform the value; undefined if it does not. */
function validator(schema) {
  const standard = schema['~standard']
  if (isObject(standard) && typeof standard.validate === 'function') {
    return (value) => standard.validate(value)
  }
  if (schema[AI_SDK] !== true || typeof schema.validate !== 'function') return undefined
  const result = (outcome) =>
    outcome.success ? { value: outcome.value } : { issues: [{ message: outcome.error.message }] }
  return (value) => {
    const outcome = schema.validate(value)
    return typeof outcome.then === 'function' ? outcome.then(result) : result(outcome)
  }
}

module.exports = { isSchema, jsonSchema, validator }
