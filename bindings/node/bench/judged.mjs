// What each program makes of calls that are easily got wrong.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import Ajv from 'ajv'
import { jsonrepair } from 'jsonrepair'
import { parse as relaxedParse } from '@ai-sdk-tool/parser'
import { z } from 'zod'
import { Tools } from 'goodcall'

const numbers = createRequire(import.meta.url)('../lib/numbers.js')
const trapFile = new URL('../../../benches/peers/traps.json', import.meta.url)

/** What each program hands to the tool; one that refuses throws. */
const judges = {
  goodcall: (schema, raw) => {
    const verdict = new Tools([{ name: 'trap', parameters: schema }]).check('trap', raw)
    if (verdict.kind === 'bad') throw new Error(verdict.text)
    return verdict.arguments
  },
  'JSON.parse + Ajv': (schema, raw) => validated(new Ajv({ strict: false }), schema, JSON.parse(raw)),
  'JSON.parse + Ajv, coerceTypes': (schema, raw) => validated(new Ajv({ strict: false, coerceTypes: 'array' }), schema, JSON.parse(raw)),
  'JSON.parse + Zod': (schema, raw) => z.fromJSONSchema(schema).parse(JSON.parse(raw)),
  'jsonrepair + Ajv': (schema, raw) => validated(new Ajv({ strict: false }), schema, JSON.parse(jsonrepair(raw))),
  '@ai-sdk-tool/parser + Ajv': (schema, raw) => validated(new Ajv({ strict: false }), schema, relaxedParse(raw)),
}

function validated(ajv, schema, parsed) {
  if (!ajv.validate(schema, parsed)) throw new Error(ajv.errorsText())
  return parsed
}

const [RIGHT, REFUSED, WRONG] = ['✓', '–', '✗']

function mark({ schema, raw, right }, judge) {
  let made
  try {
    made = judge(schema, raw)
  } catch {
    return right === null ? RIGHT : REFUSED
  }
  return right !== null && isDeepStrictEqual(made, right) ? RIGHT : WRONG
}

/** The section of the page that says who is right, which no measurement changes. */
export function trapLines() {
  const lines = []
  const row = (...cells) => lines.push(`| ${cells.join(' | ')} |`)
  lines.push('## Who is right', '', 'Calls that are easily got wrong ([traps.json](../benches/peers/traps.json)). ✓: the tool is run with what')
  lines.push('was meant, or not run where it must not be. –: refused, though the call has one reading. ✗: the tool is')
  lines.push('run with something else, or though it must not be. Integers count as lost where a double rounds them.', '')
  const names = Object.keys(judges)
  row('call', ...names)
  row('---', ...names.map(() => ':-:'))
  const counts = Object.fromEntries(names.map((name) => [name, { [RIGHT]: 0, [REFUSED]: 0, [WRONG]: 0 }]))
  for (const trap of numbers.parse(readFileSync(trapFile, 'utf8'), 'bigint')) {
    const marks = names.map((name) => mark(trap, judges[name]))
    marks.forEach((one, index) => counts[names[index]][one]++)
    row(`${trap.name.replaceAll('|', '\\|')} (${trap.kind})`, ...marks)
  }
  for (const [word, one] of [['right', RIGHT], ['refused', REFUSED], ['wrong', WRONG]]) {
    row(`**${word}**`, ...names.map((name) => counts[name][one]))
  }
  return lines
}
