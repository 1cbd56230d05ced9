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
    throw error instanceof GoodcallError ? error : new GoodcallError(error.code, error.message)
  }
}

module.exports = { GoodcallError, native }
