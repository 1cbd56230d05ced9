'use strict'

/** What goodcall throws; `code` says what was wrong. */
class GoodcallError extends Error {
  constructor(code, message, options) {
    super(message, options)
    this.name = 'GoodcallError'
    this.code = code
  }
}

/** Calls the native part; its errors become `GoodcallError`. */
function native(call) {
  try {
    return call()
  } catch (error) {
    throw ours(error)
  }
}

/** An error of the native part as a `GoodcallError`. */
function ours(error) {
  return error instanceof GoodcallError ? error : new GoodcallError(error.code, error.message)
}

/** An object of the native part whose methods throw a `GoodcallError`. */
function guarded(object) {
  return new Proxy(object, {
    get(target, key) {
      const value = target[key]
      return typeof value === 'function' ? (...words) => native(() => value.apply(target, words)) : value
    },
  })
}

/** Runs code that is not ours, such as a getter of what was passed in; its errors get a code. */
function foreign(code, what, run) {
  try {
    return run()
  } catch (error) {
    if (error instanceof GoodcallError) throw error
    throw new GoodcallError(code, `${what}: ${error?.message ?? String(error)}`, { cause: error })
  }
}

/** A value in an error message: its kind, and its text if it is short. */
function shown(value) {
  if (value === null) return 'null'
  if (typeof value === 'number' || typeof value === 'boolean') return `the ${typeof value} ${value}`
  return value === undefined ? 'undefined' : Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`
}

/** Refuses an argument that has to be a string. */
function expectString(name, value, code = 'bad_argument') {
  if (typeof value !== 'string') {
    throw new GoodcallError(code, `${name}: expected a string, got ${shown(value)}`)
  }
}

/** Options as an object. */
function optionsOf(options) {
  if (options === undefined || options === null) return {}
  if (typeof options === 'object' && !Array.isArray(options)) return options
  throw new GoodcallError('bad_option', `expected options as an object, got ${shown(options)}`)
}

module.exports = { GoodcallError, native, ours, guarded, foreign, shown, expectString, optionsOf }
