// Builds the field that is searched, or reads one that an earlier run kept.
import { createReadStream, createWriteStream, existsSync, renameSync } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Precision } from '@annal/engine'
import { loadDenseField, openDenseField, rulesNewest, sourceOf, type WorkerPool } from '@annal/engine/testing'
import { type Field, fill } from '../sets/fill.ts'
import type { VectorSet } from './sets.ts'

/** `keep` is a directory for built fields. */
export async function openField(
  { name, dimension, metric, base }: VectorSet,
  precision: Precision,
  pool: WorkerPool,
  keep: string | undefined,
): Promise<Field> {
  const params = { dimension, spaceType: metric, precision, M: 16, efConstruction: 128, rules: rulesNewest }
  const definition = { kind: 'dense', name: 'vector', params } as const
  const file = keep === undefined ? undefined : path.join(keep, `${name}-${metric}-${precision}-${rulesNewest}`)
  if (file !== undefined && existsSync(file))
    return await loadDenseField(definition, pool, sourceOf(createReadStream(file)))
  const field = await openDenseField(definition, pool)
  await fill(field, base, dimension, `${name} ${precision}`)
  if (file !== undefined) await write(field, file)
  return field
}

async function write(field: Field, file: string): Promise<void> {
  const prepared = field.prepareCut()
  await prepared.copyAhead(async () => undefined)
  const { pieces, release } = prepared.take()
  prepared.release()
  const copies = function* () {
    for (const piece of pieces) yield piece.slice()
  }
  await pipeline(Readable.from(copies()), createWriteStream(`${file}.tmp`))
  release()
  renameSync(`${file}.tmp`, file)
}
