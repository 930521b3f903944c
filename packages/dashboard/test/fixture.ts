// Collections with fixed content.
import { callServer } from './real-server.ts'

const dimension = 16
const colors = ['red', 'green', 'blue']

/** `articles`: 300 objects with a dense, a sparse and a multi-vector field. */
export async function makeArticles(address: string, objects = 300): Promise<void> {
  await callServer(address, 'POST', '/api/v2/collection', {
    name: 'articles',
    fields: [
      { name: 'embedding', type: 'vector', params: { dimension, space_type: 'cosine', precision: 'int8' } },
      { name: 'text', type: 'sparse', sparse_model: 'endee_bm25' },
      { name: 'passages', type: 'multi_vector', params: { dimension: 4, space_type: 'cosine', precision: 'float32' } },
    ],
  })
  const random = randomFrom(7)
  const made = Array.from({ length: objects }, (_, i) => ({
    id: `article-${i}`,
    meta: { title: `Article ${i}` },
    filter: { color: colors[i % colors.length], year: 2000 + (i % 25) },
    fields: {
      embedding: Array.from({ length: dimension }, () => random() - 0.5 + (i % 3)),
      text: { indices: [i % 7, 10 + (i % 11), 30 + (i % 13)], values: [1, 2, 3] },
      passages: { vectors: [Array.from({ length: 4 }, random), Array.from({ length: 4 }, random)] },
    },
  }))
  await callServer(address, 'POST', '/api/v2/collection/articles/objects', { objects: made })
}

/** `stories`: three objects with a text, a short one, a long one, and one from right to left. */
export async function makeStories(address: string): Promise<void> {
  await callServer(address, 'POST', '/api/v2/collection', {
    name: 'stories',
    fields: [{ name: 'body', type: 'text', params: { language: 'english' } }],
  })
  const texts = ['A story of the sea.', 'The sea was calm, and nobody spoke of it. '.repeat(40), 'סיפור על הים']
  const objects = texts.map((body, i) => ({ id: `story-${i}`, filter: { number: i }, fields: { body } }))
  await callServer(address, 'POST', '/api/v2/collection/stories/objects', { objects })
}

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}
