// `annal ls` and `annal describe`: the collections of a database, and one of them in detail.
import type { CollectionDescription, FieldDescription } from '@annal/client'
import { amount, bytesText } from '../amounts.ts'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { jsonText } from '../formats/json-text.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { cut, visible } from '../visible-text.ts'

export interface ListOptions extends ConnectionOptions {
  readonly json?: boolean
}

const fieldsWidthMax = 60

export function listCollections(options: ListOptions, terminal: Terminal): Promise<number> {
  return withClient(options, async (client) => {
    const collections = await client.listCollections()
    if (options.json) {
      terminal.line(jsonText({ collections }))
    } else if (collections.length === 0) {
      terminal.say('no collections; annal create --help shows how to create one')
    } else {
      const head = ['collection', 'objects', 'memory', 'fields', 'created', 'state']
      const rows = collections.map(rowOf)
      // The column of states is of use only if one of them is not ready.
      const columns = collections.every(({ condition }) => condition === 'ready') ? head.length - 1 : head.length
      const table = [head, ...rows].map((row) => row.slice(0, columns))
      for (const line of aligned(table, { numbers: [1, 2], whole: [4], width: terminal.columns })) terminal.line(line)
    }
    return exitCode.good
  })
}

function rowOf({ name, count, memory, fields, createdAt, condition }: CollectionDescription): readonly string[] {
  return [
    ...[name, amount(count), bytesText(sum(memory))],
    ...[cut(visible(fields.map(fieldText).join(', ')), fieldsWidthMax), minuteText(createdAt), condition],
  ]
}

/** `plot 384 cosine int8` */
function fieldText(field: FieldDescription): string {
  const { name, type } = field
  if (type === 'text') return `${name} text ${field.params.language}`
  if (type === 'sparse') return `${name} sparse`
  const { dimension, spaceType, precision } = field.params
  return `${name} ${type === 'multi_vector' ? 'multi ' : ''}${dimension} ${spaceType} ${precision}`
}

export function describeCollection(name: string, options: ListOptions, terminal: Terminal): Promise<number> {
  return withClient(options, async (client) => {
    const described = await client.collection(name).describe()
    if (options.json) terminal.line(jsonText(described))
    else for (const line of descriptionLines(described)) terminal.line(line)
    return exitCode.good
  })
}

function* descriptionLines(described: CollectionDescription): Generator<string> {
  const { name, count, createdAt, lsn, ttlSeconds, condition, reason, memory, fields } = described
  yield* aligned([
    ['collection', name],
    ['objects', amount(count)],
    ['created', createdAt.toISOString()],
    ['newest LSN', String(lsn)],
    ...(ttlSeconds === undefined ? [] : [['objects expire after', `${amount(ttlSeconds)} s`]]),
    ...(condition === 'ready' ? [] : [['state', reason === undefined ? condition : `${condition}: ${reason}`]]),
  ])
  yield ''
  yield* aligned([['field', 'type', 'objects', 'settings'], ...fields.map(settingsRow)], { numbers: [2] })
  yield ''
  const parts = Object.entries(memory).sort(([, a], [, b]) => b - a)
  yield* aligned(
    [['memory', ''], ...parts.map(([part, bytes]) => [part, bytesText(bytes)]), ['total', bytesText(sum(memory))]],
    { numbers: [1] },
  )
}

function settingsRow(field: FieldDescription): readonly string[] {
  const settings = Object.entries(field.params)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
  return [field.name, field.type, amount(field.count), settings.join(', ')]
}

function sum(memory: { readonly [part: string]: number }): number {
  return Object.values(memory).reduce((total, bytes) => total + bytes, 0)
}

/** `2026-11-27 09:05Z` */
function minuteText(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')}Z`
}
