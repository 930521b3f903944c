// The progress file of an import. It is replaced atomically after the objects are stored, so a resumed import may store some objects
// again under the same ids but never skips any.
import { open, readFile, rename, rm } from 'node:fs/promises'
import type { JsonValue } from '@annal/client'
import { usageError } from '../exit-code.ts'

export interface Progress {
  /** Number of objects stored so far. */
  readonly stored: number
  readonly next: JsonValue
}

export interface ResumeFile {
  /** The progress of an interrupted import; undefined if there was none. */
  readonly earlier: Progress | undefined
  /** Saves at most once per second; `flush` and `remove` report a failed save. */
  keep(progress: Progress): void
  /** Saves the final progress of a failed import. */
  flush(): Promise<void>
  /** Removes the file when the import is complete. */
  remove(): Promise<void>
}

interface Of {
  readonly source: string
  readonly collection: string
}

const keepEveryMs = 1_000

export async function openResumeFile(file: string | undefined, target: Of): Promise<ResumeFile> {
  if (file === undefined) return noFile
  const earlier = await readProgress(file, target)
  let waiting: Progress | undefined
  let writtenAt = performance.now()
  let writing = Promise.resolve()
  const flush = () => {
    const progress = waiting
    waiting = undefined
    writtenAt = performance.now()
    if (progress !== undefined)
      writing = writing.then(() => writeWhole(file, `${JSON.stringify({ ...target, ...progress })}\n`))
    return writing
  }
  return {
    earlier,
    keep(progress) {
      waiting = progress
      // The import awaits this promise at its end and reports its failure.
      if (performance.now() - writtenAt >= keepEveryMs) flush().catch(() => undefined)
    },
    flush,
    async remove() {
      await writing
      await rm(file, { force: true })
    },
  }
}

const noFile: ResumeFile = {
  earlier: undefined,
  keep: () => undefined,
  flush: () => Promise.resolve(),
  remove: () => Promise.resolve(),
}

async function readProgress(file: string, { source, collection }: Of): Promise<Progress | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  const kept = parseState(text)
  if (typeof kept?.stored !== 'number' || kept.next === undefined) {
    throw usageError(`--resume ${file}: not written by an import`)
  }
  if (kept.source !== source || kept.collection !== collection) {
    throw usageError(
      `--resume ${file}: belongs to an import of ${kept.source} into ${kept.collection}, not of ${source} into ${collection}`,
    )
  }
  return { stored: kept.stored, next: kept.next }
}

function parseState(text: string): Partial<Of & Progress> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

async function writeWhole(file: string, text: string): Promise<void> {
  const part = `${file}.part`
  const handle = await open(part, 'w')
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(part, file)
}
