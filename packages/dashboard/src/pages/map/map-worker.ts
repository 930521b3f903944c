// Loads a sample of a collection and lays it out on a plane, in a worker so that the page stays responsive.
import { httpRequests, segment } from '@annal/client/http'
import { UMAP } from 'umap-js'
import { clusterWords } from './cluster-words.ts'
import type { MapAnswer, MapObject, MapRequest } from './messages.ts'
import { nearestRows } from './nearest-rows.ts'
import { principal } from './pca.ts'

/** Objects of the first page; numbers per page for the others. */
const firstPageSize = 100
const pageSizeMax = 500
const pageNumbers = 400_000
/** A sample is drawn from the ids of at most this many objects, which are listed in about a second. */
const idsMax = 50_000
const idsPerPage = 1_000
/** Reducing vectors to this many dimensions keeps neighbors well enough and is much faster. */
const reducedDimensions = 16
const neighbors = 10
/** Few objects get more iterations, because the layout must be ready within seconds. */
const epochsMax = 150
const epochsMin = 60
const objectEpochs = 300_000
const epochsPerAnswer = 10

interface ScrollPage {
  readonly objects: readonly {
    readonly id: string
    readonly filter: MapObject['filter']
    readonly fields: { readonly [field: string]: { readonly vector?: readonly number[] } | string }
  }[]
  readonly cursor: string | null
}

self.addEventListener('message', ({ data }: MessageEvent<MapRequest>) => {
  draw(data).catch((error: Error & { code?: string }) => {
    tell({ kind: 'failed', message: error.message, ...(error.code !== undefined && { code: error.code }) })
  })
})

function tell(answer: MapAnswer): void {
  self.postMessage(answer)
}

async function draw(request: MapRequest): Promise<void> {
  const { objects, rows, texts, source } = await sample(request)
  tell({ kind: 'objects', objects, source })
  if (rows.length < 3) {
    tell({ kind: 'points', points: fitted(rows.map((_, i) => [i, 0])), share: 1 })
    return
  }
  const reduced = principal(rows, reducedDimensions)
  const width = reduced.length / rows.length
  const coordinates = rows.map((_, i) => Array.from(reduced.subarray(i * width, (i + 1) * width)))
  const flat = coordinates.map(([x = 0, y = 0]): Point => [x, y])
  const refine = request.method === 'umap' && rows.length > neighbors
  const first = fitted(flat)
  tell({ kind: 'points', points: first, share: refine ? 0 : 1 })
  const last = refine ? layOut(coordinates, nearestRows(reduced, width, neighbors)) : first
  if (texts.some((text) => text !== undefined)) tell({ kind: 'labels', labels: clusterWords(last, texts) })
}

type Point = readonly [x: number, y: number]

function layOut(coordinates: number[][], { indices, distances }: ReturnType<typeof nearestRows>): Float32Array {
  const nEpochs = Math.round(Math.max(epochsMin, Math.min(epochsMax, objectEpochs / coordinates.length)))
  const umap = new UMAP({ nComponents: 2, nNeighbors: neighbors, nEpochs, random: steadyRandom() })
  umap.setPrecomputedKNN(indices, distances)
  const total = umap.initializeFit(coordinates)
  const now = () => fitted(umap.getEmbedding().map(([x = 0, y = 0]): Point => [x, y]))
  for (let epoch = 1; epoch <= total; epoch++) {
    umap.step()
    if (epoch % epochsPerAnswer === 0 || epoch === total) tell({ kind: 'points', points: now(), share: epoch / total })
  }
  return now()
}

/** The matching objects, or a random sample of them if there are more than wanted. */
async function sample(request: MapRequest) {
  const { count: matches } = await ask<{ count: number }>(request, 'objects/count', { filter: request.filter })
  const taken: Taken = { objects: [], rows: [], texts: [] }
  const listed = matches > request.objects ? await sampleOf(request, taken) : await allOf(request, taken)
  return { ...taken, source: { matches, listed } }
}

