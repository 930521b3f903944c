// `annal create`: a collection from options, or from a definition in a file, such as the output of `annal describe --json`.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { CollectionDefinition, FieldDefinition } from '@annal/client'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode, usageError } from '../exit-code.ts'
import { paramNamesOf } from '../field-options.ts'
import type { Terminal } from '../terminal.ts'

export interface CreateOptions extends ConnectionOptions {
  /** In the order of the options. */
  readonly fields: readonly FieldDefinition[]
  readonly file?: string
  readonly ttl?: number
  readonly json?: boolean
}

export async function createCollection(name: string, options: CreateOptions, terminal: Terminal): Promise<number> {
  const { fields, file, ttl, json } = options
  if (file !== undefined && fields.length > 0) throw usageError('use either --file or options for the fields')
  if (file === undefined && fields.length === 0) {
    throw usageError('a collection needs a field: --vector, --multi-vector, --sparse, --text, or --file')
  }
  const given: Definition = file === undefined ? { fields } : await definitionIn(file)
  const ttlSeconds = ttl ?? given.ttlSeconds
  const definition = { name, fields: given.fields, ...(ttlSeconds !== undefined && { ttlSeconds }) }
  return withClient(options, async (client) => {
    // The names of the fields are not known to the compiler.
    await client.createCollection(definition as CollectionDefinition)
    terminal.line(json ? JSON.stringify({ collection: name }) : `${name} created`)
    return exitCode.good
  })
}

type Definition = Omit<CollectionDefinition, 'name'>

/** What a description has and a definition has not. */
const describedOnly = ['count', 'element_count', 'sparse_model']

async function definitionIn(file: string): Promise<Definition> {
  const read = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8')
  const where = file === '-' ? 'standard input' : file
  const value = parse(read, where)
  const { fields, ttlSeconds, ttl_seconds: earlier } = (value ?? {}) as Record<string, unknown>
  if (!Array.isArray(fields)) throw usageError(`${where}: fields must be a list of fields`)
  const ttl = ttlSeconds ?? earlier
  if (ttl !== undefined && typeof ttl !== 'number') throw usageError(`${where}: ttlSeconds must be a number`)
  return {
    fields: fields.map((field, i) => fieldIn(field, `${where}: fields[${i}]`)),
    ...(ttl !== undefined && { ttlSeconds: ttl }),
  }
}

function fieldIn(field: unknown, where: string): FieldDefinition {
  if (field === null || typeof field !== 'object' || Array.isArray(field))
    throw usageError(`${where} must be an object`)
  const { type, params, ...rest } = field as { readonly type?: unknown; readonly params?: unknown }
  const kept = Object.entries(rest).filter(([key]) => !describedOnly.includes(key))
  // The server decides which version of the analyzer a new field has.
  const { analyzer: _analyzer, ...settings } = (params ?? {}) as Record<string, unknown>
  const known = paramNamesOf(String(type))
  // A server ignores settings that it does not know, as the published one does.
  const unknown = Object.keys(settings).find((key) => !known.includes(key))
  if (unknown !== undefined && known.length > 0) {
    throw usageError(`${where}: unknown setting ${unknown}; settings are ${known.join(', ')}`)
  }
  // The server checks all the rest.
  return { ...Object.fromEntries(kept), type, params: settings } as unknown as FieldDefinition
}

function parse(read: string, where: string): unknown {
  try {
    return JSON.parse(read)
  } catch (error) {
    if (error instanceof SyntaxError) throw usageError(`${where}: not JSON: ${error.message}`)
    throw error
  }
}
