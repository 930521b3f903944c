// Collections whose pages are pictured: fixed content, a long name, numbers of several sizes, and texts.
import { callServer } from './real-server.ts'

const kinds = ['lamp', 'chair', 'table', 'shelf', 'rug']
const long = 'archive-of-everything-that-was-imported-from-the-old-shop'

export async function makeShop(address: string): Promise<void> {
  const create = (name: string, fields: readonly object[]) =>
    callServer(address, 'POST', '/api/v2/collection', { name, fields })
  const write = (name: string, objects: readonly object[]) =>
    callServer(address, 'POST', `/api/v2/collection/${name}/objects`, { objects })
  await create('shop', [
    { name: 'look', type: 'vector', params: { dimension: 8, space_type: 'l2', precision: 'float32' } },
    { name: 'about', type: 'text', params: { language: 'english' } },
  ])
  await create(long, [
    { name: 'look', type: 'vector', params: { dimension: 8, space_type: 'cosine', precision: 'int8' } },
  ])
  await create('visits', [{ name: 'terms', type: 'sparse', sparse_model: 'endee_bm25' }])
  const item = (i: number) => ({
    id: `item-${String(i).padStart(3, '0')}`,
    meta: { title: `A ${kinds[i % 5]} of wood, number ${i}` },
    filter: { kind: kinds[i % 5], price: 10 + (i % 90), sale: i % 4 === 0 },
    fields: {
      look: Array.from({ length: 8 }, (_, at) => 4 * Math.sin((i % 5) * 7 + at) + Math.sin(i * (at + 1.3))),
      about: `This ${kinds[i % 5]} is made of wood and was finished by hand.`,
    },
  })
  for (const from of [0, 100, 200])
    await write(
      'shop',
      Array.from({ length: 100 }, (_, i) => item(from + i)),
    )
  await write(long, [{ id: 'a-page', fields: { look: item(3).fields.look } }])
  await callServer(address, 'DELETE', '/api/v2/collection/shop/objects/item-004')
}
