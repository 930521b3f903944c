// Imports from PostgreSQL with pgvector: `postgres://user@host:5432/database?table=items`. Rows are read in the order of the primary
// key (or of `&key=COLUMN`, which must be unique), page by page; a position is the last key. Vectors become fields, the key becomes the
// id, and all other columns become keys of meta, unless --column maps them; see formats/columns.ts.

import type { JsonValue, ObjectInput, SpaceType } from '@annal/client'
import { Client, types } from 'pg'
import { CommandEnd, exitCode, usageError } from '../exit-code.ts'
import { type Column, columnsOf, objectOf, type Renames } from '../formats/columns.ts'
import type { DatabaseOptions } from './database-options.ts'
import type { Source, SourceField } from './source.ts'

const rowsOfPage = 500

export async function openPostgres(url: URL, options: DatabaseOptions): Promise<Source> {
  const wanted = url.searchParams.get('table')
  const key = url.searchParams.get('key') ?? undefined
  if (wanted === null)
    throw usageError(`the table is missing; use ${url.protocol}//${url.host}${url.pathname}?table=TABLE`)
  const name = `${url.protocol}//${url.host}${url.pathname}?table=${wanted}`
  const client = await connected(url, options.sourceToken)
  try {
    const table = await describe(client, wanted, key, name)
    const columns = columnsOf(
      table.columns.map(({ name }) => name),
      renamesFor(table, options.renames),
      name,
    )
    return {
      name,
      total: table.rows,
      fields: fieldsOf(table.columns, columns, options.texts),
      pieces: (from) => pages(client, table, { columns, texts: options.texts }, from),
      close: () => client.end(),
    }
  } catch (error) {
    await client.end()
    throw explainFailure(error, name)
  }
}

async function connected(url: URL, password: string | undefined): Promise<Client> {
  const address = new URL(url)
  address.searchParams.delete('table')
  address.searchParams.delete('key')
  if (address.password === '' && password !== undefined) address.password = encodeURIComponent(password)
  const client = new Client({ connectionString: address.href, types: { getTypeParser } })
  // A connection that is lost between two queries fails the next query.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    throw new CommandEnd(
      exitCode.unavailable,
      `${url.protocol}//${url.host}: ${error instanceof Error ? error.message || String(error) : error}`,
    )
  }
}

/** 64-bit integers keep all digits; times without a zone stay as text instead of being read in this machine's zone. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  const { INT8, DATE, TIMESTAMP } = types.builtins
  if (oid === INT8) return BigInt
  if (oid === DATE || oid === TIMESTAMP) return (text: string) => text
  return types.getTypeParser(oid, format)
}

interface TableColumn {
  readonly name: string
  /** The SQL type: `vector(3)`, `bigint`. */
  readonly type: string
  /** The operator class of an index on the column, which determines the distance. */
  readonly operators: string | null
}

interface Table {
  /** Quoted if necessary. */
  readonly sqlName: string
  readonly columns: readonly TableColumn[]
  readonly key: TableColumn
  readonly rows: number
}

async function describe(client: Client, wanted: string, key: string | undefined, name: string): Promise<Table> {
  const [found] = (
    await client.query<{ sql_name: string | null }>('SELECT to_regclass($1)::text AS sql_name', [wanted])
  ).rows
  const sqlName = found?.sql_name
  if (sqlName == null) throw usageError(`${name}: no such table: ${wanted}`)
  const { rows: columns } = await client.query<TableColumn & { readonly primary: boolean | null }>(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
       (SELECT min(o.opcname) FROM pg_index i JOIN pg_opclass o ON o.oid = i.indclass[0]
        WHERE i.indrelid = a.attrelid AND i.indkey[0] = a.attnum) AS operators,
       (SELECT i.indnatts = 1 FROM pg_index i
        WHERE i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY (i.indkey)) AS primary
     FROM pg_attribute a WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
    [sqlName],
  )
  const keyed = columns.find((column) => (key === undefined ? column.primary : column.name === key))
  if (keyed === undefined) {
    const none = key === undefined ? 'it has no primary key of one column' : `it has no column ${key}`
    throw usageError(`${name}: ${none}; choose a unique column with &key=COLUMN`)
  }
  const [counted] = (await client.query<{ rows: bigint }>(`SELECT count(*) AS rows FROM ${sqlName}`)).rows
  return { sqlName, columns, key: keyed, rows: Number(counted?.rows ?? 0) }
}

