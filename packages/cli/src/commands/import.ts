// `annal import`: stores the objects of a file or another database in a collection. An object with an existing id is replaced, so that
// an interrupted import can be repeated, or continued with --resume.
import path from 'node:path'
import {
  AnnalError,
  type Client,
  type DenseFieldDefinition,
  type JsonValue,
  type ObjectInput,
  type SpaceType,
} from '@annal/client'
import { amount, objectsText } from '../amounts.ts'
import { checkBatch } from '../check-batch.ts'
import { confirm } from '../confirm.ts'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { CommandEnd, exitCode, usageError } from '../exit-code.ts'
import { type Renames, renamesOf } from '../formats/columns.ts'
import { sessionNow } from '../session.ts'
import { openFile } from '../sources/file-source.ts'
import { guessColumns } from '../sources/guess-columns.ts'
import { openResumeFile } from '../sources/resume-file.ts'
import { definitionsOf, fieldsOf, type Source } from '../sources/source.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'

export interface ImportOptions extends ConnectionOptions {
  readonly format?: string
  readonly field: string
  readonly ids?: string
  readonly dataset?: string
  readonly column: readonly string[]
  readonly filterKeys?: string
  readonly sourceToken?: string
  /** NAME or NAME:LANGUAGE of text fields. */
  readonly text?: readonly string[]
  /** NAME=PROVIDER:TEXT of fields that a provider makes vectors for. */
  readonly embed?: readonly string[]
  readonly create?: boolean
  /** Guessed columns are used without a question. */
  readonly yes?: boolean
  readonly space?: string
  readonly precision: string
  readonly recall?: number
  readonly skip: number
  readonly resume?: string
  readonly batch: number
  readonly json?: boolean
}

export async function importInto(collection: string, from: string, options: ImportOptions, terminal: Terminal) {
  const languages = languagesOf(options)
  const texts = new Set(languages.keys())
  const source = await openSource(from, options, texts, terminal)
  try {
    return await withClient(options, async (client) => {
      for (const name of await textFieldsOf(client, collection)) texts.add(name)
      return load(client, collection, source, { ...options, languages }, terminal)
    })
  } finally {
    await source.close?.()
  }
}

async function openSource(
  from: string,
  options: ImportOptions,
  texts: ReadonlySet<string>,
  terminal: Terminal,
): Promise<Source> {
  const scheme = /^([a-z]+):\/\//.exec(from)?.[1]
  if (scheme === undefined) {
    const renames = (await guessedColumns(from, options, texts, terminal)) ?? renamesOf(options.column)
    return openFile(from, { ...options, renames, texts })
  }
  const { openDatabase } = await import('../sources/database-source.ts')
  return openDatabase(from, { ...options, renames: renamesOf(options.column), texts })
}

/** Undefined if nothing is guessed. What is guessed is shown, and used after a confirmation. */
async function guessedColumns(
  file: string,
  { format, column, field, yes = false }: ImportOptions,
  texts: ReadonlySet<string>,
  terminal: Terminal,
): Promise<Renames | undefined> {
  const kind = format ?? path.extname(file).slice(1).toLowerCase()
  if (column.length > 0 || (kind !== 'csv' && kind !== 'tsv')) return undefined
  const guess = await guessColumns(file, { delimiter: kind === 'csv' ? ',' : '\t', field, texts })
  if (guess === undefined) return undefined
  const rows = guess.preview.map((one) => [one.column, one.becomes, one.first])
  for (const line of aligned([['column', 'becomes', 'first value'], ...rows])) terminal.say(line)
  const options = [...guess.renames].map(([name, use]) => `--column ${name}=${use}`).join(' ')
  await confirm(`The columns of ${file} were guessed; ${options} says the same`, { yes })
  return guess.renames
}

/** Language by text field; undefined for the default. */
type Languages = ReadonlyMap<string, string | undefined>

