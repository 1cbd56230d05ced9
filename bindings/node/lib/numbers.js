'use strict'
// JSON without rounding. `JSON.parse` makes a double of every number; an integer beyond 2^53 loses
// digits by that, silently.

const { GoodcallError } = require('./error.js')

/** Numbers that a double may not hold: 16 digits in a row, or an exponent. */
const SUSPICIOUS = /\d{16}|\d[eE]/
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

const MODES = ['bigint', 'text', 'number']

/** Checks the option `numbers`. */
function mode(numbers = 'bigint') {
  if (MODES.includes(numbers)) return numbers
  throw new GoodcallError('bad_option', `unknown numbers \`${numbers}\`: expected bigint, text or number`)
}

/** A prefix that no string of the text begins with. */
function unusedMark(text) {
  let mark = '\u0001n'
  while (text.includes(mark) || text.includes(JSON.stringify(mark).slice(1, -1))) mark += 'n'
  return mark
}

/** What stands for a number that a double does not hold; undefined for one that it does. */
function inexact(digits, numbers) {
  if (/[.eE]/.test(digits)) {
    // A decimal fraction is rounded as JavaScript rounds it, unless that makes it infinite.
    if (!Number.isFinite(Number(digits))) return digits
    return numbers === 'text' && significant(digits) > 15 ? digits : undefined
  }
  if (Number.isSafeInteger(Number(digits)) || Object.is(Number(digits), -0)) return undefined
  return digits
}

function significant(digits) {
  return digits.replace(/[eE].*$/, '').replace(/[-.]/g, '').replace(/^0+/, '').length
}

/** Parses JSON; an integer that a double does not hold becomes a bigint, or its digits as text. */
function parse(text, numbers) {
  if (numbers === 'number' || !SUSPICIOUS.test(text)) return JSON.parse(text)
  const mark = unusedMark(text)
  let found = false
  const marked = text.replace(TOKEN, (token) => {
    if (token[0] === '"' || inexact(token, numbers) === undefined) return token
    found = true
    return JSON.stringify(mark + token)
  })
  if (!found) return JSON.parse(text)
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== 'string' || !value.startsWith(mark)) return value
    const digits = value.slice(mark.length)
    return numbers === 'bigint' && /^-?\d+$/.test(digits) ? BigInt(digits) : digits
  })
}

/** Writes JSON; a bigint is written as a number. */
function stringify(value) {
  let mark
  const text = JSON.stringify(value, (_, member) => {
    if (typeof member !== 'bigint') return member
    mark ??= `\u0001n${Math.random()}`
    return mark + member
  })
  if (mark === undefined) return text ?? ''
  const quoted = JSON.stringify(mark).slice(1, -1).replace(/[\\.]/g, '\\$&')
  return text.replace(new RegExp(`"${quoted}(-?\\d+)"`, 'g'), '$1')
}

module.exports = { mode, parse, stringify }
