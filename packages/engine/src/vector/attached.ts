// A thread's own view of an arena: a kernel instance, and the calls that answer a query with it.
import { type ArenaHandle, allowedWord, at, header, type ScratchAddresses } from './arena.ts'
import { instantiateKernel, type Kernel, work } from './kernel.ts'
import type { Found, ScanTask, SearchTask } from './tasks.ts'

const scanChunk = 4096

export interface Attached {
  readonly kernel: Kernel
  readonly thread: number
  readonly scratch: ScratchAddresses
  readonly memory: WebAssembly.Memory
  u32: Uint32Array<SharedArrayBuffer>
  f32: Float32Array<SharedArrayBuffer>
}

export function attachArena(handle: ArenaHandle, module: WebAssembly.Module, thread: number): Attached {
  const buffer = handle.memory.buffer
  return {
    kernel: instantiateKernel(module, handle.memory),
    thread,
    scratch: at(handle.scratch, thread),
    memory: handle.memory,
    u32: new Uint32Array(buffer),
    f32: new Float32Array(buffer),
  }
}

/** Sees what the owner has planned since: grown memory, new blocks, wider scratch. */
export function refresh(attached: Attached): void {
  const buffer = attached.memory.buffer
  if (buffer.byteLength !== attached.u32.byteLength) {
    attached.u32 = new Uint32Array(buffer)
    attached.f32 = new Float32Array(buffer)
  }
  attached.kernel.attach(attached.thread)
}

export function searchHere(attached: Attached, task: Omit<SearchTask, 'kind' | 'arena'>): Found {
  refresh(attached)
  const { kernel, scratch, f32, u32 } = attached
  f32.set(task.query, scratch.query / 4)
  let bits = 0
  if (task.allowed !== undefined) {
    const end = Math.min(at(u32, header.address / 4 + header.end), task.allowed.length * 32)
    const words = task.allowed.subarray(0, Math.ceil(end / 32))
    u32.set(words, at(u32, scratch.descriptor / 4 + allowedWord) / 4)
    bits = end
  }
  const filtered = task.allowed === undefined ? 0 : 1
  const found = kernel.search(task.k, task.ef, task.rerank, task.version, filtered, bits)
  return takeAnswer(attached, found)
}

export function scanHere(attached: Attached, task: Omit<ScanTask, 'kind' | 'arena'>): Found {
  refresh(attached)
  const { kernel, scratch, f32, u32 } = attached
  f32.set(task.query, scratch.query / 4)
  kernel.beginScan(task.k, task.version)
  if (task.ordinals === undefined) {
    kernel.scanRange(0, task.end)
  } else {
    for (let i = 0; i < task.ordinals.length; i += scanChunk) {
      const chunk = task.ordinals.subarray(i, i + scanChunk)
      u32.set(chunk, scratch.ids / 4)
      kernel.scanIds(chunk.length)
    }
  }
  return takeAnswer(attached, kernel.endScan(task.k))
}

function takeAnswer({ kernel, scratch, u32, f32 }: Attached, found: number): Found {
  return {
    ordinals: Uint32Array.from(u32.subarray(scratch.answers / 4, scratch.answers / 4 + found)),
    similarities: Float32Array.from(f32.subarray(scratch.similarities / 4, scratch.similarities / 4 + found)),
    visited: kernel.takeHops(),
    distances: kernel.takeDistances(),
  }
}

/** Works on the open job of the arena until it is over. */
export function helpApply(attached: Attached, vectors: Float32Array, dimension: number): void {
  refresh(attached)
  const { kernel, scratch, u32, f32, memory } = attached
  const words = new Int32Array(memory.buffer, header.address, 128)
  const items = at(u32, header.address / 4 + header.jobItems) / 4
  for (;;) {
    const limit = Atomics.load(words, header.jobLimit)
    const kind = kernel.claim()
    if (kind === work.idle) break
    if (kind === work.wait) {
      Atomics.wait(words, header.jobLimit, limit, 100)
      continue
    }
    if (kind === work.encode) {
      const i = kernel.claimed()
      const item = items + i * 3
      f32.set(vectors.subarray(i * dimension, (i + 1) * dimension), scratch.query / 4)
      kernel.encodeRow(at(u32, item), at(u32, item + 1), at(f32, item + 2))
    } else {
      kernel.work(kind)
    }
    kernel.finish(kind)
  } // Counted for nobody: the next query begins at none.
  kernel.takeHops()
  kernel.takeDistances()
}