function languagesOf({ text = [], embed = [], create }: ImportOptions): Languages {
  if (embed.length > 0 && !create) throw usageError('--embed needs --create; a collection keeps the fields that it has')
  const named = text.map((one) => {
    const [, name, language] = /^([^:]+)(?::(.+))?$/.exec(one) ?? []
    if (name === undefined) throw usageError(`--text ${one}: use NAME or NAME:LANGUAGE, such as body:english`)
    return [name, language] as const
  })
  const languages = new Map<string, string | undefined>(named)
  for (const { from } of embed.map(embeddingOf)) if (!languages.has(from)) languages.set(from, undefined)
  return languages
}

function embeddingOf(given: string): { readonly name: string; readonly provider: string; readonly from: string } {
  const [, name, provider, from] = /^([^=]+)=([^:]+):(.+)$/.exec(given) ?? []
  if (name !== undefined && provider !== undefined && from !== undefined) return { name, provider, from }
  throw usageError(
    `--embed ${given}: use NAME=PROVIDER:TEXT, such as meaning=local:body; annal providers lists providers`,
  )
}

/** The text fields that a collection has; none if there is no such collection yet. */
async function textFieldsOf(client: Client, collection: string): Promise<readonly string[]> {
  try {
    const { fields } = await client.collection(collection).describe()
    return fields.filter(({ type }) => type === 'text').map(({ name }) => name)
  } catch (error) {
    if (error instanceof AnnalError && error.code === 'collection_not_found') return []
    throw error
  }
}

type LoadOptions = ImportOptions & { readonly languages: Languages }

async function load(client: Client, collection: string, source: Source, options: LoadOptions, terminal: Terminal) {
  const resume = await openResumeFile(options.resume, { source: source.name, collection })
  const { earlier } = resume
  await checkBatch(client, options)
  if (options.create && earlier === undefined) {
    await create(client, collection, source, options)
    // From here on the same command finds the collection and continues.
    resume.keep({ stored: 0, next: null })
    await resume.flush()
  }
  const before = earlier?.stored ?? options.skip
  const interrupted = new AbortController()
  const from = { next: earlier?.next, skip: earlier === undefined ? options.skip : 0, signal: interrupted.signal }
  const reading = new Reading(source, from)
  const began = performance.now()
  let through = 0
  const interrupt = () => interrupted.abort()
  // A shell interrupts its commands itself. A second Ctrl-C ends the process.
  if (sessionNow() === undefined) process.once('SIGINT', interrupt)
  try {
    const { stored } = await client.collection(collection).load(reading.objects(), {
      batchSize: options.batch,
      // One after another, so that objects keep the order of the source: what is exported again is the same file.
      concurrency: 1,
      recordsBefore: before,
      signal: interrupted.signal,
      onProgress: (progress) => {
        through = progress.through
        terminal.bar.show(`importing into ${collection}`, before + progress.stored, source.total)
        const position = reading.positionOf(through)
        if (position !== undefined) resume.keep({ stored: before + position.count, next: position.next })
      },
    })
    await resume.remove()
    const seconds = (performance.now() - began) / 1_000
    if (options.json) terminal.line(JSON.stringify({ collection, stored, before, seconds }))
    else
      terminal.line(
        `${objectsText(stored)} stored in ${seconds.toFixed(1)} s${before > 0 ? `, in addition to ${amount(before)} stored before` : ''}`,
      )
    return exitCode.good
  } catch (error) {
    await resume.flush()
    const on = options.resume === undefined ? `--skip ${before + through}` : `--resume ${options.resume}`
    if (before + through > 0)
      terminal.say(
        `${amount(before + through)} objects are stored; run the same command with ${on} to continue after them`,
      )
    else if (options.create && earlier === undefined)
      terminal.say(
        `the collection ${collection} was created and has no objects; run the same command ${options.resume === undefined ? 'without --create' : 'again'}`,
      )
    throw interrupted.signal.aborted ? new CommandEnd(exitCode.interrupted, 'interrupted') : error
  } finally {
    process.off('SIGINT', interrupt)
  }
}

