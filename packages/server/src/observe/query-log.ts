// A sample of the searches, for replays: one JSON object per line, with the LSN that the result reflects. If the disk is too slow, lines
// are dropped, so that searches are never delayed. The size of the files is limited. `annal bench record` reads them.
import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { ReceivedSearch } from '@annal/engine'

const fileBytesMax = 64 * 1024 * 1024
const filesKept = 4
const waitingBytesMax = 8 * 1024 * 1024

export class QueryLog {
  readonly #dir: string
  readonly #share: number
  #file: FileHandle | undefined
  #written = 0
  #waiting: string[] = []
  #waitingBytes = 0
  #writing: Promise<void> | undefined
  #failed = false
  readonly #onFailed: (error: Error) => void

  /** Records a random sample of `percent` of all searches. Calls `onFailed` once if the log can no longer be written. */
  constructor(dir: string, percent: number, onFailed: (error: Error) => void) {
    this.#dir = dir
    this.#share = percent / 100
    this.#onFailed = onFailed
  }

  note(search: ReceivedSearch): void {
    if (Math.random() < this.#share && this.#accepts) this.add(queryLine(search))
  }

  /** Records a search that another thread selected. */
  add(line: string): void {
    if (!this.#accepts) return
    this.#waiting.push(line)
    this.#waitingBytes += line.length
    this.#writing ??= this.#write()
  }

  get #accepts(): boolean {
    return this.#waitingBytes <= waitingBytesMax && !this.#failed
  }

  async close(): Promise<void> {
    await this.#writing
    await this.#file?.close()
    this.#file = undefined
  }

  async #write(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const lines = this.#waiting.join('')
        this.#waiting = []
        this.#waitingBytes = 0
        if (this.#written > fileBytesMax) await this.#begin()
        this.#file ??= await this.#begin()
        await this.#file.appendFile(lines)
        this.#written += lines.length
      }
    } catch (error) {
      this.#failed = true
      this.#onFailed(error as Error)
    } finally {
      this.#writing = undefined
    }
  }

  /** Opens the next file and removes the oldest ones. */
  async #begin(): Promise<FileHandle> {
    await this.#file?.close()
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    const names = (await readdir(this.#dir)).filter((name) => name.endsWith('.jsonl')).sort()
    for (const name of names.slice(0, Math.max(0, names.length + 1 - filesKept))) await rm(path.join(this.#dir, name))
    const next = Number.parseInt(names.at(-1) ?? '0', 10) + 1
    this.#written = 0
    this.#file = await open(path.join(this.#dir, `${String(next).padStart(10, '0')}.jsonl`), 'ax', 0o600)
    return this.#file
  }
}

/** The line of a search. */
export function queryLine({ collectionId, lsn, request }: ReceivedSearch): string {
  return `${JSON.stringify({ lsn, timeMs: Date.now(), collectionId, request }, plain)}\n`
}

/** Converts typed arrays to arrays, which JSON can represent. */
function plain(_key: string, value: unknown): unknown {
  return ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<number>) : value
}
