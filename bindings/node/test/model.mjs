// A model of the AI SDK that answers by a script.

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

function content(step, index) {
  if (typeof step === 'string') return [{ type: 'text', text: step }]
  return [{ type: 'tool-call', toolCallId: `call_${index}`, toolName: step.name, input: step.arguments }]
}

function finish(step) {
  const unified = typeof step === 'string' ? 'stop' : 'tool-calls'
  return { unified, raw: unified }
}

function* parts(step, index, size) {
  yield { type: 'stream-start', warnings: [] }
  for (const part of content(step, index)) {
    if (part.type === 'text') {
      yield { type: 'text-start', id: 't' }
      for (let at = 0; at < part.text.length; at += size) yield { type: 'text-delta', id: 't', delta: part.text.slice(at, at + size) }
      yield { type: 'text-end', id: 't' }
    } else {
      yield part
    }
  }
  yield { type: 'finish', finishReason: finish(step), usage }
}

/** A model that takes the steps in turn: `{name, arguments}` for a call, or text. */
export function scriptedModel(steps, { size = 5 } = {}) {
  const prompts = []
  const next = (options) => {
    prompts.push(options.prompt)
    return steps[Math.min(prompts.length, steps.length) - 1]
  }
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: 'm',
    supportedUrls: {},
    prompts,
    doGenerate: async (options) => {
      const step = next(options)
      return { content: content(step, prompts.length), finishReason: finish(step), usage, warnings: [] }
    },
    doStream: async (options) => ({ stream: ReadableStream.from(parts(next(options), prompts.length, size)) }),
  }
}

/** What the model reads as the result of its call. */
export function told(prompts) {
  const tool = prompts.at(-1).findLast((message) => message.role === 'tool')
  const output = tool?.content[0].output
  return output === undefined ? undefined : typeof output.value === 'string' ? output.value : JSON.stringify(output.value)
}
