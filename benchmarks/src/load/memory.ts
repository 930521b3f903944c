// The memory of a process as the system counts it. Linux only.
import { readFile } from 'node:fs/promises'

/** Bytes in memory. */
export interface Memory {
  /** All pages. */
  readonly rss: number
  /** Pages that no file backs. */
  readonly anonymous: number
  /** Pages of memory shared between processes. */
  readonly shared: number
}

export async function memoryOf(pid: number): Promise<Memory> {
  const [status, rollup] = await Promise.all(
    ['status', 'smaps_rollup'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')),
  )
  const kib = (text: string | undefined, name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text ?? '')?.[1] ?? Number.NaN) * 1_024
  return { rss: kib(rollup, 'Rss'), anonymous: kib(rollup, 'Anonymous'), shared: kib(status, 'RssShmem') }
}
