// Nearest neighbors among the objects that match a filter. Every key of a filter is indexed without being declared.
import { connect } from '@annal/client'

const client = connect({ url, ...(token && { token }) })
await client.deleteCollection('try_points').catch(() => undefined)
const points = await client.createCollection({
  name: 'try_points',
  fields: [{ name: 'place', type: 'vector', params: { dimension: 2, spaceType: 'l2', precision: 'float32' } }],
})
await points.upsert(
  Array.from({ length: 1_000 }, (_, i) => ({
    id: `point-${i}`,
    filter: { parity: i % 2 === 0 ? 'even' : 'odd', number: i },
    fields: { place: [i % 40, Math.floor(i / 40)] },
  })),
)
const { results } = await points.search({
  fields: { place: { query: [7, 7], limit: 3 } },
  filter: [{ parity: { $eq: 'odd' } }, { number: { $range: [200, 400] } }],
})
console.log(results.place.map(({ id }) => id))
