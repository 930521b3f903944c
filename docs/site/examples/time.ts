// Read the past, and take back what one program wrote.
import { connect } from '@annal/client'

const client = connect({ url, actor: 'this page', ...(token && { token }) })
await client.deleteCollection('try_films').catch(() => undefined)
const films = await client.createCollection({
  name: 'try_films',
  fields: [{ name: 'plot', type: 'vector', params: { dimension: 3, spaceType: 'cosine' } }],
})
const { lsn } = await films.upsert([
  { id: 'alien', meta: { title: 'Alien' }, fields: { plot: [0.9, 0.1, 0.2] } },
  { id: 'solaris', meta: { title: 'Solaris' }, fields: { plot: [0.7, 0.6, 0.1] } },
])
await films.delete('alien')
const plot = { query: [1, 0.2, 0.2], limit: 1 }
const now = await films.search({ fields: { plot } })
const then = await films.search({ fields: { plot }, asOf: { lsn } })
console.log('now:', now.results.plot[0]?.id)
console.log(`as of record ${lsn}:`, then.results.plot[0]?.id)
await films.undo({ ids: ['alien'], asOf: { lsn } })
const restored = await films.search({ fields: { plot } })
console.log('after the undo:', restored.results.plot[0]?.id)
