// Compiles the kernel twice from one source: with relaxed SIMD, and for engines that do not have it.
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
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
for (const [name, extra] of [
  ['annal-relaxed', ['--enable', 'relaxed-simd']],
  ['annal', []],
]) {
  const out = join(root, 'kernel', `${name}.wasm`)
  execFileSync(process.execPath, [compiler, join(root, 'assembly/index.ts'), ...flags, ...extra, '--outFile', out], {
    stdio: 'inherit',
  })
}
