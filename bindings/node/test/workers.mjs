// The package in several threads at once, some of which are ended in the middle of a call.

import assert from 'node:assert/strict'
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'
import { Tools } from 'goodcall'

const definitions = [{ name: 'f', parameters: { type: 'object', properties: { n: { type: 'integer' }, tags: { type: 'array' } }, required: ['n'] } }]
const tags = Array.from({ length: 5000 }, (_, index) => `tag ${index}`)
const large = JSON.stringify({ n: '5', tags })

/** Checks that calls of one thread are never judged by the tools of another. */
function work(number) {
  const tools = new Tools([{ name: `tool_${number}`, parameters: { type: 'object', properties: { [`key_${number}`]: { type: 'integer' } }, additionalProperties: false } }])
  for (let call = 0; call < 500; call++) {
    const verdict = tools.check(`tool_${number}`, `{"key_${number}": "${call}",}`)
    assert.deepEqual(verdict.arguments, { [`key_${number}`]: call })
    if (call % 100 === 0) assert.equal(verdict.changes.length, 2)
  }
}

async function threads() {
  const done = Array.from({ length: 4 }, (_, number) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { number } })
    return new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject))
  })
  work('main')
  assert.deepEqual(await Promise.all(done), [0, 0, 0, 0])
}

async function terminated() {
  for (let time = 0; time < 6; time++) {
    const worker = new Worker(new URL(import.meta.url), { workerData: { endless: time % 2 === 0 ? 'check' : 'checkAsync' } })
    await new Promise((resolve) => worker.once('message', resolve))
    assert.equal(await worker.terminate(), 1)
  }
  work('after')
}

if (isMainThread) {
  await threads()
  await terminated()
  console.log('ok')
} else if (workerData.endless === undefined) {
  work(workerData.number)
} else {
  const tools = new Tools(definitions)
  parentPort.postMessage('begins')
  for (;;) {
    if (workerData.endless === 'check') tools.check('f', large)
    else await Promise.all([1, 2, 3, 4].map(() => tools.checkAsync('f', large)))
  }
}