/** Uses the fields that the source reports, or else those of its first object, and those that the options name. */
async function create(
  client: Client,
  name: string,
  source: Source,
  { space, precision, recall, languages, embed = [] }: LoadOptions,
): Promise<void> {
  const made = await Promise.all(
    embed.map((one) => embeddedField(client, embeddingOf(one), { space, precision, recall })),
  )
  const found = source.fields ?? (await fieldsOfFirst(source))
  const texts = [...languages.keys()].filter((text) => !found.some((field) => field.name === text))
  const fields = [...found, ...texts.map((text) => ({ name: text, type: 'text' }) as const)]
  // A vector that the source has is kept, and the provider makes the others.
  const others = fields.filter((field) => !made.some((one) => one.name === field.name))
  await client.createCollection({
    name,
    fields: [...definitionsOf(others, { space, precision, recall, languages }), ...made],
  })
}

async function embeddedField(
  client: Client,
  { name, provider, from }: ReturnType<typeof embeddingOf>,
  { space, precision, recall }: Parameters<typeof definitionsOf>[1],
): Promise<DenseFieldDefinition> {
  const providers = await client.providers()
  const found = providers.find((one) => one.name === provider)
  if (found?.dimension === undefined) {
    const names = providers.map((one) => one.name).join(', ')
    throw usageError(
      `--embed ${name}=${provider}:${from}: the server has no provider ${provider}; it has ${names || 'none'}`,
    )
  }
  const params = {
    dimension: found.dimension,
    spaceType: (space ?? 'cosine') as SpaceType,
    precision: precision as 'int8',
  }
  return { name, type: 'vector', params: { ...params, recall, embed: { provider, from } } }
}

async function fieldsOfFirst(source: Source) {
  for await (const { objects } of source.pieces(undefined)) {
    for (const object of objects) return fieldsOf(object)
  }
  throw usageError(`${source.name} has no fields and no objects to derive a collection from`)
}

interface ReadFrom {
  /** A position of the source. */
  readonly next: JsonValue | undefined
  /** Objects to pass over. */
  readonly skip: number
  readonly signal: AbortSignal
}

/** Ends also while the source is waited for. */
async function* untilAborted<T>(values: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = values[Symbol.asyncIterator]()
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new CommandEnd(exitCode.interrupted, 'interrupted')), { once: true })
  })
  aborted.catch(() => undefined)
  try {
    for (;;) {
      const { done, value } = await Promise.race([iterator.next(), aborted])
      if (done) return
      yield value
    }
  } finally {
    // Not waited for: it would wait for the value that is awaited.
    iterator.return?.().catch(() => undefined)
  }
}

/** Yields the objects of a source, and records the source position for each number of objects. */
class Reading {
  readonly #source: Source
  readonly #from: ReadFrom
  #positions: { readonly count: number; readonly next: JsonValue }[] = []

  constructor(source: Source, from: ReadFrom) {
    this.#source = source
    this.#from = from
  }

  async *objects(): AsyncGenerator<ObjectInput> {
    let passed = 0
    let count = 0
    for await (const { objects, next } of untilAborted(this.#source.pieces(this.#from.next), this.#from.signal)) {
      for (const object of objects) {
        passed += 1
        if (passed <= this.#from.skip) continue
        count += 1
        yield object
      }
      this.#positions.push({ count, next })
    }
  }

  /** The last position before which at most this many objects were yielded. */
  positionOf(count: number): { readonly count: number; readonly next: JsonValue } | undefined {
    const later = this.#positions.findIndex((position) => position.count > count)
    const index = later === -1 ? this.#positions.length - 1 : later - 1
    if (index < 0) return undefined
    this.#positions = this.#positions.slice(index)
    return this.#positions[0]
  }
}
