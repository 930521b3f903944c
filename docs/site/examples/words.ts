// Search texts by their words, also in other forms: "walked" is found by "walking".
import { connect } from '@annal/client'

const client = connect({ url, ...(token && { token }) })
await client.deleteCollection('try_notes').catch(() => undefined)
const notes = await client.createCollection({
  name: 'try_notes',
  fields: [{ name: 'text', type: 'text', params: { language: 'english' } }],
})
await notes.upsert([
  { id: 'mon', filter: { day: 1 }, fields: { text: 'The dogs walked along the river until it rained.' } },
  { id: 'tue', filter: { day: 2 }, fields: { text: 'A cat watches the rain from the window.' } },
  { id: 'wed', filter: { day: 3 }, fields: { text: 'We repaired the window and painted the door.' } },
])
const { results } = await notes.search({
  fields: { text: { query: 'walking in rain' } },
  filter: [{ day: { $lte: 2 } }],
})
for (const hit of results.text) console.log(hit.id, hit.similarity.toFixed(2))
