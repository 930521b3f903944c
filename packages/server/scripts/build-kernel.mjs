// Compiles the reader of numbers.
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const compiler = createRequire(import.meta.url).resolve('assemblyscript/bin/asc.js')
const flags = '--runtime stub -O3 --noAssert --converge --memoryBase 1024 --initialMemory 16 --maximumMemory 16'

mkdirSync(join(root, 'kernel'), { recursive: true })
const draft = join(root, 'kernel', `numbers.${process.pid}.tmp.wasm`)
execFileSync(process.execPath, [compiler, join(root, 'assembly/numbers.ts'), ...flags.split(' '), '--outFile', draft], {
  stdio: 'inherit',
})
renameSync(draft, join(root, 'kernel', 'numbers.wasm')) // whole or not at all: a test running meanwhile may be reading it
