'use strict'
// JSON without rounding. `JSON.parse` makes a double of every number; an integer beyond 2^53 loses
// digits by that, silently.

const { GoodcallError } = require('./error.js')

/** Numbers that a double may not hold: 16 digits in a row, or an exponent. */
const SUSPICIOUS = /\d{16}|\d[eE]/
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Every number of so many digits is the nearest one to some double, so that none of them is lost. */
const EXACT = 15

const MODES = ['bigint', 'text', 'number']

/** Checks the option `numbers`. */
function mode(numbers = 'bigint') {
  if (MODES.includes(numbers)) return numbers
  throw new GoodcallError('bad_option', `unknown numbers \`${numbers}\`: expected bigint, text or number`)
}

/** A prefix for strings that no string of a text has, since nobody can guess it. */
function unguessable() {
  return `\u0001${Math.random()} ${Math.random()} `
}

/** The digits of a number without zeros around them, and the power of ten of the last one. */
function decimal(digits) {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(digits)
  const all = (whole + fraction).replace(/^0+/, '')
  const kept = all.replace(/0+$/, '')
  return { sign, kept, power: Number(exponent) - fraction.length + all.length - kept.length }
}

/** What stands for a number that a double does not hold; undefined for one that it does. */
function inexact(digits, numbers) {
  const double = Number(digits)
  if (!/[.eE]/.test(digits)) return Number.isSafeInteger(double) || Object.is(double, -0) ? undefined : digits
  if (!Number.isFinite(double)) return digits
  const { sign, kept, power } = decimal(digits)
  if (kept.length <= EXACT) return undefined
  const shown = decimal(String(double))
  if (shown.kept === kept && shown.power === power) return undefined
  // An integer that is written with a point or an exponent is one all the same.
  if (power >= 0 && numbers === 'bigint') return sign + kept + '0'.repeat(power)
  // A fraction is rounded as JavaScript rounds it.
  return numbers === 'text' ? digits : undefined
}

/** Parses JSON; an integer that a double does not hold becomes a bigint, or its digits as text. */
function parse(text, numbers) {
  if (numbers === 'number' || !SUSPICIOUS.test(text)) return JSON.parse(text)
  const mark = unguessable()
  let found = false
  const marked = text.replace(TOKEN, (token) => {
    const kept = token[0] === '"' ? undefined : inexact(token, numbers)
    if (kept === undefined) return token
    found = true
    return JSON.stringify(mark + kept)
  })
  if (!found) return JSON.parse(text)
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== 'string' || !value.startsWith(mark)) return value
    const digits = value.slice(mark.length)
    return numbers === 'bigint' && /^-?\d+$/.test(digits) ? BigInt(digits) : digits
  })
}

/** Writes JSON, with a bigint as a number; undefined for what JSON cannot say. */
function stringify(value) {
  let mark
  const text = JSON.stringify(value, (_, member) => {
    if (typeof member !== 'bigint') return member
    mark ??= unguessable()
    return mark + member
  })
  if (mark === undefined) return withSurrogates(text)
  const quoted = JSON.stringify(mark).slice(1, -1).replace(/[\\.]/g, '\\$&')
  return withSurrogates(text.replace(new RegExp(`"${quoted}(-?\\d+)"`, 'g'), '$1'))
}

/**
 * Writes lone surrogates as they are. `JSON.stringify` makes escapes of them, which no JSON may have; a
 * text with them is judged, and so is a value.
 */
function withSurrogates(text) {
  if (!text?.includes('\\ud')) return text
  const unescaped = (escape, unit) => (unit === undefined ? escape : String.fromCharCode(parseInt(unit, 16)))
  return text.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|[^])/g, unescaped)
}

/**
 * Whether a value is what its JSON says: no date, map or other object that is written as something
 * else, and no number that is not one. A member without a value counts as left out.
 */
function isJson(value) {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
  if (value === null) return true
  if (typeof value.toJSON === 'function') return false
  // This way holes are undefined, and are not passed over.
  if (Array.isArray(value)) return Array.from(value).every(isJson)
  const parent = Object.getPrototypeOf(value)
  if (parent !== null && Object.getPrototypeOf(parent) !== null) return false
  return Object.values(value).every((member) => member === undefined || isJson(member))
}

module.exports = { mode, parse, stringify, isJson }
