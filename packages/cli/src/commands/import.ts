// `annal import`: a file becomes objects of a collection. Objects are replaced by id, so that an import that was cut short can be
// done again, or go on with --skip.
import path from 'node:path'
import { type Client, denseField, type FieldDefinition, type ObjectRecord, sparseField } from '@annal/client'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode, usageError } from '../exit-code.ts'
import { readJsonl } from '../formats/jsonl.ts'
import { openNpy, openVecs, type RowFile } from '../formats/rows.ts'
import { amount, type Terminal } from '../terminal.ts'

export interface ImportOptions extends ConnectionOptions {
  readonly format?: string
  readonly field: string
  readonly create?: boolean
  readonly space: string
  readonly precision: string
  readonly skip: number
  readonly batch: number
  readonly json?: boolean
}

interface Source {
  /** Undefined where only reading to the end would tell. */
  readonly total: number | undefined
  objects(): AsyncGenerator<ObjectRecord>
}

export function importFile(collection: string, file: string, options: ImportOptions, terminal: Terminal) {
  return withClient(options, async (client) => {
    const source = await openSource(file, options)
    if (options.create) await create(client, collection, source, options)
    const began = performance.now()
    const total = source.total === undefined ? undefined : Math.max(0, source.total - options.skip)
    const { stored } = await client.collection(collection).load(without(source.objects(), options.skip), {
      batchSize: options.batch,
      onProgress: (progress) => terminal.bar.show(`importing ${path.basename(file)}`, progress.stored, total),
    })
    const seconds = (performance.now() - began) / 1_000
    if (options.json) terminal.line(JSON.stringify({ collection, stored, seconds }))
    else terminal.line(`${amount(stored)} objects stored in ${seconds.toFixed(1)} s`)
    return exitCode.good
  })
}

async function openSource(file: string, { format, field }: ImportOptions): Promise<Source> {
  const kind = format ?? path.extname(file).slice(1).toLowerCase()
  if (kind === 'jsonl' || kind === 'ndjson') return { total: undefined, objects: () => readJsonl(file) }
  if (kind === 'npy') return rowSource(await openNpy(file), field)
  if (kind === 'fvecs' || kind === 'bvecs') return rowSource(await openVecs(file, kind), field)
  throw usageError(`${file}: --format must be one of jsonl, npy, fvecs, bvecs`)
}

/** The number of a row is its id. */
function rowSource(rows: RowFile, field: string): Source {
  return {
    total: rows.rows,
    async *objects() {
      let number = 0
      for await (const vector of rows.read()) {
        yield { id: String(number), fields: { [field]: vector } }
        number += 1
      }
    },
  }
}

/** With a field for each of the first object's. */
async function create(
  client: Client,
  name: string,
  source: Source,
  { space, precision }: ImportOptions,
): Promise<void> {
  for await (const { fields } of source.objects()) {
    const definitions = Object.entries(fields).map(([field, value]): FieldDefinition => {
      if ('indices' in value) return sparseField(field)
      if (typeof value[0] !== 'number') throw usageError(`${field} has several vectors: create the collection first`)
      // The server says what is wrong with a word it does not know.
      const words = { spaceType: space as 'cosine', precision: precision as 'int8' }
      return denseField(field, { dimension: value.length, ...words })
    })
    await client.createCollection({ name, fields: definitions })
    return
  }
  throw usageError('there is nothing in the file that a collection could be made after')
}

async function* without<T>(items: AsyncIterable<T>, skip: number): AsyncGenerator<T> {
  let passed = 0
  for await (const item of items) {
    passed += 1
    if (passed > skip) yield item
  }
}
