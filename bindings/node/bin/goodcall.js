#!/usr/bin/env node
'use strict'
// The command itself is in the native part.

const { command } = require('../lib/native.js')

process.exitCode = command(['goodcall', ...process.argv.slice(2)])