interface Taken {
  readonly objects: MapObject[]
  readonly rows: Float32Array[]
  readonly texts: (string | undefined)[]
}

async function allOf(request: MapRequest, taken: Taken): Promise<number> {
  const { filter, objects: wanted } = request
  let cursor: string | null | undefined
  while (cursor !== null && taken.rows.length < wanted) {
    const limit = Math.min(pageSizeAfter(taken), wanted - taken.rows.length)
    const page: ScrollPage = await ask(request, 'objects/scroll', { filter, limit, ...(cursor && { cursor }) })
    take(request, page.objects, taken)
    cursor = page.cursor
  }
  return taken.rows.length
}

async function sampleOf(request: MapRequest, taken: Taken): Promise<number> {
  const ids = await listIds(request)
  const chosen = chooseOf(ids, request.objects)
  while (chosen.length > 0) {
    const some = chosen.splice(0, pageSizeAfter(taken))
    const { objects } = await ask<Pick<ScrollPage, 'objects'>>(request, 'objects/query', { ids: some })
    take(request, objects, taken)
  }
  return ids.length
}

/** The ids of the matching objects, as far as a map waits for them. */
async function listIds(request: MapRequest): Promise<readonly string[]> {
  const ids: string[] = []
  let cursor: string | null | undefined
  while (cursor !== null && ids.length < idsMax) {
    const body = { filter: request.filter, limit: idsPerPage, include_vectors: false, ...(cursor && { cursor }) }
    const page: ScrollPage = await ask(request, 'objects/scroll', body)
    ids.push(...page.objects.map(({ id }) => id))
    cursor = page.cursor
  }
  return ids
}

/** The same ones of the same ids: a map that is drawn again has the same objects. */
function chooseOf(ids: readonly string[], wanted: number): string[] {
  const random = steadyRandom()
  const left = [...ids]
  const count = Math.min(wanted, left.length)
  for (let i = 0; i < count; i++) {
    const other = i + Math.floor(random() * (left.length - i))
    const id = left[other]!
    left[other] = left[i]!
    left[i] = id
  }
  return left.slice(0, count)
}

function take({ field }: MapRequest, found: ScrollPage['objects'], { objects, rows, texts }: Taken): void {
  for (const { id, filter: values, fields } of found) {
    const value = fields[field]
    const vector = typeof value === 'object' ? value.vector : undefined
    if (vector === undefined) continue
    objects.push({ id, filter: values })
    rows.push(Float32Array.from(vector))
    texts.push(Object.values(fields).find((other) => typeof other === 'string'))
  }
  tell({ kind: 'loading', loaded: rows.length })
}

function pageSizeAfter({ rows: [row] }: Taken): number {
  if (row === undefined) return firstPageSize
  return Math.max(1, Math.min(pageSizeMax, Math.floor(pageNumbers / row.length)))
}

async function ask<T>({ collection, authorization }: MapRequest, route: string, body: object): Promise<T> {
  const requests = httpRequests({ url: self.location.origin, token: authorization })
  const { text } = await requests.send({
    method: 'POST',
    path: `/api/v2/collection/${segment(collection)}/${route}`,
    body: JSON.stringify(body),
    contentType: 'application/json',
    accept: 'application/json',
  })
  return JSON.parse(text) as T
}

/** Scales into the square from -1 to 1, both axes by the same factor. */
function fitted(points: readonly Point[]): Float32Array {
  const [left, right] = rangeOf(points.map(([x]) => x))
  const [low, high] = rangeOf(points.map(([, y]) => y))
  const scale = 2 / Math.max(right - left, high - low, 1e-12)
  const out = new Float32Array(points.length * 2)
  for (const [i, [x, y]] of points.entries()) {
    out[2 * i] = (x - (left + right) / 2) * scale
    out[2 * i + 1] = (y - (low + high) / 2) * scale
  }
  return out
}

function rangeOf(values: readonly number[]): readonly [number, number] {
  return values.reduce<readonly [number, number]>(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  )
}

function steadyRandom(): () => number {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
