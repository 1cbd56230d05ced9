// Writes the packages of the platforms from the native parts in a folder, and the package itself with
// them as optional dependencies: `node scripts/platform-packages.mjs FOLDER OUT`. FOLDER holds files
// `goodcall.<platform>.node`; a platform without one is left out. OUT is ready for `npm publish` of each
// of its folders.

import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { platforms } from './platforms.mjs'

const [from, to] = process.argv.slice(2)
if (to === undefined) {
  console.error('usage: node scripts/platform-packages.mjs FOLDER OUT')
  process.exit(2)
}
const home = resolve(import.meta.dirname, '..')
const own = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
const write = (path, content) => writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`)

const optionalDependencies = {}
for (const { name, os, cpu, libc } of platforms) {
  const file = `goodcall.${name}.node`
  if (!existsSync(join(from, file))) continue
  const folder = join(to, name)
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(from, file), join(folder, file))
  const { version, license, engines } = own
  const description = `The native part of goodcall for ${name}`
  const only = { os: [os], cpu: [cpu], ...(libc && { libc: [libc] }) }
  write(join(folder, 'package.json'), { name: `goodcall-${name}`, version, description, license, engines, main: file, files: [file], ...only })
  optionalDependencies[`goodcall-${name}`] = version
}

const folder = join(to, 'goodcall')
mkdirSync(folder, { recursive: true })
for (const path of own.files) cpSync(join(home, path), join(folder, path), { recursive: true })
const { scripts, devDependencies, overrides, ...published } = own
write(join(folder, 'package.json'), { ...published, optionalDependencies })
console.log([...Object.keys(optionalDependencies), 'goodcall'].join('\n'))
