// `annal import`: stores the objects of a file or another database in a collection. An object with an existing id is replaced, so that
// an interrupted import can be repeated, or continued with --resume.
import type { Client, JsonValue, ObjectInput } from '@annal/client'
import { amount } from '../amounts.ts'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode, usageError } from '../exit-code.ts'
import { renamesOf } from '../sources/columns.ts'
import { openFile } from '../sources/file-source.ts'
import { openResumeFile } from '../sources/resume-file.ts'
import { definitionsOf, fieldsOf, type Source } from '../sources/source.ts'
import type { Terminal } from '../terminal.ts'

export interface ImportOptions extends ConnectionOptions {
  readonly format?: string
  readonly field: string
  readonly ids?: string
  readonly dataset?: string
  readonly column: readonly string[]
  readonly filterKeys?: string
  readonly sourceToken?: string
  readonly create?: boolean
  readonly space?: string
  readonly precision: string
  readonly recall?: number
  readonly skip: number
  readonly resume?: string
  readonly batch: number
  readonly json?: boolean
}

export async function importInto(collection: string, from: string, options: ImportOptions, terminal: Terminal) {
  const source = await openSource(from, options)
  try {
    return await withClient(options, (client) => load(client, collection, source, options, terminal))
  } finally {
    await source.close?.()
  }
}

async function openSource(from: string, options: ImportOptions): Promise<Source> {
  const renames = renamesOf(options.column)
  const scheme = /^([a-z]+):\/\//.exec(from)?.[1]
  if (scheme === undefined) return openFile(from, { ...options, renames })
  const { openDatabase } = await import('../sources/database-source.ts')
  return openDatabase(from, { ...options, renames })
}

async function load(client: Client, collection: string, source: Source, options: ImportOptions, terminal: Terminal) {
  const resume = await openResumeFile(options.resume, { source: source.name, collection })
  const { earlier } = resume
  if (options.create && earlier === undefined) {
    await create(client, collection, source, options)
    // From here on the same command finds the collection and continues.
    resume.keep({ stored: 0, next: null })
    await resume.flush()
  }
  const before = earlier?.stored ?? options.skip
  const reading = new Reading(source, earlier?.next, earlier === undefined ? options.skip : 0)
  const began = performance.now()
  let through = 0
  try {
    const { stored } = await client.collection(collection).load(reading.objects(), {
      batchSize: options.batch,
      // One after another, so that objects keep the order of the source: what is exported again is the same file.
      concurrency: 1,
      recordsBefore: before,
      onProgress: (progress) => {
        through = progress.through
        terminal.bar.show(`importing into ${collection}`, before + progress.stored, source.total)
        const place = reading.placeOf(through)
        if (place !== undefined) resume.keep({ stored: before + place.count, next: place.next })
      },
    })
    await resume.remove()
    const seconds = (performance.now() - began) / 1_000
    if (options.json) terminal.line(JSON.stringify({ collection, stored, before, seconds }))
    else
      terminal.line(
        `${amount(stored)} objects stored in ${seconds.toFixed(1)} s${before > 0 ? `, in addition to ${amount(before)} stored before` : ''}`,
      )
    return exitCode.good
  } catch (error) {
    await resume.flush()
    const on = options.resume === undefined ? `--skip ${before + through}` : `--resume ${options.resume}`
    if (before + through > 0)
      terminal.say(
        `${amount(before + through)} objects are stored; run the same command with ${on} to continue after them`,
      )
    throw error
  }
}

/** Uses the fields that the source reports, or else those of its first object. */
async function create(
  client: Client,
  name: string,
  source: Source,
  { space, precision, recall }: ImportOptions,
): Promise<void> {
  const fields = source.fields ?? (await fieldsOfFirst(source))
  await client.createCollection({ name, fields: definitionsOf(fields, { space, precision, recall }) })
}

async function fieldsOfFirst(source: Source) {
  for await (const { objects } of source.pieces(undefined)) {
    for (const object of objects) return fieldsOf(object)
  }
  throw usageError(`${source.name} has no fields and no objects to derive a collection from`)
}

/** Yields the objects of a source, and records the source position for each number of objects. */
class Reading {
  readonly #source: Source
  readonly #from: JsonValue | undefined
  readonly #skip: number
  #places: { readonly count: number; readonly next: JsonValue }[] = []

  constructor(source: Source, from: JsonValue | undefined, skip: number) {
    this.#source = source
    this.#from = from
    this.#skip = skip
  }

  async *objects(): AsyncGenerator<ObjectInput> {
    let passed = 0
    let count = 0
    for await (const { objects, next } of this.#source.pieces(this.#from)) {
      for (const object of objects) {
        passed += 1
        if (passed <= this.#skip) continue
        count += 1
        yield object
      }
      this.#places.push({ count, next })
    }
  }

  /** The last position before which at most this many objects were yielded. */
  placeOf(count: number): { readonly count: number; readonly next: JsonValue } | undefined {
    const later = this.#places.findIndex((place) => place.count > count)
    const index = later === -1 ? this.#places.length - 1 : later - 1
    if (index < 0) return undefined
    this.#places = this.#places.slice(index)
    return this.#places[0]
  }
}
