// One copy of the package serves `import` and `require`.
import goodcall from './index.js'

export const {
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
} = goodcall
