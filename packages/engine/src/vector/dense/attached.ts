// A thread's own view of an arena: a kernel instance over its memory, and the pieces of work that are done with it.

import { synchronized } from '../synchronized.ts'
import { type ArenaHandle, elementAt, header } from './arena.ts'
import { instantiateKernel, type Kernel, work } from './kernel.ts'
import type { ScratchAddresses } from './scratch.ts'

export interface Attached {
  readonly kernel: Kernel
  readonly thread: number
  readonly scratch: ScratchAddresses
  readonly memory: WebAssembly.Memory
  u32: Uint32Array<SharedArrayBuffer>
  f32: Float32Array<SharedArrayBuffer>
}

export function attachArena(handle: ArenaHandle, module: WebAssembly.Module, thread: number): Attached {
  const kernel = instantiateKernel(module, handle.memory)
  const { buffer } = synchronized(handle.memory)
  return {
    kernel,
    thread,
    scratch: elementAt(handle.scratch, thread),
    memory: handle.memory,
    u32: new Uint32Array(buffer),
    f32: new Float32Array(buffer),
  }
}

/** Sees what the owner has planned since: grown memory, new blocks, wider scratch. */
export function refresh(attached: Attached): void {
  const { buffer } = attached.memory
  if (buffer.byteLength !== attached.u32.byteLength) {
    attached.u32 = new Uint32Array(buffer)
    attached.f32 = new Float32Array(buffer)
  }
  attached.kernel.attach(attached.thread)
}

export interface SearchCall {
  /** How many rows, of the bitmap where there is one, are compared, each by its code, instead of walking; 0 walks. */
  readonly compared: number
  readonly k: number
  readonly ef: number
  readonly rerank: number
  readonly version: number
  /** Address of a bitmap in the arena, or 0. */
  readonly bitmap: number
  readonly bits: number
}

/** Searches for the query; returns how many answers stand in the scratch. */
export function searchIn(attached: Attached, query: Float32Array, call: SearchCall): number {
  refresh(attached)
  attached.f32.set(query, attached.scratch.query / 4)
  const { k, ef, rerank, version, bitmap, bits } = call
  if (call.compared > 0) return attached.kernel.compare(k, ef, version, bitmap, bits)
  return attached.kernel.search(k, ef, rerank, version, bitmap, bits)
}

export interface ScanCall {
  readonly k: number
  readonly version: number
  readonly listed: Uint32Array | undefined
  readonly from: number
  readonly to: number
}

/** Ordinals listed to the kernel at a time: what its list has room for. */
const scanChunk = 8192

export function scanIn(attached: Attached, query: Float32Array, call: ScanCall): number {
  refresh(attached)
  const { kernel, scratch, f32, u32 } = attached
  f32.set(query, scratch.query / 4)
  kernel.beginScan(call.k, call.version)
  if (call.listed === undefined) kernel.scanRange(call.from, call.to)
  else
    for (let i = 0; i < call.listed.length; i += scanChunk) {
      const chunk = call.listed.subarray(i, i + scanChunk)
      u32.set(chunk, scratch.ids / 4)
      kernel.scanIds(chunk.length)
    }
  return kernel.endScan(call.k)
}

/** Copies out what a query left in the scratch. */
export function answersOf({ kernel, scratch, u32, f32 }: Attached, found: number) {
  // Element by element: answers are few, and a slice of shared memory costs more than all of them.
  const ordinals = new Uint32Array(found)
  const similarities = new Float32Array(found)
  for (let i = 0; i < found; i++) {
    ordinals[i] = elementAt(u32, scratch.answers / 4 + i)
    similarities[i] = elementAt(f32, scratch.similarities / 4 + i)
  }
  return { ordinals, similarities, visited: kernel.takeHops(), distances: kernel.takeDistances() }
}

/** What a thread found to do in an open job: nothing, a piece that began a phase others should know of, or the last one. */
export type Progress = 'nothing' | 'piece' | 'phase' | 'over'

/** Takes one piece of work of the arena's job. `staging` holds the vectors of items at hand. */
export function helpApply(attached: Attached, staging: SharedArrayBuffer): Progress {
  const { kernel } = attached
  const kind = kernel.claim()
  if (kind === work.idle || kind === work.wait) return 'nothing'
  refresh(attached)
  if (kind === work.encode) encodeClaimed(attached, staging)
  else kernel.work(kind)
  // Counted for nobody: the next query begins at none.
  kernel.takeHops()
  kernel.takeDistances()
  const next = kernel.finish(kind)
  if (next === work.wait) return 'over'
  return next > 1 ? 'phase' : 'piece'
}

function encodeClaimed({ kernel, scratch, u32, f32 }: Attached, staging: SharedArrayBuffer): void {
  const word = (index: number) => elementAt(u32, header.address / 4 + index)
  const dimension = word(header.dimension)
  const claimed = kernel.claimed()
  const vector = new Float32Array(staging, word(header.jobVectors) + claimed * dimension * 4, dimension)
  f32.set(vector, scratch.query / 4)
  const item = word(header.jobItems) / 4 + (word(header.jobFirst) + claimed) * 3
  kernel.encodeRow(elementAt(u32, item), elementAt(u32, item + 1), elementAt(f32, item + 2))
}
