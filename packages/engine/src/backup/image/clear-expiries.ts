// Makes an image whose objects do not expire: the same files, and a record at the end of the tail that removes the expiries, so that every
// replay and every later image of the collection includes it.
import { join } from 'node:path'
import type { LogRecord, Lsn, Vfs } from '@annal/wal'
import { encodeEvent } from '../../events/codec.ts'
import { hashFile } from './hash-file.ts'
import { type Image, partName, tailPart } from './image.ts'
import { readTail, writeTail } from './tail-file.ts'

/** Changes the image in a directory of its own. Its digest is unknown afterwards. */
export async function clearExpiries(vfs: Vfs, dir: string, image: Image): Promise<Image> {
  const { source, lsn, timeMs, tail } = image
  const path = join(dir, partName(tailPart))
  const head = { collectionId: source.collectionId, lsn }
  async function* records(): AsyncGenerator<LogRecord> {
    yield* readTail(vfs, path, { ...head, bytes: tail.bytes, sum: tail.sum })
    const record = encodeEvent({ kind: 'expiries-cleared', timeMs, collectionId: source.collectionId })
    // An event of this kind is encoded in one piece.
    yield { ...record, payload: record.payload as Uint8Array, lsn: lsn as Lsn }
  }
  // The file may be a link to that of another image.
  const temporary = `${path}.new`
  const { records: count, bytes, sum } = await writeTail(vfs, temporary, head, records())
  await vfs.rename(temporary, path)
  const sha256 = tail.sha256 === '' ? '' : (await hashFile(vfs, path)).sha256
  return { ...image, tail: { records: count, bytes, sum, sha256 }, digest: '' }
}