const vectorType = /^(?:public\.)?(vector|halfvec|sparsevec)(?:\((\d+)\))?$/
const listTypes = ['real[]', 'double precision[]']

/** Roles by column type, for columns that the user did not map. */
function renamesFor({ columns, key }: Table, given: Renames): Renames {
  const renames = new Map<string, string>()
  const idIsNamed = [...given.values()].includes('id')
  for (const { name, type } of columns) {
    if (vectorType.test(type) || listTypes.includes(type)) renames.set(name, `fields.${name}`)
    else if (name === key.name && !idIsNamed) renames.set(name, 'id')
    else if (name === 'id') renames.set(name, 'meta.id')
    // Of the table, which may mean something else.
    else if (name === 'expires_at') renames.set(name, 'meta.expires_at')
  }
  return new Map([...renames, ...given])
}

/** Undefined if the vector type has no dimension; then the first row determines it. */
function fieldsOf(
  described: readonly TableColumn[],
  columns: readonly Column[],
  texts: ReadonlySet<string>,
): readonly SourceField[] | undefined {
  const fields = columns.flatMap(({ purpose }, i): (SourceField | undefined)[] => {
    if (purpose.kind !== 'field') return []
    if (texts.has(purpose.field)) return [{ name: purpose.field, type: 'text' }]
    const { type = '', operators = null } = described[i] ?? {}
    const [, kind, dimension] = vectorType.exec(type) ?? []
    if (kind === 'sparsevec') return [{ name: purpose.field, type: 'sparse' }]
    if (dimension === undefined) return [undefined]
    return [{ name: purpose.field, type: 'vector', dimension: Number(dimension), space: spaceOf(operators) }]
  })
  return fields.every((field) => field !== undefined) ? fields : undefined
}

function spaceOf(operators: string | null): SpaceType | undefined {
  const word = /_(cosine|l2|ip)_ops$/.exec(operators ?? '')?.[1]
  return word as SpaceType | undefined
}

async function* pages(
  client: Client,
  table: Table,
  { columns, texts }: { readonly columns: readonly Column[]; readonly texts: ReadonlySet<string> },
  from: JsonValue | undefined,
) {
  const { sqlName, key } = table
  // Qualified with the table name, so that a column is never confused with a result.
  const columnName = (name: string) => `source.${client.escapeIdentifier(name)}`
  const keyName = columnName(key.name)
  const list = columns.map(({ name }) => columnName(name)).join(', ')
  const select = `SELECT ${keyName}::text, ${list} FROM ${sqlName} AS source`
  const order = `ORDER BY ${keyName} LIMIT ${rowsOfPage}`
  let number = 0
  for (let after = from ?? null; ; ) {
    const query =
      after === null
        ? { text: `${select} ${order}`, values: [] }
        : { text: `${select} WHERE ${keyName} > $1::${key.type} ${order}`, values: [after] }
    const { rows } = await client.query<unknown[]>({ ...query, rowMode: 'array' as const }).catch((error: unknown) => {
      throw explainFailure(error, sqlName)
    })
    const last = rows.at(-1)?.[0]
    if (typeof last !== 'string') return
    const objects: ObjectInput[] = []
    for (const [place, ...values] of rows) {
      objects.push(objectOf({ values, number }, columns, `${sqlName}, ${key.name} ${place}`, texts))
      number += 1
    }
    after = last
    yield { objects, next: after }
  }
}

/** Reports an error of the database with its message. */
function explainFailure(error: unknown, name: string): unknown {
  if (error instanceof CommandEnd || !(error instanceof Error)) return error
  return new CommandEnd(exitCode.refused, `${name}: ${error.message}`)
}
