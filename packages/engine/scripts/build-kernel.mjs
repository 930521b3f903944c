// Compiles the kernel of dense fields twice from one source, with relaxed SIMD and for engines that do not have it, and the
// kernel of sparse fields, which has no use for it.
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const compiler = createRequire(import.meta.url).resolve('assemblyscript/bin/asc.js')

const flags = [
  '--runtime stub -O3 --noAssert --converge',
  '--importMemory --sharedMemory --initialMemory 1 --maximumMemory 65536 --memoryBase 1024',
  '--enable simd --enable threads',
].flatMap((line) => line.split(' '))

mkdirSync(join(root, 'kernel'), { recursive: true })
for (const [name, entry, extra] of [
  ['annal-relaxed', 'assembly/index.ts', ['--enable', 'relaxed-simd']],
  ['annal', 'assembly/index.ts', []],
  ['annal-sparse', 'assembly/sparse/index.ts', []],
]) {
  const out = join(root, 'kernel', `${name}.wasm`)
  const draft = join(root, 'kernel', `${name}.${process.pid}.tmp.wasm`)
  execFileSync(process.execPath, [compiler, join(root, entry), ...flags, ...extra, '--outFile', draft], {
    stdio: 'inherit',
  })
  renameSync(draft, out) // whole or not at all: a test running meanwhile may be reading it
}
