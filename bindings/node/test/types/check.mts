// What the compiler has to accept, and what it has to refuse.
import { z } from 'zod'
import { Type } from 'typebox'
import { GoodcallError, Stream, Tools, good, goodFetch, type Change, type Extracted, type Policy, type Verdict } from 'goodcall'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_: Equal<A, B>) => {}

const tools = new Tools([{ name: 'f', parameters: z.object({ n: z.int() }) }], { policy: 'eager,-enum-typo', numbers: 'text' })
same<typeof tools.names, string[]>(true)

const verdict = tools.check<{ n: number }>('f', '{}', { stop: 'finished' })
same<typeof verdict, Verdict<{ n: number }>>(true)
if (verdict.kind === 'bad') {
  const text: string = verdict.text
  same<typeof verdict.arguments, undefined>(true)
  void text
} else {
  same<typeof verdict.arguments, { n: number }>(true)
  same<typeof verdict.changes, readonly Change[]>(true)
  const json: string = verdict.json
  void json
}

const wrapped = good(z.object({ n: z.int().default(1) }))
const result = await wrapped['~standard'].validate({})
if (result.issues === undefined) same<typeof result.value, { n: number }>(true)
good(Type.Object({ n: Type.Integer() }), { name: 'f' })
good({ type: 'object' }, { onVerdict: (one) => one.kind })

for (const update of new Stream(tools, { provider: 'anthropic', textCalls: 'anywhere' }).push('{}')) {
  if (update.type === 'call' && update.kind !== 'bad') void update.arguments
}
const fetch: typeof globalThis.fetch = goodFetch({ reasks: 1, onReport: (report) => report.calls[0]?.tool })
void fetch
const policy: Policy = { level: 'safe', tools: { drop: 'strict' } }
void policy
void new GoodcallError('bad_argument', 'message', { cause: 1 }).code
same<ReturnType<typeof tools.extractAsync>, Promise<Extracted>>(true)

// @ts-expect-error: there is no such level of numbers
new Tools([], { numbers: 'float' })
// @ts-expect-error: a stop reason has one of three names
tools.check('f', '{}', { stop: 'length' })
// @ts-expect-error: a verdict cannot be written to
verdict.changes.push()
// @ts-expect-error: there is no such code
new GoodcallError('bad_luck', 'message')
// @ts-expect-error: there is no such provider
new Stream(tools, { provider: 'acme' })
// @ts-expect-error: there is no such option
goodFetch({ retries: 2 })
