// A collection as of a moment of the past, built next to the live one for as long as it is used. It takes the memory that the collection took then.

import type { Moment } from '../model/backups.ts'
import type { Replica } from '../replica/replica.ts'
import { imageMemory } from './image/image.ts'
import { loadImage } from './image/load-image.ts'
import type { PastOf } from './past.ts'
import { imageOfPast } from './past-image.ts'
import { type ImportHost, importImage, type RestoreWatch } from './restore-image.ts'

/** What is built. */
export interface PastReplica {
  readonly replica: Replica
  /** The moment: the state just after this record. */
  readonly lsn: number
}

/** Runs `use` with the collection as of the moment, and removes its files afterwards. Throws restore_unreachable. */
export async function withPastReplica<T>(
  host: ImportHost,
  past: PastOf,
  moment: Moment,
  watch: RestoreWatch,
  use: (past: PastReplica) => Promise<T>,
): Promise<T> {
  const { side } = host
  const stored = await importImage(side, (dir) => imageOfPast(side, past, moment, dir, watch.checkWanted))
  try {
    return await host.building(async (id) => {
      const onRead = (bytes: number) => {
        watch.onRead(bytes)
        watch.checkWanted()
      }
      const { hashSeed, lsn } = stored.image
      const as = { id, name: past.collection, host: side.replicaHost(hashSeed), onRead }
      const release = side.memory.admit('the moment', { growth: imageMemory(stored.image) })
      const replica = await loadImage(side.vfs, stored, as).finally(release)
      try {
        return await use({ replica, lsn })
      } finally {
        await replica.remove()
      }
    })
  } finally {
    await side.vfs.removeTree(stored.dir)
  }
}
