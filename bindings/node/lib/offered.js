'use strict'

const { GoodcallError } = require('./error.js')
const { Tools } = require('./tools.js')

/**
 * The tools that a framework or a server offers, as `{name, parameters}`. A schema that cannot be used
 * is not the fault of a call: calls of its tool are not judged, and those of the others are.
 */
class Offered {
  /** The tools that can be judged; undefined if there are none. */
  tools
  #unusable = new Set()

  constructor(definitions, options) {
    let usable = [...definitions]
    try {
      this.tools = compiled(usable, options)
    } catch (error) {
      if (!isOfSchema(error)) throw error
      usable = usable.filter((definition) => isUsable(definition, options))
      const names = new Set(usable.map(({ name }) => name))
      for (const { name } of definitions) if (!names.has(name)) this.#unusable.add(name)
      this.tools = compiled(usable, options)
    }
  }

  /** The verdict on a call; undefined if it cannot be judged. */
  check(name, raw) {
    return this.#unusable.has(name) ? undefined : this.tools?.check(name, raw)
  }
}

function compiled(definitions, options) {
  return definitions.length > 0 ? new Tools(definitions, options) : undefined
}

function isUsable(definition, options) {
  try {
    return compiled([definition], options) !== undefined
  } catch (error) {
    if (isOfSchema(error)) return false
    throw error
  }
}

function isOfSchema(error) {
  return error instanceof GoodcallError && error.code !== 'bad_option'
}

module.exports = { Offered }
