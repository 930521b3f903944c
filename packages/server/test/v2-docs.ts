// A collection of /api/v2 with two dense fields and a sparse one, for tests of its routes.
import { type RunningApp, runningApp } from './running-app.ts'

export const definition = {
  name: 'docs',
  fields: [
    { name: 'title', type: 'vector', params: { dimension: 3, space_type: 'cosine', precision: 'float32' } },
    {
      name: 'body',
      type: 'vector',
      params: { dimension: 2, space_type: 'l2', precision: 'float32', m: 8, ef_construct: 64 },
    },
    { name: 'words', type: 'sparse', sparse_model: 'default' },
  ],
}

/** A server that has the collection. */
export async function withCollection(t: Parameters<typeof runningApp>[0]): Promise<RunningApp> {
  const running = await runningApp(t)
  const created = await running.send('POST', '/api/v2/collection', { json: definition })
  if (created.status !== 200) throw new Error(created.text)
  return running
}
