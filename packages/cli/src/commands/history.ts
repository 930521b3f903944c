// `annal history`: the versions of an object, oldest first.
import type { Author, ObjectVersion } from '@annal/client'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'

export interface HistoryOptions extends ConnectionOptions {
  readonly from?: number
  readonly to?: number
  readonly json?: boolean
}

const versionsAtOnce = 500

/** Ends with `attention` if the log knows no version of the object. */
export function printHistory(collection: string, id: string, options: HistoryOptions, terminal: Terminal) {
  const { from, to, json } = options
  return withClient(options, async (client) => {
    const versions: ObjectVersion[] = []
    for (let first: number | undefined = from, begun = false; !begun || first !== undefined; begun = true) {
      const page = await client.collection(collection).history(id, { from: first, to, limit: versionsAtOnce })
      versions.push(...page.versions)
      first = page.next
    }
    if (json) terminal.line(JSON.stringify({ collection, id, versions }))
    else if (versions.length === 0) terminal.line(`the log has no version of ${id}`)
    else for (const line of aligned([head, ...versions.map(cellsOf)])) terminal.line(line)
    return versions.length === 0 ? exitCode.attention : exitCode.good
  })
}

const head = ['LSN', 'time', 'kind', 'author', 'changes']

function cellsOf(version: ObjectVersion): string[] {
  const { lsn, time, kind, author } = version
  return [String(lsn), time?.toISOString() ?? '-', kind, authorText(author), changesText(version)]
}

function authorText(author: Author | undefined): string {
  if (author === undefined) return '-'
  return [author.token, author.actor].filter((part) => part !== '').join(', ')
}

function changesText({ asOfLsn, changes }: ObjectVersion): string {
  const values = (part: 'meta' | 'filter') =>
    Object.entries(changes?.[part] ?? {}).map(
      ([key, { before, after }]) => `${part}.${key}: ${valueText(before)} -> ${valueText(after)}`,
    )
  const parts = [
    ...(asOfLsn === undefined ? [] : [`as of LSN ${asOfLsn}`]),
    ...values('meta'),
    ...(changes?.metaBytes ? ['meta'] : []),
    ...values('filter'),
    ...(changes?.fields ?? []).map((field) => `fields.${field}`),
  ]
  return parts.join('; ')
}

const valueCharactersMax = 60

function valueText(value: unknown): string {
  const text = value === undefined ? 'none' : JSON.stringify(value)
  return text.length > valueCharactersMax ? `${text.slice(0, valueCharactersMax - 3)}...` : text
}
