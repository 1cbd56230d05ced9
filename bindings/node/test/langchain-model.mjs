// A model of LangChain that answers by a script.

import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage } from 'langchain'

/** A model of LangChain, which keeps arguments that are not JSON apart, as its providers do. */
export class ScriptedChatModel extends BaseChatModel {
  seen = []
  raw
  tool

  constructor(raw, tool) {
    super({})
    this.raw = raw
    this.tool = tool
  }

  _llmType() {
    return 'scripted'
  }

  bindTools() {
    return this
  }

  async _generate(messages) {
    this.seen.push(messages)
    let message = new AIMessage('Done.')
    if (this.seen.length === 1) {
      try {
        message = new AIMessage({ content: '', tool_calls: [{ type: 'tool_call', id: 'c1', name: this.tool, args: JSON.parse(this.raw) }] })
      } catch (error) {
        const unparsed = { type: 'invalid_tool_call', id: 'c1', name: this.tool, args: this.raw, error: error.message }
        message = new AIMessage({ content: '', invalid_tool_calls: [unparsed] })
      }
    }
    return { generations: [{ text: '', message }] }
  }
}
