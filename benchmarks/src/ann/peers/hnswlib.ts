// hnswlib (C++), compiled for this machine with Debian's libhnswlib-dev or HNSWLIB_INCLUDE.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Dataset } from '../../sets/dataset.ts'
import type { Contender } from '../contender.ts'

export async function openHnswlib(set: Dataset): Promise<Contender> {
  const directory = mkdtempSync(join(tmpdir(), 'annal-hnswlib-'))
  const driver = join(directory, 'driver')
  const include = process.env.HNSWLIB_INCLUDE ?? '/usr/include'
  const source = fileURLToPath(new URL('hnswlib.cpp', import.meta.url))
  execFileSync('g++', ['-O3', '-march=native', '-DNDEBUG', `-I${include}`, '-o', driver, source, '-lpthread'])
  const files = ['base.f32', 'queries.f32', 'truth.i32'].map((file) => join(directory, file))
  ;[set.base, set.queries, set.truth].forEach((array, i) => {
    writeFileSync(files[i] ?? '', new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
  })
  const [base = '', queries = '', truth = ''] = files
  const counts = [set.base.length / set.dimension, set.dimension, set.queries.length / set.dimension].map(String)
  const metric = set.metric === 'l2' ? 'l2' : 'ip'
  const child = spawn(driver, [base, queries, ...counts, metric, truth, '16', '128'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error('the hnswlib driver exited')
    return JSON.parse(value) as Readonly<Record<'build_cpu' | 'bytes_per_row' | 'recall' | 'wall' | 'cpu', number>>
  }
  const { build_cpu: buildCpuSeconds, bytes_per_row: bytesPerRow } = await next()
  return {
    name: 'hnswlib',
    buildCpuSeconds,
    bytesPerRow,
    async run(ef, k) {
      child.stdin.write(`${ef} ${k}\n`)
      const { recall, wall, cpu } = await next()
      return { recall, wallSeconds: wall, cpuSeconds: cpu }
    },
    async close() {
      child.stdin.end()
      rmSync(directory, { recursive: true })
    },
  }
}
