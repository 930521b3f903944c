// Builds the image of one collection as of a moment of the past. It begins with the nearest checkpoint or backup before the moment; if files
// of that one are missing or damaged, an earlier one leads to the same state with more records of the log.
import { join } from 'node:path'
import { EngineError } from '../errors.ts'
import { isMissing } from '../file-damage.ts'
import type { Moment } from '../model/backups.ts'
import { ttlOf } from '../model/schema.ts'
import type { BackupHost } from './host.ts'
import type { Image } from './image/image.ts'
import { makeImage } from './image/make-image.ts'
import { findPast, type Past, type PastOf, type PastOptions, reaching, unreachable } from './past.ts'

/** Fills an empty directory with a collection as of a moment. Throws restore_unreachable. */
export async function imageOfPast(
  host: BackupHost,
  subject: PastOf,
  moment: Moment,
  dir: string,
  checkWanted: () => void,
): Promise<Image> {
  const timeMs = 'timeMs' in moment ? moment.timeMs : 0
  return withPast(host, subject, { moment }, async (found) => {
    for (const name of await host.vfs.list(dir)) await host.vfs.remove(join(dir, name))
    return makePastImage(host, subject, found, { dir, timeMs, linkOnly: false, checkWanted })
  })
}

/**
 * Runs `use` with the nearest starting point of a moment. If it finds the files of that one missing or damaged, it runs again with an earlier
 * one. Throws restore_unreachable, which names the damage, when there is none.
 */
export async function withPast<T>(
  host: BackupHost,
  subject: PastOf,
  { moment, keepLsns = false }: { readonly moment: Moment } & Pick<PastOptions, 'keepLsns'>,
  use: (past: Past) => Promise<T>,
): Promise<T> {
  const without = new Set<string>()
  let damage: EngineError | undefined
  for (;;) {
    const found = await findPast(host, subject, moment, { keepLsns, without }).catch((error) => {
      throw damage ?? error
    })
    const { origin, remove } = found.start
    try {
      return await reaching(() => use(found)).finally(remove)
    } catch (error) {
      if (!isDamage(error)) throw damage ?? error
      damage ??= unreachable(error.message, error.details, error)
      if (origin === undefined || without.has(origin)) throw damage
      without.add(origin)
    }
  }
}

/** Whether another starting point may avoid the error. */
function isDamage(error: unknown): error is EngineError {
  if (!(error instanceof EngineError)) return false
  return error.code === 'snapshot_damaged' || (error.code === 'restore_unreachable' && isMissing(error.cause))
}

/** Writes the files of the image into an empty directory, without its manifest. Throws snapshot_damaged. */
export function makePastImage(
  host: BackupHost,
  subject: Pick<PastOf, 'database' | 'collection'>,
  { lsn, collectionId, start, records }: Past,
  options: {
    readonly dir: string
    readonly timeMs: number
    readonly linkOnly: boolean
    readonly checkWanted: () => void
  },
): Promise<Image> {
  const { dir, timeMs, linkOnly, checkWanted } = options
  return makeImage(host.vfs, dir, {
    base: start.base,
    records,
    linkOnly,
    older: undefined,
    checkWanted,
    onProgress: () => undefined,
    facts: {
      name: '',
      database: subject.database,
      collection: subject.collection,
      takenAtMs: host.clock.now(),
      source: { uuid: host.identity().uuid, collectionId: start.base?.collectionId ?? collectionId },
      lsn,
      timeMs,
      hashSeed: start.hashSeed,
      fields: start.fields,
      ...ttlOf(start),
      ...(start.base?.expires && { expires: true as const }),
      // The number is known when the image is loaded.
      objects: 0,
      fieldsNow: start.fields.map((field) => ({ ...field, elements: 0 })),
      digest: '',
    },
  })
}
