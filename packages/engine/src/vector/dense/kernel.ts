// The compiled kernel: which of its two builds this engine can run, and the exports of an instance. An instance belongs to one thread and
// one arena.
import { readFile } from 'node:fs/promises'
import { refuseStale } from '../kernel-abi.ts'
import { ownFile } from '../own-files.ts'

/** Version of the interface between host and kernel; assembly/index.ts has the same number. */
const kernelAbi = 17

/** Exports of assembly/index.ts. Parameters and results are addresses, counts, and numbers. */
export interface Kernel {
  readonly abi: WebAssembly.Global
  attach(thread: number): void
  encodeRow(ordinal: number, birth: number, norm: number): void
  decodeRow(ordinal: number): void
  prepareQuery(): void
  prepareQueryBound(ef: number): void
  writeHead(ordinal: number): void
  projectRow(ordinal: number): void
  boundsOfIds(count: number): void
  estimatesFrom(ordinal: number, count: number): void
  screen(count: number, limit: number): number
  useEstimates(on: number): void
  takeHeads(): number
  keysFromOrdinal(ordinal: number, count: number): void
  copyColumn(ordinal: number, table: number, columns: number, column: number): void
  writeCovariance(table: number, columns: number, line: number, form: number, matrix: number): void
  mirrorCovariance(line: number, matrix: number): void
  multiply4(matrix: number, from: number, to: number): void
  orthonormalize(vectors: number, index: number): void
  exactKey(ordinal: number): number
  keysOf(from: number, count: number, out: number): void
  takeDistances(): number
  takeHops(): number
  setFarComparison(least: number, perEntry: number): void
  search(k: number, ef: number, rerank: number, version: number, bitmap: number, bits: number): number
  compare(k: number, ef: number, version: number, bitmap: number, bits: number): number
  isLastUnresolved(): number
  beginScan(k: number, version: number): void
  scanIds(count: number): void
  scanRange(from: number, to: number): void
  endScan(k: number): number
  openHeadsJob(): void
  openJob(before: number, count: number, first: number, encodable: number, links: number): void
  claim(): number
  claimed(): number
  work(kind: number): void
  finish(kind: number): number
  countUnreachable(): number
  chooseEntry(items: number): void
  clearBlock(block: number): void
  firstUnsound(): number
  hash(from: number, bytes: number, seed: bigint): bigint
  levelOf(ordinal: number): number
  linksOf(ordinal: number, level: number): number
  isFollower(ordinal: number): number
  leaderOf(ordinal: number): number
  compareOriginal(query: number, row: number, dimension: number, metric: number, head: bigint): number
}

/** Kinds that `claim` returns; job.ts in the kernel has the same numbers. */
export const work = { wait: -1, idle: 0, encode: 1, find: 2, link: 3, repair: 4, sweep: 5 } as const

/** A module that is valid only with relaxed SIMD: one function with i8x16.relaxed_swizzle. */
const relaxedProbe = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15,
  253, 128, 2, 11,
])

export type KernelBuild = 'relaxed' | 'plain'

export function bestBuild(): KernelBuild {
  return WebAssembly.validate(relaxedProbe) ? 'relaxed' : 'plain'
}

/** Reads and compiles a build. These are files of the program, not data. */
export async function compileKernel(build: KernelBuild = bestBuild()): Promise<WebAssembly.Module> {
  const name = build === 'relaxed' ? 'annal-relaxed.wasm' : 'annal.wasm'
  const module = await WebAssembly.compile(await readFile(ownFile(`#kernel/${name}`, name)))
  // Tested before there is any data, because a stale kernel is an error of the program and must not look like a damaged collection.
  instantiateKernel(module, new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }))
  return module
}

export function instantiateKernel(module: WebAssembly.Module, memory: WebAssembly.Memory): Kernel {
  const env = {
    memory,
    abort() {
      throw new Error('broken invariant: the kernel aborted')
    },
  }
  // WebAssembly's own type of exports is untyped; the interface above is checked by the tests that call every function.
  const kernel = new WebAssembly.Instance(module, { env }).exports as unknown as Kernel
  refuseStale(kernel.abi, kernelAbi)
  return kernel
}
