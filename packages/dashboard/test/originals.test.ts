// Original vectors by clicks: a field that keeps none, and a binary field searched with and without rescoring.
import { test } from 'tap'
import { browserFor, openPage, skip, type Watched } from './browser.ts'
import { callServer, realServer } from './real-server.ts'
import { submit } from './steps.ts'

interface Described {
  readonly fields: readonly { readonly name: string; readonly params: { readonly keep_originals?: boolean } }[]
}

interface Searched {
  readonly sent: { readonly rescore?: boolean }
  /** Of the object o1. */
  readonly similarity: number
  /** The number of hits that the server compared with original vectors. */
  readonly rescored: number | undefined
}

test('the form creates a field that keeps no originals', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/collections?new=1')
  await seen.click('Dense field')
  await seen.page.locator('fieldset:nth-of-type(2) input[type=checkbox]').click()
  await seen.sees('This cannot be changed later.')
  t.strictSame(await seen.barriers(), [])
  await seen.picture('originals')
  await submit(seen, { Name: 'lean' }, 'Create collection', 'Collection lean created.')
  const { fields } = (await callServer(address, 'GET', '/api/v2/collection/lean')) as Described
  t.strictSame(
    fields.map(({ name, params }) => [name, params.keep_originals !== false]),
    [
      ['vector', true],
      ['vector2', false],
    ],
  )
  await seen.sees('originals not kept')
  t.strictSame(seen.faults, [])
})

test('a search of a binary field is rescored unless the form says otherwise', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  const params = { dimension: 64, space_type: 'cosine', precision: 'binary' }
  await callServer(address, 'POST', '/api/v2/collection', {
    name: 'coarse',
    fields: [{ name: 'v', type: 'vector', params }],
  })
  const vectorOf = (i: number) => Array.from({ length: 64 }, (_, d) => Math.sin(1 + i * 7 + d * (i + 3)))
  const objects = Array.from({ length: 40 }, (_, i) => ({ id: `o${i}`, fields: { v: vectorOf(i) } }))
  await callServer(address, 'POST', '/api/v2/collection/coarse/objects', { objects })
  const truth = cosine(vectorOf(0), vectorOf(1))

  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/collections/coarse/search')
  await seen.fill('Id', 'o0')
  await seen.fill('Results', '39')
  const errorOf = ({ similarity }: Searched) => Math.abs(similarity - truth)

  const byDefault = await search(seen)
  t.equal(byDefault.sent.rescore, undefined, 'the server decides by default')
  t.equal(byDefault.rescored, 39)
  t.ok(errorOf(byDefault) < 1e-6, `rescored similarities are exact (${errorOf(byDefault)})`)
  await seen.select('Rescore', 'off')
  const off = await search(seen)
  t.equal(off.sent.rescore, false)
  t.equal(off.rescored, undefined)
  await seen.select('Rescore', 'on')
  const on = await search(seen)
  t.equal(on.sent.rescore, true)
  t.equal(on.rescored, 39)
  await seen.picture('rescore')
  t.strictSame(await seen.barriers(), [])
  t.strictSame(seen.faults, [])
})

/** Clicks Search, and returns what the page sent and the similarity of o1 in the reply. */
async function search(seen: Watched): Promise<Searched> {
  const replied = seen.page.waitForResponse((response) => response.url().endsWith('/coarse/search'))
  await seen.click('Search')
  const response = await replied
  const { results, explain } = (await response.json()) as {
    readonly results: { readonly v: readonly { readonly id: string; readonly similarity: number }[] }
    readonly explain: { readonly fields: { readonly v: { readonly rescored?: number } } }
  }
  return {
    sent: JSON.parse(response.request().postData() ?? '{}') as Searched['sent'],
    similarity: results.v.find(({ id }) => id === 'o1')?.similarity ?? Number.NaN,
    rescored: explain.fields.v.rescored,
  }
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, value, i) => sum + value * y[i]!, 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}
