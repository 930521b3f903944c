// How much memory a process may use, and how much is in use that the kernel cannot reclaim. Files that the kernel caches do not count: it
// drops them before it ends a process.
import { readFileSync } from 'node:fs'
import { freemem, totalmem } from 'node:os'
import { join } from 'node:path'

/** One limit, and what counts against it now, in bytes. */
export interface MemoryReading {
  readonly limit: number
  readonly used: number
  /** `option`: the limit of the host program. `group`: the control group of the process, or one above it. `machine`: its memory. */
  readonly source: 'option' | 'group' | 'machine'
}

export interface ReadMemoryOptions {
  /** Limit of the host program, in bytes. Only the memory of this process counts against it. */
  readonly bytesMax?: number | undefined
  /** Folder above `proc` and `sys`; tests replace it. */
  readonly root?: string
}

/** A control group with a limit, and the files that tell of it. */
interface Group {
  readonly dir: string
  readonly version: 1 | 2
}

/**
 * Returns a function that reads all limits that apply, in no order. Without limits that can be read, as outside of Linux, and without
 * `bytesMax`, it returns an empty list. A read takes about 0.1 ms.
 */
export function memoryReader({ bytesMax, root = '/' }: ReadMemoryOptions = {}): () => readonly MemoryReading[] {
  const groups = groupsOf(root)
  return () => [
    ...(bytesMax === undefined ? [] : [{ limit: bytesMax, used: usedByProcess(root), source: 'option' } as const]),
    ...groups.flatMap((group) => readGroup(group) ?? []),
    ...readMachine(root),
  ]
}

/** The lowest limit on this process, in bytes: that of its control groups, of `bytesMax`, or the memory of the machine. */
export function memoryLimit({ bytesMax, root = '/' }: ReadMemoryOptions = {}): number {
  const ofGroups = groupsOf(root).map(limitOf)
  return Math.min(bytesMax ?? Number.POSITIVE_INFINITY, totalmem(), ...ofGroups)
}

/** Bytes that this process can still take under all limits, or the free memory of the machine where none was read. */
export function availableMemory(readings: readonly MemoryReading[]): number {
  if (readings.length === 0) return freemem()
  return Math.max(0, Math.min(...readings.map(({ limit, used }) => limit - used)))
}

/** The groups of the process and all above it, as far as this file system shows them. */
function groupsOf(root: string): Group[] {
  const groups = textOf(join(root, 'proc/self/cgroup'))
  const first = /^\d+:(?:[^:\n]*,)?memory(?:,[^:\n]*)?:(.*)$/m.exec(groups)?.[1]
  const second = /^0::(.*)$/m.exec(groups)?.[1]
  return [
    ...(first === undefined
      ? []
      : pathsAbove(first).map((dir) => ({ dir: join(root, 'sys/fs/cgroup/memory', dir), version: 1 as const }))),
    ...(second === undefined
      ? []
      : pathsAbove(second).map((dir) => ({ dir: join(root, 'sys/fs/cgroup', dir), version: 2 as const }))),
  ].filter(({ dir }) => textOf(join(dir, 'memory.stat')) !== '')
}

/** `/a/b`, `/a`, and `/`. In a container, `/` is often the group of the container, and the other paths do not exist there. */
function pathsAbove(group: string): string[] {
  const parts = group.split('/').filter((part) => part !== '' && part !== '..')
  return Array.from({ length: parts.length + 1 }, (_, i) => parts.slice(0, parts.length - i).join('/'))
}

/** A group above may have no limit; then it is infinite. */
function limitOf({ dir, version }: Group): number {
  const names = version === 1 ? ['memory.limit_in_bytes'] : ['memory.max', 'memory.high']
  return Math.min(...names.map((name) => limitIn(textOf(join(dir, name)))))
}

/** Undefined while the group has no limit. */
function readGroup(group: Group): MemoryReading | undefined {
  const limit = limitOf(group)
  if (!(limit < totalmem())) return undefined
  const { dir, version } = group
  const stat = textOf(join(dir, 'memory.stat'))
  return { limit, used: sumOf(stat, version === 1 ? partsOfVersion1 : partsOfVersion2), source: 'group' }
}

/** With the groups below. The kernel's own memory is not in the file of version 1; the reserve of the guard has room for it. */
const partsOfVersion1 = ['total_rss', 'total_shmem']
const partsOfVersion2 = [
  'anon',
  'shmem',
  'kernel_stack',
  'pagetables',
  'percpu',
  'sock',
  'vmalloc',
  'slab_unreclaimable',
]

function sumOf(stat: string, names: readonly string[]): number {
  return names.reduce((sum, name) => sum + Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0), 0)
}

function limitIn(text: string): number {
  const bytes = text.trim()
  return /^\d+$/.test(bytes) ? Number(bytes) : Number.POSITIVE_INFINITY
}

/** Empty where the system does not tell how much memory is available, counting caches that it can drop. */
function readMachine(root: string): MemoryReading[] {
  const text = textOf(join(root, 'proc/meminfo'))
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN) * 1024
  const [limit, available, swap] = [kib('MemTotal'), kib('MemAvailable'), kib('SwapFree')]
  if (Number.isNaN(limit) || Number.isNaN(available)) return []
  return [{ limit, used: Math.max(0, limit - available - (Number.isNaN(swap) ? 0 : swap)), source: 'machine' }]
}

function usedByProcess(root: string): number {
  const status = textOf(join(root, 'proc/self/status'))
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN) * 1024
  const used = kib('RssAnon') + kib('RssShmem')
  return Number.isNaN(used) ? process.memoryUsage.rss() : used
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
