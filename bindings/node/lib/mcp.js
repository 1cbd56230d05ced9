'use strict'
// MCP: a client that checks calls before they are sent, and a validator for servers.

const { optionsOf } = require('./error.js')
const { Offered } = require('./offered.js')
const { Tools } = require('./tools.js')

/** The most pages of a list of tools that are read. */
const MOST_PAGES = 100

/** `callTool` checks arguments by the server's schemas before they are sent. */
function goodClient(client, options) {
  new Tools({ name: 'f', parameters: {} }, options) // Wrong options are to throw here, not at the first call.
  let listed
  const list = async () => {
    const all = []
    let cursor
    for (let page = 0; page < MOST_PAGES; page++) {
      const { tools, nextCursor } = await client.listTools(cursor === undefined ? undefined : { cursor })
      all.push(...tools)
      if (nextCursor === undefined) break
      cursor = nextCursor
    }
    listed = all.length > 0 ? new Offered(all, options) : undefined
  }
  const callTool = async (params, ...others) => {
    const check = () => listed?.check(params.name, params.arguments ?? {})
    if (listed === undefined) await list()
    let verdict = check()
    if (verdict !== undefined && verdict.kind !== 'good') {
      // The list may be out of date: a call is mended or refused only by the present one.
      await list()
      verdict = check()
    }
    if (verdict?.kind === 'bad') return { isError: true, content: [{ type: 'text', text: verdict.text }] }
    if (verdict?.kind !== 'mended') return client.callTool(params, ...others)
    return client.callTool({ ...params, name: verdict.tool, arguments: verdict.arguments }, ...others)
  }
  return new Proxy(client, {
    get(target, key) {
      if (key === 'callTool') return callTool
      const value = target[key]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** For `fromJsonSchema` of the server SDK: values are mended, and the error is the text for the model. */
function goodValidator(options) {
  return {
    getValidator(schema) {
      const tools = new Tools([{ name: 'tool', parameters: schema }], { ...optionsOf(options), anonymous: true })
      return (input) => {
        const verdict = tools.check('tool', input)
        if (verdict.kind === 'bad') return { valid: false, data: undefined, errorMessage: verdict.text }
        return { valid: true, data: verdict.arguments, errorMessage: undefined }
      }
    },
  }
}

module.exports = { goodClient, goodValidator }
