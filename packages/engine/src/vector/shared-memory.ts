// The shared WebAssembly memories of fields: their size, and what to do when the process has no address space for another one.
import { EngineError } from '../errors.ts'
import { claimRoomForMemory, memoriesMax } from './address-space.ts'

export const pageBytes = 65_536
/** The largest size of one memory. */
export const memoryBytesMax = 2 ** 32 - pageBytes

let lastId = 0

/** Identifies a memory in this process. Above 0. */
export function newMemoryId(): number {
  return ++lastId
}

/** Throws EngineError `memory_exhausted` if the process has no address space left for another memory. */
export function createMemory(pages: number): WebAssembly.Memory {
  if (!claimRoomForMemory()) throw noAddressSpace()
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: memoryBytesMax / pageBytes, shared: true })
  } catch (error) {
    throw noAddressSpace(error)
  }
}

function noAddressSpace(cause?: unknown): EngineError {
  const limit = memoriesMax()
  const message = `the process has no address space for another field with data: each reserves 8 GiB, and it has space for about ${limit}`
  return new EngineError('memory_exhausted', message, { limit }, { cause })
}
