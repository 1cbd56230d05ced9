// Runs the six bad calls in every framework and writes the table of docs/node-frameworks.md.

import { frameworks } from './frameworks.mjs'
import { sixCalls } from './six-calls.mjs'

sixCalls(frameworks, 'docs/node-frameworks.md', 'frameworks.test.mjs')
