// Stored objects as they are returned: id, meta, and filter, decoded on access, and their vectors in every field.

import { TimeSlice } from '@annal/wal'
import { Copies } from '../memory/copies.ts'
import type { DenseRow, StoredObject } from '../model/object.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import { allContents, type WantedContents } from './answer-room.ts'
import { readGivenRows } from './given.ts'
import { listContents, noContents, ReadObject, type StoredHead } from './read-object.ts'
import { memberRows } from './returned-rows.ts'

/** Objects read from disk at a time. */
const objectsAtOnce = 64

/** The objects as of now, or of a version that is held, with copies of what they have in their fields. Yields to other work. */
export async function storedObjects(
  replica: ReadableReplica,
  ordinals: readonly number[],
  {
    version = replica.version,
    contents = allContents,
  }: { readonly version?: number; readonly contents?: WantedContents } = {},
): Promise<StoredObject[]> {
  const copies = new Copies()
  if (!contents.vectors && !contents.texts)
    return ordinals.map((ordinal) => new ReadObject(new StoredParts(replica, ordinal, version, copies), noContents))
  // The pin keeps the current content of the objects until it is released, even if they are written meanwhile.
  const release = replica.pins.pin(version)
  const slice = new TimeSlice()
  const objects: StoredObject[] = []
  try {
    for (let index = 0; index < ordinals.length; index += objectsAtOnce) {
      await slice.renewIfOver()
      objects.push(...(await readObjects(replica, ordinals.slice(index, index + objectsAtOnce), version, contents)))
    }
    return objects
  } finally {
    release()
  }
}

async function readObjects(
  replica: ReadableReplica,
  ordinals: readonly number[],
  version: number,
  contents: WantedContents,
): Promise<readonly StoredObject[]> {
  const copies = new Copies()
  const heads = ordinals.map((ordinal) => ({
    parts: new StoredParts(replica, ordinal, version, copies),
    lists: chosen(listContents(replica.definition.fields, replica.objects.sparse(ordinal)), contents),
  }))
  if (!contents.vectors) return heads.map(({ parts, lists }) => new ReadObject(parts, { ...noContents, ...lists }))
  const fields = replica.definition.fields.map(async ({ kind, name }, index) => ({
    name,
    rows: kind === 'dense' ? await readGivenRows(replica, index, ordinals, version) : [],
  }))
  const [dense, multi] = await Promise.all([
    Promise.all(fields),
    Promise.all(ordinals.map((ordinal) => multiOf(replica, ordinal))),
  ])
  return heads.map(
    ({ parts, lists }, i) => new ReadObject(parts, { ...lists, dense: denseOf(dense, i), multi: multi[i] ?? {} }),
  )
}

/** Sparse terms are vectors. */
function chosen<C extends { readonly sparse: object; readonly text: object }>(
  lists: C,
  { vectors, texts }: WantedContents,
): C {
  return { ...lists, ...(!vectors && { sparse: {} }), ...(!texts && { text: {} }) }
}

function denseOf(
  fields: readonly { readonly name: string; readonly rows: readonly (DenseRow | undefined)[] }[],
  i: number,
): StoredObject['dense'] {
  const entries = fields.flatMap(({ name, rows }) => {
    const row = rows[i]
    return row === undefined ? [] : [[name, row] as const]
  })
  return Object.fromEntries(entries)
}

async function multiOf(replica: ReadableReplica, ordinal: number): Promise<StoredObject['multi']> {
  const multi: Record<string, readonly DenseRow[]> = {}
  for (const [index, field] of replica.definition.fields.entries()) {
    const originals = replica.originals[index]
    if (field.kind !== 'multi' || !originals?.has(ordinal)) continue
    multi[field.name] = memberRows(await originals.read(ordinal), field)
  }
  return multi
}

/** Id, LSN, meta, and filter of one ordinal. */
export class StoredParts implements StoredHead {
  readonly id: string
  readonly lsn: number
  readonly metaBytes: Uint8Array
  readonly storedText: string

  /** The meta is one of `copies`. */
  constructor(replica: ReadableReplica, ordinal: number, version: number, copies: Copies) {
    this.id = replica.objects.idAt(ordinal)
    this.lsn = replica.lsnAt(ordinal, version)
    // Copied from shared memory, because the record may be freed before the reply is written.
    this.metaBytes = replica.metaAt(ordinal, version, copies)
    this.storedText = replica.filterTextAt(ordinal, version)
  }
}
