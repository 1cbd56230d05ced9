'use strict'

const { GoodcallError } = require('./lib/error.js')
const { Tools } = require('./lib/tools.js')
const { Stream } = require('./lib/stream.js')
const { good } = require('./lib/good.js')
const { goodFetch } = require('./lib/fetch.js')
const { repairToolCall, goodTools, goodMiddleware } = require('./lib/ai-sdk.js')
const { goodTool } = require('./lib/openai-agents.js')
const { langChainMiddleware } = require('./lib/langchain.js')
const { goodClient, goodValidator } = require('./lib/mcp.js')

module.exports = {
  GoodcallError,
  Tools,
  Stream,
  good,
  goodFetch,
  repairToolCall,
  goodTools,
  goodMiddleware,
  goodTool,
  langChainMiddleware,
  goodClient,
  goodValidator,
}
