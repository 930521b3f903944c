// The resident memory of a process by kind of mapping, as the system counts it. Linux only.
//
// A WebAssembly memory reserves its whole address space and makes a part of it writable, so its pages are in a mapping before one of at
// least 2 GiB without access. V8 takes memory for objects in pieces of 256 KiB; pieces next to each other with equal access are one mapping
// for the system, so a part of V8's memory counts as `others`.
import { readFile } from 'node:fs/promises'

/** Resident bytes by kind. */
export interface Mappings {
  /** Memories of fields. */
  readonly fields: number
  /** The main heap of the allocator. */
  readonly heap: number
  /** Heaps of the allocator for other threads. */
  readonly threadHeaps: number
  /** Pieces of V8's heaps. */
  readonly pieces: number
  /** The program, its libraries, and files. */
  readonly files: number
  /** Everything else: large blocks of the allocator, machine code, stacks. */
  readonly others: number
}

interface Mapping {
  readonly from: number
  readonly to: number
  readonly access: string
  readonly path: string
  rss: number
}

const reservedMin = 2 ** 31
const pieceBytes = 2 ** 18
const threadHeapBytes = 2 ** 26

/** Reads the mappings of a process. */
export async function mappingsOf(pid: number): Promise<Mappings> {
  const found = parse(await readFile(`/proc/${pid}/smaps`, 'utf8'))
  const sums = { fields: 0, heap: 0, threadHeaps: 0, pieces: 0, files: 0, others: 0 }
  for (const [i, mapping] of found.entries()) sums[kindOf(mapping, found[i + 1])] += mapping.rss
  return sums
}

function parse(smaps: string): Mapping[] {
  const found: Mapping[] = []
  for (const line of smaps.split('\n')) {
    const head = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+\s*(.*)$/.exec(line)
    const rss = /^Rss:\s+(\d+) kB/.exec(line)?.[1]
    const last = found.at(-1)
    if (head !== null) {
      const [, from = '', to = '', access = '', path = ''] = head
      found.push({ from: Number.parseInt(from, 16), to: Number.parseInt(to, 16), access, path, rss: 0 })
    } else if (rss !== undefined && last !== undefined) last.rss = Number(rss) * 1_024
  }
  return found
}

function kindOf({ from, to, access, path }: Mapping, next: Mapping | undefined): keyof Mappings {
  if (path.startsWith('/')) return 'files'
  if (path === '[heap]') return 'heap'
  const isBeforeReserved = next !== undefined && next.from === to && next.access.startsWith('---')
  if (access.startsWith('rw') && isBeforeReserved && next.to - next.from >= reservedMin) return 'fields'
  const end = isBeforeReserved ? next.to : to
  if (from % threadHeapBytes === 0 && end - from === threadHeapBytes) return 'threadHeaps'
  return to - from === pieceBytes ? 'pieces' : 'others'
}
