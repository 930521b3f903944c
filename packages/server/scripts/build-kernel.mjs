// Compiles the programs that read the bytes of bodies: the numbers of a JSON query, JSON bodies that arrive in pieces, and the vectors of
// MessagePack.
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const compiler = createRequire(import.meta.url).resolve('assemblyscript/bin/asc.js')
const programs = [
  { name: 'numbers', pages: 16 },
  { name: 'scan', pages: 12 },
  { name: 'floats', pages: 4 },
]

mkdirSync(join(root, 'kernel'), { recursive: true })
for (const { name, pages } of programs) {
  const draft = join(root, 'kernel', `${name}.${process.pid}.tmp.wasm`)
  const flags = `--runtime stub -O3 --noAssert --converge --enable simd --memoryBase 1024 --initialMemory ${pages} --maximumMemory ${pages}`
  const args = [compiler, join(root, 'assembly', `${name}.ts`), ...flags.split(' '), '--outFile', draft]
  execFileSync(process.execPath, args, { stdio: 'inherit' })
  // Renamed when it is complete, because a running test may read it.
  renameSync(draft, join(root, 'kernel', `${name}.wasm`))
}
