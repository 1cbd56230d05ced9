import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'

it('works in several threads, also when some are ended in the middle of a call', () => {
  const program = join(import.meta.dirname, 'workers.mjs')
  expect(execFileSync(process.execPath, [program], { encoding: 'utf8' })).toBe('ok\n')
})
