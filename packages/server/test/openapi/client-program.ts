// A program for a client that was generated from openapi.json, as text: the types that it imports exist only in the test.

export const program = `
import createClient from 'openapi-fetch'
import type { components, paths } from './schema.ts'

type Filter = components['schemas']['Filter']

export async function walk(baseUrl: string) {
  const client = createClient<paths, 'application/json'>({ baseUrl, headers: { accept: 'application/json' } })
  const params = { path: { name: 'films' } }

  await client.POST('/api/v2/collection', {
    body: {
      name: 'films',
      fields: [
        { name: 'plot', type: 'vector', params: { dimension: 3, space_type: 'cosine', precision: 'float32' } },
        { name: 'words', type: 'sparse', sparse_model: 'default' },
      ],
    },
  })
  const upserted = await client.POST('/api/v2/collection/{name}/objects', {
    params,
    body: {
      objects: [
        { id: 'a', filter: { year: 1954, genres: ['drama'] }, fields: { plot: [1, 0, 0], words: { indices: [3], values: [1] } } },
        { id: 'b', filter: { year: 1961 }, fields: { plot: { vector: [0, 1, 0] } } },
        { id: 'c', filter: { year: 1999 }, meta: { title: 'C' }, fields: { plot: [0.9, 0, 0.1] } },
      ],
    },
  })
  const found = await client.POST('/api/v2/collection/{name}/search', {
    params,
    body: { fields: { plot: { query: [1, 0, 0], limit: 2 } } },
  })
  const filter: Filter = [{ year: { $range: [1950, 1970] } }, { $not: { genres: { $in: ['comedy'] } } }]
  const filtered = await client.POST('/api/v2/collection/{name}/search', {
    params,
    body: { fields: [{ plot: { query: { id: 'c' }, limit: 1 } }], filter, include_vectors: true },
  })
  const counted = await client.POST('/api/v2/collection/{name}/objects/count', { params, body: { filter } })
  const missing = await client.GET('/api/v2/collection/{name}', { params: { path: { name: 'nothing' } } })
  const deleted = await client.DELETE('/api/v2/collection/{name}/objects/{id}', {
    params: { path: { name: 'films', id: 'a' } },
  })
  const deletedWhere = await client.DELETE('/api/v2/collection/{name}/objects', {
    params,
    body: { filter: [{ $or: [{ year: { $eq: 1961 } }, { year: { $lt: 1900 } }] }] },
  })
  const left = await client.POST('/api/v2/collection/{name}/objects/scroll', { params, body: { include_vectors: false } })

  return {
    upserted: upserted.data?.upserted,
    found: found.data?.results.plot?.map(({ id }) => id),
    filtered: filtered.data?.results.plot?.map(({ id }) => id),
    count: counted.data?.count,
    missing: missing.error?.code,
    deleted: deleted.data?.deleted,
    deletedWhere: deletedWhere.data?.deleted,
    left: left.data?.objects.map(({ id }) => id),
  }
}

export async function wrong(baseUrl: string) {
  const client = createClient<paths, 'application/json'>({ baseUrl })
  const params = { path: { name: 'films' } }
  // @ts-expect-error: there is no such operator
  const operator: Filter = [{ year: { $equals: 1954 } }]
  // @ts-expect-error: a range has two ends
  const range: Filter = [{ year: { $range: [1950] } }]
  // @ts-expect-error: a condition is in a list
  const bare: Filter = { year: { $eq: 1954 } }
  // @ts-expect-error: there is no such type of field
  await client.POST('/api/v2/collection', { body: { name: 'films', fields: [{ name: 'plot', type: 'dense', params: { dimension: 3 } }] } })
  // @ts-expect-error: a dense field has a dimension
  await client.POST('/api/v2/collection', { body: { name: 'films', fields: [{ name: 'plot', type: 'vector', params: {} }] } })
  // @ts-expect-error: an object has fields
  await client.POST('/api/v2/collection/{name}/objects', { params, body: { objects: [{ id: 'a' }] } })
  // @ts-expect-error: a vector has numbers or is base64
  await client.POST('/api/v2/collection/{name}/search', { params, body: { fields: { plot: { query: [true] } } } })
  // @ts-expect-error: the path has a parameter
  await client.GET('/api/v2/collection/{name}', {})
  // @ts-expect-error: there is no such path
  await client.GET('/api/v2/collections', {})
  const found = await client.POST('/api/v2/collection/{name}/search', { params, body: { fields: { plot: { query: [1] } } } })
  // @ts-expect-error: a result has no such member
  found.data?.hits
  // @ts-expect-error: there is no such error code
  if (found.error?.code === 'not_found') return
  return [operator, range, bare]
}
`
