// Restores another data directory as of a moment of its past, and proves that the result opens before it appears.
import { restoreDirectory } from './backup/restore-directory.ts'
import { openEngine } from './engine.ts'
import { EngineError } from './errors.ts'
import type { Progress } from './model/engine-stats.ts'
import { checkObject } from './model/ids.ts'

/** Options of restoreDataDirectory. */
export interface RestoreDataDirectory {
  /** A data directory, in use or not, or a copy of one. It is only read. */
  readonly from: string
  /** Must not exist yet. It gets its own identity. */
  readonly to: string
  readonly lsn?: number | undefined
  readonly timeMs?: number | undefined
  /** Called about ten times a second while the result is opened as a test. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/**
 * Without `lsn` and `timeMs` everything readable is restored. Throws restore_unreachable or invalid_argument; then
 * nothing was created.
 *
 * @example
 * ```ts
 * const { lsn } = await restoreDataDirectory({ from: './data', to: './data-an-hour-ago', timeMs: Date.now() - 3_600_000 })
 * ```
 */
export async function restoreDataDirectory(options: RestoreDataDirectory): Promise<{ readonly lsn: number }> {
  checkObject(options, 'options')
  const { from, to, lsn, timeMs, onProgress } = options
  if (lsn !== undefined && timeMs !== undefined)
    throw new EngineError('invalid_argument', 'give only one of lsn and timeMs', { field: 'timeMs' })
  const moment = lsn !== undefined ? { lsn } : timeMs !== undefined ? { timeMs } : undefined
  return restoreDirectory({ from, to, moment, prove: (dataDir) => prove(dataDir, onProgress) })
}

async function prove(dataDir: string, onProgress: RestoreDataDirectory['onProgress']): Promise<void> {
  const engine = await openEngine({ dataDir, ...(onProgress && { onProgress }) })
  try {
    const { reasons } = engine.health()
    if (reasons.length > 0)
      throw new EngineError('restore_unreachable', `the restored directory is incomplete: ${reasons.join('; ')}`)
    await engine.checkpoint()
  } finally {
    await engine.close()
  }
}
