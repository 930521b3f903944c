// CPU time of the parts of a hot search besides the search: reading the body in each form, and writing the reply, by turns
// in one process.
//
//   npm run bench:hot -- [--dimension 784] [--rounds 15] [--searches 2000]
import { availableParallelism, cpus, loadavg } from 'node:os'
import type { HitBytes, ReaderCollection, ReaderSearch } from '@annal/engine'
import type { Admission } from '../../../packages/server/src/hot/contract.ts'
import { createHotRoutes } from '../../../packages/server/src/hot/hot-routes.ts'
import { type BodyForm, bodyForms, searchRequest } from '../http/requests.ts'
import { readOptions } from '../options.ts'

const values = readOptions({ dimension: 784, rounds: 15, searches: 2000 })
const { dimension, rounds, searches } = values

const query = Float32Array.from({ length: dimension }, (_, i) => Math.fround(Math.sin(i * 7.3) * 0.9))
const ids = Array.from({ length: 10 }, (_, i) => Buffer.from(`object-${i * 1_237}`))
const filter = Buffer.from('{"n":42}')
const none = new Uint8Array(0)
const hits: HitBytes = {
  count: ids.length,
  lsn: 1_234,
  complete: true,
  recall: undefined,
  similarity: (hit) => 0.98765 - hit * 0.01234,
  distance: (hit) => 0.01235 + hit * 0.01234,
  norm: () => 9.87654,
  idBytes: (hit) => ids[hit]!.length,
  metaBytes: () => 0,
  filterBytes: () => filter.length,
  copyId: (hit, target, offset) => target.set(ids[hit]!, offset),
  copyMeta: () => none,
  copyFilter: (_hit, target, offset) => target.set(filter, offset),
  expiresAt: () => undefined,
}
let searched: ReaderSearch | undefined
let isWriting = true
const reader = {
  definition: { name: 'docs', fields: [{ kind: 'dense', name: 'dense', params: { dimension, precision: 'int8' } }] },
  searchHere<T>(search: ReaderSearch, write: (hits: HitBytes) => T): T | undefined {
    searched = search
    return isWriting ? write(hits) : undefined
  },
} as unknown as ReaderCollection
const routes = createHotRoutes({ find: () => ({ reader, topKMax: 512, filterBoostMax: 400 }) })
const path = '/api/v1/index/docs/search'
const admission = { route: routes.match('POST', path)!, database: 'default' } as Admission

interface Part {
  readonly name: string
  run(): void
}

const parts: Part[] = []
/** Of one vector; the collection has one dense field. */
const vectorForms = bodyForms.filter((form) => !/sparse|hybrid/.test(form))
for (const form of vectorForms) {
  const { type, body } = split(searchRequest({ headers: [] }, 'docs', query, { ef: 24, form }))
  const headers = { 'content-type': type }
  parts.push({ name: `body, ${form}, ${body.length} bytes`, run: () => answer(headers, body, false) })
}
const { type, body } = split(searchRequest({ headers: [] }, 'docs', query, { ef: 24, form: 'octets' }))
for (const accept of ['*/*', 'application/json']) {
  const headers = { 'content-type': type, accept }
  parts.push({ name: `octets and reply, ${accept}`, run: () => answer(headers, body, true) })
}
parts.push({ name: 'for comparison: JSON.parse of the body json', run: parseOf('json') })
parts.push({ name: 'for comparison: JSON.parse of the body digits', run: parseOf('digits') })

function parseOf(form: BodyForm): () => void {
  const { body } = split(searchRequest({ headers: [] }, 'docs', query, { ef: 24, form }))
  return () => Float32Array.from((JSON.parse(body.toString('latin1')) as { vector: number[] }).vector)
}

function answer(
  headers: { readonly 'content-type': string; readonly accept?: string },
  body: Buffer,
  write: boolean,
): void {
  isWriting = write
  searched = undefined
  const reply = routes.answer(admission, headers, body)
  if (searched === undefined || (write && reply === undefined)) throw new Error('the body was not read')
}

function split(request: Buffer): { readonly type: string; readonly body: Buffer } {
  const end = request.indexOf('\r\n\r\n')
  const type = /content-type: (.*)/i.exec(request.toString('latin1', 0, end))![1]!
  return { type: type.trim(), body: request.subarray(end + 4) }
}

function microseconds(part: Part): number {
  const from = process.cpuUsage()
  for (let i = 0; i < searches; i++) part.run()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / searches
}

const times = parts.map((): number[] => [])
for (const part of parts) for (let i = 0; i < searches; i++) part.run()
for (let round = 0; round < rounds; round++) for (const [i, part] of parts.entries()) times[i]!.push(microseconds(part))
console.log(
  `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}, load ${loadavg()[0]?.toFixed(2)}`,
)
console.log(`${dimension} dimensions, k 10, ${rounds} rounds of ${searches}; median microseconds of CPU time`)
for (const [i, { name }] of parts.entries()) {
  const sorted = times[i]!.toSorted((a, b) => a - b)
  console.log(`${name.padEnd(52)} ${sorted[sorted.length >> 1]!.toFixed(2)}   (best ${sorted[0]!.toFixed(2)})`)
}
