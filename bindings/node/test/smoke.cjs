// What every supported Node has to do, without a test framework: `node test/smoke.cjs`.
'use strict'

const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const { join } = require('node:path')
const { GoodcallError, Stream, Tools, good, goodFetch } = require('goodcall')

const parameters = { type: 'object', properties: { n: { type: 'integer' }, id: {} }, required: ['n'] }
const tools = new Tools([{ name: 'f', parameters }])

async function main() {
  assert.equal(tools.check('f', '{"n": 1}').kind, 'good')
  assert.deepEqual(tools.check('f', '{"n": "1", "id": 12345678901234567890}').arguments, { n: 1, id: 12345678901234567890n })
  assert.equal((await tools.checkAsync('f', '{}')).kind, 'bad')
  assert.throws(() => new Tools(5), GoodcallError)
  assert.deepEqual(await good(parameters)['~standard'].validate({ n: '1' }), { value: { n: 1 } })
  assert.equal(new Stream(tools, { textCalls: true }).pushText('Hello.\n')[0].type, 'text')

  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"n": "1"}' } }
  const reply = { choices: [{ message: { role: 'assistant', tool_calls: [call] }, finish_reason: 'tool_calls' }] }
  const fetch = goodFetch({ fetch: async () => Response.json(reply) })
  const body = JSON.stringify({ messages: [], tools: [{ type: 'function', function: { name: 'f', parameters } }] })
  const judged = await (await fetch('http://localhost/v1/chat/completions', { method: 'POST', body })).json()
  assert.equal(judged.choices[0].message.tool_calls[0].function.arguments, '{"n":1}')

  const imported = await import('goodcall')
  assert.equal(imported.Tools, Tools)

  const command = join(__dirname, '..', 'bin', 'goodcall.js')
  assert.match(execFileSync(process.execPath, [command, 'rules'], { encoding: 'utf8' }), /string-to-number/)
  assert.throws(() => execFileSync(process.execPath, [command, 'no-such-command'], { stdio: 'pipe' }), { status: 2 })
  console.log('ok: the package works with this Node')
}

main()
