// The same types for programs that use `require`.
import goodcall = require('goodcall')

const tools: goodcall.Tools = new goodcall.Tools('[]')
const verdict: goodcall.Verdict = tools.check('f', '{}')
void verdict
