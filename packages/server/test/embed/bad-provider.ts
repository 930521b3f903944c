// A provider of vectors in a process of its own, which does on each path what providers do on bad days. It prints its port.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

export interface ProviderRequest {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: { readonly [key: string]: unknown }
}

const dimension = 3
const requests: ProviderRequest[] = []
const waiting: ServerResponse[] = []

/** A vector that says how long a text is, and how often it has an `a` and an `e`. */
function vectorOf(text: string): number[] {
  return [text.length, text.split('a').length - 1, text.split('e').length - 1]
}

function textsOf(body: { readonly [key: string]: unknown }): string[] {
  return (body.input ?? body.texts) as string[]
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

function openai(vectors: readonly unknown[]) {
  return { object: 'list', data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })) }
}

function first(path: string): boolean {
  return requests.filter((one) => one.path === path).length === 1
}

type Behavior = (response: ServerResponse, request: ProviderRequest) => void

const ok: Behavior = (response, { body }) => send(response, 200, openai(textsOf(body).map(vectorOf)))

const behaviors: { readonly [path: string]: Behavior } = {
  '/ok': ok,
  // In another order, which the indices say.
  '/voyage': (response, { body }) => {
    const { data } = openai(textsOf(body).map(vectorOf))
    send(response, 200, { data: data.reverse() })
  },
  '/cohere': (response, { body }) => send(response, 200, { embeddings: { float: textsOf(body).map(vectorOf) } }),
  '/held': (response) => void waiting.push(response),
  '/never': () => undefined,
  '/limited-once': (response, request) =>
    first('/limited-once') ? send(response, 429, {}, { 'retry-after': '1' }) : ok(response, request),
  '/limited': (response) => send(response, 429, {}, { 'retry-after': '3600' }),
  '/broken-once': (response, request) => (first('/broken-once') ? send(response, 500, {}) : ok(response, request)),
  '/broken': (response) => send(response, 500, {}),
  '/dimension': (response, { body }) => send(response, 200, openai(textsOf(body).map(() => [1, 2]))),
  '/half': (response, { body }) => send(response, 200, openai(textsOf(body).slice(1).map(vectorOf))),
  '/twice': (response, { body }) =>
    send(response, 200, { data: textsOf(body).map((text) => ({ index: 0, embedding: vectorOf(text) })) }),
  '/null': (response, { body }) => send(response, 200, openai(textsOf(body).map(() => [1, null, 2]))),
  '/garbage': (response) => send(response, 200, '{"data": [{"embedding": [1, 2'),
  '/other-form': (response) => send(response, 200, { result: 'ok' }),
  '/endless': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const piece = ' '.repeat(65_536)
    const write = () => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', write)
    write()
  },
  '/announced': (response) => {
    response.writeHead(200, { 'content-length': '10000000000' })
    response.write('{')
  },
  '/redirect': (response) => send(response, 307, {}, { location: '/elsewhere' }),
  '/elsewhere': ok,
  '/reset': (response) => void response.socket?.destroy(),
  '/key': (response, { authorization }) => send(response, 401, { error: `incorrect key provided: ${authorization}` }),
  '/picky': (response, request) =>
    textsOf(request.body).some((text) => text.startsWith('bad')) ? send(response, 400, {}) : ok(response, request),
}

const server = createServer((request: IncomingMessage, response: ServerResponse) => {
  const path = request.url ?? ''
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    if (path === '/requests') return send(response, 200, requests)
    if (path === '/release') {
      for (const one of waiting.splice(0)) {
        const body = requests.findLast((each) => each.path === '/held')?.body ?? {}
        ok(one, { path, authorization: undefined, body })
      }
      return send(response, 200, {})
    }
    const body = JSON.parse(Buffer.concat(pieces).toString()) as ProviderRequest['body']
    const received = { path, authorization: request.headers.authorization, body }
    requests.push(received)
    behaviors[path]?.(response, received)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})

/** Numbers of a vector. */
export { dimension }
