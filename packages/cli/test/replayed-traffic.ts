// A server that replies from a traffic file, and only to the requests in it.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

interface Exchange {
  /** Method and path. */
  readonly ask: string
  readonly body?: string
  readonly status?: number
  readonly answer: unknown
}

export interface ReplayedTraffic {
  readonly host: string
  readonly requests: readonly {
    readonly ask: string
    readonly body: string
    readonly headers: NodeJS.Dict<string | string[]>
  }[]
  /** Requests whose body contains this text are refused from now on; undefined refuses none. */
  refuse(text: string | undefined): void
}

export async function replay(t: Test, name: string): Promise<ReplayedTraffic> {
  const text = readFileSync(new URL(`traffic/${name}.json`, import.meta.url), 'utf8')
  const exchanges: readonly Exchange[] = JSON.parse(text)
  const requests: ReplayedTraffic['requests'][number][] = []
  let refused: string | undefined
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const ask = `${request.method} ${request.url}`
    requests.push({ ask, body, headers: request.headers })
    const known = exchanges.find((exchange) => exchange.ask === ask && (exchange.body ?? '') === body)
    const refusing = refused !== undefined && body.includes(refused)
    response.writeHead(refusing ? 403 : (known?.status ?? (known === undefined ? 418 : 200)), {
      'content-type': 'application/json',
    })
    response.end(refusing ? '{"status":{"error":"Forbidden"}}' : answerOf(text, known))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refuse(text) {
      refused = text
    },
  }
}

/** 64-bit numbers are in the file as on the wire; JSON.parse would round them. */
function answerOf(text: string, exchange: Exchange | undefined): string {
  if (exchange === undefined) return '{"error":"the traffic file has no such request"}'
  const rounded = JSON.stringify(exchange.answer)
  return text.includes('18446744073709551615')
    ? rounded.replaceAll('18446744073709552000', '18446744073709551615')
    : rounded
}
