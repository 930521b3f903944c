// Builds a replica from an image: loads the snapshot, then applies the records after it. The same image produces the
// same state everywhere, whatever the id of the collection.
import { join } from 'node:path'
import { copyFile, type LogRecord, linkOrCopy, type Vfs } from '@annal/wal'
import { EngineError } from '../../errors.ts'
import { decodeEvent } from '../../events/codec.ts'
import { accessing } from '../../file-damage.ts'
import { ttlOf } from '../../model/schema.ts'
import { rebuild } from '../../replica/rebuild.ts'
import { Replica, type ReplicaHost } from '../../replica/replica.ts'
import { loadReplica } from '../../snapshot/replica-parts.ts'
import { lsnsPart } from '../../snapshot/snapshot-format.ts'
import { SnapshotSource } from '../../snapshot/snapshot-source.ts'
import { watched } from '../../snapshot/watched-vfs.ts'
import { listedParts, originalsName, partName, type StoredImage, tailPart } from './image.ts'
import { readTail } from './tail-file.ts'

export interface LoadAs {
  readonly id: number
  readonly name: string
  readonly host: ReplicaHost
  /** Called with the bytes read since the last call; when it throws, the load stops. */
  readonly onRead?: (bytes: number) => void
  /** For an image of a collection of this log: its objects keep their LSNs. */
  readonly own?: OwnLsns | undefined
}

/** What the LSNs of objects depend on besides the files of an image. */
export interface OwnLsns {
  /** Of the record that created the collection. */
  readonly lsnCreated: number
  /** Number of records at the beginning of the tail that belong to what the record began with, not to the log. */
  readonly adopted: number
}

/** Throws snapshot_damaged, with no files left behind, when the files do not make a collection. */
export async function loadImage(vfs: Vfs, stored: StoredImage, as: LoadAs): Promise<Replica> {
  const replica = await loadSnapshot(vfs, stored, as)
  const { dir, image } = stored
  const head = { collectionId: image.source.collectionId, lsn: image.lsn, bytes: image.tail.bytes, sum: image.tail.sum }
  return foldTail(replica, readTail(watched(vfs, as.onRead), join(dir, partName(tailPart)), head), as)
}

async function loadSnapshot(vfs: Vfs, stored: StoredImage, { id, name, host, onRead, own }: LoadAs): Promise<Replica> {
  const { dir, image } = stored
  const definition = { name, fields: image.fields, ...ttlOf(image) }
  if (image.snapshotLsn === 0)
    return Replica.empty(id, definition, {
      ...host,
      lsn: 0,
      lsnCreated: own?.lsnCreated ?? 0,
      generation: 0,
    })
  const placed = await placeOriginals(vfs, stored, id, host.originals.dir)
  const { snapshotLsn: lsn } = image
  const filesOf = (part: number) => {
    if (part === lsnsPart && (own === undefined || !image.parts.some((one) => one.part === lsnsPart))) return []
    const missing = { part, bytes: 0, sum: '0', sha256: '' }
    const file = image.parts.find((candidate) => candidate.part === part) ?? missing
    return listedParts(image, file).map(
      ({ name, expected }) =>
        () =>
          SnapshotSource.open(watched(vfs, onRead), join(dir, name), expected),
    )
  }
  const entry = { id, databaseId: 0, definition, createdAtMs: 0, lsnCreated: own?.lsnCreated ?? 0, hashSeed: host.seed }
  const listed = image.originals.map((file) => ({ ...file, name: originalsName(file) }))
  const from = { pool: host.pool, originals: host.originals, listed, lsnApplied: 0 }
  return loadReplica(entry, lsn, filesOf, from).catch(async (error) => {
    for (const path of placed) await vfs.remove(path)
    throw error
  })
}

/** Files that still grow are copied, so that nothing appended here reaches the image. */
async function placeOriginals(vfs: Vfs, { dir, image }: StoredImage, id: number, to: string): Promise<string[]> {
  await vfs.makeDirectory(to)
  const placed: string[] = []
  try {
    for (const file of image.originals) {
      const { generation, field, chunk, full, bytes } = file
      const path = join(to, `collection-${id}-generation-${generation}-field-${field}-chunk-${chunk}.f32`)
      // Files found there come from a run that a crash ended; the records after the image are applied again.
      if (await vfs.exists(path)) await vfs.remove(path)
      const from = join(dir, originalsName(file))
      await accessing(from, async () => {
        if (full) await linkOrCopy(vfs, from, path)
        else await copyFile(vfs, from, path, bytes)
      })
      placed.push(path)
    }
    return placed
  } catch (error) {
    for (const path of placed) await vfs.remove(path)
    throw error
  }
}

/** Applies records to a replica that precedes them. Returns another replica when one of them was a rebuild. */
async function foldTail(from: Replica, records: AsyncIterable<LogRecord>, { host, own }: LoadAs): Promise<Replica> {
  let replica = from
  let position = 0
  try {
    for await (const record of records) {
      const event = decodeEvent(record)
      const isOwn = own !== undefined && position++ >= own.adopted
      if (event.kind === 'collection-rebuilt') {
        const made = await rebuild(replica, event.fields, host, () => undefined)
        await replica.remove()
        replica = made
      } else if (
        event.kind === 'objects-upserted' ||
        event.kind === 'objects-restored' ||
        event.kind === 'objects-deleted' ||
        event.kind === 'objects-expired' ||
        event.kind === 'expiries-cleared' ||
        event.kind === 'filters-replaced' ||
        event.kind === 'objects-patched' ||
        event.kind === 'fields-changed'
      )
        await (isOwn ? replica.apply(record.lsn, event) : replica.adopt(event))
      else throw new EngineError('snapshot_damaged', `a record of type ${record.type} does not belong to a collection`)
    }
    return replica
  } catch (error) {
    await replica.remove()
    throw error
  }
}
