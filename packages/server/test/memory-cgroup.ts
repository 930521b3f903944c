// A control group of Linux, version 1 or 2, that limits the memory of the processes that join it, below the group of this process.
// Undefined if it cannot be created: not on Linux, no permission, or a group that cannot be divided.
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import path from 'node:path'

export interface MemoryCgroup {
  readonly version: 1 | 2
  /** Runs the following command in the group. */
  readonly join: readonly string[]
  /** Number of times that the kernel killed a process of the group because of memory. */
  kills(): Promise<number>
  /** Bytes of memory of its processes that the kernel cannot reclaim: without cached files. */
  held(): Promise<number>
  /** Changes the limit. Rejects if the members need more. */
  limit(bytes: number): Promise<void>
  /** All members must have exited. */
  remove(): Promise<void>
}

const root = '/sys/fs/cgroup'

export async function makeMemoryCgroup(bytes: number): Promise<MemoryCgroup | undefined> {
  const groups = await readFile('/proc/self/cgroup', 'utf8').catch(() => '')
  const first = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(groups)?.[1]
  const second = /^0::(.*)$/m.exec(groups)?.[1]
  for (const made of [
    first !== undefined && (() => ofVersion1(path.join(root, 'memory', first), bytes)),
    second !== undefined && (() => ofVersion2(path.join(root, second), bytes)),
  ]) {
    const group = made && (await made().catch(() => undefined))
    if (group) return group
  }
  return undefined
}

async function ofVersion1(parent: string, bytes: number): Promise<MemoryCgroup> {
  return bounded(parent, 1, {
    limits: [['memory.limit_in_bytes', bytes]],
    // Without swap where that is counted.
    more: ['memory.memsw.limit_in_bytes', bytes],
    events: 'memory.oom_control',
  })
}

async function ofVersion2(parent: string, bytes: number): Promise<MemoryCgroup> {
  // Fails if the group has processes of its own and is not the root.
  await writeFile(path.join(parent, 'cgroup.subtree_control'), '+memory').catch(() => undefined)
  return bounded(parent, 2, {
    limits: [['memory.max', bytes]],
    more: ['memory.swap.max', 0],
    events: 'memory.events',
  })
}

async function bounded(
  parent: string,
  version: 1 | 2,
  { limits, more, events }: { limits: [string, number][]; more: [string, number]; events: string },
): Promise<MemoryCgroup> {
  const dir = path.join(parent, `annal-test-${process.pid}`)
  await mkdir(dir)
  try {
    for (const [name, value] of limits) await writeFile(path.join(dir, name), String(value))
    await writeFile(path.join(dir, more[0]), String(more[1])).catch(() => undefined)
    await readFile(path.join(dir, events))
  } catch (error) {
    await rmdir(dir)
    throw error
  }
  return {
    version,
    join: ['/bin/sh', '-c', `echo $$ > "${dir}/cgroup.procs" || exit 70; exec "$@"`, 'sh'],
    kills: async () => Number(/oom_kill (\d+)/.exec(await readFile(path.join(dir, events), 'utf8'))?.[1] ?? 0),
    held: async () => {
      const stat = await readFile(path.join(dir, 'memory.stat'), 'utf8')
      const parts = version === 1 ? ['total_rss', 'total_shmem'] : ['anon', 'shmem', 'kernel_stack', 'pagetables']
      return parts.reduce((sum, name) => sum + Number(new RegExp(`^${name} (\\d+)`, 'm').exec(stat)?.[1] ?? 0), 0)
    },
    limit: async (bytes) => {
      for (const [name] of limits) await writeFile(path.join(dir, name), String(bytes))
    },
    remove: () => rmdir(dir),
  }
}
