// Reads from an archive what restores and followers need: where they can begin, checkpoints, and images.
import { nodeVfs } from '@annal/wal'
import type { FrameStore } from '@annal/wal/replicated'
import { downloadFile } from '../cluster/file-parts.ts'
import type { Objects } from '../cluster/objects.ts'
import { ArchiveError } from './archive-error.ts'
import type { Base, IndexObject } from './archive-index.ts'
import { archiveParts } from './archive-parts.ts'
import { readMessage } from './log-uploader.ts'
import type { ReadMessage } from './message.ts'

/** A way to begin: with a checkpoint, or with the first record. */
export interface Way {
  readonly base: Base | undefined
  readonly messageFirst: number
}

/** An archive that is read. */
export interface ArchiveSource {
  /** Its name in errors. */
  readonly at: string
  readonly store: FrameStore
  readonly objects: Objects
}

/** The ways to a moment. The newest checkpoint comes first, because the others need a longer replay. */
export async function waysTo(
  { store, at }: ArchiveSource,
  { value }: IndexObject,
  {
    lsn = Number.POSITIVE_INFINITY,
    timeMs = Number.POSITIVE_INFINITY,
  }: { readonly lsn?: number | undefined; readonly timeMs?: number | undefined },
): Promise<Way[]> {
  const { first } = await store.range()
  const ways: Way[] = value.bases
    .filter((base) => base.lsnReached <= lsn && base.timeMs <= timeMs && base.messageFirst >= first)
    .map((base) => ({ base, messageFirst: base.messageFirst }))
    .reverse()
  const message = await readMessage(store, first, at)
  if (message.from.segmentLsn <= 1 && message.from.offset === 0) ways.push({ base: undefined, messageFirst: first })
  return ways
}

/** Downloads the files of a base or an image into a folder. Throws archive_damaged. */
export async function downloadFiles(
  objects: Objects,
  index: IndexObject,
  what: Pick<Base, 'listing' | 'folder'> & { readonly dir: string; readonly onBytes: (bytes: number) => void },
): Promise<void> {
  const vfs = nodeVfs()
  const { folder, dir, onBytes } = what
  await vfs.makeDirectory(dir)
  const store = archiveParts(objects, folder)
  for (const file of await index.listing(what)) await downloadFile(vfs, store, file, { dir, onBytes })
}

/** The folder of a base. Names come from the bucket, so they are checked before they become a path. */
export function baseFolder({ name }: Base): string {
  return checkedName(name, /^\d{20}-[0-9a-f]{8}$/)
}

/** The folder of an image. */
export function imageFolder(id: string): string {
  return checkedName(id, /^[0-9a-f]{32}$/)
}

function checkedName(name: string, form: RegExp): string {
  if (form.test(name)) return name
  throw new ArchiveError('archive_damaged', `the index of the archive names ${JSON.stringify(name)} as a folder`)
}

/** Whether a message continues the one before it. */
export function follows(message: ReadMessage, before: Pick<ReadMessage, 'sum' | 'line'>): boolean {
  return message.before.equals(before.sum) && message.line.uuid === before.line.uuid
}
