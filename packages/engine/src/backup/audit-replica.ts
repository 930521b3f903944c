// Audits a replica that was built from external files: its content must be possible for a client to write. The
// checksums of the files prove only that nothing changed on the way.
import { yieldToOthers } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { storedValues } from '../filter/indexed-values.ts'
import { metaBytesMax } from '../limits.ts'
import { parseId } from '../model/ids.ts'
import { type FieldSchema, hasLists, type TextFieldSchema } from '../model/schema.ts'
import type { Originals } from '../originals/originals.ts'
import type { SparseTermsOfField } from '../replica/object-record.ts'
import type { Replica } from '../replica/replica.ts'
import { countTerms } from '../text/counted-text.ts'
import { packCount } from '../vector/sparse/packed-counts.ts'

/** Objects checked before searches get a turn. */
const atATime = 500

/** Throws backup_damaged with the object. */
export async function auditReplica(replica: Replica): Promise<void> {
  const ordinals = replica.filters.evaluate([]).bitmap.toOrdinals()
  if (ordinals.length !== replica.count) throw wrong(`${ordinals.length} of ${replica.count} objects can be found`)
  for (let from = 0; from < ordinals.length; from += atATime) {
    await yieldToOthers()
    const some = Array.from(ordinals.subarray(from, from + atATime))
    for (const ordinal of some) {
      try {
        auditObject(replica, ordinal)
      } catch (error) {
        throw wrong(`the object of ordinal ${ordinal}: ${(error as Error).message}`)
      }
    }
    for (const field of replica.definition.fields.keys()) await auditOriginals(replica, field, some)
  }
}

/** The vectors on disk of these objects can be read, and are numbers. */
async function auditOriginals(replica: Replica, field: number, ordinals: readonly number[]): Promise<void> {
  const originals = replica.originals[field]
  if (originals === undefined) return
  const { name } = replica.definition.fields[field] as FieldSchema
  const wanted = ordinals.filter((ordinal) => originals.has(ordinal))
  const lost = originals.owner.isPartial
    ? undefined
    : ordinals.find((ordinal) => replica.dense[field]?.has(ordinal, replica.version) && !originals.has(ordinal))
  const misplaced = lost ?? wanted.find((ordinal) => !originals.isPlaced(ordinal))
  if (misplaced !== undefined) throw wrong(`the files do not contain the vectors of ordinal ${misplaced} of ${name}`)
  const isSound = await readAll(originals, wanted).catch((error) => {
    if (error instanceof EngineError && error.code === 'snapshot_damaged') throw wrong(error.message)
    throw error
  })
  if (!isSound) throw wrong(`the files of ${name} contain a value that is not a number`)
}

async function readAll(originals: Originals, ordinals: readonly number[]): Promise<boolean> {
  if (!originals.several) {
    const rows = await originals.readGiven(ordinals)
    return rows.every((row) => row?.vector.every(Number.isFinite))
  }
  for (const ordinal of ordinals) if (!(await originals.read(ordinal)).every(Number.isFinite)) return false
  return true
}

function auditObject(replica: Replica, ordinal: number): void {
  const { objects, dense, sparse, definition, version } = replica
  const id = parseId(objects.idAt(ordinal), 'id')
  if (replica.find(id) !== ordinal) throw wrong('its id maps to another object')
  if (objects.meta(ordinal).length > metaBytesMax) throw wrong('its meta is too long')
  const filter = objects.filterText(ordinal)
  if (filter !== '') storedValues(filter)
  for (const field of dense) {
    if (!field?.has(ordinal, version)) continue
    if (!Number.isFinite(field.norm(ordinal)) || !field.row(ordinal)?.every(Number.isFinite))
      throw wrong(`its vector of ${field.definition.name} contains a value that is not a number`)
  }
  for (const entry of objects.sparse(ordinal)) {
    const { field, indices, values, text } = entry
    const schema = definition.fields[field]
    if (schema === undefined || !hasLists(schema) || !sparse[field]) throw wrong(`it has terms of field ${field}`)
    if ((schema.kind === 'text') !== (text !== undefined)) throw wrong(`its value of ${schema.name} is of another kind`)
    if (schema.kind === 'text') {
      auditText(replica, schema, entry)
      continue
    }
    if (!values.every(Number.isFinite)) throw wrong(`its terms of ${schema.name} contain a value that is not a number`)
    if (indices.some((index, i) => index >= schema.params.dimension || (i > 0 && index <= (indices[i - 1] as number))))
      throw wrong(`its terms of ${schema.name} are not in order`)
  }
}

/** The terms of a text must be those that its analyzer makes. */
function auditText({ terms }: Replica, { name, params }: TextFieldSchema, entry: SparseTermsOfField): void {
  const { field, indices, values, text = '' } = entry
  const counted = countTerms(text, params)
  const expected = new Map(
    counted.terms.map((term, i) => [terms.find(field, term), packCount(counted.counts[i] as number, counted.length)]),
  )
  const isSame = expected.size === indices.length && indices.every((index, i) => expected.get(index) === values[i])
  if (!isSame) throw wrong(`its terms of ${name} are not those of its text`)
}

function wrong(what: string): EngineError {
  return new EngineError('backup_damaged', `the collection in this backup is inconsistent: ${what}`)
}
